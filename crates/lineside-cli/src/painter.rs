//! Text from anywhere on its way to a person or into a line of JSON: an invisible character is written as its escape.
//!
//! Names, reasons, paths and messages come from files, hooks and events. Raw, they could move the cursor, turn the
//! direction of the line, or hide a part of it. Every text that this program has not written itself goes through here.

use lineside::core::context::is_unseen;
use serde::Serialize;

/// The text on one line and harmless: line breaks, tabs and invisible characters are shown as their escapes.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => line.extend(char.escape_default()),
            _ => push_seen(&mut line, char),
        }
    }
    line
}

/// The text on one line as it is read in passing: line breaks and tabs become blanks, the rest as in [`one_line`].
pub(crate) fn in_passing(text: &str) -> String {
    let text = text.trim_end();
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => line.push(' '),
            _ => push_seen(&mut line, char),
        }
    }
    line
}

fn push_seen(line: &mut String, char: char) {
    if char.is_control() || is_unseen(char) {
        line.extend(char.escape_default());
    } else {
        line.push(char);
    }
}

/// A value as one line of JSON, with its end. An invisible character stands in it as `\u…`, which JSON reads as itself.
///
/// # Errors
/// None that are known: what this program prints can be written as JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, lineside::json::Error> {
    let text = lineside::json::to_string(value)?;
    let mut line = String::with_capacity(text.len() + 1);
    for char in text.chars() {
        // Outside of strings JSON is ASCII without controls, so each of these stands in a string.
        if char.is_control() || is_unseen(char) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            line.push(char);
        }
    }
    line.push('\n');
    Ok(line)
}

/// A line of this program in ASCII, for terminals that show nothing else. Its own signs keep their width.
pub(crate) fn in_ascii(line: &str) -> String {
    let mut ascii = String::with_capacity(line.len());
    for char in line.chars() {
        match char {
            '✓' => ascii.push('+'),
            '●' => ascii.push('*'),
            '·' => ascii.push('.'),
            '▸' | '›' => ascii.push('>'),
            '↓' => ascii.push('v'),
            '↑' => ascii.push('^'),
            '✗' => ascii.push('x'),
            '…' => ascii.push('~'),
            '–' | '—' | '─' | '┄' => ascii.push('-'),
            '├' | '│' => ascii.push('|'),
            '└' | '╰' => ascii.push('`'),
            '┬' => ascii.push('+'),
            '→' => ascii.push('>'),
            '⋮' => ascii.push(':'),
            '“' | '”' => ascii.push('"'),
            // The bars of a sparkline.
            '▁' => ascii.push('_'),
            '▂' | '▃' | '▄' => ascii.push('.'),
            '▅' | '▆' | '▇' | '█' => ascii.push('#'),
            char if char.is_ascii() => ascii.push(char),
            char => ascii.extend(char.escape_default()),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_cannot_move_the_cursor_or_hide() {
        assert_eq!(one_line("a\x1b[2Jb\nc\tdé"), "a\\u{1b}[2Jb\\nc\\tdé");
        assert_eq!(
            one_line("r\u{202e}x\u{200b}y\u{2028}z\u{9b}\u{feff}\u{e0041}"),
            "r\\u{202e}x\\u{200b}y\\u{2028}z\\u{9b}\\u{feff}\\u{e0041}"
        );
        assert_eq!(in_passing("a\n b\x1b\u{2066} \n"), "a  b\\u{1b}\\u{2066}");
    }

    #[test]
    fn a_line_of_json_is_read_back_as_it_was() {
        for text in ["a\u{202e}b\u{85}\u{7f}\u{2028}\u{e0041}\n", "é ✓ 🦀 \"\\"] {
            let line = json_line(&lineside::json::json!({ text: [text] })).unwrap();
            assert!(!line.trim_end().chars().any(|char| char.is_control() || is_unseen(char)), "{line}");
            let read: lineside::json::Value = lineside::json::from_str(&line).unwrap();
            assert_eq!(read, lineside::json::json!({ text: [text] }));
        }
    }

    #[test]
    fn ascii_is_ascii_and_as_wide() {
        assert_eq!(in_ascii("✓ └ a… – “é”"), "+ ` a~ - \"\\u{e9}\"");
    }
}
