//! `HOOK.md` to a mapping of YAML nodes (AH-7 to AH-9).

use std::path::Path;

use lineside_files::Boundary;

use super::findings::{Findings, HookWarning, LoadHookError};
use super::guard::IsGuard;
use crate::broken::ON_FAILURE;
use crate::frontmatter;
use crate::yaml::{self, Draft, UnknownEscapes};

/// The largest `HOOK.md`, in bytes.
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
    draft(&bytes, findings).map_err(|error| {
        let line = match &error {
            LoadHookError::Yaml(error) => error.line,
            _ => 1,
        };
        findings.error(line, error);
        IsGuard(bytes.len() > LARGEST || ON_FAILURE.are_in(&bytes))
    })
}

/// A mapping from the bytes of a `HOOK.md`.
pub(super) fn draft(bytes: &[u8], findings: &mut Findings) -> Result<Draft, LoadHookError> {
    if bytes.len() > LARGEST {
        return Err(LoadHookError::TooLarge);
    }
    let text = str::from_utf8(bytes).map_err(|_| LoadHookError::NotUtf8)?;
    let (frontmatter, first_line) = frontmatter::split(text)?;
    let document = yaml::read(frontmatter, first_line, UnknownEscapes::Keep).map_err(LoadHookError::Yaml)?;
    for kept in &document.kept {
        findings.warning(kept.line, HookWarning::UnknownEscape(kept.character));
    }
    document.into_draft().ok_or(LoadHookError::NoMapping)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{Findings, LARGEST, draft};

    #[test]
    fn what_cannot_be_read_is_told() {
        // AH-14: E3, E4, E16
        let check = |bytes: &[u8], expected: &str| {
            let error = draft(bytes, &mut Findings::about(Path::new("/h/HOOK.md"))).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
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
            let _draft = draft(&[b"---\n", bytes.as_slice(), b"\n---\n"].concat(), &mut findings);
        }
    }
}
