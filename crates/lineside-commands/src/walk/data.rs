//! What programs and builtins print, where it follows from what they are given.

use crate::expand::ansi;
use crate::value::{Origin, UNKNOWN, Value, has_marks, spelt};

/// The words with a blank between each two.
pub(crate) fn joined(words: &[Value]) -> Value {
    let mut line = Value::default();
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            line.text.push(' ');
        }
        line.push(word);
    }
    line.stands_for = None;
    line
}

/// The text with the escapes of `echo -e`.
pub(crate) fn unescaped(text: &str) -> String {
    ansi(text)
}

/// What `printf` prints: the format is used again for what is left of the words.
pub(crate) fn printf(format: &Value, words: &[Value]) -> Value {
    let Some(format) = format.literal() else {
        return words.iter().fold(Value::unknown(), |all, word| all.from(word.origin));
    };
    let format = ansi(&format);
    let mut out = Value::default();
    let mut left = words.iter();
    let mut rounds = 0;
    loop {
        let mut used = false;
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.text.push(c);
                continue;
            }
            let mut spec = String::new();
            while let Some(c) = chars.peek().copied().filter(|c| "-+ #0123456789.*".contains(*c)) {
                spec.push(c);
                chars.next();
            }
            match chars.next() {
                None => out.text.push('%'),
                Some('%') => out.text.push('%'),
                Some(sign) => {
                    let word = left.next();
                    used |= word.is_some();
                    match (sign, word) {
                        ('b', Some(word)) if spec.is_empty() => {
                            out.push(&Value { text: unescaped(&word.text).into(), ..word.clone() });
                        }
                        ('s' | 'q' | 'd' | 'i', Some(word)) if spec.is_empty() => out.push(word),
                        ('s' | 'b', None) => {}
                        ('d' | 'i', None) => out.text.push('0'),
                        ('(', word) => {
                            for c in chars.by_ref() {
                                if c == 'T' {
                                    break;
                                }
                            }
                            out.text.push(UNKNOWN);
                            out.origin = out.origin.with(word.map(|word| word.origin).unwrap_or_default());
                        }
                        ('c', Some(word)) if word.plain().is_some() => {
                            out.text.extend(word.text.chars().next());
                        }
                        (_, word) => {
                            out.text.push(UNKNOWN);
                            out.origin = out.origin.with(word.map(|word| word.origin).unwrap_or_default());
                        }
                    }
                }
            }
        }
        rounds += 1;
        if !used || left.len() == 0 || rounds > 1024 {
            out.stands_for = None;
            return out;
        }
    }
}

/// The bytes of a text in base64, if it is one of a text.
pub(crate) fn base64(text: &str) -> Option<String> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The bytes of a text in hexadecimal digits, if they are a text.
pub(crate) fn hexadecimal(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok());
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

/// What a filter prints of its input.
pub(crate) fn filtered(how: &str, input: &Value, operands: &[Value]) -> Value {
    let coded = |text: Option<String>| text.map_or_else(Value::unknown, Value::known);
    let known = (!has_marks(&input.text)).then(|| input.text.clone());
    let decoded = match how {
        "same" => return input.clone(),
        "base64" => coded(known.and_then(|text| base64(&text))),
        "hex" => coded(known.and_then(|text| hexadecimal(&text))),
        "reverse" => coded(known.map(|text| {
            text.split_inclusive('\n')
                .map(|line| {
                    let body = line.strip_suffix('\n').unwrap_or(line);
                    let turned: String = body.chars().rev().collect();
                    if body.len() < line.len() { turned + "\n" } else { turned }
                })
                .collect()
        })),
        "translate" => coded(known.and_then(|text| translated(&text, operands))),
        _ => Value::unknown(),
    };
    decoded.from(input.origin).from(Origin::DECODED)
}

/// `tr a b` for sets of letters and ranges.
fn translated(text: &str, operands: &[Value]) -> Option<String> {
    let [from, to] = operands else { return None };
    let (from, to) = (set(&spelt(&from.text)), set(&spelt(&to.text)));
    let last = *to.last()?;
    let pairs = from.iter().enumerate().rev().map(|(at, c)| (*c, to.get(at).copied().unwrap_or(last)));
    let changes: std::collections::HashMap<char, char> = pairs.collect();
    Some(text.chars().map(|c| changes.get(&c).copied().unwrap_or(c)).collect())
}

fn set(text: &str) -> Vec<char> {
    let chars: Vec<char> = ansi(text).chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < chars.len() && all.len() < 1024 {
        if chars.get(at + 1) == Some(&'-') && at + 2 < chars.len() {
            all.extend(chars[at]..=chars[at + 2]);
            at += 3;
        } else {
            all.push(chars[at]);
            at += 1;
        }
    }
    all
}
