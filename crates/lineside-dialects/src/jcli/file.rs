//! How a `HOOK.yaml` is read (JC-7), and in which words it is refused (JC-10).

use super::guard::WORDS;
use crate::broken::IsGuard;
use crate::source::Syntax;
use crate::yaml::{self, UnknownEscapes};

/// The largest file, in bytes.
const LARGEST: usize = 1_048_576;

/// One document of at most 1 MiB that is a mapping.
pub(super) const SYNTAX: Syntax = Syntax {
    largest: LARGEST,
    too_large: "larger than 1048576 bytes",
    larger: IsGuard(false),
    unreadable: "cannot be read: {why}",
    not_utf8: "not valid UTF-8",
    parse: |text, _| {
        yaml::read(text.strip_prefix('\u{feff}').unwrap_or(text), 1, UnknownEscapes::Refuse)
            .map_err(|error| (error.line, format!("Invalid YAML: {error}")))
    },
    no_mapping: "The file must be a YAML mapping",
    guard: WORDS,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{LARGEST, SYNTAX};
    use crate::findings::Findings;
    use crate::source;
    use crate::yaml::Draft;

    fn draft(bytes: &[u8]) -> Result<Draft, String> {
        let mut findings = Findings::about(Path::new("/h/HOOK.yaml"));
        source::draft(bytes, &SYNTAX, &mut findings).map_err(|(_, error)| error)
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        // JC-7, JC-10: E1, E2, E13
        let check = |bytes: &[u8], expected: &str| {
            let error = draft(bytes).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        check(b"a: \xff\n", "not valid UTF-8");
        check(&vec![b' '; LARGEST + 1], "larger than 1048576 bytes");
        for no_mapping in ["", "- a\n", "text", "\u{feff}# c\r\n"] {
            check(no_mapping.as_bytes(), "The file must be a YAML mapping");
        }
        for no_yaml in ["a: b: c\n", "a: \"\\.\"\n", "a: 1\n---\nb: 2\n", "a: [\n"] {
            check(no_yaml.as_bytes(), "Invalid YAML: ");
        }
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_are_no_part_of_the_text() {
        // JC-7
        let draft = draft("\u{feff}a: x\r\nb:\r\n  - y\r\n".as_bytes()).unwrap();
        let lines: Vec<_> = draft.entries.iter().map(|(key, _)| (key.text().unwrap(), key.line)).collect();
        assert_eq!(lines, [("a", 1), ("b", 2)]);
        assert_eq!(draft.entries[0].1.text(), Some("x"));
    }

    #[test]
    fn the_largest_file_is_read() {
        // JC-7
        let mut bytes = b"events: [stop]\n# ".to_vec();
        bytes.resize(LARGEST, b'x');
        assert_eq!(draft(&bytes).unwrap().entries.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_draft_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _draft = draft(&bytes);
        }
    }
}
