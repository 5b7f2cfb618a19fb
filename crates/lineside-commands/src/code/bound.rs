//! Names that code binds to what is known, and what stands in their place: texts, paths and lists of words, each of several that a
//! name is bound to, and what a function of the code's own is called with. Of all languages, by the signs that they share.

use std::collections::HashMap;

use super::tokens::Token;
use crate::value::{MANY, OPEN, UNKNOWN};

/// Rounds in which names that are made of others become known.
const ROUNDS: usize = 4;
/// Values of a name, and tokens that are read once for each of them.
const VALUES: usize = 32;
const TOKENS: usize = 16 * 1024;

/// What is done with a path by a method of it.
const METHODS: [&str; 12] = [
    "read_text", "read_bytes", "write_text", "write_bytes", "touch", "unlink", "rmdir", "open", "rename",
    "replace", "chmod", "iterdir",
];

/// What names are bound to; none where it is not known.
type Bound = HashMap<String, Vec<Option<Vec<Token>>>>;

/// Functions by their names: their parameters, each with whether it takes all that is left.
type Functions<'t> = HashMap<&'t str, Vec<(&'t str, bool)>>;

/// The tokens with values in the place of names, once for each of several values, and whether these are all.
pub(super) fn versions(
    tokens: &[Token],
    language: &str,
    settle: impl Fn(&[Token]) -> Vec<Token>,
) -> (Vec<Vec<Token>>, bool) {
    let (mut all, mut count) = (Vec::new(), 1);
    while all.len() < count {
        let (mut now, mut known) = (settle(tokens), 0);
        let binds = now.iter().any(|token| match token {
            Token::Sign(sign) => *sign == '=',
            Token::Name(name) => matches!(name.as_str(), "for" | "foreach" | "def" | "function" | "fn"),
            Token::Text(_) | Token::Backquoted(_) => false,
        });
        let is_deep = binds && depth(&now) > crate::limits::NESTING;
        for _ in 0..if binds && !is_deep { ROUNDS } else { 0 } {
            let bound = collected(&now);
            let values = bound.values().map(Vec::len);
            count = count.max(values.clone().max().unwrap_or_default());
            let sum = values.sum();
            if sum <= known {
                break;
            }
            known = sum;
            now = settle(&put(&now, &bound, all.len(), language));
        }
        filled(&mut now, None);
        all.push(now);
        if is_deep || count > 1 && (count > VALUES || count * tokens.len() > TOKENS) {
            return (all, false);
        }
    }
    (all, true)
}

/// How many parentheses, brackets and braces are open at most: what is between them is read once for each.
fn depth(tokens: &[Token]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for token in tokens {
        match token {
            Token::Sign('(' | '[' | '{') => now += 1,
            Token::Sign(')' | ']' | '}') => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// Puts what is known into the holes of texts; what no text is known for is not known in the end.
fn filled(tokens: &mut [Token], bound: Option<(&Bound, usize)>) {
    for token in tokens {
        let (Token::Text(text) | Token::Backquoted(text)) = token else { continue };
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((front, (name, behind))) =
            rest.split_once(OPEN).and_then(|(front, inner)| Some((front, inner.split_once(MANY)?)))
        {
            out.push_str(front);
            match bound.map(|(bound, choice)| value(bound, name, choice)) {
                None => out.push(UNKNOWN),
                Some(Some([Token::Text(text)])) => out.push_str(text),
                Some(_) => out.extend([&OPEN.to_string(), name, &MANY.to_string()]),
            }
            rest = behind;
        }
        if rest.len() < text.len() {
            *text = out + rest;
        }
    }
}

fn value<'b>(bound: &'b Bound, name: &str, choice: usize) -> Option<&'b [Token]> {
    let values = bound.get(name)?;
    values.get(choice.min(values.len() - 1))?.as_deref()
}

fn name_at(tokens: &[Token], at: usize) -> Option<&str> {
    if let Some(Token::Name(name)) = tokens.get(at) { Some(name) } else { None }
}

fn is(tokens: &[Token], at: usize, sign: char) -> bool {
    tokens.get(at) == Some(&Token::Sign(sign))
}

/// What the names of the tokens are bound to.
fn collected(tokens: &[Token]) -> Bound {
    let (functions, _) = functions(tokens);
    let mut bound = Bound::new();
    let mut add = |name: &str, value: Option<Vec<Token>>| {
        let values = bound.entry(name.to_owned()).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    };
    // What is open: `(x = "a")` is an argument, where no brace is between.
    let mut open = Vec::new();
    let mut last: HashMap<&str, Vec<Token>> = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = match token {
            Token::Sign(sign @ ('(' | '[' | '{')) => {
                open.push(*sign);
                continue;
            }
            Token::Sign(')' | ']' | '}') => {
                open.pop();
                continue;
            }
            Token::Name(name) => name.as_str(),
            _ => continue,
        };
        let is_stated = open.last().is_none_or(|sign| *sign == '{');
        let grows = is(tokens, at + 1, '+') && is(tokens, at + 2, '=');
        let typed = if is(tokens, at + 1, ':') && name_at(tokens, at + 2).is_some() { 2 } else { 0 };
        let front = tokens[..at].strip_suffix(&[Token::Sign('$')]).unwrap_or(&tokens[..at]);
        let before = front.len().checked_sub(1).and_then(|at| name_at(front, at));
        if is_stated && (grows || is(tokens, at + 1 + typed, '=') && !is(tokens, at + 2 + typed, '=')) {
            let given = expression(&tokens[at + 2 + typed + usize::from(grows)..]);
            let value = match last.get(name).filter(|_| grows) {
                Some(last) => given.and_then(|given| sum(last, &given)),
                None => given.filter(|_| !grows),
            };
            last.extend(value.clone().map(|value| (name, value)));
            add(name, value);
        } else if let Some((list, "append" | "push" | "extend")) = name.rsplit_once('.')
            && let Some(known) = last.get(list)
        {
            let added = list_of(&units(within(&tokens[at + 1..])));
            let grown = added.and_then(|added| sum(known, &added));
            last.extend(grown.clone().map(|grown| (list, grown)));
            add(list, grown);
        } else if matches!(name_at(tokens, at + 1), Some("in" | "of"))
            || matches!(before, Some("for" | "foreach" | "my")) && is(tokens, at + 1, '(')
        {
            let from = at + if is(tokens, at + 1, '(') { 1 } else { 2 };
            let goes_through = matches!(tokens.get(from), Some(Token::Sign('[' | '(')));
            for unit in units(within(&tokens[from..])).into_iter().filter(|_| goes_through) {
                add(name, expression(unit));
            }
        }
        if is(tokens, at + 1, '(')
            && let Some(parameters) = functions.get(name)
            && !matches!(before, Some("def" | "function" | "sub" | "fn"))
        {
            let given = units(within(&tokens[at + 1..]));
            for (number, (parameter, takes_all)) in parameters.iter().enumerate() {
                let rest = given.get(number..).unwrap_or_default();
                match rest.first() {
                    _ if *takes_all => add(parameter, list_of(rest)),
                    Some(unit) => add(parameter, expression(unit)),
                    None => {}
                }
            }
        }
    }
    bound.retain(|_, values| values.iter().any(Option::is_some));
    bound
}

/// The functions that the code defines, and which tokens name their parameters: `def f(a)`, `function f(a)`, `f = a => …`,
/// `f = lambda a: …`.
fn functions(tokens: &[Token]) -> (Functions<'_>, Vec<bool>) {
    let (mut all, mut places) = (Functions::new(), vec![false; tokens.len()]);
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(word) = token else { continue };
        let (name, from) = match word.as_str() {
            "def" | "function" | "fn" => (name_at(tokens, at + 1), at + 2),
            _ if is(tokens, at + 1, '=') => {
                let skipped = matches!(name_at(tokens, at + 2), Some("async" | "function" | "lambda"));
                (Some(word.as_str()), at + 2 + usize::from(skipped))
            }
            _ => continue,
        };
        let is_lambda = name_at(tokens, from - 1) == Some("lambda");
        let end = match tokens.get(from) {
            Some(Token::Sign('(')) => from + within(&tokens[from..]).len() + 1,
            Some(Token::Name(_)) if is_lambda => {
                from + tokens[from..].iter().take_while(|token| **token != Token::Sign(':')).count()
            }
            _ => from + 1,
        };
        let is_arrow = is(tokens, end, '=') && is(tokens, end + 1, '>')
            || is(tokens, end + 1, '=') && is(tokens, end + 2, '>');
        let is_one =
            is_lambda || is_arrow || from > at + 2 || matches!(word.as_str(), "def" | "function" | "fn");
        let (Some(name), true) = (name, is_one) else { continue };
        let end = end.min(tokens.len());
        let parameters = (from..end).filter_map(|at| {
            let parameter = name_at(tokens, at)?;
            let before = |sign| at > from && is(tokens, at - 1, sign);
            let is_type = before(':') || before('=');
            (!is_type).then(|| (parameter.trim_start_matches('.'), before('*') || before('.')))
        });
        all.insert(name, parameters.collect());
        places[from.min(end)..end].fill(true);
    }
    (all, places)
}

/// The tokens with what names are bound to in their places.
fn put(tokens: &[Token], bound: &Bound, choice: usize, language: &str) -> Vec<Token> {
    if bound.is_empty() {
        return tokens.to_vec();
    }
    let (_, places) = functions(tokens);
    let mut closed = None;
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let name = match token {
            Token::Name(name) if !places[at] => name.as_str(),
            _ if closed == Some(at) => continue,
            _ => {
                out.push(token.clone());
                continue;
            }
        };
        let is_key = is(tokens, at + 1, '=') || is(tokens, at + 1, '+') && is(tokens, at + 2, '=');
        let is_key = is_key || language != "python" && is(tokens, at + 1, ':');
        let is_bound = is_key || matches!(name_at(tokens, at + 1), Some("in" | "of"));
        let of = |name: &str| value(bound, name, choice).filter(|_| !is_bound);
        let spread = |sign: char| matches!(out.last(), Some(Token::Sign(last)) if *last == sign);
        let whole = of(name).or_else(|| of(name.strip_prefix('.').filter(|_| spread('.'))?));
        let parts = name.split_once('.').and_then(|(name, method)| Some((of(name)?, method)));
        match (whole, parts) {
            // `*words`, `...words`, `@words`.
            (Some([Token::Sign('['), words @ .., _]), _) if spread('*') || spread('.') || spread('@') => {
                while matches!(out.last(), Some(Token::Sign('*' | '.' | '@'))) {
                    out.pop();
                }
                out.extend_from_slice(words);
            }
            (Some(value), _) => {
                out.pop_if(|last| *last == Token::Sign('$'));
                // `list(words)`, `str(path)`.
                if let [.., Token::Name(of), Token::Sign('(')] = out.as_slice()
                    && (matches!(of.as_str(), "list" | "tuple" | "str" | "String") || of.ends_with("Path"))
                    && is(tokens, at + 1, ')')
                    && name_at(tokens, at + 2).is_none_or(|method| !method.starts_with('.'))
                {
                    out.truncate(out.len() - 2);
                    closed = Some(at + 1);
                }
                out.extend_from_slice(value);
            }
            (None, Some(([path @ Token::Text(_)], method)))
                if language == "python" && METHODS.contains(&method) =>
            {
                let call = [Token::Name("Path".to_owned()), Token::Sign('('), path.clone(), Token::Sign(')')];
                out.extend(call);
                out.push(Token::Name(format!(".{method}")));
            }
            (None, Some((value, method))) => {
                out.extend_from_slice(value);
                out.push(Token::Name(format!(".{method}")));
            }
            (None, None) => out.push(token.clone()),
        }
    }
    filled(&mut out, Some((bound, choice)));
    out
}

/// What stands within the parenthesis, the bracket or the brace that the tokens begin with.
fn within(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return tokens.get(1..at).unwrap_or_default();
        }
    }
    tokens.get(1..).unwrap_or_default()
}

/// The arguments, each with all that is done with it.
fn units(tokens: &[Token]) -> Vec<&[Token]> {
    let mut all: Vec<std::ops::Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let length = match &tokens[at] {
            Token::Sign('(' | '[' | '{') => within(&tokens[at..]).len() + 2,
            _ => 1,
        };
        let joins = |token: Option<&Token>| match token {
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}' | '(' | '[' | '{' | '\n'),
            Some(Token::Name(name)) => name.starts_with('.'),
            _ => false,
        };
        let is_call = at > 0 && tokens[at] == Token::Sign('(') && matches!(tokens[at - 1], Token::Name(_));
        let is_more = is_call
            || joins(tokens.get(at))
            || at > 0 && matches!(&tokens[at - 1], Token::Sign(_)) && joins(tokens.get(at - 1));
        let end = (at + length).min(tokens.len());
        match all.last_mut().filter(|_| is_more) {
            Some(last) => last.end = end,
            None if tokens[at] == Token::Sign('\n') => {}
            None => all.push(at..end),
        }
        at = end;
    }
    all.into_iter().map(|unit| &tokens[unit]).collect()
}

/// A list of words, where each is known.
fn list_of(units: &[&[Token]]) -> Option<Vec<Token>> {
    let words: Option<Vec<Vec<Token>>> = units.iter().map(|unit| expression(unit)).collect();
    let words = words?.into_iter().flat_map(|word| match word.as_slice() {
        [Token::Sign('['), words @ .., _] => words.to_vec(),
        _ => word,
    });
    Some(list(words))
}

fn list(words: impl Iterator<Item = Token>) -> Vec<Token> {
    std::iter::once(Token::Sign('[')).chain(words).chain([Token::Sign(']')]).collect()
}

fn sum(one: &[Token], other: &[Token]) -> Option<Vec<Token>> {
    match (one, other) {
        ([Token::Text(one)], [Token::Text(other)]) => Some(vec![Token::Text(format!("{one}{other}"))]),
        ([Token::Sign('['), one @ .., _], [Token::Sign('['), other @ .., _]) => {
            Some(list(one.iter().chain(other).cloned()))
        }
        _ => None,
    }
}

/// What an expression comes to that the tokens begin with: a text, or a list of texts.
fn expression(tokens: &[Token]) -> Option<Vec<Token>> {
    let (mut value, mut at) = match tokens {
        [Token::Text(text), ..] => (vec![Token::Text(text.clone())], 1),
        [Token::Sign('[' | '('), ..] => {
            let inner = within(tokens);
            let words = list_of(&units(inner))?;
            let is_one = tokens[0] == Token::Sign('(') && words.len() == 3;
            (if is_one { vec![words[1].clone()] } else { words }, inner.len() + 2)
        }
        // `Path("a", "b")`, `str(path)`, `list(words)`.
        [Token::Name(name), Token::Sign('('), ..]
            if name.ends_with("Path") || matches!(name.as_str(), "str" | "String" | "list" | "tuple") =>
        {
            let inner = within(&tokens[1..]);
            let words = list_of(&units(inner))?;
            (if name.ends_with("Path") { joined(&words, "/") } else { expression(inner)? }, inner.len() + 3)
        }
        _ => return None,
    };
    loop {
        let rest = tokens.get(at..).unwrap_or_default();
        let given = within(rest.get(1..).unwrap_or_default());
        (value, at) = match rest {
            [] | [Token::Sign(';' | '\n' | ')' | ']' | '}' | ':'), ..] => return Some(value),
            [Token::Name(_), Token::Sign('='), ..] => return Some(value),
            [Token::Name(method), Token::Sign('('), ..] => {
                let words = list_of(&units(given))?;
                let text = |token: Option<&Token>| match token {
                    Some(Token::Text(text)) => Some(text.clone()),
                    _ => None,
                };
                let value = match (method.as_str(), value.as_slice()) {
                    (".split", [Token::Text(words)]) => {
                        list(words.split_whitespace().map(|word| Token::Text(word.to_owned())))
                    }
                    (".join", [Token::Text(sign)]) => joined(&words, sign),
                    (".join", list) => joined(list, &text(words.get(1))?),
                    (".joinpath", path @ [Token::Text(_)]) => joined(&[path, &words].concat(), "/"),
                    (".resolve" | ".absolute" | ".as_posix" | ".strip" | ".trim" | ".toString", _) => value,
                    _ => return None,
                };
                (value, at + given.len() + 3)
            }
            [Token::Sign('+' | '/'), rest @ ..] => {
                let length = match rest.first() {
                    Some(Token::Sign('[' | '(')) => within(rest).len() + 2,
                    _ => 1,
                };
                let next = expression(rest.get(..length)?)?;
                let is_path = tokens[at] == Token::Sign('/');
                let value = if is_path { joined(&[value, next].concat(), "/") } else { sum(&value, &next)? };
                (value, at + 1 + length)
            }
            _ => return None,
        };
    }
}

/// The texts as one.
fn joined(tokens: &[Token], sign: &str) -> Vec<Token> {
    let texts = tokens.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.as_str()),
        _ => None,
    });
    vec![Token::Text(texts.collect::<Vec<_>>().join(sign))]
}
