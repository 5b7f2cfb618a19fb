//! Patterns of the shell against a known text.

/// Whether the pattern fits the whole text; `*` crosses slashes. Work is bounded by the product of the lengths.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    // Where both are read, and where a `*` goes on.
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    let last_bracket = pattern.rfind(']');
    while let Some(given) = text[t..].chars().next() {
        let rest = &pattern[p..];
        let mut signs = rest.chars();
        let step = match signs.next() {
            Some('*') => {
                p += 1;
                back = Some((p, t));
                continue;
            }
            Some('?') => Some(1),
            Some('\\') => (signs.next() == Some(given)).then(|| 1 + given.len_utf8()),
            Some('[') if last_bracket <= Some(p) => (given == '[').then_some(1),
            Some('[') => match class(rest, given) {
                Some((fits, length)) => fits.then_some(length),
                None => (given == '[').then_some(1),
            },
            Some(sign) => (sign == given).then(|| given.len_utf8()),
            None => None,
        };
        match (step, &mut back) {
            (Some(step), _) => {
                p += step;
                t += given.len_utf8();
            }
            (None, Some((after, from))) => {
                p = *after;
                *from += text[*from..].chars().next().map_or(1, char::len_utf8);
                t = *from;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].bytes().all(|sign| sign == b'*')
}

/// Whether a class at the beginning of a pattern has the character, and how long the class is; none if it does not end.
pub(crate) fn class(pattern: &str, given: char) -> Option<(bool, usize)> {
    let mut signs = pattern.char_indices().skip(1).peekable();
    let negated = signs.next_if(|(_, sign)| matches!(sign, '!' | '^')).is_some();
    let (start, first) = signs.next()?;
    // A bracket in front is one of the class.
    let length = start + first.len_utf8();
    let end = length + pattern[length..].find(']')?;
    let inside = &pattern[start..end];
    let mut found = false;
    let mut left = inside.chars();
    while let Some(from) = left.next() {
        let mut ahead = left.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) => {
                found |= (from..=to).contains(&given);
                left = ahead;
            }
            _ => found |= from == given,
        }
    }
    Some((found != negated, end + 1))
}
