//! What an opening parenthesis begins.

use super::{DEEPEST, Parsed, Parser};
use crate::syntax::{Branches, Flags, Node, Width};

impl Parser {
    /// A group, or nothing for a comment and for flags of the whole pattern; the next character is the parenthesis.
    pub(super) fn group(&mut self, at_the_start: bool) -> Parsed<Option<Node>> {
        let start = self.at;
        self.at += 1;
        if !self.take('?') {
            return self.capture(None, start).map(Some);
        }
        let Some(kind) = self.next() else {
            return Err(self.error("unexpected end of pattern", self.at));
        };
        match kind {
            'P' => self.named(start).map(Some),
            ':' => self.plain(start).map(Some),
            '#' => loop {
                match self.skip_token() {
                    Some(')') => return Ok(None),
                    Some(_) => {}
                    None => return Err(self.error("missing ), unterminated comment", start)),
                }
            },
            '=' | '!' => self.look(kind, false, start).map(Some),
            '<' => match self.next() {
                Some(kind @ ('=' | '!')) => self.look(kind, true, start).map(Some),
                Some(other) => Err(self.error(format!("unknown extension ?<{other}"), start + 1)),
                None => Err(self.error("unexpected end of pattern", self.at)),
            },
            '(' => self.conditional(start).map(Some),
            '>' => Ok(Some(Node::Atomic(self.inner(start)?))),
            flag if flag == '-' || FLAGS.contains(flag) => self.flag_group(flag, at_the_start, start),
            other => Err(self.error(format!("unknown extension ?{other}"), start + 1)),
        }
    }

    /// Alternatives up to the closing parenthesis; flags set within end with it.
    fn inner(&mut self, start: usize) -> Parsed<Branches> {
        if self.depth >= DEEPEST {
            return Err(self.error(format!("groups are nested more than {DEEPEST} deep"), start));
        }
        self.depth += 1;
        let outer = self.flags;
        let branches = self.branches()?;
        self.flags = outer;
        self.depth -= 1;
        if self.take(')') {
            Ok(branches)
        } else {
            Err(self.error("missing ), unterminated subpattern", start))
        }
    }

    fn plain(&mut self, start: usize) -> Parsed<Node> {
        Ok(Node::Group { number: None, inner: self.inner(start)? })
    }

    fn capture(&mut self, name: Option<String>, start: usize) -> Parsed<Node> {
        let number = self.widths.len();
        self.widths.push(None);
        if let Some(name) = name {
            if let Some(before) = self.names.get(&name) {
                let problem =
                    format!("redefinition of group name '{name}' as group {number}; was group {before}");
                return Err(self.error(problem, start));
            }
            self.names.insert(name, number);
        }
        let inner = self.inner(start)?;
        let width = Width::of(&inner, &self.widths);
        if let Some(entry) = self.widths.get_mut(number) {
            *entry = Some(width);
        }
        Ok(Node::Group { number: u32::try_from(number).ok(), inner })
    }

    fn named(&mut self, start: usize) -> Parsed<Node> {
        if self.take('<') {
            let name = self.name('>')?;
            return self.capture(Some(name), start);
        }
        if self.take('=') {
            let name = self.name(')')?;
            let group = self.names.get(&name).copied().unwrap_or(usize::MAX);
            return self.group_reference(group, start, || format!("unknown group name '{name}'"));
        }
        match self.next() {
            Some(other) => Err(self.error(format!("unknown extension ?P{other}"), start + 1)),
            None => Err(self.error("unexpected end of pattern", self.at)),
        }
    }

    fn until(&mut self, end: char) -> Parsed<String> {
        let start = self.at;
        let mut name = String::new();
        loop {
            match self.next() {
                Some(next) if next == end && name.is_empty() => {
                    return Err(self.error("missing group name", start));
                }
                Some(next) if next == end => return Ok(name),
                Some(next) => name.push(next),
                None if name.is_empty() => return Err(self.error("missing group name", start)),
                None => return Err(self.error(format!("missing {end}, unterminated name"), start)),
            }
        }
    }

    fn name(&mut self, end: char) -> Parsed<String> {
        let start = self.at;
        let name = self.until(end)?;
        if is_identifier(&name) {
            Ok(name)
        } else {
            Err(self.error(format!("bad character in group name '{name}'"), start))
        }
    }

    fn look(&mut self, kind: char, behind: bool, start: usize) -> Parsed<Node> {
        let outer = self.behind;
        if behind {
            self.behind = outer.or(Some(self.widths.len()));
        }
        let inner = self.inner(start)?;
        self.behind = outer;
        if behind {
            let width = Width::of(&inner, &self.widths);
            if width.least != width.most {
                return Err(self.error("look-behind requires fixed-width pattern", start));
            }
        }
        Ok(Node::Look { behind, negated: kind == '!', inner })
    }

    fn conditional(&mut self, start: usize) -> Parsed<Node> {
        let position = self.at;
        let name = self.until(')')?;
        let group = if is_identifier(&name) {
            match self.names.get(&name) {
                Some(group) => *group,
                None => return Err(self.error(format!("unknown group name '{name}'"), position)),
            }
        } else if name.bytes().all(|digit| digit.is_ascii_digit()) {
            let group = name.parse().unwrap_or(usize::MAX);
            if group == 0 {
                return Err(self.error("bad group number", position));
            }
            self.conditions.push((group, position));
            group
        } else {
            return Err(self.error(format!("bad character in group name '{name}'"), position));
        };
        if self.behind.is_some_and(|before| group >= before) {
            let problem = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(self.error(problem, position));
        }
        let mut branches = self.inner(start)?.into_iter();
        let (yes, no) = (branches.next(), branches.next());
        if branches.next().is_some() {
            return Err(self.error("conditional backref with more than two branches", start));
        }
        Ok(Node::Conditional {
            group: u32::try_from(group).unwrap_or(u32::MAX),
            yes: yes.unwrap_or_default(),
            no: no.unwrap_or_default(),
        })
    }

    /// `(?i)`, `(?i-s:…)`; `first` is the first letter or the hyphen.
    fn flag_group(&mut self, first: char, at_the_start: bool, start: usize) -> Parsed<Option<Node>> {
        let (mut on, mut off) = (String::new(), None::<String>);
        let mut next = Some(first);
        loop {
            match next {
                Some('-') if off.is_none() => off = Some(String::new()),
                Some(letter) if FLAGS.contains(letter) => {
                    if letter == 'L' {
                        let problem = "bad inline flags: cannot use 'L' flag with a str pattern";
                        return Err(self.error(problem, self.at));
                    }
                    off.as_mut().unwrap_or(&mut on).push(letter);
                }
                Some(')') if off.is_none() => break,
                Some(':') if off.as_deref() != Some("") => break,
                Some(':' | ')' | '-') => return Err(self.error("missing flag", self.at)),
                Some(letter) if letter.is_alphabetic() => return Err(self.error("unknown flag", self.at)),
                Some(_) => return Err(self.error("missing -, : or )", self.at)),
                None => return Err(self.error("missing -, : or )", self.at)),
            }
            next = self.next();
        }
        let off_letters = off.clone().unwrap_or_default();
        if on.contains('a') && on.contains('u') {
            return Err(self.error("bad inline flags: flags 'a', 'u' and 'L' are incompatible", self.at));
        }
        if off_letters.contains(['a', 'u']) {
            let problem = "bad inline flags: cannot turn off flags 'a', 'u' and 'L'";
            return Err(self.error(problem, self.at));
        }
        if on.contains(|letter| off_letters.contains(letter)) {
            return Err(self.error("bad inline flags: flag turned on and off", self.at));
        }
        let inner = with(with(self.flags, &on, true), &off_letters, false);
        if self.text.get(self.at - 1) == Some(&')') {
            if !at_the_start {
                return Err(self.error("global flags not at the start of the expression", start));
            }
            self.flags = inner;
            return Ok(None);
        }
        let outer = self.flags;
        self.flags = inner;
        let group = self.plain(start)?;
        self.flags = outer;
        Ok(Some(group))
    }
}

const FLAGS: &str = "aiLmsux";

fn with(mut flags: Flags, letters: &str, set: bool) -> Flags {
    for letter in letters.chars() {
        match letter {
            'i' => flags.ignore_case = set,
            'm' => flags.multi_line = set,
            's' => flags.dot_all = set,
            'x' => flags.verbose = set,
            'a' => flags.ascii = set,
            'u' => flags.ascii = !set,
            _ => {}
        }
    }
    flags
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}
