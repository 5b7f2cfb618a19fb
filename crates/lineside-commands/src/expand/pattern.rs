//! Patterns of the shell against a known text.

/// A sign of a pattern.
#[derive(Clone, Copy, PartialEq)]
enum Sign<'p> {
    /// Any text.
    Any,
    /// One character.
    One,
    /// This character.
    Is(char),
    /// A character of this class.
    Class(&'p str),
}

/// A pattern that is read once and matched often.
pub(crate) struct Pattern<'p> {
    signs: Vec<Sign<'p>>,
    /// Whether it is matched from the end of a text to its beginning.
    backwards: bool,
}

impl<'p> Pattern<'p> {
    pub(crate) fn new(pattern: &'p str) -> Pattern<'p> {
        let mut signs = Vec::new();
        let last_bracket = pattern.rfind(']');
        let mut at = 0;
        while let Some(sign) = pattern[at..].chars().next() {
            let rest = &pattern[at..];
            at += sign.len_utf8();
            let sign = match sign {
                '*' if signs.last() == Some(&Sign::Any) => continue,
                '*' => Sign::Any,
                '?' => Sign::One,
                '\\' => {
                    let escaped = pattern[at..].chars().next().unwrap_or(sign);
                    at += pattern[at..].chars().next().map_or(0, char::len_utf8);
                    Sign::Is(escaped)
                }
                '[' if last_bracket >= Some(at) => match class(rest, ' ') {
                    Some((_, length)) => {
                        at += length - 1;
                        Sign::Class(&rest[..length])
                    }
                    None => Sign::Is(sign),
                },
                sign => Sign::Is(sign),
            };
            signs.push(sign);
        }
        Pattern { signs, backwards: false }
    }

    pub(crate) fn backwards(mut self) -> Pattern<'p> {
        self.signs.reverse();
        self.backwards = !self.backwards;
        self
    }

    /// Whether it fits nowhere behind a place where it does not fit.
    pub(crate) fn begins_with_any(&self) -> bool {
        self.signs.first() == Some(&Sign::Any)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    /// How many bytes the longest part takes, or the shortest, that it fits at the beginning of the text, or at the end where it
    /// is matched backwards. None where `steps` do not suffice: each sign that is compared takes one.
    pub(crate) fn part(&self, text: &str, longest: bool, steps: &mut usize) -> Option<Option<usize>> {
        if self.backwards {
            self.reach(text.chars().rev(), longest, steps)
        } else {
            self.reach(text.chars(), longest, steps)
        }
    }

    /// Whether it fits the whole text.
    pub(crate) fn fits(&self, text: &str, steps: &mut usize) -> Option<bool> {
        Some(self.part(text, true, steps)? == Some(text.len()))
    }

    /// Follows all ways through the pattern at once.
    fn reach(
        &self,
        text: impl Iterator<Item = char>,
        longest: bool,
        steps: &mut usize,
    ) -> Option<Option<usize>> {
        let (mut now, mut next) = (Vec::new(), Vec::new());
        self.enter(0, &mut now);
        let (mut found, mut length) = (None, 0);
        let mut text = text;
        loop {
            if now.last() == Some(&self.signs.len()) {
                found = Some(length);
                if !longest {
                    return Some(found);
                }
            }
            let Some(given) = text.next().filter(|_| !now.is_empty()) else { return Some(found) };
            for state in now.drain(..) {
                let Some(sign) = self.signs.get(state) else { continue };
                let cost = if let Sign::Class(class) = sign { class.len() } else { 1 };
                *steps = steps.checked_sub(cost)?;
                match *sign {
                    Sign::Any => self.enter(state, &mut next),
                    Sign::One => self.enter(state + 1, &mut next),
                    Sign::Is(sign) if sign == given => self.enter(state + 1, &mut next),
                    Sign::Class(signs) if class(signs, given).is_some_and(|(fits, _)| fits) => {
                        self.enter(state + 1, &mut next);
                    }
                    Sign::Is(_) | Sign::Class(_) => {}
                }
            }
            std::mem::swap(&mut now, &mut next);
            length += given.len_utf8();
        }
    }

    /// Adds a state, and the one behind it where that is reached without a character. States are added in their order.
    fn enter(&self, state: usize, states: &mut Vec<usize>) {
        if states.last().is_none_or(|last| *last < state) {
            states.push(state);
        }
        if self.signs.get(state) == Some(&Sign::Any) && states.last().is_none_or(|last| *last <= state) {
            states.push(state + 1);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn a_pattern_cuts_the_shortest_or_longest_part_and_says_where_it_fits_the_whole() {
        for (pattern, text, shortest, longest) in [
            ("a", "ab", Some(1), Some(1)),
            ("*b", "abab", Some(2), Some(4)),
            ("*", "ab", Some(0), Some(2)),
            ("**b", "ab", Some(2), Some(2)),
            ("?", "é", Some(2), Some(2)),
            ("[a-c]*[!x]", "bxy", Some(3), Some(3)),
            ("[]a]", "]", Some(1), Some(1)),
            ("[a", "[a", Some(2), Some(2)),
            ("\\*", "*a", Some(1), Some(1)),
            ("b", "ab", None, None),
            ("*a*b*", "xaxxb", Some(5), Some(5)),
        ] {
            let mut steps = 1000;
            let read = Pattern::new(pattern);
            assert_eq!(read.part(text, false, &mut steps), Some(shortest), "{pattern} of {text}");
            assert_eq!(read.part(text, true, &mut steps), Some(longest), "{pattern} of {text}");
            let whole = read.fits(text, &mut steps);
            assert_eq!(whole, Some(fits(pattern, text)), "{pattern} and {text}");
        }
    }

    #[test]
    fn backwards_it_cuts_parts_off_the_end() {
        for (pattern, text, shortest, longest) in [
            (".*", "a.b.c", Some(2), Some(4)),
            ("[ab]é", "abcé", None, None),
            ("b?é", "abcé", Some(4), Some(4)),
            ("*", "ab", Some(0), Some(2)),
        ] {
            let read = Pattern::new(pattern).backwards();
            assert_eq!(read.part(text, false, &mut 100), Some(shortest), "{pattern} of {text}");
            assert_eq!(read.part(text, true, &mut 100), Some(longest), "{pattern} of {text}");
        }
    }

    #[test]
    fn the_steps_of_a_match_are_at_most_the_product_of_the_lengths() {
        for pattern in ["*xxxxxxxxxy", "*x*x*x*x*y", "[a-z]*[a-z]*y", "xxxxxxxxxx", "**********y"] {
            let text = "x".repeat(500);
            let mut steps = limits::STEPS;
            assert_eq!(Pattern::new(pattern).fits(&text, &mut steps), Some(false), "{pattern}");
            let taken = limits::STEPS - steps;
            assert!(taken <= (pattern.len() + 1) * text.len(), "{pattern} takes {taken}");
            assert_eq!(Pattern::new(pattern).fits(&text, &mut 5), None, "{pattern} stops where none is left");
        }
    }
}
