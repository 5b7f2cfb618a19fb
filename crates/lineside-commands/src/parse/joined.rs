//! Lines that go on behind the delimiter of a here-document, which the parser loses.

use crate::expand::is_arithmetic;
use crate::scan::closing;

/// A delimiter goes on in the next line, or stands within quotes, so that it is not known which line ends the document.
pub(super) struct Unknown;

/// The text of the same length with blanks for each line break behind a backslash that stands right behind such a delimiter,
/// outside of quotes, comments and the documents themselves.
pub(super) fn joined(text: &str) -> Result<Option<String>, Unknown> {
    if !text.contains("<<") || !text.contains("\\\n") {
        return Ok(None);
    }
    let bytes = text.as_bytes();
    let mut out = text.to_owned();
    // Delimiters whose documents begin behind this line, each whether tabs may stand before it.
    let mut waiting: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        // The second half of a character.
        let Some(rest) = text.get(at..) else {
            at += 1;
            continue;
        };
        let begins_word = at == 0 || b" \t\n;&|()".contains(&bytes[at - 1]);
        at = match bytes[at] {
            b'\\' => at + 2,
            b'\'' => single(text, at),
            b'"' => {
                let end = closing(text, at + 1, '"').map_or(text.len(), |end| end + 1);
                let within = &text[at..end];
                if within.match_indices("<<").any(|(from, _)| is_broken(&within[from + 2..])) {
                    return Err(Unknown);
                }
                end
            }
            b'#' if begins_word => at + rest.find('\n').unwrap_or(rest.len()),
            b'(' if rest.starts_with("((") && is_arithmetic(&rest[2..]) => {
                closing(text, at + 1, ')').map_or(text.len(), |end| end + 1)
            }
            b'<' if rest.starts_with("<<<") => at + 3,
            b'<' if rest.starts_with("<<") => {
                let tabs = rest[2..].starts_with('-');
                let mut behind = at + 2 + usize::from(tabs);
                behind += blanks(&text[behind..]);
                let (name, end) = delimiter(text, behind)?;
                behind = end + blanks(&text[end..]);
                while text[behind..].starts_with("\\\n") {
                    out.replace_range(behind..behind + 2, "  ");
                    behind += 2 + blanks(&text[behind + 2..]);
                }
                waiting.push((name, tabs));
                behind
            }
            b'\n' => {
                at += 1;
                for (name, tabs) in waiting.drain(..) {
                    at = behind_document(text, at, &name, tabs);
                }
                at
            }
            _ => at + 1,
        };
    }
    Ok((out != text).then_some(out))
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Whether a line break behind a backslash stands right behind the delimiter that begins here, or in it.
fn is_broken(behind: &str) -> bool {
    let word = behind.trim_start_matches(['-', ' ', '\t']);
    let end = word.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')']).unwrap_or(word.len());
    word[..end].ends_with('\\') || word[end..].trim_start_matches([' ', '\t']).starts_with("\\\n")
}

/// Behind the single quotes that open here.
fn single(text: &str, at: usize) -> usize {
    let is_ansi = text[..at].ends_with('$');
    let bytes = text.as_bytes();
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'\'' {
        end += if is_ansi && bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(text.len())
}

/// The delimiter that stands here, without its quotes, and where it ends.
fn delimiter(text: &str, from: usize) -> Result<(String, usize), Unknown> {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut name = Vec::new();
    while at < bytes.len() && !b" \t\n;|&<>()".contains(&bytes[at]) {
        let end = match bytes[at] {
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => return Err(Unknown),
            b'\\' => {
                name.extend(bytes.get(at + 1));
                at + 2
            }
            b'\'' => single(text, at),
            b'"' => closing(text, at + 1, '"').map_or(text.len(), |end| end + 1),
            byte => {
                name.push(byte);
                at + 1
            }
        };
        if matches!(bytes[at], b'\'' | b'"') {
            name.extend(&bytes[at + 1..(end - 1).max(at + 1)]);
        }
        at = end;
    }
    Ok((String::from_utf8_lossy(&name).into_owned(), at.min(text.len())))
}

/// Behind the line that ends the document which begins here; here where none does.
fn behind_document(text: &str, from: usize, name: &str, tabs: bool) -> usize {
    let mut at = from;
    for line in text[from.min(text.len())..].split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end_matches('\n');
        if (if tabs { line.trim_start_matches('\t') } else { line }) == name {
            return at;
        }
    }
    from
}
