//! Escapes in double quotes, as they are written.

use std::borrow::Cow;

/// A text in which some escapes are written so that YAML reads a backslash and what follows it.
pub(super) struct Rewritten {
    /// The text.
    pub(super) text: String,
    /// The character after the first backslash that was rewritten.
    pub(super) first: char,
}

/// Rewrites the escapes that YAML 1.2 does not have, in the double-quoted scalar whose opening quote is at `open`.
pub(super) fn keep_unknown(text: &str, open: usize) -> Option<Rewritten> {
    rewrite(text, open, &|escape, rest| !is_known(escape, rest))
}

/// Rewrites the escapes for whose character `kept` holds.
pub(super) fn keep(text: &str, open: usize, kept: &dyn Fn(char) -> bool) -> Option<Rewritten> {
    rewrite(text, open, &|escape, _| kept(escape))
}

/// `None` when nothing is rewritten.
fn rewrite(text: &str, open: usize, keeps: &dyn Fn(char, &str) -> bool) -> Option<Rewritten> {
    let (before, scalar) = text.split_at_checked(open)?;
    let inside = scalar.strip_prefix('"')?;
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(before);
    out.push('"');
    let mut first = None;
    let mut rest = inside;
    while let Some(next) = rest.chars().next() {
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
        out.push(next);
        if next == '"' {
            break;
        }
        if next != '\\' {
            continue;
        }
        let Some(escape) = rest.chars().next() else { break };
        rest = rest.get(escape.len_utf8()..).unwrap_or_default();
        if keeps(escape, rest) {
            first = first.or(Some(escape));
            out.push('\\');
        }
        out.push(escape);
    }
    out.push_str(rest);
    first.map(|first| Rewritten { text: out, first })
}

/// Whether a backslash before `escape` begins an escape of YAML 1.2; `rest` is what follows.
fn is_known(escape: char, rest: &str) -> bool {
    let digits = match escape {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return "0abt\tnvfre \"/\\N_LP\n\r".contains(other),
    };
    rest.get(..digits).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// The source of a double-quoted scalar, if it has a backslash.
pub(super) fn source(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.filter(|text| text.starts_with('"') && text.contains('\\')).map(Cow::Borrowed)
}
