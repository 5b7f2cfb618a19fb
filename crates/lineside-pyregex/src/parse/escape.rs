//! What a backslash begins.

use super::{Parsed, Parser};
use crate::syntax::{Category, Item, Node, Place};

impl Parser {
    /// An escape outside of a set; the next character is the backslash.
    pub(super) fn escape(&mut self) -> Parsed<Node> {
        let start = self.at;
        self.at += 1;
        let Some(next) = self.next() else {
            return Err(self.error("bad escape (end of pattern)", start));
        };
        if let Some(category) = Category::of(next) {
            return Ok(Node::Set {
                negated: false,
                items: vec![Item::Category(category)],
                flags: self.flags,
            });
        }
        let place = match next {
            'A' => Some(Place::TextStart),
            'Z' => Some(Place::TextEnd),
            'b' => Some(Place::WordEdge),
            'B' => Some(Place::NotWordEdge),
            _ => None,
        };
        if let Some(place) = place {
            return Ok(Node::At(place, self.flags));
        }
        if next.is_ascii_digit() && next != '0' {
            return self.reference(next, start);
        }
        let literal = match next {
            '0' => self.octal('0', start)?,
            _ => self.character(next, start)?,
        };
        Ok(Node::Literal(literal, self.flags))
    }

    /// An escape within a set; the next character is the backslash.
    pub(super) fn set_escape(&mut self) -> Parsed<Item> {
        let start = self.at;
        self.at += 1;
        let Some(next) = self.next() else {
            return Err(self.error("bad escape (end of pattern)", start));
        };
        if let Some(category) = Category::of(next) {
            return Ok(Item::Category(category));
        }
        let literal = match next {
            'b' => '\u{8}',
            '0'..='7' => self.octal(next, start)?,
            _ => self.character(next, start)?,
        };
        Ok(Item::Range(literal, literal))
    }

    /// An octal character or a group, which look alike.
    fn reference(&mut self, first: char, start: usize) -> Parsed<Node> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            self.at += 1;
            digits.push(second);
            let third = self.peek().filter(|digit| is_octal(*digit));
            if let (true, true, Some(third)) = (is_octal(first), is_octal(second), third) {
                self.at += 1;
                digits.push(third);
                return Ok(Node::Literal(self.octal_value(&digits, start)?, self.flags));
            }
        }
        let group = digits.parse::<usize>().unwrap_or(usize::MAX);
        self.group_reference(group, start, || format!("invalid group reference {digits}"))
    }

    /// A reference to a group, which must be closed.
    pub(super) fn group_reference(
        &self,
        group: usize,
        start: usize,
        unknown: impl FnOnce() -> String,
    ) -> Parsed<Node> {
        match self.widths.get(group) {
            None => return Err(self.error(unknown(), start + 1)),
            Some(None) => return Err(self.error("cannot refer to an open group", start)),
            Some(Some(_)) => {}
        }
        if self.behind.is_some_and(|before| group >= before) {
            return Err(self.error("cannot refer to group defined in the same lookbehind subpattern", start));
        }
        Ok(Node::Reference(u32::try_from(group).unwrap_or(u32::MAX), self.flags))
    }

    /// Up to two more octal digits.
    fn octal(&mut self, first: char, start: usize) -> Parsed<char> {
        let mut digits = String::from(first);
        while let Some(digit) = self.peek().filter(|digit| digits.len() < 3 && is_octal(*digit)) {
            self.at += 1;
            digits.push(digit);
        }
        self.octal_value(&digits, start)
    }

    fn octal_value(&self, digits: &str, start: usize) -> Parsed<char> {
        u8::from_str_radix(digits, 8)
            .map(char::from)
            .map_err(|_| self.error(format!("octal escape value \\{digits} outside of range 0-0o377"), start))
    }

    fn character(&mut self, next: char, start: usize) -> Parsed<char> {
        Ok(match next {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hexadecimal(2, start)?,
            'u' => self.hexadecimal(4, start)?,
            'U' => self.hexadecimal(8, start)?,
            'N' => return Err(self.error("characters by name (\\N{…}) are not supported", start)),
            other if other.is_ascii_alphanumeric() => {
                return Err(self.error(format!("bad escape \\{other}"), start));
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self, count: usize, start: usize) -> Parsed<char> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(|digit| digits.len() < count && digit.is_ascii_hexdigit())
        {
            self.at += 1;
            digits.push(digit);
        }
        let text: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
        if digits.len() < count {
            return Err(self.error(format!("incomplete escape {text}"), start));
        }
        u32::from_str_radix(&digits, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| self.error(format!("bad escape {text}"), start))
    }
}

fn is_octal(digit: char) -> bool {
    matches!(digit, '0'..='7')
}
