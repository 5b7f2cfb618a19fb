//! A settings file in TOML as a tree.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::piece::{Content, EditError, Member, Piece, line};
use crate::toml_text;

/// The tree of a text of TOML, whose first byte has this place in its file.
///
/// # Errors
/// It is not TOML.
pub(super) fn toml(text: &str, start: usize) -> Result<Piece, EditError> {
    let table =
        toml_text::read(text).map_err(|(at, detail)| EditError::Syntax { line: line(text, at), detail })?;
    let content = toml_table(table.get_ref(), start);
    Ok(Piece { span: start..start + text.len(), content })
}

fn toml_table(table: &DeTable<'_>, start: usize) -> Content {
    let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Member {
        key: key.get_ref().to_string(),
        span: key.span().start.min(value.span().start) + start..value.span().end + start,
        value: toml_piece(value, start),
    };
    Content::Object(table.iter().map(member).collect())
}

fn toml_piece(value: &Spanned<DeValue<'_>>, start: usize) -> Piece {
    let content = match value.get_ref() {
        DeValue::Array(items) => Content::List(items.iter().map(|item| toml_piece(item, start)).collect()),
        DeValue::Table(table) => toml_table(table, start),
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Boolean(value) => Content::Other(value.to_string()),
        DeValue::Integer(number) => Content::Other(number.to_string()),
        DeValue::Float(number) => Content::Other(number.to_string()),
        DeValue::Datetime(time) => Content::Other(time.to_string()),
    };
    Piece { span: value.span().start + start..value.span().end + start, content }
}
