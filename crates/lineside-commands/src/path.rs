//! Paths as text, and patterns of them.

/// The path joined to a folder, without `.`, `..` and doubled slashes.
pub(crate) fn normal(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let folder = if path.starts_with('/') { "" } else { folder };
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path lies in a folder or is it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether both patterns can mean one path. `*`, `?` and `[…]` stay within a name, `**` crosses names.
pub(crate) fn meet(one: &str, other: &str) -> bool {
    let one: Vec<&str> = one.split('/').filter(|name| !name.is_empty()).collect();
    let other: Vec<&str> = other.split('/').filter(|name| !name.is_empty()).collect();
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

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// Whether two names, each perhaps a pattern, can be one.
pub(crate) fn names_meet(one: &str, other: &str) -> bool {
    if let Some((front, alternatives, end)) = alternatives(other) {
        return alternatives.split(',').any(|part| names_meet(one, &format!("{front}{part}{end}")));
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
