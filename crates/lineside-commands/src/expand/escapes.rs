//! Escapes: those of `$'…'`, of `printf` and of `echo -e`.

/// Where `$'…'` ends.
pub(crate) fn ansi_end(word: &str, from: usize) -> usize {
    let bytes = word.as_bytes();
    let mut at = from;
    while at < bytes.len() && bytes[at] != b'\'' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(word.len())
}

/// The text with its escapes read.
pub(crate) fn ansi(text: &str) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let Some(c) = rest.chars().next() else {
            out.push(b'\\');
            break;
        };
        rest = &rest[c.len_utf8()..];
        let simple = match c {
            'n' => Some(b'\n'),
            't' => Some(b'\t'),
            'r' => Some(b'\r'),
            'a' => Some(7),
            'b' => Some(8),
            'e' | 'E' => Some(27),
            'f' => Some(12),
            'v' => Some(11),
            '\\' | '\'' | '"' | '?' => u8::try_from(c).ok(),
            _ => None,
        };
        if let Some(byte) = simple {
            out.push(byte);
            continue;
        }
        let (digits, radix) = match c {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => (3, 8),
            _ => {
                out.push(b'\\');
                out.extend_from_slice(c.to_string().as_bytes());
                continue;
            }
        };
        let from = if radix == 8 { text.len() - rest.len() - 1 } else { text.len() - rest.len() };
        let all = &text[from..];
        // `\0nnn` of echo and printf has a digit more.
        let digits = if all.starts_with('0') && radix == 8 { 4 } else { digits };
        let length = all.chars().take(digits).take_while(|c| c.is_digit(radix)).count();
        let code = u32::from_str_radix(&all[..length], radix).unwrap_or(0);
        rest = &all[length..];
        match (c, u8::try_from(code), char::from_u32(code)) {
            ('u' | 'U', _, Some(c)) => out.extend_from_slice(c.to_string().as_bytes()),
            (_, Ok(byte), _) => out.push(byte),
            _ => {}
        }
    }
    out.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
