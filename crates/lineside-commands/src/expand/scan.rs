//! Where quotes, braces and parentheses end.

/// Where the sign is that closes what was opened before `from`: `"`, `` ` ``, `)`, `}` or `]`. Quotes and what
/// they hold are passed over.
pub(crate) fn closing(text: &str, from: usize, sign: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = vec![sign as u8];
    let mut at = from;
    while at < bytes.len() {
        let byte = bytes[at];
        let inside = *open.last()?;
        let quoted = inside == b'"';
        if byte == inside {
            open.pop();
            if open.is_empty() {
                return Some(at);
            }
        } else {
            match byte {
                b'\\' => at += 1,
                b'\'' if !quoted && inside != b'`' => {
                    let ansi = at > 0 && bytes[at - 1] == b'$';
                    at += 1;
                    while at < bytes.len() && bytes[at] != b'\'' {
                        at += if ansi && bytes[at] == b'\\' { 2 } else { 1 };
                    }
                }
                b'"' if inside != b'`' => open.push(b'"'),
                b'`' => open.push(b'`'),
                b'(' if inside == b')' || !quoted && inside != b'`' && at > 0 && bytes[at - 1] == b'$' => {
                    open.push(b')');
                }
                b'(' if at > 0 && bytes[at - 1] == b'$' && inside != b'`' => open.push(b')'),
                b'{' if at > 0 && bytes[at - 1] == b'$' && inside != b'`' => open.push(b'}'),
                b'[' if inside == b']' => open.push(b']'),
                b'#' if inside == b')' && at > 0 && bytes[at - 1].is_ascii_whitespace() => {
                    while at < bytes.len() && bytes[at] != b'\n' {
                        at += 1;
                    }
                }
                b'<' if inside == b')'
                    && bytes[at..].starts_with(b"<<")
                    && !bytes[at..].starts_with(b"<<<") =>
                {
                    if let Some(end) = document_end(text, at + 2) {
                        at = end;
                        continue;
                    }
                }
                b')' if inside == b')' => {}
                _ => {}
            }
        }
        at += 1;
    }
    None
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
