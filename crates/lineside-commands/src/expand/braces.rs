//! `{a,b}` and `{1..5}`.

use crate::limits;
use crate::scan::closing;

/// The words of a word, and whether they are all; none where there would be too many. A long range is its ends and a pattern for what is
/// between them.
pub(crate) fn braces(word: &str) -> Option<(Vec<String>, bool)> {
    let (mut done, mut are_all) = (Vec::new(), true);
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if done.len() + open.len() > limits::BRACES {
            return None;
        }
        let Some((start, end, Parts { parts, is_cut })) = first(&word) else {
            done.push(word);
            continue;
        };
        are_all &= !is_cut;
        if parts.len() + open.len() + done.len() > limits::BRACES {
            return None;
        }
        open.extend(parts.iter().rev().map(|part| format!("{}{part}{}", &word[..start], &word[end + 1..])));
    }
    Some((done, are_all))
}

/// The parts of a brace.
struct Parts {
    parts: Vec<String>,
    is_cut: bool,
}

/// The first brace of a word that expands: where it begins and ends, and its parts.
fn first(word: &str) -> Option<(usize, usize, Parts)> {
    let bytes = word.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                if let Some((end, parts)) = parts(word, at + 1) {
                    return Some((at, end, parts));
                }
                at += 1;
            }
            _ => at = after(word, at),
        }
    }
    None
}

/// Behind the sign at `at`: quotes and expansions are passed over as a whole.
pub(crate) fn after(word: &str, at: usize) -> usize {
    let bytes = word.as_bytes();
    let end = match bytes[at] {
        b'\\' => Some(at + 1),
        b'\'' => word[at + 1..].find('\'').map(|end| at + 1 + end),
        b'"' => closing(word, at + 1, '"'),
        b'`' => closing(word, at + 1, '`'),
        b'$' if bytes.get(at + 1) == Some(&b'{') => closing(word, at + 2, '}'),
        b'$' | b'<' | b'>' if bytes.get(at + 1) == Some(&b'(') => closing(word, at + 2, ')'),
        _ => Some(at),
    };
    end.map_or(bytes.len(), |end| end + 1)
}

fn parts(word: &str, from: usize) -> Option<(usize, Parts)> {
    let bytes = word.as_bytes();
    let (mut depth, mut at, mut start) = (0, from, from);
    let mut parts = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' if depth == 0 => {
                let last = &word[start..at];
                if parts.is_empty() {
                    return range(last).map(|parts| (at, parts));
                }
                parts.push(last.to_owned());
                return Some((at, Parts { parts, is_cut: false }));
            }
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(word[start..at].to_owned());
                start = at + 1;
            }
            _ => {
                at = after(word, at);
                continue;
            }
        }
        at += 1;
    }
    None
}

fn range(text: &str) -> Option<Parts> {
    let mut ends = text.split("..");
    let (from, to, step) = (ends.next()?, ends.next()?, ends.next());
    let step = step.map_or(Some(1), |step| step.parse::<i64>().ok())?.saturating_abs().max(1);
    if ends.next().is_some() {
        return None;
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        let c = chars.next().filter(char::is_ascii_alphabetic)?;
        chars.next().is_none().then(|| i64::from(u32::from(c)))
    };
    let numbers = from.parse::<i64>().ok().zip(to.parse::<i64>().ok());
    let (first, last) = numbers.or_else(|| letter(from).zip(letter(to)))?;
    let count = (first.abs_diff(last) / step.unsigned_abs()).saturating_add(1);
    if count > limits::BRACES as u64 {
        return Some(Parts { parts: [from, to, "*"].map(str::to_owned).into(), is_cut: true });
    }
    let width = if [from, to]
        .iter()
        .any(|end| end.trim_start_matches('-').len() > 1 && end.trim_start_matches('-').starts_with('0'))
    {
        from.len().max(to.len())
    } else {
        0
    };
    let sign = if first <= last { step } else { -step };
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let parts: Option<Vec<String>> = (0..count)
        .map(|number| {
            let value = i128::from(first) + i128::from(number) * i128::from(sign);
            match numbers {
                Some(_) => Some(format!("{value:0width$}")),
                None => char::from_u32(u32::try_from(value).ok()?).map(String::from),
            }
        })
        .collect();
    Some(Parts { parts: parts?, is_cut: false })
}
