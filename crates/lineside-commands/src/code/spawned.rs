//! Calls that start a program with its words, or through a shell where an argument says so.

use super::Call;
use super::arguments::keyed;
use super::tokens::Token;

/// What a call starts whose texts are `texts`, the first argument being `first` if it is one.
pub(super) fn spawned(
    language: &str,
    first: Option<String>,
    texts: &[&str],
    arguments: &[Token],
) -> Option<Call> {
    let through_shell = arguments.windows(3).any(|three| {
        matches!(&three[0], Token::Name(name) if name == "shell")
            && matches!(&three[1], Token::Sign('=' | ':'))
            && matches!(&three[2], Token::Name(name) if name.eq_ignore_ascii_case("true"))
    });
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let Some(text) = first.or_else(|| keyed(arguments, &["args"])) else {
        return Some(Call::Program(owned(&listed(arguments)?)));
    };
    if through_shell {
        return Some(Call::Shell { text, listed: true });
    }
    // `execvp(file, [name, …])`.
    let is_list_behind = matches!(arguments.get(1), Some(Token::Sign('[')));
    // `System.cmd(program, [word, …])` of Elixir names the program once.
    let named = if language == "other" { 1 } else { 2 };
    let rest = if is_list_behind { texts.get(named..) } else { None };
    let words = if language == "node" {
        owned(texts)
    } else {
        owned(&[&[text.as_str()], rest.unwrap_or_default()].concat())
    };
    Some(Call::Program(words))
}

/// A program in the place of this one: behind its path its name stands once more.
pub(super) fn replaced(texts: &[&str], arguments: &[Token]) -> Option<Call> {
    let Some((path, rest)) = texts.split_first() else {
        return (!arguments.is_empty()).then_some(Call::Unknown);
    };
    let words = std::iter::once(path).chain(rest.iter().skip(1));
    Some(Call::Program(words.map(|word| (*word).to_owned()).collect()))
}

/// The words of a list: `run(["x"])`, `run(("x", "y"))`, `run(args=["x"])`, `run(["x"] + (["y"] if more else []))`.
fn listed(arguments: &[Token]) -> Option<Vec<&str>> {
    let is_args = |three: &[Token]| matches!(three, [Token::Name(name), Token::Sign('='), Token::Sign('[')] if name == "args");
    let from = match arguments.first() {
        Some(Token::Sign('[' | '(')) => 0,
        _ => arguments.windows(3).position(is_args)? + 2,
    };
    let list = &arguments[from..];
    let is_longer = list.windows(2).any(|two| *two == [Token::Sign(']'), Token::Sign('+')]);
    let is_end = |two: &[Token]| match two {
        // Up to what is named behind it.
        [Token::Name(_), Token::Sign('=')] => is_longer,
        [Token::Sign(']' | ')'), _] => !is_longer,
        _ => false,
    };
    let end = list.windows(2).position(is_end).unwrap_or(list.len());
    Some(list[..end].iter().filter_map(Token::text).collect())
}
