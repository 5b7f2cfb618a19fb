//! What code of other languages says of paths before it uses them: the home, the folder at hand, texts that are joined.

use super::tokens::Token;
use crate::value::{FRESH, UNKNOWN};

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
    /// The folder of temporary files, and a new one within it.
    Temporary,
    Fresh,
}

/// Words of all languages: none of them means something else in another.
const WORDS: &[(&[&str], Worth)] = &[
    (
        &["Path.home", "pathlib.Path.home", "os.homedir", "homedir", "Dir.home", "process.env.HOME"],
        Worth::Home,
    ),
    (&["os.getcwd", "getcwd", "Path.cwd", "process.cwd", "Dir.pwd", "Dir.getwd", "cwd"], Worth::Here),
    (
        &[
            "os.environ", "os.environ.get", "os.getenv", "getenv", "ENV", "ENV.fetch", "process.env",
            "ENVIRON",
        ],
        Worth::Environment,
    ),
    (
        &[
            "os.path.expanduser", "expanduser", "os.path.expandvars", "os.path.abspath", "os.path.realpath",
            "File.expand_path", "realpath", "glob", "expand",
        ],
        Worth::Argument,
    ),
    (&["os.path.join", "path.join", "path.posix.join", "path.resolve", "File.join"], Worth::Joined),
    (&["tempfile.gettempdir", "os.tmpdir", "Dir.tmpdir"], Worth::Temporary),
    (
        &[
            "tempfile.mkdtemp", "mkdtemp", "tempfile.mktemp", "mkdtempSync", "fs.mkdtempSync", "fs.mkdtemp",
            "Dir.mktmpdir",
        ],
        Worth::Fresh,
    ),
];

/// What stands for the home within a text, where no mark of a hole does.
const HOMES: [&str; 4] =
    ["$ENV{HOME}/", "#{ENV['HOME']}/", "{os.environ['HOME']}/", "{os.environ[\"HOME\"]}/"];

/// The code with the home in the place of what stands for it within a text.
pub(super) fn at_home(text: &str, language: &str, home: &str) -> String {
    let spelt = HOMES.iter().filter(|spelt| text.contains(**spelt));
    let text = spelt.fold(text.to_owned(), |text, spelt| text.replace(spelt, &format!("{home}/")));
    // R and Emacs go home by themselves, and so do the globs of perl.
    match language {
        "perl" if text.contains("~/") => {
            ["glob \"", "glob(\"", "glob '", "glob('"].iter().fold(globbed(&text), |text, front| {
                text.replace(&format!("{front}~/"), &format!("{front}{home}/"))
            })
        }
        "other" | "elisp" => ["\"", "'"].iter().fold(text, |text, quote| {
            let text = text.replace(&format!("{quote}~/"), &format!("{quote}{home}/"));
            text.replace(&format!("{quote}~{quote}"), &format!("{quote}{home}{quote}"))
        }),
        _ => text,
    }
}

/// `<~/*>` of perl as the call that it is.
fn globbed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, inner)) = rest.split_once("<~/") {
        let Some((path, behind)) = inner.split_once('>') else { break };
        out.extend([front, "glob \"~/", path, "\""]);
        rest = behind;
    }
    out + rest
}

fn worth(name: &str) -> Option<Worth> {
    let name = name.trim_start_matches('.');
    WORDS.iter().find(|(names, _)| names.contains(&name)).map(|(_, worth)| *worth)
}

/// What a name is worth by itself.
pub(super) fn plain<'a>(name: &str, home: &'a str, here: &'a str) -> Option<&'a str> {
    match worth(name)? {
        Worth::Home => Some(home),
        Worth::Here => Some(here),
        _ => None,
    }
}

/// The text that a call of this name is worth.
pub(super) fn called(name: &str, arguments: &[Token], home: &str, here: &str) -> Option<String> {
    match (worth(name)?, arguments) {
        (Worth::Home, _) => Some(home.to_owned()),
        (Worth::Here, _) => Some(here.to_owned()),
        (Worth::Temporary, _) => Some("/tmp".to_owned()),
        (Worth::Fresh, _) => Some(format!("/tmp/{FRESH}")),
        (Worth::Environment, [Token::Text(key) | Token::Name(key), ..]) => match key.as_str() {
            "HOME" => Some(home.to_owned()),
            "PWD" => Some(here.to_owned()),
            _ => None,
        },
        (Worth::Argument, [Token::Text(text)]) => Some(match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => text.clone(),
        }),
        (Worth::Joined, parts) => with_slashes(parts),
        _ => None,
    }
}

/// The parts of a path with slashes between them, each that is no text as one that is not known.
fn with_slashes(parts: &[Token]) -> Option<String> {
    let mut path = String::new();
    let mut is_known = false;
    // Below a folder of which nothing is known, that is below the one at hand.
    let first = parts.iter().position(|part| matches!(part, Token::Text(text) if text != ".."))?;
    let parts = if parts.first().is_some_and(Token::is_text) { parts } else { &parts[first..] };
    for (at, part) in parts.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &parts[at]);
        let text = part.text();
        if text.is_none() && before.is_some_and(|before| !before.is_text()) {
            continue;
        }
        let joins = [before, Some(part)].contains(&Some(&Token::Sign('+')));
        if before.is_some() && !joins {
            path.push('/');
        }
        match text {
            Some(text) => path.push_str(text),
            None => path.push(UNKNOWN),
        }
        is_known |= text.is_some();
    }
    is_known.then_some(path)
}

/// Texts with a sign between them that joins them.
pub(super) fn joined(tokens: Vec<Token>, language: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match token {
            Token::Text(text) => join(&mut out, text, language),
            other => out.push(other),
        }
    }
    out
}

/// Adds a text, to the one before it where a sign joins them.
pub(super) fn join(out: &mut Vec<Token>, more: String, language: &str) {
    let signs = match out.as_slice() {
        [.., Token::Text(_), Token::Sign('+' | '.')] => 1,
        // `folder / "name"`.
        [.., Token::Text(_), Token::Sign('/')] if language == "python" => 1,
        [.., Token::Text(_)] if language == "awk" => 0,
        _ => return out.push(Token::Text(more)),
    };
    let is_folder = out.last() == Some(&Token::Sign('/'));
    out.truncate(out.len() - signs);
    if let Some(Token::Text(text)) = out.last_mut() {
        if is_folder {
            text.truncate(text.trim_end_matches('/').len());
            text.push('/');
        }
        text.push_str(&more);
    }
}

/// What stands around the name of a hole within a text.
const HOLE: (char, char) = ('\u{F0000}', '\u{F0001}');

/// A text with a mark for each hole that its language fills (`#{…}`, `${…}`, and `{…}` of python), with its name if it has one.
pub(super) fn with_holes(text: &str, open: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, inner)) = rest.split_once(open) {
        let Some((hole, behind)) = inner.split_once('}') else { break };
        out.push_str(front);
        let name = hole.strip_suffix("()").unwrap_or(hole);
        if name.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '_' | '.')) {
            out.push(HOLE.0);
            out.push_str(name);
            out.push(HOLE.1);
        } else {
            out.push(UNKNOWN);
        }
        rest = behind;
    }
    out + rest
}

/// A text with its holes filled by what their names are worth.
pub(super) fn filled(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, inner)) = rest.split_once(HOLE.0) {
        let Some((name, behind)) = inner.split_once(HOLE.1) else { break };
        out.push_str(front);
        match value(name) {
            Some(value) => out.push_str(&value),
            None => out.push(UNKNOWN),
        }
        rest = behind;
    }
    out + rest
}
