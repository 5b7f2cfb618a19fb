//! Literal calls in the code of other languages: what is started, deleted, read and written by texts that stand there.

mod arguments;
mod bound;
mod environment;
mod names;
mod paths;
mod settled;
mod spawned;
mod table;
mod tokens;
mod values;
mod worth;

use std::cell::Cell;
use std::collections::HashSet;

use self::arguments::{arguments, handed_on, has_signs, is_branch, is_listed, is_of_all, keyed, statement};
use self::bound::{Bindings, is_defining};
use self::paths::{
    is_mode, is_of_expression, is_started, is_word, of_block, of_pathname, of_programs, opened_by_perl,
    opened_path, unknown_path,
};
use self::settled::{Given, settled};
use self::spawned::{replaced, spawned};
use self::table::{Does, does, is_in_memory, is_statement};
use self::tokens::{Token, tokens};
use crate::value::UNKNOWN;

/// A call with literal arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// A text for a shell, which is a program of its own or does not show.
    Shell {
        text: String,
        listed: bool,
    },
    /// A program with its words.
    Program(Vec<String>),
    Read(String),
    Write(String),
    /// What programs are given to read from here on; what the code itself is without one.
    Input(Option<String>),
    /// Goes into this folder; into that before it by `-`.
    Folder(String),
    /// Goes into this folder, or not.
    MayFolder(String),
    /// Writes files below it, of which it is not known which.
    Tree(String),
    Delete {
        path: String,
        whole: bool,
    },
    /// Prints its environment or a secret of it.
    Environment,
    /// Sends its environment or a secret of it to another machine.
    Sends,
    /// Talks to another machine.
    Asks,
    /// Decodes a text.
    Decodes,
    /// Runs a text as code of its own language.
    Evaluates,
    /// Runs this text as code of its own language.
    Evaluated(String),
    /// Runs this file as code of its own language.
    Required(String),
    /// A statement of a database.
    Statement(String),
    /// Drops or empties what a database keeps.
    Destroys,
    /// A call that starts what is not literal.
    Unknown,
}

impl Call {
    /// How long the path is that it has.
    pub(crate) fn length(&self) -> usize {
        match self {
            Call::Read(path) | Call::Write(path) | Call::Tree(path) | Call::Delete { path, .. } => path.len(),
            _ => 0,
        }
    }
}

/// Most calls that those of a turn are compared with.
const COMPARED: usize = 1024;
/// Most tokens that the turns of loops and of calls have together.
const TURNS: usize = 64 * 1024;

/// The calls of a code that runs in a folder `here`.
pub(crate) fn calls(text: &str, language: &str, home: &str, here: &str) -> Vec<Call> {
    let tokens = values::joined(tokens(&values::at_home(text, language, home), language), language);
    let tokens = names::renamed(names::imported(&tokens), language, |name| does(language, name).is_some());
    let bindings = Bindings::of(&tokens, language);
    let given = Given { language, home, here, bindings: &bindings, left: Cell::new(settled::PUT) };
    let first = settled(&tokens, &given, &[], 0);
    let mut turns = bound::given(&tokens, &first, &bindings, language);
    turns.extend(bound::loops(&first, &bindings));
    let count = bound::count(&mut turns, &tokens);
    let mut all = Vec::new();
    let told = environment::told(text, language);
    all.extend(told.is_printed.then_some(Call::Environment));
    all.extend(told.is_sent.then_some(Call::Sends));
    if count == 0 || count * tokens.len() > TURNS {
        all.extend(called_by(&first, text, language));
        return all;
    }
    let mut before: Vec<Call> = Vec::new();
    for turn in 0..count {
        let calls = called_by(&settled(&tokens, &given, &turns, turn), text, language);
        if calls.iter().any(|call| matches!(call, Call::Folder(_) | Call::MayFolder(_))) {
            // Each turn begins where the code does.
            if calls != before {
                all.extend(calls.iter().cloned());
                all.push(Call::Folder(here.to_owned()));
            }
            before = calls;
            continue;
        }
        // What does not hang on the turn is the same in each.
        let known = all.len();
        for call in &calls {
            if !all[..known.min(COMPARED)].contains(call) {
                all.push(call.clone());
            }
        }
        before = calls;
    }
    all
}

fn called_by(tokens: &[Token], text: &str, language: &str) -> Vec<Call> {
    let mut all = Vec::new();
    // Functions, and no methods, which have a receiver.
    let defined = tokens.windows(4).filter_map(|four| match four {
        [Token::Name(word), Token::Name(name), Token::Sign('('), first] => {
            let is_method = matches!(first, Token::Name(first) if matches!(first.as_str(), "self" | "cls"));
            (is_defining(word) && !is_method && !name.contains('.')).then_some(name.as_str())
        }
        _ => None,
    });
    let own: HashSet<&str> = defined.collect();
    let mut open: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Backquoted(text) if matches!(language, "perl" | "ruby" | "php") => {
                all.push(Call::Shell { text: text.clone(), listed: has_signs(text) });
            }
            // `` run(`x`) `` of Julia, `` $`x` `` of Bun and zx.
            Token::Backquoted(text) if language == "other" && is_started(&tokens[..at]) => {
                all.push(Call::Shell { text: text.clone(), listed: true });
            }
            Token::Sign('$') if language == "node" => {
                if let Some(Token::Text(text)) = tokens.get(at + 1) {
                    all.push(Call::Shell { text: text.clone(), listed: true });
                }
            }
            Token::Name(name) => {
                // `$pdo->exec("…")`, `$dbh->do("…")`.
                let is_method = matches!(language, "php" | "perl")
                    && tokens[..at].ends_with(&[Token::Sign('-'), Token::Sign('>')])
                    && is_statement(&format!(".{name}"));
                if (is_method || is_statement(name)) && !is_in_memory(text) {
                    // `execute(text("…"))`, `query({text: "…"})`.
                    let mut given = arguments(&tokens[at + 1..]).iter().take(4);
                    all.extend(given.find_map(|text| match text {
                        Token::Text(text) => Some(Call::Statement(text.clone())),
                        _ => None,
                    }));
                }
                // A lone `run` or `remove` may be a function of the code's own.
                if let Some(does) = does(language, name)
                    .filter(|_| !is_method && !own.contains(&name.as_str()) && !is_of_expression(tokens, at))
                {
                    open = Some(at);
                    let handed = handed_on(tokens, at).or_else(|| of_block(&tokens[at + 1..], language));
                    let behind = handed.as_deref().unwrap_or(&tokens[at + 1..]);
                    let folder = keyed(arguments(behind), &["cwd"]);
                    all.extend(folder.clone().map(Call::Folder));
                    let input = keyed(arguments(behind), &["input"]).filter(|_| does.starts());
                    all.extend(input.clone().map(|text| Call::Input(Some(text))));
                    let known = all.len();
                    called(does, language, name, behind, &mut all);
                    if let [Call::Folder(path)] = &all[known..]
                        && tokens[..at].iter().any(is_branch)
                    {
                        all[known] = Call::MayFolder(path.clone());
                    }
                    all.extend(input.map(|_| Call::Input(None)));
                    all.extend(folder.map(|_| Call::Folder("-".to_owned())));
                }
                // `User.objects.all().delete()`.
                if language == "python" && name == ".delete" && is_of_all(&tokens[..at]) {
                    all.push(Call::Destroys);
                }
                if language == "ruby" {
                    all.extend(of_pathname(&tokens[..at], name));
                }
                if language == "python" && name == ".open" {
                    all.extend(opened_path(tokens, at));
                }
                if language == "python" {
                    all.extend(unknown_path(tokens, at, name));
                }
            }
            // `print > "file"`, where `$1 > "b"` compares.
            Token::Sign('>') if language == "awk" => {
                let ends = |token: &&Token| matches!(token, Token::Sign(';' | '{' | '}' | '\n'));
                let prints = |token: &Token| matches!(token, Token::Name(name) if name.starts_with("print"));
                if let Some(Token::Text(path)) = tokens.get(at + 1)
                    && tokens[..at].iter().rev().take_while(|token| !ends(token)).any(prints)
                {
                    all.push(Call::Write(path.clone()));
                }
            }
            // `"cmd" | getline`, `print | "cmd"`.
            Token::Sign('|') if language == "awk" => {
                let runs = match (at.checked_sub(1).map(|at| &tokens[at]), tokens.get(at + 1)) {
                    (Some(Token::Text(text)), Some(Token::Name(name))) if name == "getline" => text,
                    (_, Some(Token::Text(text))) => text,
                    _ => continue,
                };
                all.push(Call::Shell { text: runs.clone(), listed: true });
            }
            Token::Text(path) => {
                // `Path('x').unlink()`, `open('x', 'w')` is above.
                let is_path =
                    at >= 2 && matches!(&tokens[at - 2], Token::Name(name) if name.ends_with("Path"));
                let is_alone = at >= 1
                    && tokens[at - 1] == Token::Sign('(')
                    && (at == 1 || !matches!(&tokens[at - 2], Token::Name(name) if !is_word(name)));
                // `(Path("x") / "y").unlink()`: what stands before it is the folder.
                let below = at >= 1
                    && tokens[at - 1] == Token::Sign('/')
                    && tokens.get(at + 1) == Some(&Token::Sign(')'));
                let folder = match at.checked_sub(4).map(|from| &tokens[from..at]) {
                    _ if !below => String::new(),
                    Some([Token::Sign('('), Token::Text(folder), Token::Sign(')'), _]) => {
                        format!("{folder}/")
                    }
                    _ => format!("{UNKNOWN}/"),
                };
                let path = &format!("{folder}{path}");
                if language == "python"
                    && (is_alone || below || is_path && open.is_none_or(|open| at > open + 2))
                    && let Some(Token::Name(method)) = tokens.get(at + 2)
                {
                    match method.trim_start_matches('.') {
                        "unlink" | "rmdir" => all.push(Call::Delete { path: path.clone(), whole: false }),
                        "read_text" | "read_bytes" => all.push(Call::Read(path.clone())),
                        "write_text" | "write_bytes" | "touch" => all.push(Call::Write(path.clone())),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    all
}

fn called(does: Does, language: &str, name: &str, rest: &[Token], all: &mut Vec<Call>) {
    // `File.rm!("x")`.
    let rest = rest.strip_prefix(&[Token::Sign('!')]).unwrap_or(rest);
    let arguments = arguments(rest);
    let texts: Vec<&str> = arguments.iter().filter_map(Token::text).collect();
    let first = match arguments.first() {
        Some(Token::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let bare = !name.contains('.');
    match does {
        Does::Shell | Does::Plain => match first {
            Some(_) if does == Does::Plain && texts.len() > 1 && language != "php" => {
                all.push(Call::Program(texts.iter().map(|text| (*text).to_owned()).collect()));
            }
            // `" ".join(["rm", "x"])`.
            Some(text) if matches!(arguments.get(1), Some(Token::Name(name)) if name == ".join") => {
                all.push(Call::Shell { text: texts[1..].join(&text), listed: true });
            }
            Some(mut text) => {
                // `"rm -rf " + path`: what is joined to it is not known.
                let joins = match arguments.get(1) {
                    Some(Token::Sign('+' | '.' | '%')) => true,
                    Some(Token::Name(name)) => name == ".format" || language == "awk",
                    Some(Token::Sign('$')) => language == "awk",
                    _ => false,
                };
                if joins {
                    text.push(UNKNOWN);
                }
                let listed =
                    does == Does::Shell || has_signs(&text) && language != "osascript" && language != "php";
                all.push(Call::Shell { text, listed });
            }
            // `expression.exec(text)`.
            None if language == "node" && name.ends_with(".exec") && !of_programs(name) => {}
            None if (!bare || language == "awk") && does == Does::Shell && !arguments.is_empty() => {
                all.push(Call::Unknown);
            }
            // `exec @ARGV`, `system($x)`.
            None if language == "perl"
                && [arguments.first(), rest.first()]
                    .iter()
                    .any(|one| matches!(one, Some(Token::Sign('@' | '$')))) =>
            {
                all.push(Call::Unknown);
            }
            None => {}
        },
        Does::Spawn => all.extend(spawned(language, first, &texts, arguments)),
        Does::Hidden => all.push(Call::Unknown),
        Does::Requires => {
            let is_data = |path: &String| language == "node" && path.ends_with(".json");
            all.extend(first.clone().filter(is_data).map(Call::Read));
            all.extend(first.map(Call::Required));
        }
        Does::Destroys => all.push(Call::Destroys),
        Does::Empties => {
            let is_given = |token: &Token| !matches!(token, Token::Sign('{' | '}'));
            all.extend((!arguments.iter().any(is_given)).then_some(Call::Destroys));
        }
        Does::Copy => {
            if let [from, to, ..] = texts[..] {
                all.push(Call::Read(from.to_owned()));
                all.push(Call::Write(to.to_owned()));
                all.push(Call::Write(format!("{to}/{}", from.rsplit('/').next().unwrap_or_default())));
            }
        }
        Does::Folder => all.extend(first.map(Call::Folder)),
        Does::Tree => {
            all.extend(texts.first().filter(|_| texts.len() > 1).map(|from| Call::Read((*from).to_owned())));
            all.extend(texts.last().map(|to| Call::Tree((*to).to_owned())));
        }
        Does::Opened => {
            let writes = |token: &&Token| {
                let flags = ["WRONLY", "RDWR", "CREAT", "TRUNC", "APPEND"];
                matches!(token, Token::Name(name) if flags.iter().any(|flag| name.ends_with(flag)))
            };
            let is_written = arguments.iter().any(|token| writes(&token));
            all.extend(first.map(if is_written { Call::Write } else { Call::Read }));
        }
        Does::Inplace => {
            let is_inplace = arguments.contains(&Token::Name("inplace".to_owned()));
            all.extend(texts.iter().map(|path| {
                if is_inplace { Call::Write((*path).to_owned()) } else { Call::Read((*path).to_owned()) }
            }));
        }
        Does::Exec => all.extend(replaced(&texts, arguments)),
        Does::Words if first.is_some() => {
            all.push(Call::Program(texts.iter().map(|text| (*text).to_owned()).collect()));
        }
        Does::Words => {}
        Does::Delete | Does::DeleteAll => {
            let whole = does == Does::DeleteAll;
            if bare && language == "python" && name != "rmtree" {
                return;
            }
            all.extend(texts.iter().map(|path| Call::Delete { path: (*path).to_owned(), whole }));
            // `unlink glob "*"`.
            if let ("perl", [Token::Name(glob), Token::Text(path), ..]) = (language, rest)
                && glob == "glob"
            {
                all.push(Call::Delete { path: path.clone(), whole });
                return;
            }
            // `unlink <*.txt>`, `unlink glob $x`, and `unlink` of what a loop is at.
            if language == "perl" && texts.is_empty() && is_listed(rest) {
                all.push(Call::Delete { path: UNKNOWN.to_string(), whole });
            }
            // `os.remove(path)`.
            if !whole
                && language == "python"
                && name.starts_with("os.")
                && texts.is_empty()
                && matches!(arguments.first(), Some(Token::Name(_)))
            {
                all.push(Call::Delete { path: UNKNOWN.to_string(), whole });
            }
            // `rmtree(path)`, of which it is not known where it leads; `remove` is a method of much else.
            let is_own = matches!(name.rsplit('.').next(), Some("remove" | "rm" | "unlink"));
            if whole
                && !is_own
                && texts.is_empty()
                && matches!(arguments.first(), Some(Token::Name(_) | Token::Sign('$')))
            {
                all.push(Call::Delete { path: UNKNOWN.to_string(), whole });
            }
        }
        Does::Asks => {
            all.push(Call::Asks);
            // `urlretrieve(address, "file")`.
            let saved = texts.get(1).filter(|_| name.ends_with("urlretrieve"));
            all.extend(saved.map(|path| Call::Write((*path).to_owned())));
        }
        Does::Decodes => all.push(Call::Decodes),
        Does::Evaluates => match (first, arguments.len()) {
            (_, 0) => {}
            (Some(text), 1) => all.push(Call::Evaluated(text)),
            (Some(text), _) => {
                let joins = matches!(arguments.get(1), Some(Token::Sign('+' | '.' | '%')));
                all.push(Call::Evaluated(if joins { format!("{text}{UNKNOWN}") } else { text }));
            }
            (None, _) => all.extend([Call::Evaluates, Call::Unknown]),
        },
        Does::Read => all.extend(first.map(Call::Read)),
        // `saveRDS(x, "file")`, `writeLines("text", "file")` of R.
        Does::Write if language == "other" => {
            let at = usize::from(first.is_some());
            all.extend(texts.get(at).map(|path| Call::Write((*path).to_owned())));
        }
        Does::Write => {
            let named = || keyed(arguments, &["filename", "path", "file", "dst"]);
            all.extend(first.or_else(named).map(Call::Write));
        }
        Does::Move => {
            if let [from, to, ..] = texts[..] {
                all.push(Call::Delete { path: from.to_owned(), whole: true });
                all.push(Call::Write(to.to_owned()));
                all.push(Call::Write(format!("{to}/{}", from.rsplit('/').next().unwrap_or_default())));
            }
        }
        // What has one more name can be written by that.
        Does::Link => all.extend(texts.iter().map(|path| Call::Write((*path).to_owned()))),
        // `open F, ">x"`, in which a name stands in front.
        Does::Open if language == "perl" && arguments.is_empty() => {
            let texts = statement(rest).iter().filter_map(|token| match token {
                Token::Text(text) => Some(text.as_str()),
                _ => None,
            });
            all.extend(opened_by_perl(&texts.collect::<Vec<_>>()));
        }
        Does::Open if language == "perl" => all.extend(opened_by_perl(&texts)),
        Does::Open => {
            let Some(path) = keyed(arguments, &["file", "filename", "name", "path"]).or(first) else {
                return;
            };
            let mode = keyed(arguments, &["mode"]).or_else(|| texts.get(1).map(|mode| (*mode).to_owned()));
            // `path.open("w")`, of what is not known.
            let of_module =
                |name: &str| matches!(name, "io" | "codecs" | "gzip" | "bz2" | "lzma" | "tarfile");
            if language == "python"
                && name.strip_suffix(".open").is_some_and(|of| !of_module(of))
                && is_mode(&path)
            {
                return;
            }
            let mode = mode.as_deref().unwrap_or("r");
            if mode.contains(['w', 'a', 'x', '+', '>']) {
                all.push(Call::Write(path));
            } else {
                all.push(Call::Read(path));
            }
        }
    }
}
