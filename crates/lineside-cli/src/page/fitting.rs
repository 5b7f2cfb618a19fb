//! Width: text that is cut and wrapped. It knows nothing of hooks.
//!
//! Widths count characters; whatever the demo prints is one column wide each.

use crate::painter::in_passing;

/// The text in at most so many columns; what is cut off is marked.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The text in exactly so many columns, filled with blanks on the right.
pub(crate) fn column(text: &str, columns: usize) -> String {
    format!("{:<columns$}", cut(text, columns))
}

/// The text broken between words into lines of at most so many columns, at most `lines` of them; the last one is cut
/// where there would be more.
pub(crate) fn wrapped(text: &str, columns: usize, lines: usize) -> Vec<String> {
    let mut broken = vec![String::new()];
    for word in in_passing(text).split_whitespace() {
        let open = broken.len() < lines;
        let Some(line) = broken.last_mut() else { continue };
        let longer = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if longer <= columns || !open {
            line.push(' ');
            line.push_str(word);
        } else {
            broken.push(word.to_owned());
        }
    }
    broken.iter().map(|line| cut(line, columns)).collect()
}

/// The text in at most three lines, where its last line says most, as in what a program leaves behind when it fails: the
/// beginning, and the last line of the text after it.
pub(crate) fn ends(text: &str, columns: usize) -> Vec<String> {
    let whole = wrapped(text, columns, usize::MAX);
    let Some((_, last)) = text.trim_end().rsplit_once('\n').filter(|_| whole.len() > 3) else {
        return wrapped(text, columns, 3);
    };
    let mut lines: Vec<String> = whole.into_iter().take(1).collect();
    if let Some(first) = lines.first_mut() {
        *first = cut(&format!("{first} …"), columns);
    }
    lines.extend(wrapped(last, columns, 2));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_marked() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("abc def", 5), "abc…");
        assert_eq!(column("ab", 4), "ab  ");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7, 1), ["one tw…"]);
        assert_eq!(wrapped("one\ntwo three four", 8, 2), ["one two", "three f…"]);
        assert_eq!(wrapped("", 8, 2), [""]);
    }

    #[test]
    fn the_last_line_of_a_long_text_is_not_cut_off() {
        assert_eq!(ends("one two", 8), ["one two"]);
        assert_eq!(ends("one two three four five six", 9), ["one two", "three", "four fiv…"]);
        assert_eq!(ends("one\ntwo\nthree", 9), ["one two", "three"]);
        assert_eq!(ends("a trace\n  b\n  c d e f g\nError: it\n", 8), ["a trace…", "Error:", "it"]);
        assert_eq!(
            ends("a trace\n  b\n  c d e f g\nError: it is long\n", 8),
            ["a trace…", "Error:", "it is l…"]
        );
    }
}
