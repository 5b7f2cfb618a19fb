//! YAML 1.2 in the core schema, with what a good diagnostic needs: lines, duplicate keys, and escapes that YAML does
//! not have.
//!
//! The text is one document, or the first one of several. Its size, depth and number of nodes are bounded, aliases
//! included. What a value should be is asked elsewhere.

mod build;
mod escapes;
mod merge;
mod scalar;
mod value;

pub(crate) use crate::tree::{Content, DuplicateKey, MOST_NODES, Node};
pub(crate) use scalar::decimal;
pub(crate) use value::node_value;
pub use value::yaml_value;

use granit_parser::{ErrorKind, Parser, ScanError, options};

/// The longest text that is read, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;
/// The deepest nesting.
pub(crate) const DEEPEST: usize = 64;
/// How many bytes of a text count as a value: one behind an alias is copied.
const OF_VALUE: usize = 64;

/// How many bytes may be read anew because of unknown escapes.
const REREAD: usize = 16 << 20;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// Its value; null when it is empty.
    pub(crate) root: Node,
    /// Keys that a mapping has more than once: each but the first, in the order of the text.
    pub(crate) duplicates: Vec<DuplicateKey>,
    /// Escapes that YAML does not have and that were kept: the first of each scalar, in the order of the text.
    pub(crate) kept: Vec<KeptEscape>,
}

/// A document that is a mapping, its fields unread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    /// The keys and their values, in order.
    pub(crate) entries: Vec<(Node, Node)>,
    /// Keys that occur twice, here or further down.
    pub(crate) duplicates: Vec<DuplicateKey>,
}

/// An escape that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptEscape {
    /// The line of its scalar.
    pub(crate) line: u32,
    /// The character after the backslash.
    pub(crate) character: char,
}

/// How many documents a text may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    /// More than one is an error.
    One,
    /// What follows the first is not looked at.
    First,
}

/// What becomes of a backslash in double quotes that does not begin an escape of YAML 1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownEscapes {
    /// It is an error, as YAML says.
    Refuse,
    /// It stays, with the character after it.
    Keep,
}

impl Document {
    /// The mapping that it is; `None` when it is something else.
    #[must_use]
    pub(crate) fn into_draft(self) -> Option<Draft> {
        match self.root.content {
            Content::Mapping(entries) => Some(Draft { entries, duplicates: self.duplicates }),
            _ => None,
        }
    }
}

impl Node {
    /// The text of a double-quoted scalar with the escape `\<character>` left as it is written; `None` where the
    /// scalar is of another style or has no such escape.
    #[must_use]
    pub(crate) fn text_keeping(&self, character: char) -> Option<String> {
        let quoted = self.quoted.as_deref()?;
        let rewritten = escapes::keep(quoted, 0, &|escape| escape == character)?;
        let document = read(&rewritten.text, 1, UnknownEscapes::Keep).ok()?;
        match document.root.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a document whose first line has the number `first_line`.
///
/// # Errors
/// What is not one YAML document within the bounds. The error has the line where reading stopped.
pub(crate) fn read(text: &str, first_line: u32, unknown: UnknownEscapes) -> Result<Document, ReadYamlError> {
    read_documents(text, first_line, unknown, Documents::One)
}

/// Reads the first document of a file; what follows it is not looked at.
///
/// # Errors
/// What is not a YAML document within the bounds. The error has the line where reading stopped.
pub(crate) fn read_first(text: &str, unknown: UnknownEscapes) -> Result<Document, ReadYamlError> {
    read_documents(text, 1, unknown, Documents::First)
}

fn read_documents(
    text: &str,
    first_line: u32,
    unknown: UnknownEscapes,
    documents: Documents,
) -> Result<Document, ReadYamlError> {
    if text.len() > LONGEST {
        return Err(ReadYamlError::new("longer than 1048576 bytes", first_line));
    }
    let mut text = text.to_owned();
    let mut kept = Vec::new();
    let mut spent = 0_usize;
    // Where an escape is unknown, its scalar is rewritten and the text is read again from the start: only the YAML
    // reader itself knows where a double quote begins a scalar.
    loop {
        let error = match events(&text, first_line, documents) {
            Ok(mut document) => {
                document.kept = kept;
                return Ok(document);
            }
            Err(error) => error,
        };
        let at = match &error {
            BuildError::Scan(error) if unknown == UnknownEscapes::Keep && is_unknown_escape(error.kind()) => {
                error.marker().byte_offset()
            }
            _ => None,
        };
        let Some(rewritten) = at.and_then(|at| escapes::keep_unknown(&text, at)) else {
            return Err(error.into_public(first_line));
        };
        spent += text.len();
        if spent > REREAD {
            return Err(ReadYamlError::new("too many unknown escapes", first_line));
        }
        kept.push(KeptEscape {
            line: match &error {
                BuildError::Scan(error) => absolute(error.marker().line(), first_line),
                BuildError::Bound(_, line) => *line,
            },
            character: rewritten.first,
        });
        text = rewritten.text;
    }
}

fn events(text: &str, first_line: u32, documents: Documents) -> Result<Document, BuildError> {
    let options = options! {
        emit_comments: false,
        flow_nesting_limit: DEEPEST,
        block_nesting_limit: DEEPEST,
    };
    build::build(text, Parser::new_from_str_with_options(text, options), first_line, documents)
}

fn is_unknown_escape(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnknownQuotedScalarEscape
            | ErrorKind::InvalidQuotedScalarHexEscape
            | ErrorKind::InvalidLowSurrogateHexEscape
    )
}

fn absolute(line: usize, first_line: u32) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX).saturating_add(first_line).saturating_sub(1)
}

enum BuildError {
    Scan(ScanError),
    Bound(&'static str, u32),
}

impl BuildError {
    fn into_public(self, first_line: u32) -> ReadYamlError {
        match self {
            Self::Scan(error) => {
                ReadYamlError::new(error.kind().to_string(), absolute(error.marker().line(), first_line))
            }
            Self::Bound(problem, line) => ReadYamlError::new(problem, line),
        }
    }
}

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ReadYamlError {
    /// What is wrong.
    pub detail: String,
    /// The line where reading stopped, from 1.
    pub line: u32,
}

impl ReadYamlError {
    fn new(detail: impl Into<String>, line: u32) -> Self {
        Self { detail: detail.into(), line }
    }
}

#[cfg(test)]
mod tests;
