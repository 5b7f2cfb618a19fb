//! Texts that are cut, and texts that are put into one line.

/// Stands at the end of a text that was cut.
pub const TRUNCATED: &str = "… [truncated]";

/// The first `most` characters.
#[must_use]
pub fn first_characters(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The first `most` bytes, or up to three fewer so that no character is split.
#[must_use]
pub fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The text, or its first `most` characters and [`TRUNCATED`].
#[must_use]
pub fn truncated(text: &str, most: usize) -> String {
    let kept = first_characters(text, most);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}{TRUNCATED}") }
}

/// The text with each line break written as `\n`.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    text.replace("\r\n", "\\n").replace(['\n', '\r'], "\\n")
}

#[cfg(test)]
mod tests {
    use super::{first_bytes, first_characters, in_one_line, truncated};

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(first_characters("äöü", 2), "äö");
        assert_eq!(first_characters("äöü", 3), "äöü");
        assert_eq!(first_bytes("äöü", 3), "ä");
        assert_eq!(first_bytes("äöü", 99), "äöü");
        assert_eq!(truncated("äöü", 2), "äö… [truncated]");
        assert_eq!(truncated("äöü", 3), "äöü");
    }

    #[test]
    fn line_breaks_are_written_out() {
        assert_eq!(in_one_line("a\r\nb\n\nc\rd"), "a\\nb\\n\\nc\\nd");
    }
}
