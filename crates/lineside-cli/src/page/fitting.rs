//! Width: text that is cut and wrapped. It knows nothing of hooks.
//!
//! Widths count columns of a terminal; some characters are two wide, and some none.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::painter::{in_passing, one_line};

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most so many columns; what is cut off is marked.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |char: &char| {
        let wide = char.width().unwrap_or_default();
        let fits = wide <= room;
        room = if fits { room - wide } else { 0 };
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// The text in exactly so many columns, filled with blanks on the right.
pub(crate) fn column(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text + &" ".repeat(blanks)
}

/// The text broken between words into lines of at most so many columns, at most `lines` of them; the last one is cut
/// where there would be more.
pub(crate) fn wrapped(text: &str, columns: usize, lines: usize) -> Vec<String> {
    let mut broken = vec![String::new()];
    for word in in_passing(text).split_whitespace() {
        let open = broken.len() < lines;
        let Some(line) = broken.last_mut() else { continue };
        let longer = width(line) + 1 + width(word);
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

/// The whole text in lines of at most so many columns: a line ends where one of the text does, which is marked by its escape, and
/// where it is full, behind a blank if there is one.
pub(crate) fn whole(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut rest: Vec<char> = one_line(line).chars().collect();
        while rest.len() > columns {
            let blank = rest.iter().take(columns).rposition(|char| *char == ' ').map(|blank| blank + 1);
            let after = rest.split_off(blank.unwrap_or(columns).max(1));
            lines.push(rest.into_iter().collect());
            rest = after;
        }
        lines.push(rest.into_iter().collect());
    }
    if lines.is_empty() { vec![String::new()] } else { lines }
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
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(column("日本", 6), "日本  ");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7, 1), ["one tw…"]);
        assert_eq!(wrapped("one\ntwo three four", 8, 2), ["one two", "three f…"]);
        assert_eq!(wrapped("", 8, 2), [""]);
    }

    #[test]
    fn nothing_of_a_whole_text_is_left_out_and_its_line_breaks_are_seen() {
        assert_eq!(whole("one two  three\nfour\n", 8), ["one two ", " three\\n", "four\\n"]);
        assert_eq!(whole("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(whole("", 4), [""]);
        let long = "a b".repeat(10_000);
        assert_eq!(whole(&long, 70).concat(), long);
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
