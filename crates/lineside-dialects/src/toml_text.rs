//! TOML within bounds.
//!
//! Its reader bounds the levels of values and the parts of a key, and not both together: what walks through or lets go of
//! what was read calls itself for each of them.

use toml::Spanned;
use toml::de::DeTable;
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::tree::{MOST_NODES, TOO_MANY};

/// The deepest nesting, below the tables that have headers.
const DEEPEST: usize = 64;

/// Reads a text.
///
/// # Errors
/// It is not TOML, is deeper, or has more values than are read; with the byte at which that is.
pub(crate) fn read(text: &str) -> Result<Spanned<DeTable<'_>>, (usize, String)> {
    bounded(text)?;
    DeTable::parse(text).map_err(|error| {
        (error.span().map_or(0, |span| span.start), format!("it is not TOML: {}", error.message()))
    })
}

/// Counts brackets and dots as levels, and with commas and signs of equality as values, which are no more than these.
fn bounded(text: &str) -> Result<(), (usize, String)> {
    let (mut values, mut level) = (0, 0);
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    for token in Source::new(text).lex() {
        let mut close = |kind| match open.last() {
            Some((last, outer)) if *last == kind => {
                level = *outer;
                open.pop();
            }
            _ => {}
        };
        match token.kind() {
            TokenKind::RightSquareBracket => close(TokenKind::LeftSquareBracket),
            TokenKind::RightCurlyBracket => close(TokenKind::LeftCurlyBracket),
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                open.push((kind, level));
                (values, level) = (values + 1, level + 1);
            }
            TokenKind::Dot => (values, level) = (values + 1, level + 1),
            TokenKind::Comma => {
                (values, level) = (values + 1, open.last().map_or(level, |(_, outer)| outer + 1));
            }
            TokenKind::Equals => values += 1,
            TokenKind::Newline if open.is_empty() => level = 0,
            _ => {}
        }
        let wrong = match (level > DEEPEST, values > MOST_NODES) {
            (true, _) => format!("it has more than {DEEPEST} levels of tables and lists"),
            (_, true) => TOO_MANY.to_owned(),
            _ => continue,
        };
        return Err((token.span().start(), wrong));
    }
    Ok(())
}
