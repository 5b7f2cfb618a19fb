//! Two texts as a unified diff: the lines that went and those that came, with some that stay around them.

/// How many pairs of lines are compared; where there are more, everything from the first change to the last one is one change.
const MOST: usize = 4 << 20;

/// How many lines that stay are shown around a change.
const AROUND: usize = 3;

/// Whether a line stays, went or came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Stays,
    Went,
    Came,
}

/// The diff, which begins with these names; nothing where the texts are the same.
pub(crate) fn unified(before: &str, after: &str, names: Option<[&str; 2]>) -> String {
    let [old, new] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let lines = compared(&old, &new);
    let mut text = String::new();
    // Where the lines begin that are shown, and up to where.
    let mut at = 0;
    while let Some(change) = lines.iter().skip(at).position(|(sign, _)| *sign != Sign::Stays) {
        let start = (at + change).saturating_sub(AROUND).max(at);
        let mut end = at + change;
        for (place, (sign, _)) in lines.iter().enumerate().skip(end) {
            match sign {
                Sign::Stays if place > end + 2 * AROUND => break,
                Sign::Stays => {}
                _ => end = place,
            }
        }
        let end = (end + 1 + AROUND).min(lines.len());
        if let (true, Some([before, after])) = (text.is_empty(), names) {
            text.push_str(&format!("--- {before}\n+++ {after}\n"));
        }
        let [earlier, shown] = [lines.get(..start), lines.get(start..end)].map(Option::unwrap_or_default);
        let range = |other: Sign| {
            let count = |lines: &[(Sign, &str)]| lines.iter().filter(|(sign, _)| *sign != other).count();
            match (count(earlier), count(shown)) {
                (start, 1) => (start + 1).to_string(),
                // An empty one is behind its line.
                (start, 0) => format!("{start},0"),
                (start, length) => format!("{},{length}", start + 1),
            }
        };
        text.push_str(&format!("@@ -{} +{} @@\n", range(Sign::Came), range(Sign::Went)));
        for (sign, line) in shown {
            text.push(match sign {
                Sign::Stays => ' ',
                Sign::Went => '-',
                Sign::Came => '+',
            });
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        at = end;
    }
    text
}

/// All lines in their order, those that went before those that came in their place.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Sign, &'a str)> {
    let same = |(before, after): &(&&str, &&str)| before == after;
    let head = old.iter().zip(new).take_while(same).count();
    let (old, staying) = (old.get(head..).unwrap_or_default(), old.get(..head).unwrap_or_default());
    let new = new.get(head..).unwrap_or_default();
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, end) = old.split_at(old.len() - tail);
    let new = new.get(..new.len() - tail).unwrap_or_default();
    let mut lines: Vec<_> = staying.iter().map(|line| (Sign::Stays, *line)).collect();
    let pairs = pairs(old, new);
    let (mut from, mut to) = (0, 0);
    for (went, came) in pairs.into_iter().chain([(old.len(), new.len())]) {
        lines.extend(old.iter().take(went).skip(from).map(|line| (Sign::Went, *line)));
        lines.extend(new.iter().take(came).skip(to).map(|line| (Sign::Came, *line)));
        lines.extend(old.get(went).map(|line| (Sign::Stays, *line)));
        (from, to) = (went + 1, came + 1);
    }
    lines.extend(end.iter().map(|line| (Sign::Stays, *line)));
    lines
}

/// The places of lines that stay, before and after: as many as there can be.
fn pairs(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > MOST {
        return Vec::new();
    }
    // How many lines stay of what begins at a line of each.
    let mut staying = vec![0_u32; (old.len() + 1) * width];
    for (before, after) in
        (0..old.len()).rev().flat_map(|line| (0..new.len()).rev().map(move |to| (line, to)))
    {
        let at = before * width + after;
        staying[at] = match old[before] == new[after] {
            true => staying[at + width + 1] + 1,
            false => staying[at + width].max(staying[at + 1]),
        };
    }
    let (mut before, mut after, mut pairs) = (0, 0, Vec::new());
    while before < old.len() && after < new.len() {
        let at = before * width + after;
        if old[before] == new[after] {
            pairs.push((before, after));
            (before, after) = (before + 1, after + 1);
        } else if staying[at + width] >= staying[at + 1] {
            before += 1;
        } else {
            after += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_that_are_far_from_each_other_have_a_part_of_their_own() {
        let before: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let after = before.replace("3\n4\n", "3\nnew\n4\n").replace("16\n17\n", "16\nseventeen\n");
        let parts = "--- a\n+++ b\n@@ -1,6 +1,7 @@\n 1\n 2\n 3\n+new\n 4\n 5\n 6\n@@ -14,7 +15,7 @@\n 14\n 15\n 16\n-17\n\
                     +seventeen\n 18\n 19\n 20\n";
        assert_eq!(unified(&before, &after, Some(["a", "b"])), parts);
        // Seven lines between two changes are too many for one part, six are not.
        let close = before.replace("3\n", "x\n").replace("\n10\n", "\ny\n");
        assert_eq!(unified(&before, &close, None).matches("@@ -").count(), 1);
    }

    #[test]
    fn the_ends_of_texts_are_told() {
        assert_eq!(unified("a\n", "a\n", Some(["a", "b"])), "");
        assert_eq!(unified("", "a\nb\n", None), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("a\nb\n", "", None), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        let marked = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        assert_eq!(unified("a", "b\n", None), marked);
    }

    #[test]
    fn what_was_inserted_twice_is_at_its_last_place() {
        let diff = unified("{\n  a\n}\n", "{\n  a\n}\n{\n  a\n}\n", None);
        assert_eq!(diff, "@@ -1,3 +1,6 @@\n {\n   a\n }\n+{\n+  a\n+}\n");
    }
}
