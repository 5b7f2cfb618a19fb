//! Code with what its names are bound to in their place: texts, paths and lists of words.

use std::cell::Cell;
use std::collections::HashMap;

use super::bound::{Bindings, Turns, is_defining, is_set, is_typed};
use super::tokens::Token;
use super::values;
use super::worth::{listed, path, split};
use crate::value::UNKNOWN;

/// Most bytes that are put in the place of names, in all turns.
pub(super) const PUT: usize = 1024 * 1024;

/// What is known before a code is read.
pub(super) struct Given<'a> {
    pub(super) language: &'a str,
    pub(super) home: &'a str,
    /// The folder at hand.
    pub(super) here: &'a str,
    pub(super) bindings: &'a Bindings<'a>,
    /// What is left of the bytes that may be put in the place of names.
    pub(super) left: Cell<usize>,
}

/// The tokens with texts in the place of what is worth one, from the inside out, in this one of the turns of loops and calls.
pub(super) fn settled(tokens: &[Token], given: &Given<'_>, turns: &[Turns<'_>], turn: usize) -> Vec<Token> {
    let mut settling = Settling {
        given,
        turns,
        turn,
        known: HashMap::new(),
        out: Vec::with_capacity(tokens.len()),
        open: Vec::new(),
        list: None,
    };
    for at in 0..tokens.len() {
        settling.add(tokens, at);
        if matches!(tokens.get(at + 1), None | Some(Token::Sign(';' | '\n'))) {
            settling.bind();
        }
    }
    settling.out
}

struct Settling<'a> {
    given: &'a Given<'a>,
    turns: &'a [Turns<'a>],
    turn: usize,
    /// What names are bound to: a text, or a list of texts with its brackets.
    known: HashMap<String, Vec<Token>>,
    out: Vec<Token>,
    /// Where groups that are open begin.
    open: Vec<usize>,
    /// Where the list begins that was closed last.
    list: Option<usize>,
}

impl Settling<'_> {
    fn add(&mut self, tokens: &[Token], at: usize) {
        match &tokens[at] {
            // `["a"] + ["b"]` is one list.
            Token::Sign('[')
                if self.ends_with(&[Token::Sign(']'), Token::Sign('+')]) && self.last_list().is_some() =>
            {
                self.open.extend(self.last_list());
                self.out.truncate(self.out.len() - 2);
            }
            Token::Sign(sign @ ('(' | '[' | '{')) => {
                self.open.push(self.out.len());
                self.out.push(Token::Sign(*sign));
            }
            Token::Sign(sign @ (')' | ']' | '}')) => self.close(*sign, tokens.get(at + 1)),
            // A line goes on within a group.
            Token::Sign('\n')
                if self.open.last().is_some_and(|from| self.out.get(*from) != Some(&Token::Sign('{'))) => {}
            Token::Sign(sign) => {
                self.out.push(Token::Sign(*sign));
            }
            Token::Name(name) => {
                self.name(name, tokens, at);
                self.mark_joined();
            }
            Token::Text(text) => {
                let mut text = self.filled(text, at);
                // What is joined to something in front is not at the root.
                if let [.., front, Token::Sign('+')] = self.out.as_slice()
                    && !front.is_text()
                    && text.starts_with('/')
                {
                    text.remove(0);
                }
                values::join(&mut self.out, text, self.given.language);
            }
            Token::Backquoted(text) => {
                let text = self.filled(text, at);
                self.out.push(Token::Backquoted(text));
            }
        }
    }

    /// Marks a text to which something is joined that is not known: `folder / name`, `"rm " + name`, `"rm %s" % name`.
    fn mark_joined(&mut self) {
        let (sign, text) = match self.out.as_mut_slice() {
            [.., Token::Text(text), Token::Sign(sign), Token::Name(_)] => (*sign, text),
            [.., Token::Text(text), Token::Name(method)] if method == ".format" => ('%', text),
            _ => return,
        };
        match (sign, self.given.language) {
            ('+', _) | ('.', "php" | "perl") => text.push(UNKNOWN),
            ('/', "python") => text.extend(['/', UNKNOWN]),
            ('%', "python") => {
                let filled = ["%s", "%d", "%r", "{}"]
                    .iter()
                    .fold(text.clone(), |text, hole| text.replace(hole, UNKNOWN.encode_utf8(&mut [0; 4])));
                *text = filled;
            }
            _ => {}
        }
    }

    fn name(&mut self, name: &str, tokens: &[Token], at: usize) {
        let next = tokens.get(at + 1);
        self.change(name, &tokens[at + 1..]);
        let in_braces = self.open.last().is_some_and(|from| self.out.get(*from) == Some(&Token::Sign('{')));
        let is_key =
            next == Some(&Token::Sign(':')) && (name == "cwd" || in_braces && self.given.language == "node");
        if is_set(tokens, at)
            || is_typed(tokens, at)
            || is_key
            || matches!(self.out.last(), Some(Token::Name(word)) if is_defining(word) || BINDS.contains(&word.as_str()))
        {
            return self.out.push(Token::Name(name.to_owned()));
        }
        let opens = matches!(next, Some(Token::Sign('(' | '[' | '{')));
        // `...words`.
        let is_spread = self.ends_with(&[Token::Sign('.'), Token::Sign('.')]);
        let key = name.strip_prefix('.').filter(|_| is_spread).unwrap_or(name);
        match self.value(key, at).as_deref() {
            Some([Token::Text(text)]) if !matches!(next, Some(Token::Sign('('))) => {
                // `{cwd}` is `{cwd: cwd}`.
                if in_braces && name == "cwd" && self.out.last() != Some(&Token::Sign(':')) {
                    self.out.extend([Token::Name(name.to_owned()), Token::Sign(':')]);
                }
                return self.put(text.clone());
            }
            Some([_, words @ .., _]) if !opens => return self.words(name, words, next),
            _ => {}
        }
        if let Some((of, method)) = name.rsplit_once('.') {
            let is_path = self.given.language == "python" && OF_PATHS.contains(&method);
            let is_followed = is_path || OF_VALUES.contains(&method);
            match is_followed.then(|| self.value(of, at)).flatten().as_deref() {
                Some([Token::Text(text)]) => {
                    if is_path {
                        self.out.extend([Token::Name("Path".to_owned()), Token::Sign('(')]);
                    }
                    self.put(text.clone());
                    self.out.extend(is_path.then_some(Token::Sign(')')));
                    return self.out.push(Token::Name(format!(".{method}")));
                }
                Some(list) if !is_path => {
                    self.out.extend_from_slice(list);
                    return self.out.push(Token::Name(format!(".{method}")));
                }
                _ => {}
            }
        }
        match values::plain(name, self.given.home, self.given.here) {
            Some(text) if !opens => self.put(text.to_owned()),
            _ => self.out.push(Token::Name(name.to_owned())),
        }
    }

    /// Adds what a list is given at its end: `words.append("a")`, `words += ["a"]`; what is not known of it as that.
    fn change(&mut self, name: &str, behind: &[Token]) {
        let (of, method) = name.rsplit_once('.').unwrap_or((name, ""));
        let more = match (method, behind) {
            ("append" | "push", [Token::Sign('('), more @ ..])
            | ("extend", [Token::Sign('('), Token::Sign('['), more @ ..])
            | ("", [Token::Sign('+'), Token::Sign('='), Token::Sign('['), more @ ..]) => more,
            ("extend", [Token::Sign('('), ..]) => &[],
            _ => return,
        };
        if let Some(list) = self.known.get_mut(of)
            && let Some(close @ Token::Sign(_)) = list.pop_if(|last| !last.is_text())
        {
            let texts = more.iter().take_while(|token| token.is_text()).count();
            list.extend_from_slice(&more[..texts]);
            if !matches!(more.get(texts), Some(Token::Sign(')' | ']'))) {
                list.push(Token::Text(UNKNOWN.to_string()));
            }
            list.push(close);
        }
    }

    /// Puts a list in the place of its name, where that is the whole of an argument, of a list or of what is set.
    fn words(&mut self, name: &str, words: &[Token], next: Option<&Token>) {
        let ends = match next {
            Some(Token::Sign(sign)) => matches!(sign, ')' | ']' | '{' | '+' | ':' | ';' | '\n'),
            Some(Token::Backquoted(_)) => false,
            Some(Token::Name(_) | Token::Text(_)) | None => true,
        };
        // What goes, and whether its brackets come with it.
        let (gone, is_whole) = match self.out.as_slice() {
            _ if !ends => (None, false),
            [.., Token::Sign('.'), Token::Sign('.')] => (Some(2), false),
            [.., Token::Sign('(' | '[') | Token::Text(_), Token::Sign('*')] => (Some(1), false),
            [.., Token::Sign(']'), Token::Sign('+')] => (Some(2), false),
            [.., Token::Sign('(' | '=') | Token::Text(_)] => (Some(0), true),
            [.., Token::Name(within)] if matches!(within.as_str(), "in" | "of") => (Some(0), true),
            _ => (None, false),
        };
        let Some(gone) = gone else { return self.out.push(Token::Name(name.to_owned())) };
        let joins = self.ends_with(&[Token::Sign(']'), Token::Sign('+')]);
        self.out.truncate(self.out.len() - gone);
        if is_whole {
            self.list = Some(self.out.len());
            self.out.push(Token::Sign('['));
        }
        self.out.extend_from_slice(words);
        if is_whole || joins {
            self.out.push(Token::Sign(']'));
        }
    }

    fn close(&mut self, sign: char, next: Option<&Token>) {
        let Some(from) = self.open.pop() else { return self.out.push(Token::Sign(sign)) };
        if let Some((from, words)) = split(&self.out, from) {
            self.out.truncate(from);
            self.list = Some(from);
            self.out.push(Token::Sign('['));
            self.out.extend(words.into_iter().map(Token::Text));
            return self.out.push(Token::Sign(']'));
        } else if let Some((from, text)) = listed(&self.out, from) {
            self.out.truncate(from);
            return self.put(text);
        } else if let [.., Token::Text(path), Token::Sign(')'), Token::Name(method), Token::Sign('(')] =
            self.out.as_mut_slice()
            && matches!(method.as_str(), ".expanduser" | ".resolve" | ".absolute")
        {
            // `Path("~/a").expanduser()` is that path.
            if let Some(below) = path.strip_prefix('~').filter(|below| below.starts_with('/')) {
                *path = format!("{}{below}", self.given.home);
            }
            return self.out.truncate(self.out.len() - 2);
        } else if let Some((from, path)) = path(&self.out, from) {
            self.out.truncate(from);
            // A method of it is asked for.
            if matches!(next, Some(Token::Name(method)) if method.starts_with('.')) {
                self.out.extend([Token::Name("Path".to_owned()), Token::Sign('('), Token::Text(path)]);
                return self.out.push(Token::Sign(')'));
            }
            return self.put(path);
        } else if let Some(Token::Name(name)) = from.checked_sub(1).map(|at| &self.out[at])
            && let Some(text) = values::called(name, &self.out[from + 1..], self.given.home, self.given.here)
        {
            self.out.truncate(from - 1);
            return self.put(text);
        }
        if sign == ']' {
            self.list = Some(from);
        }
        self.out.push(Token::Sign(sign));
    }

    /// Binds the name of a statement that ends here: `name = 'text'`, `name = Path('text')`, `name = ['a', 'b']`.
    fn bind(&mut self) {
        let is_argument = |from: &usize| self.out.get(*from) == Some(&Token::Sign('('));
        if self.given.language == "python" && self.open.last().is_some_and(is_argument) {
            return;
        }
        self.bind_each();
        let from = match self.out.as_slice() {
            [.., Token::Text(_)] => self.out.len() - 1,
            [.., Token::Sign(']')] => match self.last_list() {
                Some(from) if self.out[from + 1..self.out.len() - 1].iter().all(Token::is_text) => from,
                _ => return,
            },
            _ => return,
        };
        let (front, value) = self.out.split_at(from);
        let [front @ .., Token::Sign('=')] = front else { return };
        let Some(name) = bound(front).filter(|name| !name.contains('.')) else { return };
        let is_text = value[0].is_text();
        let value = match is_text {
            true if !self.given.bindings.are_texts(name) || self.known.contains_key(name) => {
                vec![Token::Text(UNKNOWN.to_string())]
            }
            false if !self.given.bindings.is_once(name) => return,
            _ => value.to_vec(),
        };
        self.known.insert(name.to_owned(), value);
    }

    /// Binds the names of `a, b = "c", "d"`.
    fn bind_each(&mut self) {
        let count = self.out.iter().rev().take_while(|token| token.is_text()).count();
        let Some(from) = self.out.len().checked_sub(2 * count + 1).filter(|_| count > 1) else { return };
        if self.out[from + count] != Token::Sign('=') {
            return;
        }
        for number in 0..count {
            if let Token::Name(name) = &self.out[from + number]
                && self.given.bindings.is_once(name)
            {
                self.known.insert(name.clone(), vec![self.out[from + count + 1 + number].clone()]);
            }
        }
    }

    /// What a name is bound to here, as far as there is room for it; what is not known in this turn is nothing.
    fn value(&mut self, name: &str, at: usize) -> Option<Vec<Token>> {
        let turns = self.turns.iter().find(|turns| turns.name == name && turns.within.contains(&at));
        let value = match turns.and_then(|turns| turns.values.get(turns.at(self.turn))) {
            Some(value) => value,
            None => self.known.get(name)?,
        };
        let bytes = match value.as_slice() {
            [] => return None,
            [Token::Text(text)] => text.len(),
            [_, words @ .., _] => {
                words.iter().map(|word| size_of_val(word) + word.text().map_or(0, str::len)).sum()
            }
            [_] => 0,
        };
        let Some(left) = self.given.left.get().checked_sub(bytes) else {
            return Some(vec![Token::Text(UNKNOWN.to_string())]);
        };
        self.given.left.set(left);
        Some(value.clone())
    }

    /// Adds a text, in the place of the sign of its variable where that stands before it.
    fn put(&mut self, text: String) {
        if matches!(self.out.last(), Some(Token::Sign('$'))) {
            self.out.pop();
        }
        values::join(&mut self.out, text, self.given.language);
    }

    fn filled(&mut self, text: &str, at: usize) -> String {
        values::filled(text, |name| match self.value(name, at).as_deref() {
            Some([Token::Text(text)]) => Some(text.clone()),
            _ => values::plain(name, self.given.home, self.given.here).map(str::to_owned),
        })
    }

    /// Where the list begins that was closed last, if it stands there still.
    fn last_list(&self) -> Option<usize> {
        self.list.filter(|from| self.out.get(*from) == Some(&Token::Sign('[')))
    }

    fn ends_with(&self, signs: &[Token]) -> bool {
        self.out.ends_with(signs)
    }
}

/// Methods of paths that a text has not.
const OF_PATHS: [&str; 8] =
    ["unlink", "rmdir", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "open"];

/// Methods of texts and lists that are followed.
const OF_VALUES: [&str; 4] = ["split", "joinpath", "forEach", "map"];
/// Words behind which a name is bound and not read, beside those of functions.
const BINDS: [&str; 3] = ["class", "for", "as"];

/// The name that is bound at the end of these tokens, which may stand with its type.
fn bound(tokens: &[Token]) -> Option<&str> {
    match tokens {
        [.., Token::Name(name), Token::Sign(':'), Token::Name(_)] | [.., Token::Name(name)] => Some(name),
        _ => None,
    }
}
