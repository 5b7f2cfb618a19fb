//! Where quotes, braces and parentheses end, and texts of which a part is not known.

use crate::value::{FRESH, MANY, UNKNOWN, spelt};

/// Where the sign is that closes what was opened before `from`: `"`, `` ` ``, `)`, `}` or `]`. Quotes and what
/// they hold are passed over.
pub(crate) fn closing(text: &str, from: usize, sign: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = vec![if sign == '}' && holds_commands(&text[from..]) { GROUP } else { sign as u8 }];
    let mut at = from;
    while at < bytes.len() {
        let byte = bytes[at];
        let inside = *open.last()?;
        // Within parentheses or a `case` of them, commands are read.
        let commands = inside == b')' || inside == CASE || inside == GROUP;
        let expands = at > 0 && bytes[at - 1] == b'$' && inside != b'`';
        match byte {
            _ if byte == inside => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            b'\\' => at += 1,
            b'\'' if inside != b'"' && inside != b'`' => {
                let ansi = at > 0 && bytes[at - 1] == b'$';
                at += 1;
                while at < bytes.len() && bytes[at] != b'\'' {
                    at += if ansi && bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'"' if inside != b'`' => open.push(b'"'),
            b'`' => open.push(b'`'),
            b'(' if commands || expands => open.push(b')'),
            b'{' if expands && holds_commands(&text[at + 1..]) => open.push(GROUP),
            b'{' if expands => open.push(b'}'),
            // A brace is a word of the shell where a command may begin.
            b'{' if inside == GROUP && begins_command(text, at, "{") => open.push(GROUP),
            b'}' if inside == GROUP && ends_group(&text[..at]) => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            b'[' if inside == b']' => open.push(b']'),
            b'#' if commands && at > 0 && bytes[at - 1].is_ascii_whitespace() => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'<' if commands && bytes[at..].starts_with(b"<<") && !bytes[at..].starts_with(b"<<<") => {
                if let Some(end) = document_end(text, at + 2) {
                    at = end;
                    continue;
                }
            }
            // The parenthesis behind a pattern of `case` closes nothing.
            b'c' if commands && begins_command(text, at, "case") => open.push(CASE),
            b'e' if inside == CASE && begins_command(text, at, "esac") => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether a sign means nothing in a word.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'=' | b',' | b'+' | b'@' | b'%')
}

/// The variables that parts of a text stand for which are not known.
pub(crate) const PARTS: [(&str, char); 2] = [("unknown_part", UNKNOWN), ("fresh_part", FRESH)];

/// Whether a word is one of these variables alone.
pub(crate) fn is_part(word: &str) -> bool {
    let name = word.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
    PARTS.iter().any(|(part, _)| name == Some(part))
}

/// A text in which each part that is not known is the value of a variable, within single quotes as well.
pub(crate) fn with_variables(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let (mut single, mut double, mut escaped) = (false, false, false);
    for c in text.chars() {
        let known = !matches!(c, UNKNOWN | MANY | FRESH);
        if known {
            match c {
                '\'' if !double && !escaped => single = !single,
                '"' if !single && !escaped => double = !double,
                _ => {}
            }
            escaped = c == '\\' && !escaped && !single;
            out.push_str(&spelt(c.encode_utf8(&mut [0; 4])));
            continue;
        }
        let [(unknown, _), (fresh, _)] = PARTS;
        let name = if c == FRESH { fresh } else { unknown };
        match single {
            true => out.extend(["'\"${", name, "}\"'"]),
            false => out.extend(["${", name, "}"]),
        }
        escaped = false;
    }
    out
}

/// Whether `${` holds commands whose output it stands for: `${ ls; }`, and `${| ls; }` whose `REPLY` it stands for.
pub(crate) fn holds_commands(inner: &str) -> bool {
    inner.starts_with([' ', '\t', '\n', '|'])
}

/// Whether a brace behind this text ends a list of commands.
fn ends_group(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.ends_with([';', '\n', '&', '}', ')', '{', '|'])
        || ["fi", "done", "esac"].iter().any(|word| before.ends_with(word))
}

/// What is open between `case` and `esac`; no text has this byte.
const CASE: u8 = 0xff;
/// The same within `${ …; }` and the groups of its commands.
const GROUP: u8 = 0xfe;

/// Whether a word of the shell stands where a command begins.
fn begins_command(text: &str, at: usize, word: &str) -> bool {
    let Some(rest) = text[at..].strip_prefix(word) else { return false };
    if !rest.is_empty() && !rest.starts_with([' ', '\t', '\n', ';', ')', '&', '|']) {
        return false;
    }
    let before = text[..at].trim_end_matches([' ', '\t']);
    let apart = before.len() < at || before.ends_with(['(', ';', '&', '|', '\n', '`', ')']);
    apart
        && (before.is_empty()
            || before.ends_with(['(', ';', '&', '|', '\n', '{', '`', ')', '!'])
            || ["then", "do", "else", "in", "time"].iter().any(|word| before.ends_with(word)))
}

/// The end of a here-document that begins within a substitution, from behind its `<<`. A quoted one may hold a lone
/// apostrophe or parenthesis.
fn document_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let start = rest.find(|c: char| c != '-' && c != ' ' && c != '\t')?;
    let delimiter = &rest[start..];
    let length = delimiter.find([' ', '\t', '\n', ';', '|', '&', ')', '>', '<'])?;
    let name: String = delimiter[..length].chars().filter(|c| !"'\"\\".contains(*c)).collect();
    if name.is_empty() || !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    // What stands behind the delimiter on its line belongs to the command; it is rare that quotes cross the line.
    let mut line = at + start + length + delimiter[length..].find('\n')? + 1;
    loop {
        let end = text[line..].find('\n').map_or(text.len(), |end| line + end);
        if text[line..end].trim_start_matches('\t') == name {
            return Some(end);
        }
        if end == text.len() {
            return None;
        }
        line = end + 1;
    }
}
