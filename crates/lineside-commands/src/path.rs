//! Paths as text, and patterns of them.

use std::borrow::Cow;

/// The path joined to a folder, without `.`, `..` and doubled slashes.
pub(crate) fn normal(folder: &str, path: &str) -> String {
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut normal = String::with_capacity(folder.len() + path.len() + 2);
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => normal.truncate(normal.rfind('/').unwrap_or(0)),
            part => {
                normal.push('/');
                normal.push_str(part);
            }
        }
    }
    if normal.is_empty() {
        normal.push('/');
    }
    normal
}

/// The path joined to a folder, without `.` and doubled slashes; each `..` stays, for what is in front of it may be a link.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let folder = if path.starts_with('/') { "" } else { folder };
    let parts = folder.split('/').chain(path.split('/')).filter(|part| !matches!(*part, "" | "."));
    parts.fold(String::with_capacity(folder.len() + path.len() + 1), |joined, part| joined + "/" + part)
}

/// Whether a pattern asks for one name, wherever that lies.
pub(crate) fn ends_plain(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| !name.is_empty() && !name.contains(['*', '?', '[']))
}

/// Whether a path lies in a folder or is it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether both patterns can mean one path. `*`, `?` and `[…]` stay within a name, `**` crosses names.
pub(crate) fn meet(one: &str, other: &str) -> bool {
    if begin_otherwise(one, other) || end_otherwise(one, other) {
        return false;
    }
    // A path that is written crosses no names, and what is asked for does so once or twice: no table is needed.
    if crossings(one) == 0 && crossings(other) <= 2 {
        return below(names(one), names(other));
    }
    let one: Vec<&str> = names(one).collect();
    let other: Vec<&str> = names(other).collect();
    // `reached[j]`: whether the names of `one` so far can meet the first `j` of `other`.
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    for j in 0..other.len() {
        reached[j + 1] = reached[j] && other[j] == "**";
    }
    for name in &one {
        let mut next = vec![false; other.len() + 1];
        if *name == "**" {
            let mut any = false;
            for j in 0..=other.len() {
                any |= reached[j];
                next[j] = any;
            }
        } else {
            for j in 0..=other.len() {
                let across = j > 0 && other[j - 1] == "**" && (reached[j] || next[j - 1]);
                let step = j > 0 && reached[j - 1] && other[j - 1] != "**" && names_meet(name, other[j - 1]);
                next[j] = across || step;
            }
        }
        reached = next;
    }
    reached[other.len()]
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b']' | b'{' | b'}' | b'\\' | b'/' | b'~')
}

/// Whether two patterns differ in front of any sign, so that no path fits both.
pub(crate) fn begin_otherwise(one: &str, other: &str) -> bool {
    let mut pairs = one.bytes().zip(other.bytes());
    let first = pairs.find(|(a, b)| a != b || is_sign(*a) && *a != b'/');
    first.is_some_and(|(a, b)| !is_sign(a) && !is_sign(b))
}

/// What the name of each path of a pattern ends with: of a long one, which may be any, the last byte.
pub(crate) fn tail(pattern: &str) -> &[u8] {
    let bytes = pattern.as_bytes();
    let bytes = if bytes.len() > LONGEST { &bytes[bytes.len() - 1..] } else { bytes };
    let sign = bytes.iter().rposition(|byte| is_sign(*byte));
    &bytes[sign.map_or(0, |sign| sign + 1)..]
}

/// Whether the last signs of two patterns say that no path fits both.
fn end_otherwise(one: &str, other: &str) -> bool {
    let (one, other) = (one.bytes().last(), other.bytes().last());
    one.zip(other).is_some_and(|(a, b)| a != b && !is_sign(a) && !is_sign(b))
}

/// How often a pattern crosses names.
fn crossings(pattern: &str) -> usize {
    let bytes = pattern.as_bytes();
    bytes.iter().zip(bytes.iter().skip(1)).filter(|pair| *pair == (&b'*', &b'*')).count()
}

fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    path.split('/').filter(|name| !name.is_empty())
}

/// Whether these names can be those of a pattern, of which a few cross names.
fn below<'n, I: DoubleEndedIterator<Item = &'n str> + Clone>(mut given: I, mut asked: I) -> bool {
    // From the end on: where `**` stands in front, the last name decides nearly always.
    while let Some(last) = asked.clone().next_back().filter(|last| *last != "**") {
        asked.next_back();
        if !given.next_back().is_some_and(|name| names_meet(name, last)) {
            return false;
        }
    }
    while let Some(first) = asked.next() {
        if first == "**" {
            if asked.clone().next().is_none() {
                return true;
            }
            while !below(given.clone(), asked.clone()) {
                if given.next().is_none() {
                    return false;
                }
            }
            return true;
        }
        if !given.next().is_some_and(|name| names_meet(name, first)) {
            return false;
        }
    }
    given.next().is_none()
}

/// The signs with which the parts of a pattern begin that are not known.
pub(crate) const SIGNS: [char; 3] = ['*', '?', '['];

/// The text of a pattern as if it were a path: no other pattern fits it but one that fits all of its paths.
pub(crate) fn literal(pattern: &str) -> Cow<'_, str> {
    if pattern.contains(SIGNS) { pattern.replace(SIGNS, "\u{1}").into() } else { pattern.into() }
}

pub(crate) fn is_pattern(name: &str) -> bool {
    name.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'{'))
}

/// The longest pattern of a name that is compared: a longer one may be any.
const LONGEST: usize = 1024;

/// Whether two names, each perhaps a pattern, can be one.
pub(crate) fn names_meet(one: &str, other: &str) -> bool {
    if !is_pattern(one) && !is_pattern(other) {
        return one == other;
    }
    if let Some((front, alternatives, end)) = alternatives(other) {
        return alternatives.split(',').any(|part| names_meet(one, &format!("{front}{part}{end}")));
    }
    if one.len() > LONGEST && is_pattern(one) {
        return true;
    }
    match (is_pattern(one), is_pattern(other)) {
        (false, false) => one == other,
        (false, true) => crate::expand::fits(other, one),
        (true, false) => hidden(one, other) && crate::expand::fits(one, other),
        (true, true) => hidden(one, other) && both(one, other),
    }
}

/// A pattern of the shell finds a name that begins with a dot only if it begins with one.
fn hidden(pattern: &str, name: &str) -> bool {
    !name.starts_with('.') || !pattern.starts_with(['*', '?', '['])
}

/// `{a,b}` in a pattern of ours.
fn alternatives(name: &str) -> Option<(&str, &str, &str)> {
    let (front, rest) = name.split_once('{')?;
    let (inside, end) = rest.split_once('}')?;
    inside.contains(',').then_some((front, inside, end))
}

/// Whether two patterns can mean one name: a table over both, in which a class is any character of it.
fn both(one: &str, other: &str) -> bool {
    let (one, other) = (signs(one), signs(other));
    let mut row = vec![false; other.len() + 1];
    row[0] = true;
    for j in 0..other.len() {
        row[j + 1] = row[j] && other[j] == Sign::Any;
    }
    for a in &one {
        let mut next = vec![false; other.len() + 1];
        next[0] = row[0] && *a == Sign::Any;
        for j in 1..=other.len() {
            let b = other[j - 1];
            next[j] = match (*a, b) {
                (Sign::Any, Sign::Any) => row[j] || next[j - 1] || row[j - 1],
                (Sign::Any, _) => row[j] || next[j - 1],
                (_, Sign::Any) => row[j] || next[j - 1],
                (Sign::One, _) | (_, Sign::One) => row[j - 1],
                (Sign::Is(a), Sign::Is(b)) => row[j - 1] && a == b,
            };
        }
        row = next;
    }
    row[other.len()]
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Any,
    One,
    Is(char),
}

fn signs(pattern: &str) -> Vec<Sign> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    let mut all = Vec::with_capacity(chars.len());
    while at < chars.len() {
        match chars[at] {
            '*' => all.push(Sign::Any),
            '?' => all.push(Sign::One),
            '[' => {
                let end = chars[at..].iter().position(|c| *c == ']').unwrap_or(0);
                all.push(if end == 2 { Sign::Is(chars[at + 1]) } else { Sign::One });
                at += end;
            }
            c => all.push(Sign::Is(c)),
        }
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_patterns_meet_where_one_path_fits_both() {
        for (one, other, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/c", false),
            ("/a/b.env", "**/*.env", true),
            ("/a/b.env", "**/*.envx", false),
            ("/a/.env", "**/.env", true),
            ("/.env", "**/.env", true),
            ("/a/x/.env", "/a/**/.env", true),
            ("/a/.env", "/a/**/.env", true),
            ("/b/.env", "/a/**/.env", false),
            ("/a", "/a/**", true),
            ("/a/b/c", "/a/**", true),
            ("/ab", "/a/**", false),
            ("/a/b/c/d", "/**/b/**/d", true),
            ("/a/b/c/e", "/**/b/**/d", false),
            ("/a/*.e", "/a/x*", true),
            ("/a/*.e", "/a/x", false),
            ("/a/*", "/a/.e", false),
            ("/a/**/b", "/a/c/b", true),
            ("/a/[bc]", "/a/c", true),
            ("/a/secret.yml", "/a/secret.{yaml,yml}", true),
            ("/", "/**", true),
        ] {
            assert_eq!(meet(one, other), expected, "{one} and {other}");
        }
        assert_eq!(normal("/a/b", "../c/./d/"), "/a/c/d");
        assert_eq!(normal("/", "../.."), "/");
    }
}
