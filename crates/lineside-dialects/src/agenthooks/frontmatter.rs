//! `HOOK.md` to a mapping of YAML nodes (AH-7 to AH-9).

use std::path::Path;

use lineside_files::Boundary;

use super::findings::{Findings, HookWarning, LoadHookError};
use super::guard::IsGuard;
use crate::broken::ON_FAILURE;
use crate::yaml::{self, Content, DuplicateKey, Node, UnknownEscapes};

/// The largest `HOOK.md`, in bytes.
const LARGEST: usize = 1_048_576;

/// A frontmatter that is a mapping, its fields unread.
#[derive(Debug)]
pub(super) struct Draft {
    /// The keys and their values, in order.
    pub(super) entries: Vec<(Node, Node)>,
    /// Keys that occur twice, here or further down.
    pub(super) duplicates: Vec<DuplicateKey>,
}

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
    let (frontmatter, first_line) = split(text)?;
    let document = yaml::read(frontmatter, first_line, UnknownEscapes::Keep).map_err(LoadHookError::Yaml)?;
    for kept in &document.kept {
        findings.warning(kept.line, HookWarning::UnknownEscape(kept.character));
    }
    match document.root.content {
        Content::Mapping(entries) => Ok(Draft { entries, duplicates: document.duplicates }),
        _ => Err(LoadHookError::NoMapping),
    }
}

/// The text between the two lines of hyphens, and the number of its first line (AH-7).
fn split(text: &str) -> Result<(&str, u32), LoadHookError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut opened = None;
    for (line, number) in text.split_inclusive('\n').zip(1_u32..) {
        let start = at;
        at += line.len();
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        match opened {
            None if content.trim_matches([' ', '\t']).is_empty() => {}
            None if is_fence(content) => opened = Some((at, number + 1)),
            None => return Err(LoadHookError::NoFrontmatter),
            Some((from, first_line)) if is_fence(content) => {
                return Ok((text.get(from..start).unwrap_or_default(), first_line));
            }
            Some(_) => {}
        }
    }
    Err(match opened {
        None => LoadHookError::NoFrontmatter,
        Some(_) => LoadHookError::Unclosed,
    })
}

fn is_fence(line: &str) -> bool {
    let hyphens = line.trim_end_matches([' ', '\t']);
    hyphens.len() >= 3 && hyphens.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{Findings, LARGEST, draft, split};

    fn check(text: &str, expected: Result<(&str, u32), &str>) {
        let got = split(text).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{text:?}");
    }

    #[test]
    fn the_frontmatter_stands_between_two_lines_of_hyphens() {
        // AH-7, E1, E2
        let none = Err("HOOK.md must start with YAML frontmatter (---)");
        let open = Err("HOOK.md frontmatter not properly closed with ---");
        check("---\na: b\n---\nrest", Ok(("a: b\n", 2)));
        check("\u{feff}---\r\na: b\r\n---\r\n", Ok(("a: b\r\n", 2)));
        check("\n \t\n-----\t \na\n --- \n------\n---", Ok(("a\n --- \n", 4)));
        check("---\na: ---\n--- b\n---", Ok(("a: ---\n--- b\n", 2)));
        check("---\n---", Ok(("", 2)));
        for text in ["", "\n\n", "# x", "--\na\n--", " ---\na\n---", "---a\n---", "\u{b}\n---\n---"] {
            check(text, none);
        }
        check("---", open);
        check("---\na\n ---\n", open);
    }

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
