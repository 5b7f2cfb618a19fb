//! Words of calls that stand where those of others do not: paths in front of them, programs in blocks.

use super::Call;
use super::arguments::{arguments, has_signs};
use super::tokens::{EXPRESSION, Token};
use crate::value::UNKNOWN;

/// `(folder / "x").open("w")`: what stands before it is the path.
pub(super) fn opened_path(tokens: &[Token], at: usize) -> Option<Call> {
    let [Token::Text(path), Token::Sign(')')] = tokens.get(at.checked_sub(2)?..at)? else { return None };
    let mode = match arguments(&tokens[at + 1..]).first() {
        Some(Token::Text(mode)) => mode.as_str(),
        _ => "r",
    };
    let writes = is_mode(mode) && mode.contains(['w', 'a', 'x', '+']);
    Some(if writes { Call::Write(path.clone()) } else { Call::Read(path.clone()) })
}

/// Whether a name is a word of Python that a group may stand behind, and no call.
pub(super) fn is_word(name: &str) -> bool {
    matches!(name, "return" | "await" | "yield" | "in" | "if" | "not" | "and" | "or" | "else" | "with")
}

/// Whether a method of a regular expression is asked for: `/a/.exec(text)`.
pub(super) fn is_of_expression(tokens: &[Token], at: usize) -> bool {
    let before = &tokens[..at];
    // Its flags stand behind it.
    let before = match before {
        [rest @ .., Token::Name(flags)]
            if flags.len() < 5 && flags.chars().all(|flag| "gimsuy".contains(flag)) =>
        {
            rest
        }
        rest => rest,
    };
    matches!(&tokens[at], Token::Name(name) if name.ends_with(".exec"))
        && before.last() == Some(&Token::Name(EXPRESSION.to_owned()))
}

/// Whether `exec` of this name is that of a module which starts programs.
pub(super) fn of_programs(name: &str) -> bool {
    let of = name.strip_suffix(".exec").unwrap_or_default();
    matches!(of, "" | "child_process" | "childProcess" | "cp" | "proc" | "shell" | "shelljs" | "sh")
}

/// Whether a text says how a file is opened.
pub(super) fn is_mode(text: &str) -> bool {
    text.len() < 4 && text.chars().all(|sign| "rwaxbt+".contains(sign))
}

/// `path.unlink()`, `path.rename("x")`: a deletion of what no text stands for.
pub(super) fn unknown_path(tokens: &[Token], at: usize, name: &str) -> Option<Call> {
    let (of, method) = name.rsplit_once('.')?;
    let given = arguments(&tokens[at + 1..]);
    let is_one = matches!(method, "unlink" | "rmdir") && !matches!(given.first(), Some(Token::Text(_)));
    // `frame.rename(columns={…})` is about no file.
    let is_renamed = method == "rename" && !given.iter().any(|token| matches!(token, Token::Sign('=' | '{')));
    if !is_one && !is_renamed
        || matches!(of, "os" | "shutil")
        || tokens.get(at + 1) != Some(&Token::Sign('('))
    {
        return None;
    }
    let path = match tokens[..at] {
        [.., Token::Name(ref of), Token::Sign('('), Token::Text(ref path), Token::Sign(')')]
            if of.ends_with("Path") =>
        {
            (!is_one).then(|| path.clone())?
        }
        [.., Token::Text(_), Token::Sign(')')]
            if is_one && !matches!(tokens[..at - 2], [.., Token::Name(_), Token::Sign('(')]) =>
        {
            return None;
        }
        _ => UNKNOWN.to_string(),
    };
    Some(Call::Delete { path, whole: false })
}

/// `system {"rm"} "x", "y"` of perl: the block names the program, and the first word is none of its own.
pub(super) fn of_block(rest: &[Token], language: &str) -> Option<Vec<Token>> {
    let [Token::Sign('{'), program @ Token::Text(_), Token::Sign('}'), _, words @ ..] = rest else {
        return None;
    };
    (language == "perl").then(|| std::iter::once(program).chain(words).cloned().collect())
}

/// `open(F, ">x")`, `open(F, ">", "x")`, `open(F, "x |")`, `open(F, "-|", "x", "y")`.
pub(super) fn opened_by_perl(texts: &[&str]) -> Option<Call> {
    let shell = |text: &str| Call::Shell { text: text.to_owned(), listed: has_signs(text) };
    let (mode, rest) = texts.split_first()?;
    let mode = mode.trim();
    Some(match rest {
        [] if mode.starts_with('|') || mode.ends_with('|') => shell(mode.trim_matches(['|', ' '])),
        [] if mode.contains('>') => Call::Write(mode.trim_start_matches(['+', '>', ' ']).to_owned()),
        [] => Call::Read(mode.trim_start_matches(['<', ' ']).to_owned()),
        [text] if mode.contains('|') => shell(text),
        words if mode.contains('|') => Call::Program(words.iter().map(|word| (*word).to_owned()).collect()),
        [path, ..] if mode.contains('>') || mode.contains('+') => Call::Write((*path).to_owned()),
        [path, ..] => Call::Read((*path).to_owned()),
    })
}

/// Whether a command of Julia stands in a call that starts it.
pub(super) fn is_started(before: &[Token]) -> bool {
    const STARTS: [&str; 6] = ["run", "read", "readchomp", "readlines", "success", "open"];
    matches!(before, [.., Token::Name(name), Token::Sign('(')] if STARTS.contains(&name.as_str()))
}

/// `Pathname.new("x").write("…")` of ruby: what the method does that stands behind these tokens.
pub(super) fn of_pathname(before: &[Token], method: &str) -> Option<Call> {
    let [.., Token::Name(of), Token::Sign('('), Token::Text(path), Token::Sign(')')] = before else {
        return None;
    };
    let path = path.clone();
    match method.strip_prefix('.').filter(|_| matches!(of.as_str(), "Pathname" | "Pathname.new"))? {
        "write" | "binwrite" | "truncate" => Some(Call::Write(path)),
        "read" | "binread" | "readlines" | "each_line" => Some(Call::Read(path)),
        "delete" | "unlink" | "rmdir" | "rmtree" => Some(Call::Delete { whole: method == ".rmtree", path }),
        _ => None,
    }
}
