//! The bytes of a `HOOK.yaml` to a mapping of YAML nodes (JC-7).

use std::path::Path;

use lineside_files::Boundary;

use super::findings::{Findings, LoadHookError};
use super::guard::{self, IsGuard};
use crate::text;
use crate::yaml::{self, Draft, UnknownEscapes};

/// The largest file, in bytes.
const LARGEST: usize = 1_048_576;

/// Reads a file; what keeps it from being read goes to the findings.
///
/// # Errors
/// Whether the file may have been a guard, although it cannot be read.
pub(super) fn read(file: &Path, boundary: Boundary<'_>, findings: &mut Findings) -> Result<Draft, IsGuard> {
    let bytes = match lineside_files::read(file, boundary, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) => {
            findings.error(1, LoadHookError::Unreadable(error.to_string()));
            return Err(IsGuard(true));
        }
    };
    draft(&bytes).map_err(|error| {
        let line = match &error {
            LoadHookError::Yaml(error) => error.line,
            _ => 1,
        };
        findings.error(line, error);
        IsGuard(guard::WORDS.are_in(&bytes))
    })
}

/// A mapping from the bytes of a file.
pub(super) fn draft(bytes: &[u8]) -> Result<Draft, LoadHookError> {
    if bytes.len() > LARGEST {
        return Err(LoadHookError::TooLarge);
    }
    let text = text::of_file(bytes).ok_or(LoadHookError::NotUtf8)?;
    let document = yaml::read(text, 1, UnknownEscapes::Refuse).map_err(LoadHookError::Yaml)?;
    document.into_draft().ok_or(LoadHookError::NoMapping)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LARGEST, draft};

    #[test]
    fn what_cannot_be_read_is_told() {
        // JC-7, JC-10: E1, E2, E13
        let check = |bytes: &[u8], expected: &str| {
            let error = draft(bytes).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
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
