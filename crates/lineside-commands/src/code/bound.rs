//! What code binds its names to: how often it does, what a loop goes over, what a function is called with.
//! A name that is bound twice is not followed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::tokens::Token;

/// Most values of a loop, calls of a function and functions that are followed.
const VALUES: usize = 256;

/// How often each name is bound.
#[derive(Default)]
pub(super) struct Bindings<'a> {
    /// By a plain `=`, and in all other ways.
    counts: HashMap<&'a str, (u32, u32)>,
    /// By a plain `=` to a text alone.
    texts: HashMap<&'a str, u32>,
}

impl<'a> Bindings<'a> {
    pub(super) fn of(tokens: &'a [Token], language: &str) -> Self {
        let mut all = Self::default();
        // Signs that open a group and are not closed, and where they are.
        let mut open: Vec<(char, usize)> = Vec::new();
        // What groups that are taken apart may hold in all.
        let mut left = 4 * tokens.len();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Sign(sign @ ('(' | '[' | '{')) => open.push((*sign, at)),
                Token::Sign(')' | ']' | '}') => {
                    let from = open.pop().map_or(at, |(_, from)| from);
                    // `{a, b} = …`, `(a, b) => …`.
                    if is_set(tokens, at) {
                        left = left.saturating_sub(at - from);
                        // `a[0] = …` changes what is in front of it.
                        let from = from.saturating_sub(usize::from(tokens[from] == Token::Sign('[')));
                        all.names(if left == 0 { &[] } else { &tokens[from..at] });
                    }
                }
                Token::Name(name) => {
                    let within = open.last().map(|(sign, _)| *sign);
                    all.name(name, tokens, at, within.filter(|_| language == "python"));
                }
                _ => {}
            }
        }
        all
    }

    fn name(&mut self, name: &'a str, tokens: &'a [Token], at: usize, within: Option<char>) {
        let behind = &tokens[at + 1..];
        let up_to = |words: &[&str]| {
            let is_end = |token: &Token| match token {
                Token::Name(name) => words.contains(&name.as_str()),
                Token::Sign(sign) => matches!(sign, ';' | '\n' | ':'),
                _ => false,
            };
            behind.iter().take(12).position(is_end).map_or(&[][..], |end| &behind[..end])
        };
        match name {
            "for" => self.names(up_to(&["in", "of"])),
            "lambda" => self.names(up_to(&[])),
            "as" | "global" | "nonlocal" | "class" | "catch" | "del" => {
                self.names(&behind[..behind.len().min(2)]);
            }
            word if is_defining(word) => {
                let end = behind.iter().take(64).position(|token| *token == Token::Sign(')'));
                self.names(&behind[..end.unwrap_or(0)]);
            }
            _ => {}
        }
        if let Some((of, method)) = name.rsplit_once('.')
            && CHANGES.contains(&method)
        {
            self.counts.entry(of).or_default().1 += 1;
        }
        let is_sign = |at: usize, sign: char| behind.get(at) == Some(&Token::Sign(sign));
        let is_operator =
            |at: usize| matches!(behind.get(at), Some(Token::Sign(sign)) if "+-*/|&:%?".contains(*sign));
        let changes = is_operator(0);
        // `name=…` of a call names an argument there.
        if is_sign(0, '=') && is_sign(1, '>') {
            self.counts.entry(name).or_default().1 += 1;
        } else if is_set(tokens, at) && within != Some('(') || is_typed(tokens, at) && within.is_none() {
            self.counts.entry(name).or_default().0 += 1;
            if let [Token::Sign('='), Token::Text(_)]
            | [Token::Sign('='), Token::Text(_), Token::Sign('\n' | ';'), ..] = behind
            {
                *self.texts.entry(name).or_default() += 1;
            }
        } else if changes && is_sign(1, '=') && !is_sign(2, '[')
            || changes && is_operator(1) && is_sign(2, '=')
        {
            self.counts.entry(name).or_default().1 += 1;
        }
        // `a, b = …`.
        if matches!(at.checked_sub(1).map(|at| &tokens[at]), None | Some(Token::Sign('\n' | ';' | ':'))) {
            let names = behind.iter().take(8).take_while(|token| matches!(token, Token::Name(_))).count();
            if names > 0 && is_set(tokens, at + names) {
                // The name before the `=` is counted there; texts are bound one by one.
                let texts = tokens[at + names + 2..].iter().take_while(|token| token.is_text());
                if texts.count() <= names {
                    self.names(&tokens[at..at + names]);
                }
            }
        }
    }

    fn names(&mut self, tokens: &'a [Token]) {
        for token in tokens {
            if let Token::Name(name) = token {
                self.counts.entry(name.trim_start_matches('.')).or_default().1 += 1;
            }
        }
    }

    /// Whether it is bound by one `=` alone.
    pub(super) fn is_once(&self, name: &str) -> bool {
        self.counts.get(name) == Some(&(1, 0))
    }

    /// Whether nothing but texts is bound to it, or one thing.
    pub(super) fn are_texts(&self, name: &str) -> bool {
        let texts = self.texts.get(name).copied().unwrap_or_default();
        self.is_once(name) || self.counts.get(name) == Some(&(texts, 0))
    }

    fn count(&self, name: &str) -> u32 {
        self.counts.get(name).map_or(0, |(set, other)| set + other)
    }
}

/// Methods that change a list in other ways than by what is added at its end.
const CHANGES: [&str; 10] =
    ["insert", "unshift", "pop", "remove", "reverse", "clear", "shift", "splice", "sort", "fill"];

/// Whether what stands here is set to what stands behind it.
pub(super) fn is_set(tokens: &[Token], at: usize) -> bool {
    tokens.get(at + 1) == Some(&Token::Sign('=')) && tokens.get(at + 2) != Some(&Token::Sign('='))
}

/// Whether what stands here is set with its type: `p: Path = …`.
pub(super) fn is_typed(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(at + 1..at + 4), Some([Token::Sign(':'), Token::Name(_), Token::Sign('=')]))
}

/// A name that loops or calls bind, where it holds, and what it is in each turn: a text, a list of texts, or nothing that is known.
pub(super) struct Turns<'a> {
    pub(super) name: &'a str,
    pub(super) within: Range<usize>,
    pub(super) values: Vec<Vec<Token>>,
    /// For how many turns it is the same, where loops may stand within loops.
    pub(super) stays: usize,
}

impl Turns<'_> {
    /// Which of its values it has in a turn.
    pub(super) fn at(&self, turn: usize) -> usize {
        turn / self.stays % self.values.len().max(1)
    }
}

/// How many turns there are: each value of a loop with each of another's where one statement has both, or else side by side.
pub(super) fn count(turns: &mut [Turns<'_>], tokens: &[Token]) -> usize {
    let is_loop = |turns: &Turns<'_>| turns.within.end == usize::MAX;
    let loops: Vec<usize> = (0..turns.len()).filter(|number| is_loop(&turns[*number])).collect();
    // Loops before each that a statement has beside it.
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); turns.len()];
    for statement in tokens.split(|token| matches!(token, Token::Sign('\n' | ';'))) {
        let has = |name: &str| {
            statement.iter().any(|token| match token {
                Token::Name(other) => other == name,
                Token::Text(text) => text.contains(name),
                _ => false,
            })
        };
        let named: Vec<usize> = loops.iter().copied().take(16).filter(|at| has(turns[*at].name)).collect();
        for (number, at) in named.iter().enumerate() {
            beside[*at].extend_from_slice(&named[..number]);
        }
    }
    for at in loops {
        let stays = beside[at].iter().map(|other| turns[*other].stays * turns[*other].values.len()).max();
        let stays = stays.unwrap_or(1);
        if stays * turns[at].values.len() <= VALUES {
            turns[at].stays = stays;
        }
    }
    turns.iter().map(|turns| turns.stays * turns.values.len()).max().unwrap_or(0)
}

/// The loops over lists that stand there: `for f in ["a", "b"]`, `["a", "b"].forEach(f => …)`.
pub(super) fn loops<'a>(tokens: &'a [Token], bindings: &Bindings<'_>) -> Vec<Turns<'a>> {
    let mut all = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[') => open.push(at),
            Token::Sign(')' | ']') => {
                let Some(from) = open.pop() else { continue };
                let name = match (&tokens[..from], &tokens[at + 1..]) {
                    ([before @ .., Token::Name(name), Token::Name(within)], _)
                        if matches!(within.as_str(), "in" | "of") && is_for(before) =>
                    {
                        name
                    }
                    (
                        _,
                        [Token::Name(each), Token::Sign('('), Token::Sign('('), Token::Name(name), ..]
                        | [Token::Name(each), Token::Sign('('), Token::Name(name), ..],
                    ) if matches!(each.as_str(), ".forEach" | ".map") => name,
                    _ => continue,
                };
                let (values, rest) = values(&tokens[from + 1..at]);
                if bindings.count(name) == 1 && rest.is_empty() && (1..=VALUES).contains(&values.len()) {
                    all.push(Turns { name, within: 0..usize::MAX, values, stays: 1 });
                }
            }
            _ => {}
        }
    }
    all
}

fn is_for(before: &[Token]) -> bool {
    let before = match before {
        [rest @ .., Token::Name(kind)] if matches!(kind.as_str(), "const" | "let" | "var") => rest,
        rest => rest,
    };
    matches!(before, [.., Token::Name(word)] | [.., Token::Name(word), Token::Sign('(')] if word == "for")
}

/// The texts and lists of texts that stand in front, and what stands behind them.
fn values(mut rest: &[Token]) -> (Vec<Vec<Token>>, &[Token]) {
    let mut all = Vec::new();
    while all.len() <= VALUES {
        let length = match rest {
            [Token::Text(_), Token::Sign('(' | ')' | '[' | ']' | '{') | Token::Text(_), ..]
            | [Token::Text(_)] => 1,
            [Token::Text(_), Token::Name(name), ..] if !name.starts_with('.') => 1,
            [Token::Sign('[' | '('), words @ ..] => {
                let length = words.iter().take_while(|word| word.is_text()).count();
                match words.get(length) {
                    Some(Token::Sign(']' | ')')) => length + 2,
                    _ => break,
                }
            }
            _ => break,
        };
        all.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    (all, rest)
}

/// A function that the code defines once.
struct Function<'a> {
    /// Its parameters, each whether all that is left is in it.
    parameters: Vec<(&'a str, bool)>,
    within: Range<usize>,
}

/// What calls of the code's own functions give their parameters, if each call stands there with texts: `def run(c): os.system(c)`,
/// `const run = c => execSync(c)`. The definitions are in `tokens`, the calls in what these are worth.
pub(super) fn given<'a>(
    tokens: &'a [Token],
    worth: &[Token],
    bindings: &Bindings<'_>,
    language: &str,
) -> Vec<Turns<'a>> {
    let functions = functions(tokens, bindings);
    let mut calls: BTreeMap<&str, Vec<Vec<Vec<Token>>>> = BTreeMap::new();
    for (at, two) in worth.windows(2).enumerate() {
        let [Token::Name(name), Token::Sign('(')] = two else { continue };
        let name = name.strip_prefix("self.").or_else(|| name.strip_prefix("this.")).unwrap_or(name);
        let is_defined =
            matches!(at.checked_sub(1).map(|at| &worth[at]), Some(Token::Name(word)) if is_defining(word));
        if let Some((name, _)) = functions.get_key_value(name).filter(|_| !is_defined) {
            let known = calls.entry(name).or_default();
            if known.len() < VALUES {
                known.push(values(&worth[at + 2..]).0);
            }
        }
    }
    let mut all = Vec::new();
    for (name, calls) in calls {
        let Function { parameters, within } = &functions[name];
        let own = Bindings::of(&tokens[within.clone()], language);
        for (number, (name, is_rest)) in
            parameters.iter().enumerate().filter(|(_, (name, _))| own.count(name) == 1)
        {
            let value = |call: &Vec<Vec<Token>>| match call.get(number..) {
                Some(values) if *is_rest => {
                    let texts = values.iter().flatten().filter(|token| token.is_text()).cloned();
                    [Token::Sign('[')].into_iter().chain(texts).chain([Token::Sign(']')]).collect()
                }
                Some([value, ..]) => value.clone(),
                _ => Vec::new(),
            };
            all.push(Turns {
                name,
                within: within.clone(),
                values: calls.iter().map(value).collect(),
                stays: 1,
            });
        }
    }
    all
}

/// Whether a function is named behind this word.
pub(super) fn is_defining(word: &str) -> bool {
    matches!(word, "def" | "function")
}

fn functions<'a>(tokens: &'a [Token], bindings: &Bindings<'_>) -> HashMap<&'a str, Function<'a>> {
    let mut all: HashMap<&str, Function<'_>> = HashMap::new();
    let mut last: Option<&str> = None;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(word) = token else { continue };
        let (name, from) = match &tokens[at + 1..] {
            [Token::Name(name), Token::Sign('('), ..] if is_defining(word) => (name, at + 3),
            [Token::Sign('='), rest @ ..] => {
                let is_word = |token: &&Token| matches!(token, Token::Name(word) if matches!(word.as_str(), "lambda" | "async" | "function"));
                let from = at + 2 + rest.iter().take_while(is_word).count();
                let is_arrow = |two: &[Token]| *two == [Token::Sign('='), Token::Sign('>')];
                let is_arrow = tokens[from..]
                    .windows(2)
                    .take(24)
                    .take_while(|two| two[0] != Token::Sign('\n'))
                    .any(is_arrow);
                if !is_arrow && from == at + 2 {
                    continue;
                }
                (word, from + usize::from(tokens.get(from) == Some(&Token::Sign('('))))
            }
            _ => continue,
        };
        // The one before it ends here.
        if let Some(before) = last.and_then(|last| all.get_mut(last)) {
            before.within.end = before.within.end.min(at);
        }
        last = None;
        if bindings.count(name) == 1 && all.len() < VALUES {
            // Its body is over where it is called first.
            let is_call =
                |two: &[Token]| matches!(two, [Token::Name(call), Token::Sign('(')] if call == name);
            let end = tokens[from..].windows(2).position(is_call).map_or(tokens.len(), |end| from + end);
            all.insert(name, Function { parameters: parameters(&tokens[from..]), within: at..end });
            last = Some(name);
        }
    }
    all
}

fn parameters(tokens: &[Token]) -> Vec<(&str, bool)> {
    let mut all = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().take(64).enumerate() {
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')') if depth == 0 => break,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            // A parameter without parentheses ends at its arrow or colon.
            Token::Sign('=') if tokens.get(at + 1) == Some(&Token::Sign('>')) => break,
            Token::Name(name) if depth == 0 && !matches!(before, Some(Token::Sign(':' | '='))) => {
                let is_rest = matches!(before, Some(Token::Sign('*' | '.')));
                let name = name.trim_start_matches('.');
                if !matches!(name, "self" | "cls") {
                    all.push((name, is_rest));
                }
            }
            _ => {}
        }
    }
    all
}
