//! Texts as a person is shown them: quoted, cut, and from where they part.

/// How much of a text is shown.
const SHOWN: usize = 600;

/// A text in quotes on one line, cut where it is too long to be read.
pub(super) fn shown(text: &str) -> String {
    let mut quoted = lineside::json::Value::from(text).to_string();
    if let Some((at, _)) = quoted.char_indices().nth(SHOWN) {
        quoted.truncate(at);
        quoted.push_str(&format!("… ({} bytes)", text.len()));
    }
    quoted
}

/// Two texts that should be equal, each shown from a little before the place where they part.
pub(super) fn parted(expected: &str, got: &str) -> (String, String) {
    /// How much is shown before that place.
    const BEFORE: usize = 60;
    let same = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    if expected.chars().count().max(got.chars().count()) <= SHOWN || same <= BEFORE {
        return (shown(expected), shown(got));
    }
    let tail = |text: &str| {
        let tail: String = text.chars().skip(same - BEFORE).collect();
        format!("…{} (from character {})", shown(&tail), same - BEFORE + 1)
    };
    (tail(expected), tail(got))
}

#[cfg(test)]
mod tests {
    use super::{parted, shown};

    #[test]
    fn long_texts_are_cut_and_long_differences_are_found() {
        assert_eq!(shown("a\n\"é"), r#""a\n\"é""#);
        assert!(shown(&"x".repeat(1000)).ends_with("x… (1000 bytes)"));
        let (expected, got) = parted(&format!("{}a", "x".repeat(1000)), &format!("{}b", "x".repeat(1000)));
        assert!(expected.ends_with("xa\" (from character 941)"), "{expected}");
        assert!(got.ends_with("xb\" (from character 941)"), "{got}");
    }
}
