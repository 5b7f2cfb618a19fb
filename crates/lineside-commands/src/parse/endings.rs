//! Where a shell ends a word that the parser takes for a longer one.

use crate::expand::behind_sign;
use crate::scan::closing;

/// Where braces stand in a word that are not closed within it: behind a sign that ends a word outside of quotes, another one
/// begins.
pub(super) fn unclosed(word: &str) -> Vec<usize> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(byte) = word.as_bytes().get(at) {
        at = match byte {
            b'{' => {
                open.push(at);
                at + 1
            }
            b'}' => {
                // What then closes nothing is a plain sign as well.
                found.extend((open.pop().is_none() && !found.is_empty()).then_some(at));
                at + 1
            }
            // `@(a|b)` of `extglob`.
            b'?' | b'*' | b'+' | b'@' | b'!' if word[at + 1..].starts_with('(') => {
                closing(word, at + 2, ')').map_or(word.len(), |end| end + 1)
            }
            b'<' | b'>' if word[at + 1..].starts_with('(') => behind_sign(word, at),
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                found.append(&mut open);
                at + 1
            }
            _ => behind_sign(word, at),
        };
    }
    found
}

/// Whether a sign that ends a word stands in one, outside of quotes, expansions and parentheses.
pub(super) fn ends_earlier(word: &str) -> bool {
    // The usual word has none.
    if !word.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>')) {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = word.as_bytes().get(at) {
        at = match byte {
            // `[a b]=c` of a list.
            b'[' if at == 0 => closing(word, 1, ']').map_or(1, |end| end + 1),
            b'<' | b'>' if word[at + 1..].starts_with('(') => behind_sign(word, at),
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' if depth == 0 => return true,
            b'(' => {
                depth += 1;
                at + 1
            }
            b')' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ => behind_sign(word, at),
        };
    }
    false
}

/// What [`unclosed`] finds in the lines of a text that does not parse: of a brace in front of a blank a list of commands begins.
pub(super) fn unclosed_of_lines(text: &str) -> Vec<usize> {
    let mut start = 0;
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        let begins = |at: usize| {
            line[at..].starts_with('{')
                && !line[at + 1..].starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')'])
        };
        let found = unclosed(line);
        // Where a list of commands begins, a brace ends it.
        let has_lists = found.iter().any(|at| line[*at..].starts_with('{') && !begins(*at));
        let found = found.iter().filter(|at| begins(**at) || !line[**at..].starts_with('{') && !has_lists);
        all.extend(found.map(|at| start + at));
        start += line.len();
    }
    all
}
