//! Literal calls in the code of other languages: what is started, deleted, read and written by texts that stand there.

mod names;
mod tokens;
mod values;

use std::collections::HashMap;
use std::sync::LazyLock;

use self::tokens::{Token, tokens};
use crate::value::UNKNOWN;

/// A call with literal arguments.
#[derive(Debug, PartialEq)]
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
    Delete {
        path: String,
        whole: bool,
    },
    Environment,
    /// Talks to another machine.
    Asks,
    /// Decodes a text.
    Decodes,
    /// Runs a text as code of its own language.
    Evaluates,
    /// Runs this text as code of its own language.
    Evaluated(String),
    /// A call that starts what is not literal.
    Unknown,
}

#[derive(Clone, Copy, PartialEq)]
enum Does {
    /// Through a shell.
    Shell,
    /// Through a shell that starts a plain command itself.
    Plain,
    /// A program and its words; through a shell if an argument says so.
    Spawn,
    Delete,
    DeleteAll,
    Read,
    Write,
    Move,
    /// Opens for what its second argument says.
    Open,
    Asks,
    Decodes,
    Evaluates,
}

/// Calls by language: the name, or a suffix of it behind a dot, and what it does.
const CALLS: &[(&str, &str, Does)] = &[
    (
        "python",
        "os.system os.popen commands.getoutput subprocess.getoutput subprocess.getstatusoutput getoutput popen",
        Does::Shell,
    ),
    ("python", "run call check_call check_output Popen os.execvp os.spawnvp", Does::Spawn),
    ("python", "os.remove os.unlink os.rmdir remove unlink rmdir", Does::Delete),
    ("python", "rmtree removedirs", Does::DeleteAll),
    ("python", "os.rename os.replace shutil.move move", Does::Move),
    ("python", "open io.open", Does::Open),
    ("python", "read_text read_bytes", Does::Read),
    ("python", "write_text write_bytes touch", Does::Write),
    ("node", "exec execSync", Does::Shell),
    ("node", "spawn spawnSync execFile execFileSync", Does::Spawn),
    ("node", "unlink unlinkSync rmdir", Does::Delete),
    ("node", "rm rmSync rmdirSync rimraf rimrafSync removeSync remove emptyDirSync", Does::DeleteAll),
    ("node", "rename renameSync", Does::Move),
    ("node", "readFile readFileSync createReadStream", Does::Read),
    ("node", "writeFile writeFileSync appendFile appendFileSync createWriteStream truncateSync", Does::Write),
    ("perl", "system exec qx", Does::Plain),
    ("perl", "unlink rmdir", Does::Delete),
    ("perl", "rmtree remove_tree", Does::DeleteAll),
    ("perl", "rename", Does::Move),
    ("perl", "open", Does::Open),
    ("ruby", "system exec spawn popen `", Does::Plain),
    ("ruby", "File.delete File.unlink FileUtils.rm FileUtils.rm_f rm rm_f delete unlink", Does::Delete),
    ("ruby", "FileUtils.rm_rf FileUtils.rm_r rm_rf rm_r remove_dir remove_entry rmtree", Does::DeleteAll),
    ("ruby", "File.read IO.read readlines", Does::Read),
    ("ruby", "File.write IO.write", Does::Write),
    ("php", "exec system shell_exec passthru popen proc_open", Does::Plain),
    ("php", "unlink rmdir", Does::Delete),
    ("php", "file_get_contents readfile file", Does::Read),
    ("php", "file_put_contents", Does::Write),
    ("awk", "system", Does::Shell),
    ("vim", "system systemlist", Does::Plain),
    (
        "elisp",
        "shell-command shell-command-to-string async-shell-command call-process-shell-command",
        Does::Plain,
    ),
    ("elisp", "delete-directory", Does::DeleteAll),
    ("elisp", "delete-file", Does::Delete),
    ("osascript", "do_shell_script", Does::Plain),
    ("other", "os.execute io.popen system shell", Does::Shell),
    ("other", "System.cmd", Does::Spawn),
    ("other", "os.remove file.remove", Does::Delete),
    ("other", "unlink", Does::DeleteAll),
    (
        "python",
        "requests.get requests.post requests.put requests.request httpx.get httpx.post urlopen urlretrieve \
         HTTPConnection HTTPSConnection socket.socket create_connection",
        Does::Asks,
    ),
    (
        "node",
        "fetch axios axios.get axios.post http.request https.request http.get https.get got",
        Does::Asks,
    ),
    ("ruby", "Net::HTTP.get Net::HTTP.post URI.open TCPSocket.new", Does::Asks),
    ("php", "curl_exec fsockopen", Does::Asks),
    (
        "python",
        "b64decode b32decode a85decode unhexlify bytes.fromhex codecs.decode zlib.decompress marshal.loads",
        Does::Decodes,
    ),
    ("node", "atob", Does::Decodes),
    ("perl", "decode_base64 unpack", Does::Decodes),
    ("ruby", "Base64.decode64 unpack unpack1", Does::Decodes),
    ("php", "base64_decode gzinflate hex2bin str_rot13", Does::Decodes),
    ("python", "exec eval", Does::Evaluates),
    ("node", "eval Function vm.runInThisContext", Does::Evaluates),
    ("perl", "eval", Does::Evaluates),
    ("ruby", "eval instance_eval", Does::Evaluates),
    ("php", "eval assert", Does::Evaluates),
];

/// The calls of a code that runs in a folder `here`.
pub(crate) fn calls(text: &str, language: &str, home: &str, here: &str) -> Vec<Call> {
    let tokens = values::settled(&names::imported(&tokens(text, language)), home, here);
    let tokens = names::renamed(tokens, language, |name| does(language, name).is_some());
    let tokens = values::joined(tokens, language);
    let mut all = Vec::new();
    let mut open: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Backquoted(text) if matches!(language, "perl" | "ruby" | "php") => {
                all.push(Call::Shell { text: text.clone(), listed: has_signs(text) });
            }
            Token::Name(name) => {
                if is_environment(name, language, &tokens[at + 1..]) {
                    all.push(Call::Environment);
                }
                // A lone `run` or `remove` is a function of the code's own.
                if let Some(does) = does(language, name) {
                    open = Some(at);
                    called(does, language, name, &tokens[at + 1..], &mut all);
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
                if language == "python"
                    && open.is_none_or(|open| at > open + 2)
                    && at >= 2
                    && matches!(&tokens[at - 2], Token::Name(name) if name.ends_with("Path"))
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

/// What a call does: by the first row with its name, or with what stands behind one of its dots.
fn does(language: &str, name: &str) -> Option<Does> {
    type Names = HashMap<(&'static str, &'static str), usize, foldhash::fast::FixedState>;
    static NAMES: LazyLock<Names> = LazyLock::new(|| {
        let rows = CALLS.iter().enumerate().rev();
        rows.flat_map(|(at, row)| row.1.split(' ').map(move |call| ((row.0, call), at))).collect()
    });
    let behind = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
    let rows = std::iter::once(name).chain(behind).filter_map(|name| NAMES.get(&(language, name)));
    rows.min().map(|row| CALLS[*row].2)
}

fn is_environment(name: &str, language: &str, rest: &[Token]) -> bool {
    let whole = !matches!(rest.first(), Some(Token::Sign('[' | '{')))
        && !matches!(rest.first(), Some(Token::Name(_)));
    match language {
        "python" => name == "os.environ" && whole,
        "node" => name == "process.env" && whole,
        "ruby" => {
            name == "ENV" && whole || matches!(name, "ENV.to_h" | "ENV.inspect" | "ENV.each" | "ENV.to_a")
        }
        _ => false,
    }
}

fn called(does: Does, language: &str, name: &str, rest: &[Token], all: &mut Vec<Call>) {
    let arguments = arguments(rest);
    let texts: Vec<&str> = arguments
        .iter()
        .filter_map(|token| if let Token::Text(text) = token { Some(text.as_str()) } else { None })
        .collect();
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
            None if !bare && does == Does::Shell && !arguments.is_empty() => all.push(Call::Unknown),
            None => {}
        },
        Does::Spawn => {
            let through_shell = arguments.windows(3).any(|three| {
                matches!(&three[0], Token::Name(name) if name == "shell")
                    && matches!(&three[1], Token::Sign('=' | ':'))
                    && matches!(&three[2], Token::Name(name) if name.eq_ignore_ascii_case("true"))
            });
            let in_list = matches!(arguments.first(), Some(Token::Sign('[')));
            let in_list_behind = matches!(arguments.get(1), Some(Token::Sign('[')));
            match (first, through_shell) {
                (Some(text), true) => all.push(Call::Shell { text, listed: true }),
                (Some(_), false) if language == "node" => {
                    all.push(Call::Program(texts.iter().map(|text| (*text).to_owned()).collect()));
                }
                // `execvp(file, [name, …])`.
                (Some(text), false) => {
                    let rest = if in_list_behind { texts.get(2..).unwrap_or_default() } else { &[] };
                    let words = std::iter::once(text.as_str()).chain(rest.iter().copied());
                    all.push(Call::Program(words.map(str::to_owned).collect()));
                }
                (None, _) if in_list => {
                    let end = arguments
                        .iter()
                        .position(|token| *token == Token::Sign(']'))
                        .unwrap_or(arguments.len());
                    let words = arguments[..end].iter().filter_map(|token| {
                        if let Token::Text(text) = token { Some(text.clone()) } else { None }
                    });
                    all.push(Call::Program(words.collect()));
                }
                _ => {}
            }
        }
        Does::Delete | Does::DeleteAll => {
            let whole = does == Does::DeleteAll;
            if bare && language == "python" && name != "rmtree" {
                return;
            }
            all.extend(texts.iter().map(|path| Call::Delete { path: (*path).to_owned(), whole }));
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
        Does::Asks => all.push(Call::Asks),
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
        Does::Write => all.extend(first.map(Call::Write)),
        Does::Move => {
            if let [from, to, ..] = texts[..] {
                all.push(Call::Delete { path: from.to_owned(), whole: true });
                all.push(Call::Write(to.to_owned()));
            }
        }
        Does::Open if language == "perl" => all.extend(opened_by_perl(&texts)),
        Does::Open => {
            let Some(path) = first else { return };
            let mode = texts.get(1).copied().unwrap_or("r");
            if mode.contains(['w', 'a', 'x', '+', '>']) {
                all.push(Call::Write(path));
            } else {
                all.push(Call::Read(path));
            }
        }
    }
}

/// `open(F, ">x")`, `open(F, ">", "x")`, `open(F, "x |")`, `open(F, "-|", "x", "y")`.
fn opened_by_perl(texts: &[&str]) -> Option<Call> {
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

/// Whether perl and ruby ask a shell to start it.
fn has_signs(text: &str) -> bool {
    text.contains([
        '$', '&', '*', '(', ')', '{', '}', '[', ']', '\'', '"', ';', '\\', '|', '?', '<', '>', '~', '`', '\n',
    ])
}

/// The tokens of the arguments of a call, with parentheses or without.
fn arguments(rest: &[Token]) -> &[Token] {
    if rest.first() != Some(&Token::Sign('(')) {
        let end = rest
            .iter()
            .position(|token| matches!(token, Token::Sign(';' | '}' | ')' | '\n')))
            .unwrap_or(rest.len());
        return if matches!(rest.first(), Some(Token::Text(_))) { &rest[..end] } else { &[] };
    }
    let mut depth = 0_usize;
    for (at, token) in rest.iter().enumerate() {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => {
                depth -= 1;
                if depth == 0 {
                    return &rest[1..at];
                }
            }
            _ => {}
        }
    }
    &rest[1..]
}
