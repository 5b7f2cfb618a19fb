//! The nearest right spelling of a wrong name.

/// The candidate with the smallest edit distance to `name`; of equals the first. `None` only without candidates.
///
/// ```
/// use lineside_core::nearest::nearest;
///
/// assert_eq!(nearest("contine", ["block", "continue", "ask"]), Some("continue"));
/// assert_eq!(nearest("block", []), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| edit_distance(name, candidate))
}

/// The nearest candidate if it is near enough to be what was meant: at most a third of the name away, or a part of it.
///
/// A name of fewer than three characters is a part of nothing.
///
/// ```
/// use lineside_core::nearest::suggestion;
///
/// let points = ["before_tool", "after_tool"];
/// assert_eq!(suggestion("befor_tool", points), Some("before_tool"));
/// assert_eq!(suggestion("x", points), None);
/// ```
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = nearest(name, candidates)?;
    let far = name.chars().count().max(best.chars().count()).div_ceil(3);
    let is_part = |part: &str, whole: &str| part.chars().count() >= 3 && whole.contains(part);
    (edit_distance(name, best) <= far || is_part(name, best) || is_part(best, name)).then_some(best)
}

/// How many characters have to be added, removed or replaced to turn one text into the other.
///
/// Names longer than 256 characters are compared by their first 256, which bounds the work.
///
/// ```
/// use lineside_core::nearest::edit_distance;
///
/// assert_eq!(edit_distance("before_tool", "before_tol"), 1);
/// ```
#[must_use]
pub fn edit_distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 256;
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().take(LONGEST).enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest, suggestion};

    #[test]
    fn distances() {
        for (a, b, distance) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("äö", "ao", 2)] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_name_is_proposed() {
        let names = ["before_tool", "after_tool", "before_stop"];
        assert_eq!(nearest("before_tools", names), Some("before_tool"));
        assert_eq!(suggestion("befor_stop", names), Some("before_stop"));
        assert_eq!(suggestion("xyzzy", names), None);
        assert_eq!(suggestion("tool", names), Some("after_tool"));
        for name in ["", "o", "be"] {
            assert_eq!(suggestion(name, names), None, "{name}");
        }
    }
}
