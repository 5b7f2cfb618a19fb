//! How a `HOOK.md` is read (AH-7 to AH-9), and in which words it is refused (AH-14).

use crate::broken::{IsGuard, ON_FAILURE};
use crate::frontmatter;
use crate::source::Syntax;
use crate::yaml::{self, UnknownEscapes};

/// The largest `HOOK.md`, in bytes.
const LARGEST: usize = 1_048_576;

/// A mapping between the first two lines of hyphens, in a file of at most 1 MiB.
pub(super) const SYNTAX: Syntax = Syntax {
    largest: LARGEST,
    too_large: "HOOK.md is larger than 1048576 bytes",
    larger: IsGuard(true),
    unreadable: "HOOK.md cannot be read: {why}",
    not_utf8: "HOOK.md is not valid UTF-8",
    parse: |text, findings| {
        let (text, first_line) = frontmatter::split(text).map_err(|error| (1, error.to_string()))?;
        let document = yaml::read(text, first_line, UnknownEscapes::Keep)
            .map_err(|error| (error.line, format!("Invalid YAML in frontmatter: {error}")))?;
        for kept in &document.kept {
            let escape = format!(
                "'\\{0}' in a double-quoted string is read as it stands; use single quotes or '\\\\{0}'",
                kept.character
            );
            findings.warning(kept.line, format_args!("unknown escape {escape}"));
        }
        Ok(document)
    },
    no_mapping: "HOOK.md frontmatter must be a YAML mapping",
    guard: ON_FAILURE,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{LARGEST, SYNTAX};
    use crate::findings::Findings;
    use crate::source::draft;

    #[test]
    fn what_cannot_be_read_is_told() {
        // AH-14: E3, E4, E16
        let check = |bytes: &[u8], expected: &str| {
            let error = draft(bytes, &SYNTAX, &mut Findings::about(Path::new("/h/HOOK.md"))).unwrap_err().1;
            assert!(error.starts_with(expected), "{error}");
        };
        check(b"---\n\xff\n---\n", "HOOK.md is not valid UTF-8");
        check(&vec![b' '; LARGEST + 1], "HOOK.md is larger than 1048576 bytes");
        check(b"---\n---\n", "HOOK.md frontmatter must be a YAML mapping");
        check(b"---\n- a\n---\n", "HOOK.md frontmatter must be a YAML mapping");
        check(b"---\na: b: c\n---\n", "Invalid YAML in frontmatter: ");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_draft_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut findings = Findings::about(Path::new("/h/HOOK.md"));
            let _draft = draft(&[b"---\n", bytes.as_slice(), b"\n---\n"].concat(), &SYNTAX, &mut findings);
        }
    }
}
