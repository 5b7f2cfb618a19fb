//! Names that code gives to the calls of modules: `from os import system as x`, `{execSync: e} = require(…)`, `e = os.system`.

use std::collections::HashMap;

use super::tokens::Token;

fn name(token: Option<&Token>) -> Option<&str> {
    if let Some(Token::Name(name)) = token { Some(name) } else { None }
}

fn is(token: Option<&Token>, sign: char) -> bool {
    token == Some(&Token::Sign(sign))
}

/// The tokens with the name of a module in the place of what the code asks for it by: `__import__("os").system`,
/// `getattr(os, "system")`.
pub(super) fn imported(tokens: &[Token]) -> Vec<Token> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let (name, used) = match &tokens[at..] {
            [
                Token::Name(call),
                Token::Sign('('),
                Token::Text(module),
                Token::Sign(')'),
                Token::Name(method),
                ..,
            ] if method.starts_with('.') && is_import(call) => (format!("{module}{method}"), 5),
            // `require('node:fs').rmSync` is `fs.rmSync`.
            [
                Token::Name(call),
                Token::Sign('('),
                Token::Text(module),
                Token::Sign(')'),
                Token::Name(method),
                ..,
            ] if method.starts_with('.') && matches!(call.as_str(), "require" | "import") => {
                (format!("{}{method}", module.rsplit([':', '/', '.']).next().unwrap_or_default()), 5)
            }
            [Token::Name(call), Token::Sign('('), Token::Text(module), Token::Sign(')'), ..]
                if is_import(call) =>
            {
                (module.clone(), 4)
            }
            [
                Token::Name(call),
                Token::Sign('('),
                Token::Name(of),
                Token::Text(name),
                Token::Sign(')'),
                ..,
            ] if call == "getattr" => (format!("{of}.{name}"), 5),
            // `promisify(exec)` is called as `exec` is.
            [Token::Name(wrap), Token::Sign('('), Token::Name(call), Token::Sign(')'), ..]
                if matches!(wrap.as_str(), "promisify" | "util.promisify") =>
            {
                (call.clone(), 4)
            }
            // `fs["unlinkSync"](…)`.
            [
                Token::Name(of),
                Token::Sign('['),
                Token::Text(name),
                Token::Sign(']'),
                Token::Sign('('),
                ..,
            ] if name.chars().all(|sign| sign.is_alphanumeric() || sign == '_') => {
                (format!("{of}.{name}"), 4)
            }
            _ => {
                out.push(tokens[at].clone());
                at += 1;
                continue;
            }
        };
        out.push(Token::Name(name));
        at += used;
    }
    out
}

fn is_import(call: &str) -> bool {
    matches!(call, "__import__" | "import_module" | "importlib.import_module")
}

/// The tokens with the names of modules and their calls in the place of those that the code has given them.
pub(super) fn renamed(mut tokens: Vec<Token>, language: &str, is_call: impl Fn(&str) -> bool) -> Vec<Token> {
    let mut known: HashMap<String, String> = HashMap::new();
    // Modules whose names are all taken.
    let mut all_of: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let from = name(tokens.get(at)).map(str::to_owned);
        match (from.as_deref(), name(tokens.get(at + 1)).map(str::to_owned), name(tokens.get(at + 2))) {
            (Some("from"), Some(module), Some("import")) if language == "python" => {
                if is(tokens.get(at + 3), '*') {
                    all_of.push(module.clone());
                }
                at = taken_from(&module, &tokens, at + 3, &mut known);
                continue;
            }
            (Some("import"), Some(module), Some("as")) => {
                if let Some(given) = name(tokens.get(at + 3)) {
                    known.insert(given.to_owned(), module);
                }
                at += 4;
                continue;
            }
            _ => {}
        }
        // `c = require("child_process")`, `import * as c from "child_process"`.
        if language == "node"
            && let Some(given) = &from
            && let [
                Token::Sign('='),
                Token::Name(call),
                Token::Sign('('),
                Token::Text(module),
                Token::Sign(')'),
                ..,
            ]
            | [Token::Name(call), Token::Text(module), ..] = &tokens[at + 1..]
            && matches!(call.as_str(), "require" | "from")
            && let module = module.trim_start_matches("node:")
            && matches!(module, "child_process" | "path" | "os" | "fs" | "process" | "util")
        {
            known.insert(given.clone(), module.to_owned());
        }
        if is(tokens.get(at), '{') && language == "node" {
            taken_apart(&tokens[at + 1..], &mut known);
        }
        // `execSync: e` and `execSync as e`.
        if let Some(call) = from.as_deref().filter(|name| is_call(name)) {
            let is_renamed = is(tokens.get(at + 1), ':') || name(tokens.get(at + 1)) == Some("as");
            if let Some(given) = name(tokens.get(at + 2)).filter(|_| is_renamed) {
                known.insert(given.to_owned(), call.to_owned());
            }
        }
        // `e = os.system`, where it is not called.
        if let (Some(given), true, Some(value)) =
            (&from, is(tokens.get(at + 1), '='), name(tokens.get(at + 2)))
            && !is(tokens.get(at + 3), '(')
        {
            let value = real(value, &known);
            if is_call(&value) {
                known.insert(given.clone(), value);
                at += 3;
                continue;
            }
        }
        if let Some(Token::Name(name)) = tokens.get_mut(at) {
            let taken = all_of.iter().map(|module| format!("{module}.{name}")).find(|name| is_call(name));
            *name = taken.filter(|_| !name.contains('.')).unwrap_or_else(|| real(name, &known));
        }
        at += 1;
    }
    tokens
}

/// The names of `from module import a, b as c`; answers where they end.
fn taken_from(module: &str, tokens: &[Token], from: usize, known: &mut HashMap<String, String>) -> usize {
    let mut at = from + usize::from(is(tokens.get(from), '('));
    while let Some(call) = name(tokens.get(at)) {
        let renamed = name(tokens.get(at + 1)) == Some("as");
        let given = if renamed { name(tokens.get(at + 2)).unwrap_or(call) } else { call };
        known.insert(given.to_owned(), format!("{module}.{call}"));
        at += if renamed { 3 } else { 1 };
    }
    at
}

/// The names of `{a, b: c} = require("module")` and of `import {a, b as c} from "module"`.
fn taken_apart(tokens: &[Token], known: &mut HashMap<String, String>) {
    let end = tokens.iter().take(64).position(|token| *token == Token::Sign('}')).unwrap_or_default();
    let module = match &tokens[end..] {
        [_, Token::Sign('='), Token::Name(call), Token::Sign('('), Token::Text(module), ..]
            if call == "require" =>
        {
            module
        }
        [_, Token::Name(from), Token::Text(module), ..] if from == "from" => module,
        _ => return,
    };
    let module = module.trim_start_matches("node:").trim_end_matches("/promises");
    if !matches!(module, "fs" | "path" | "os" | "child_process" | "process" | "util") {
        return;
    }
    let mut rest = &tokens[..end];
    while let [Token::Name(call), behind @ ..] = rest {
        let (given, next) = match behind {
            [Token::Sign(':'), Token::Name(given), next @ ..] => (given, next),
            [Token::Name(word), Token::Name(given), next @ ..] if word == "as" => (given, next),
            next => (call, next),
        };
        known.insert(given.clone(), format!("{module}.{call}"));
        rest = next;
    }
}

fn real(given: &str, known: &HashMap<String, String>) -> String {
    if let Some(name) = known.get(given) {
        return name.clone();
    }
    match given.split_once('.') {
        Some((module, rest)) if !module.is_empty() => match known.get(module) {
            Some(module) => format!("{module}.{rest}"),
            None => given.to_owned(),
        },
        _ => given.to_owned(),
    }
}
