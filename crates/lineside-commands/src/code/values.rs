//! What code of other languages says of paths before it uses them: the home, the folder at hand, names that are set once,
//! texts that are joined.

use std::collections::HashMap;

use super::tokens::Token;
use crate::value::UNKNOWN;

/// What a word of a language is worth.
#[derive(Clone, Copy)]
enum Worth {
    /// The home, called or not.
    Home,
    /// The folder at hand.
    Here,
    /// The home, if it is asked for `HOME`.
    Environment,
    /// Its argument, where a `~` is the home.
    Argument,
    /// Its arguments with slashes between them.
    Joined,
}

/// Words of all languages: none of them means something else in another.
const WORDS: &[(&str, Worth)] = &[
    ("Path.home pathlib.Path.home os.homedir homedir Dir.home process.env.HOME", Worth::Home),
    ("os.getcwd getcwd Path.cwd process.cwd Dir.pwd Dir.getwd cwd", Worth::Here),
    ("os.environ os.environ.get os.getenv getenv ENV ENV.fetch process.env ENVIRON", Worth::Environment),
    (
        "os.path.expanduser expanduser os.path.expandvars os.path.abspath os.path.realpath path.resolve \
         File.expand_path realpath glob expand",
        Worth::Argument,
    ),
    ("os.path.join path.join File.join", Worth::Joined),
];

/// What stands for the home within a text.
const HOMES: [&str; 5] =
    ["$ENV{HOME}/", "${os.homedir()}/", "${process.env.HOME}/", "#{Dir.home}/", "#{ENV['HOME']}/"];

/// The code with the home in the place of what stands for it within a text.
pub(super) fn at_home(text: &str, home: &str) -> String {
    let spelt = HOMES.iter().filter(|spelt| text.contains(**spelt));
    spelt.fold(text.to_owned(), |text, spelt| text.replace(spelt, &format!("{home}/")))
}

fn worth(name: &str) -> Option<Worth> {
    let name = name.trim_start_matches('.');
    WORDS.iter().find(|(names, _)| names.split(' ').any(|one| one == name)).map(|(_, worth)| *worth)
}

/// The tokens with texts in the place of what is worth one.
pub(super) fn settled(tokens: &[Token], home: &str, here: &str) -> Vec<Token> {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        // `require('fs').rmSync` is `.rmSync`.
        if let [
            Token::Name(name),
            Token::Sign('('),
            Token::Text(_),
            Token::Sign(')'),
            Token::Name(method),
            ..,
        ] = &tokens[at..]
            && matches!(name.as_str(), "require" | "import" | "__import__")
            && method.starts_with('.')
        {
            at += 4;
        }
        let (token, next) = settle(tokens, at, home, here, &known);
        at = next;
        match token {
            Some(text) => push(&mut out, text),
            None => out.push(tokens[at - 1].clone()),
        }
        // `name = 'text'`, where nothing is done with the text.
        if let [.., Token::Name(name), Token::Sign('='), Token::Text(text)] = out.as_slice()
            && matches!(tokens.get(at), None | Some(Token::Sign(';' | '\n')))
        {
            let value = if known.contains_key(name) { UNKNOWN.to_string() } else { text.clone() };
            known.insert(name.clone(), value);
        }
    }
    out
}

/// The text that the tokens from here on are worth, and where the next one is.
fn settle(
    tokens: &[Token],
    at: usize,
    home: &str,
    here: &str,
    known: &HashMap<String, String>,
) -> (Option<String>, usize) {
    let Token::Name(name) = &tokens[at] else { return (None, at + 1) };
    let assigned = matches!(tokens.get(at + 1), Some(Token::Sign('=')))
        && !matches!(tokens.get(at + 2), Some(Token::Sign('=')));
    if let Some(text) = known.get(name).filter(|_| !assigned) {
        return (Some(text.clone()), at + 1);
    }
    // `cwd=…` names an argument.
    let is_key = name == "cwd" && matches!(tokens.get(at + 1), Some(Token::Sign('=' | ':')));
    let Some(worth) = worth(name).filter(|_| !is_key) else { return (None, at + 1) };
    let opens = matches!(tokens.get(at + 1), Some(Token::Sign('(' | '[' | '{')));
    let end = opens
        .then(|| tokens[at + 2..].iter().position(|token| matches!(token, Token::Sign(')' | ']' | '}'))))
        .flatten()
        .map(|length| at + 2 + length);
    let inside = end.map_or(&[][..], |end| &tokens[at + 2..end]);
    let behind = end.map_or(at + 1, |end| end + 1);
    let texts = || {
        inside.iter().enumerate().map(|(number, token)| match token {
            Token::Text(text) => Some(text.clone()),
            Token::Name(_) => settle(inside, number, home, here, known).0,
            Token::Sign('(' | ')') => Some(String::new()),
            _ => None,
        })
    };
    let text = match worth {
        Worth::Home => Some(home.to_owned()),
        Worth::Here => Some(here.to_owned()),
        Worth::Environment => match inside {
            [Token::Text(key), ..] if key == "HOME" => Some(home.to_owned()),
            [Token::Text(key), ..] if key == "PWD" => Some(here.to_owned()),
            [Token::Name(key)] if key == "HOME" => Some(home.to_owned()),
            _ => None,
        },
        Worth::Argument if inside.len() == 1 => {
            texts().next().flatten().map(|text| match text.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
                _ => text,
            })
        }
        Worth::Argument => None,
        Worth::Joined => texts().collect::<Option<Vec<String>>>().map(|parts| parts.join("/")),
    };
    let next = if text.is_some() { behind } else { at + 1 };
    (text, next)
}

/// Adds a text, in the place of the sign of its variable where that stands before it.
fn push(out: &mut Vec<Token>, text: String) {
    if matches!(out.last(), Some(Token::Sign('$'))) {
        out.pop();
    }
    out.push(Token::Text(text));
}

/// Texts with a sign between them that joins them.
pub(super) fn joined(tokens: Vec<Token>, language: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_text = matches!(token, Token::Text(_));
        let joins = match out.as_slice() {
            [.., Token::Text(_), Token::Sign('+' | '.')] if is_text => out.pop().is_some(),
            // `folder / "name"`.
            [.., Token::Text(folder), Token::Sign('/')] if is_text && language == "python" => {
                let folder = format!("{}/", folder.trim_end_matches('/'));
                out.truncate(out.len() - 2);
                out.push(Token::Text(folder));
                true
            }
            [.., Token::Text(_)] => language == "awk",
            _ => false,
        };
        if let (Token::Text(more), true) = (&token, joins) {
            if let Some(Token::Text(text)) = out.last_mut() {
                text.push_str(more);
            }
            continue;
        }
        out.push(token);
    }
    out
}

/// A text with a mark for each hole that its language fills: `#{…}`, `${…}`, and `{…}` of python.
pub(super) fn with_holes(text: &str, open: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, inner)) = rest.split_once(open) {
        let Some((_, behind)) = inner.split_once('}') else { break };
        out.push_str(front);
        out.push(UNKNOWN);
        rest = behind;
    }
    out + rest
}
