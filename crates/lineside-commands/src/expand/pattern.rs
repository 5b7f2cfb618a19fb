//! Patterns of the shell against a known text.

/// Whether the pattern fits the whole text; `*` crosses slashes. Work is bounded by the product of the lengths.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('\\') => (pattern.get(p + 1) == Some(&text[t])).then_some(2),
            Some('[') => match class(&pattern[p..], text[t]) {
                Some((true, length)) => Some(length),
                Some((false, _)) => None,
                None => (text[t] == '[').then_some(1),
            },
            Some(c) => (*c == text[t]).then_some(1),
            None => None,
        };
        match (step, back) {
            (Some(step), _) => {
                p += step;
                t += 1;
            }
            (None, Some((after, from))) => {
                p = after;
                t = from + 1;
                back = Some((after, t));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether a class of a pattern has the character, and how long the class is; none if it does not end.
pub(crate) fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    let length = pattern.iter().skip(start + 1).position(|c| *c == ']')? + start + 1;
    let inside = &pattern[start..length];
    let mut at = 0;
    let mut found = false;
    while at < inside.len() {
        if let (Some('-'), Some(last)) = (inside.get(at + 1), inside.get(at + 2)) {
            found |= (inside[at]..=*last).contains(&c);
            at += 3;
        } else {
            found |= inside[at] == c;
            at += 1;
        }
    }
    Some((found != negated, length + 1))
}
