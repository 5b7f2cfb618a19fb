//! Reads a pattern by the rules of Python's `re._parser` (3.11), with its error texts.

use std::collections::BTreeMap;

use super::CompilePatternError;
use super::syntax::{Branches, Flags, Greed, Item, Node, Place, Width};

mod escape;
mod group;

/// The deepest nesting of groups; a bound of ours that keeps reading and writing from exhausting the stack.
const DEEPEST: usize = 64;
/// Python's `MAXREPEAT` on 64-bit machines.
const MOST_REPEATS: u64 = 4_294_967_295;

/// Reads a pattern.
pub(super) fn parse(source: &str) -> Result<Branches, CompilePatternError> {
    let mut parser = Parser {
        text: source.chars().collect(),
        at: 0,
        flags: Flags::default(),
        widths: vec![None],
        names: BTreeMap::new(),
        conditions: Vec::new(),
        behind: None,
        depth: 0,
    };
    let branches = parser.branches()?;
    if parser.peek().is_some() {
        return Err(parser.error("unbalanced parenthesis", parser.at));
    }
    for (group, position) in &parser.conditions {
        if *group >= parser.widths.len() {
            return Err(parser.error(format!("invalid group reference {group}"), *position));
        }
    }
    Ok(branches)
}

struct Parser {
    text: Vec<char>,
    at: usize,
    /// The flags in force.
    flags: Flags,
    /// The width of each group that is closed; the first entry is the whole pattern.
    widths: Vec<Option<Width>>,
    names: BTreeMap<String, usize>,
    /// Groups that conditions ask for, and where.
    conditions: Vec<(usize, usize)>,
    /// How many groups there were when the outermost lookbehind began.
    behind: Option<usize>,
    depth: usize,
}

type Parsed<T> = Result<T, CompilePatternError>;

impl Parser {
    fn error(&self, problem: impl Into<String>, position: usize) -> CompilePatternError {
        CompilePatternError::Syntax { problem: problem.into(), position: position.min(self.text.len()) }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    /// Python reads a backslash and what follows it as one token, in comments too.
    fn skip_token(&mut self) -> Option<char> {
        let token = self.next()?;
        if token == '\\' {
            self.next()?;
        }
        Some(token)
    }

    fn branches(&mut self) -> Parsed<Branches> {
        let mut branches = Vec::new();
        loop {
            let first = self.depth == 0 && branches.is_empty();
            branches.push(self.sequence(first)?);
            if !self.take('|') {
                return Ok(branches);
            }
        }
    }

    fn sequence(&mut self, first: bool) -> Parsed<Vec<Node>> {
        let mut nodes = Vec::new();
        while let Some(next) = self.peek() {
            let start = self.at;
            match next {
                '|' | ')' => break,
                ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' if self.flags.verbose => {
                    self.at += 1;
                }
                '#' if self.flags.verbose => while !matches!(self.skip_token(), None | Some('\n')) {},
                '\\' => nodes.push(self.escape()?),
                '[' => nodes.push(self.set()?),
                '*' | '+' | '?' => {
                    self.at += 1;
                    let (least, most) = match next {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    self.repeat(&mut nodes, least, most, start)?;
                }
                '{' => match self.counts()? {
                    Some((least, most)) => self.repeat(&mut nodes, least, most, start)?,
                    None => nodes.push(Node::Literal('{', self.flags)),
                },
                '(' => {
                    let only_flags_so_far = first && nodes.is_empty();
                    nodes.extend(self.group(only_flags_so_far)?);
                }
                '.' => {
                    self.at += 1;
                    nodes.push(Node::Any(self.flags));
                }
                '^' | '$' => {
                    self.at += 1;
                    let place = if next == '^' { Place::LineStart } else { Place::LineEnd };
                    nodes.push(Node::At(place, self.flags));
                }
                literal => {
                    self.at += 1;
                    nodes.push(Node::Literal(literal, self.flags));
                }
            }
        }
        Ok(nodes)
    }

    /// The bounds in `{m,n}`; `None`, past the brace alone, when it is no repetition.
    fn counts(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let start = self.at;
        self.at += 1;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let low = self.digits();
        let high = if self.take(',') { self.digits() } else { low.clone() };
        if !self.take('}') {
            self.at = start + 1;
            return Ok(None);
        }
        let bound = |digits: &str| match digits.parse::<u64>() {
            Ok(count) if count < MOST_REPEATS => u32::try_from(count).map_err(|_| ()),
            _ => Err(()),
        };
        let too_large = || self.error("the repetition number is too large", start);
        let least = if low.is_empty() { 0 } else { bound(&low).map_err(|()| too_large())? };
        let most = if high.is_empty() { None } else { Some(bound(&high).map_err(|()| too_large())?) };
        if most.is_some_and(|most| most < least) {
            return Err(self.error("min repeat greater than max repeat", start));
        }
        Ok(Some((least, most)))
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        digits
    }

    fn repeat(&mut self, nodes: &mut Vec<Node>, least: u32, most: Option<u32>, start: usize) -> Parsed<()> {
        match nodes.last() {
            None | Some(Node::At(..)) => return Err(self.error("nothing to repeat", start)),
            Some(Node::Repeat { .. }) => return Err(self.error("multiple repeat", start)),
            Some(_) => {}
        }
        let greed = if self.take('?') {
            Greed::Lazy
        } else if self.take('+') {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        if let Some(item) = nodes.pop() {
            nodes.push(Node::Repeat { item: Box::new(item), least, most, greed });
        }
        Ok(())
    }

    fn set(&mut self) -> Parsed<Node> {
        let start = self.at;
        self.at += 1;
        let negated = self.take('^');
        let mut items = Vec::new();
        loop {
            let from = self.at;
            if self.peek() == Some(']') && !items.is_empty() {
                self.at += 1;
                break;
            }
            let low = self.set_item(start)?;
            if !self.take('-') {
                items.push(low);
                continue;
            }
            if self.take(']') {
                items.extend([low, Item::Range('-', '-')]);
                break;
            }
            let high = self.set_item(start)?;
            match (low, high) {
                (Item::Range(low, _), Item::Range(high, _)) if low <= high => {
                    items.push(Item::Range(low, high));
                }
                _ => {
                    let text: String = self.text.get(from..self.at).unwrap_or_default().iter().collect();
                    return Err(self.error(format!("bad character range {text}"), from));
                }
            }
        }
        Ok(Node::Set { negated, items, flags: self.flags })
    }

    fn set_item(&mut self, start: usize) -> Parsed<Item> {
        match self.peek() {
            None => Err(self.error("unterminated character set", start)),
            Some('\\') => self.set_escape(),
            Some(literal) => {
                self.at += 1;
                Ok(Item::Range(literal, literal))
            }
        }
    }
}
