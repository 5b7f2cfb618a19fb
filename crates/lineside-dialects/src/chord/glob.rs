//! Globs (CH-25), as an automaton that walks a text once: the work is bounded by the product of the two lengths, and a
//! search that would need more than its share of steps is given up.
//!
//! A pattern is a row of segments, each ended by a `/`; so is the text, whose last segment is ended by its end. A whole
//! segment `**` is then any number of segments with their ends, and takes the `/` after it in the pattern along, which
//! is why `a/**` means `a` too and `**/a` means `a`. The rest is one character after another.

use std::fmt;

use lineside_search::Search;

/// The most steps of all searches for one event.
pub(super) const MOST_STEPS: usize = 10_000_000;

/// The longest pattern, in bytes.
const LONGEST: usize = 8192;

/// A glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    pattern: String,
    steps: Vec<Step>,
}

/// One step of the automaton; the next one is the one behind it unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Character(char),
    /// `/`
    Separator,
    /// `?`
    Any,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// `*`
    Star,
    /// `**`
    Double,
    /// `{`: on at each of these.
    Either(Vec<usize>),
    /// `,`: on at that one.
    On(usize),
}

/// What is known at a step of the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A segment of the pattern begins here.
    Begins,
    /// A segment of the pattern has begun.
    Within,
    /// Of a step `**`: it is a whole segment, and a segment of the text begins.
    Whole,
    /// Of a step `**`: it is a whole segment, and a segment of the text has begun.
    Inside,
    /// After a `**` that is a whole segment: here must be the `/` that belongs to it, or the pattern's end.
    Behind,
}

const WAYS: usize = 5;

/// Why a text is no glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadGlobError {
    #[error("a class is not closed")]
    OpenClass,
    #[error("a class is empty")]
    EmptyClass,
    #[error("a group is not closed")]
    OpenGroup,
    #[error("a `}}` has no `{{`")]
    NoGroup,
    #[error("it ends in `\\`")]
    Backslash,
    #[error("it has more than {LONGEST} bytes")]
    TooLong,
}

/// A group that is not closed yet.
struct Open {
    /// The step that leads to its alternatives.
    either: usize,
    starts: Vec<usize>,
    /// The steps that lead out of its alternatives.
    ends: Vec<usize>,
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is malformed.
    pub(super) fn read(pattern: &str) -> Result<Self, ReadGlobError> {
        if pattern.len() > LONGEST {
            return Err(ReadGlobError::TooLong);
        }
        let mut steps = Vec::with_capacity(pattern.len() + 1);
        let mut groups: Vec<Open> = Vec::new();
        let mut rest = pattern.chars().peekable();
        while let Some(next) = rest.next() {
            let step = match next {
                '/' => Step::Separator,
                '?' => Step::Any,
                '*' if rest.next_if_eq(&'*').is_some() => Step::Double,
                '*' => Step::Star,
                '\\' => Step::Character(rest.next().ok_or(ReadGlobError::Backslash)?).separated(),
                '[' => class(&mut rest)?,
                '{' => {
                    groups.push(Open {
                        either: steps.len(),
                        starts: vec![steps.len() + 1],
                        ends: Vec::new(),
                    });
                    Step::Either(Vec::new())
                }
                ',' => match groups.last_mut() {
                    Some(group) => {
                        group.ends.push(steps.len());
                        group.starts.push(steps.len() + 1);
                        Step::On(0)
                    }
                    None => Step::Character(','),
                },
                '}' => {
                    let Open { either, starts, ends } = groups.pop().ok_or(ReadGlobError::NoGroup)?;
                    let behind = steps.len();
                    for (at, step) in ends.into_iter().map(|at| (at, Step::On(behind))) {
                        set(&mut steps, at, step);
                    }
                    set(&mut steps, either, Step::Either(starts));
                    continue;
                }
                other => Step::Character(other),
            };
            steps.push(step);
        }
        if !groups.is_empty() {
            return Err(ReadGlobError::OpenGroup);
        }
        steps.push(Step::Separator);
        Ok(Self { pattern: pattern.to_owned(), steps })
    }

    /// Whether it matches the whole text, unless that takes more than the steps that are left, of which it takes its
    /// own away.
    #[must_use]
    pub(super) fn search(&self, text: &str, left: &mut usize) -> Search {
        let mut now = Places::new(self.steps.len());
        let mut then = Places::new(self.steps.len());
        self.reach(&mut now, 0, Way::Begins);
        for symbol in text.chars().map(Some).chain([None]) {
            then.clear();
            *left = left.saturating_sub(1 + now.taken());
            if *left == 0 {
                return Search::Exhausted;
            }
            for index in 0..now.list.len() {
                if let Some((at, way)) = now.list.get(index).copied() {
                    self.take(&mut then, at, way, symbol);
                }
            }
            std::mem::swap(&mut now, &mut then);
            if now.list.is_empty() {
                return Search::Absent;
            }
        }
        let is_end = now.list.iter().any(|(at, _)| *at == self.steps.len());
        if is_end { Search::Found } else { Search::Absent }
    }

    /// Adds a place and all that are reached from it without a character.
    fn reach(&self, places: &mut Places, at: usize, way: Way) {
        let mut open = vec![(at, way)];
        while let Some((at, way)) = open.pop() {
            if !places.add(at, way) {
                continue;
            }
            match (self.steps.get(at), way) {
                (Some(Step::Either(starts)), _) => open.extend(starts.iter().map(|start| (*start, way))),
                (Some(Step::On(on)), _) => open.push((*on, way)),
                (Some(Step::Separator), Way::Behind) => open.push((at + 1, Way::Begins)),
                (_, Way::Behind) => {}
                (Some(Step::Double), Way::Begins) => open.extend([(at, Way::Within), (at, Way::Whole)]),
                (Some(Step::Double), Way::Whole) => open.push((at + 1, Way::Behind)),
                (Some(Step::Double), Way::Inside) => {}
                (Some(Step::Star | Step::Double), _) => open.push((at + 1, Way::Within)),
                _ => {}
            }
        }
    }

    /// Adds the places that a place leads to with a character, or with the end.
    fn take(&self, then: &mut Places, at: usize, way: Way, symbol: Option<char>) {
        let separator = matches!(symbol, None | Some('/'));
        match (self.steps.get(at), way) {
            (Some(Step::Double), Way::Whole | Way::Inside) => {
                self.reach(then, at, if separator { Way::Whole } else { Way::Inside });
            }
            (_, Way::Behind) | (Some(Step::Double), Way::Begins) => {}
            (Some(Step::Star | Step::Double), _) if !separator => self.reach(then, at, Way::Within),
            (Some(Step::Any), _) if !separator => self.reach(then, at + 1, Way::Within),
            (Some(Step::Separator), _) if separator => self.reach(then, at + 1, Way::Begins),
            (Some(Step::Character(wanted)), _) if symbol == Some(*wanted) => {
                self.reach(then, at + 1, Way::Within);
            }
            (Some(Step::Class { negated, ranges }), _) => {
                let holds = |symbol| ranges.iter().any(|(first, last)| (*first..=*last).contains(&symbol));
                if symbol.is_some_and(|symbol| holds(symbol) != *negated) {
                    self.reach(then, at + 1, Way::Within);
                }
            }
            _ => {}
        }
    }
}

impl Step {
    /// A `/` that is written `\/` separates all the same.
    fn separated(self) -> Self {
        if self == Self::Character('/') { Self::Separator } else { self }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

fn set(steps: &mut [Step], at: usize, step: Step) {
    if let Some(place) = steps.get_mut(at) {
        *place = step;
    }
}

/// A class, behind its `[`.
fn class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Step, ReadGlobError> {
    let negated = rest.next_if(|next| matches!(next, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or(ReadGlobError::OpenClass)? {
            ']' if ranges.is_empty() => return Err(ReadGlobError::EmptyClass),
            ']' => return Ok(Step::Class { negated, ranges }),
            '\\' => rest.next().ok_or(ReadGlobError::OpenClass)?,
            other => other,
        };
        let mut ahead = rest.clone();
        // A hyphen at either end of a class is a hyphen.
        if ahead.next() != Some('-') || matches!(ahead.peek(), None | Some(']')) {
            ranges.push((first, first));
            continue;
        }
        *rest = ahead;
        let last = match rest.next() {
            Some('\\') => rest.next(),
            other => other,
        };
        ranges.push((first, last.ok_or(ReadGlobError::OpenClass)?));
    }
}

/// Where the automaton is, each place once.
struct Places {
    list: Vec<(usize, Way)>,
    known: Vec<bool>,
    /// How often a place was reached.
    reached: usize,
}

impl Places {
    fn new(steps: usize) -> Self {
        Self { list: Vec::new(), known: vec![false; (steps + 1) * WAYS], reached: 0 }
    }

    /// How often a place was reached since this was asked last.
    fn taken(&mut self) -> usize {
        std::mem::take(&mut self.reached)
    }

    fn clear(&mut self) {
        for (at, way) in self.list.drain(..) {
            if let Some(known) = self.known.get_mut(at * WAYS + way as usize) {
                *known = false;
            }
        }
    }

    /// Whether it is new.
    fn add(&mut self, at: usize, way: Way) -> bool {
        self.reached += 1;
        match self.known.get_mut(at * WAYS + way as usize) {
            Some(known) if !*known => {
                *known = true;
                self.list.push((at, way));
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
