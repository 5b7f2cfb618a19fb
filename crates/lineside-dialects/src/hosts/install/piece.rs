//! A settings file as a tree whose values know which bytes they are: JSON with comments and trailing commas, or TOML.
//!
//! Values that no entry of ours is made of are kept as they are spelt. A file that cannot be read gives an error with
//! its line, and is left alone.

use std::ops::Range;
use std::path::PathBuf;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::super::import::Syntax;
use super::super::program::Host;
#[cfg(feature = "toml")]
use super::toml_piece::toml;

/// A value and its bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    /// Its bytes; those of a table of TOML are its heading alone.
    pub(super) span: Range<usize>,
    /// What it is.
    pub(super) content: Content,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// An object, its members in order.
    Object(Vec<Member>),
    /// A list.
    List(Vec<Piece>),
    /// A text.
    Text(String),
    /// Anything else, as it is spelt.
    Other(String),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// Its name.
    pub(super) key: String,
    /// The bytes of its name and its value, and of what stands between.
    pub(super) span: Range<usize>,
    /// Its value.
    pub(super) value: Piece,
}

/// Why a settings file cannot be edited. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It is not what it should be.
    #[error("line {line}: {detail}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        detail: String,
    },
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
    /// A part of it has another shape than the host reads.
    #[error("`{part}` has the wrong shape: it must be {must}")]
    Shape {
        /// The part.
        part: String,
        /// What it must be.
        must: &'static str,
    },
    /// We can read it, and its program takes nothing from it.
    #[error("line {line}: {detail}; {} rejects such a file and would run no hook of it: change that, then install again", host.title())]
    Rejected {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        detail: String,
        /// The program.
        host: Host,
    },
    /// A key occurs twice, and programs differ in which of them counts.
    #[error("the key `{key}` occurs twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// Its owner has taken the right to write it away, and an exchange of the file would not heed that.
    #[error("it is read-only; if it may be changed: chmod u+w {}", file.display())]
    ReadOnly {
        /// The file, without links.
        file: PathBuf,
    },
    /// Another file stands where a plugin of ours belongs, or it was changed.
    #[error("it is not the plugin that lineside wrote; look at it, and remove it by hand")]
    Foreign,
    /// The edit would have changed something else; that is an error of this program.
    #[error("the edit would change more than the entries of lineside")]
    Unsafe,
}

impl Piece {
    /// The member of that name.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The text under that name.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.member(key)?.value.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members; none of what is no object.
    pub(super) fn members(&self) -> &[Member] {
        match &self.content {
            Content::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements; none of what is no list.
    pub(super) fn elements(&self) -> &[Piece] {
        match &self.content {
            Content::List(elements) => elements,
            _ => &[],
        }
    }
}

/// Reads a file.
///
/// # Errors
/// It is not what it should be, an object at its top.
pub(super) fn read(text: &str, syntax: Syntax) -> Result<Piece, EditError> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let body = &text[start..];
    let root = match syntax {
        Syntax::Json => json(body, start)?,
        Syntax::Toml => toml(body, start)?,
    };
    match root.content {
        Content::Object(_) => Ok(root),
        _ => Err(EditError::Shape { part: "the file".to_owned(), must: "an object" }),
    }
}

/// Whether a file of JSON has a comma behind the last item of a list or an object, which not every program passes over.
pub(super) fn has_trailing_commas(text: &str) -> bool {
    let body = text.trim_start_matches('\u{feff}');
    parse_to_ast(body, &CollectOptions::default(), &options(true, false)).is_err()
}

/// JSON and nothing else, but for comments, and commas behind the last item, where they are allowed.
pub(super) fn options(allow_comments: bool, allow_trailing_commas: bool) -> ParseOptions {
    ParseOptions {
        allow_comments,
        allow_trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn json(text: &str, start: usize) -> Result<Piece, EditError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options(true, true));
    let parsed = parsed.map_err(|error| EditError::Syntax {
        line: line(text, error.range().start),
        detail: format!("it is not JSON: {}", error.kind()),
    })?;
    match parsed.value {
        Some(value) => json_piece(&value, text, start),
        None => Err(EditError::Syntax { line: 1, detail: "it is not JSON: it is empty".to_owned() }),
    }
}

fn json_piece(value: &ast::Value<'_>, text: &str, start: usize) -> Result<Piece, EditError> {
    let span = |range: jsonc_parser::common::Range| range.start + start..range.end + start;
    let content = match value {
        ast::Value::Object(object) => {
            let mut members: Vec<Member> = Vec::with_capacity(object.properties.len());
            for property in &object.properties {
                let key = property.name.as_str().to_owned();
                if members.iter().any(|known| known.key == key) {
                    return Err(EditError::Twice { key });
                }
                let value = json_piece(&property.value, text, start)?;
                members.push(Member { key, span: span(property.range), value });
            }
            Content::Object(members)
        }
        ast::Value::Array(array) => {
            let elements = array.elements.iter().map(|element| json_piece(element, text, start));
            Content::List(elements.collect::<Result<_, _>>()?)
        }
        ast::Value::StringLit(literal) => Content::Text(literal.value.to_string()),
        other => Content::Other(other.text(text).to_owned()),
    };
    Ok(Piece { span: span(value.range()), content })
}

#[cfg(not(feature = "toml"))]
fn toml(_: &str, _: usize) -> Result<Piece, EditError> {
    Err(EditError::Syntax { line: 1, detail: "this build reads no TOML".to_owned() })
}

/// The line of a byte, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
