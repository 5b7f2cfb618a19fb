//! A file of a host to the values in it: JSON, JSON with comments, or TOML, each value with its line.

use std::fs;
use std::path::{Path, PathBuf};

use lineside_core::Layer;
use lineside_files::{Boundary, OpenFileError, read_if_there};

#[cfg(feature = "toml")]
use super::toml_source::toml;
use crate::dialect::CONFIGURATION as LONGEST;
use crate::lined_json;
use crate::text;
use crate::tree::Node;

/// A file in which a host looks for hooks.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its name in the names of hooks.
    pub(crate) label: String,
    /// Where it is.
    pub(crate) file: PathBuf,
    /// Its layer.
    pub(crate) layer: Layer,
    /// How it is written.
    pub(crate) syntax: Syntax,
    /// Whether what is wrong with one of its hooks costs all of them.
    pub(crate) is_strict: bool,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, with comments and commas at the end of lists.
    Json,
    /// TOML.
    Toml,
}

/// A file that is there and has no values to give.
#[derive(Debug)]
pub(crate) struct Unread {
    /// The line of the error.
    pub(crate) line: u32,
    /// What is wrong.
    pub(crate) error: String,
    /// What stands in it; `None` where that cannot be known.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Source {
    /// A file of JSON.
    pub(crate) fn json(label: impl Into<String>, file: PathBuf, layer: Layer) -> Self {
        Self { label: label.into(), file, layer, syntax: Syntax::Json, is_strict: false }
    }

    /// A file of TOML.
    pub(crate) fn toml(label: impl Into<String>, file: PathBuf, layer: Layer) -> Self {
        Self { syntax: Syntax::Toml, ..Self::json(label, file, layer) }
    }

    /// What stands in the file; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be opened, is too long, or is not what it should be.
    pub(crate) fn read(&self, boundary: Boundary<'_>) -> Option<Result<Node, Unread>> {
        let bytes = read_if_there(&self.file, boundary, LONGEST)?;
        Some(self.node(bytes))
    }

    fn node(&self, bytes: Result<Vec<u8>, OpenFileError>) -> Result<Node, Unread> {
        let unseen = |error: String| Unread { line: 1, error, bytes: None };
        let bytes = bytes.map_err(|error| unseen(error.to_string()))?;
        if bytes.len() > LONGEST {
            return Err(unseen(format!("it is larger than {LONGEST} bytes")));
        }
        self.parse(&bytes).map_err(|(line, error)| Unread { line, error, bytes: Some(bytes) })
    }

    fn parse(&self, bytes: &[u8]) -> Result<Node, (u32, String)> {
        let text = text::of_file(bytes).ok_or_else(|| (1, "it is not UTF-8".to_owned()))?;
        match self.syntax {
            Syntax::Json => json(text),
            Syntax::Toml => toml(text),
        }
    }
}

/// What is in a folder, in byte order; nothing where it cannot be read.
pub(crate) fn within(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

fn json(text: &str) -> Result<Node, (u32, String)> {
    match lined_json::read(&plain(text)) {
        Ok(document) => Ok(document.root),
        Err(error) => Err((lined_json::line_of(&error), format!("it is not JSON: {}", error.detail()))),
    }
}

/// The text without comments and without commas at the end of lists; its lines stay where they are.
fn plain(text: &str) -> String {
    let mut plain: Vec<u8> = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while let Some(&byte) = plain.get(at) {
        match byte {
            b'"' => {
                comma = None;
                at += 1;
                while let Some(&inner) = plain.get(at) {
                    match inner {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                    at += 1;
                }
            }
            b'/' if matches!(plain.get(at + 1), Some(b'/' | b'*')) => {
                let is_block = plain.get(at + 1) == Some(&b'*');
                let end = end_of_comment(&plain, at, is_block);
                for byte in
                    plain.iter_mut().take(end).skip(at).filter(|byte| !matches!(**byte, b'\n' | b'\r'))
                {
                    *byte = b' ';
                }
                at = end.saturating_sub(1);
            }
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only bytes of ASCII were put in the place of whole comments.
    String::from_utf8(plain).unwrap_or_default()
}

fn end_of_comment(text: &[u8], start: usize, is_block: bool) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = if is_block {
        rest.windows(2).skip(2).position(|pair| pair == b"*/").map(|at| at + 4)
    } else {
        rest.iter().position(|byte| *byte == b'\n')
    };
    start + length.unwrap_or(rest.len())
}

#[cfg(not(feature = "toml"))]
fn toml(_: &str) -> Result<Node, (u32, String)> {
    Err((1, "this build reads no TOML".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn comments_and_last_commas_are_passed_over_and_lines_stay() {
        let text = "{ // a\n \"b\": [1, 2, /* c\n */ ], \"u\": \"http://x, ]\",\n}";
        let plain = plain(text);
        assert_eq!(plain.lines().count(), text.lines().count());
        let value: lineside_core::json::Value = lineside_core::json::from_str(&plain).unwrap();
        assert_eq!(value, lineside_core::json::json!({"b": [1, 2], "u": "http://x, ]"}));
    }

    #[test]
    fn what_looks_like_a_comment_or_a_last_comma_and_is_none_stays() {
        for (text, expected) in [
            (r#"["a\"//b", 1]"#, r#"["a\"//b", 1]"#),
            (r#"["a\\", // c"#, r#"["a\\",     "#),
            ("[1, /**/ 2]", "[1,      2]"),
            ("[1,/*/ ]*/]", "[1        ]"),
            ("[1, \n\t\r]", "[1  \n\t\r]"),
            ("[1, \"\"]", "[1, \"\"]"),
            ("[1, x]", "[1, x]"),
            ("[{\"a\": 1,},]", "[{\"a\": 1 } ]"),
            ("[1 / 2]", "[1 / 2]"),
            ("[1] // é\r\n", "[1]      \r\n"),
            ("[1] /*", "[1]   "),
            ("[1] /", "[1] /"),
            ("[1, , ]", "[1,   ]"),
            ("\"a", "\"a"),
            ("\"a\\", "\"a\\"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
