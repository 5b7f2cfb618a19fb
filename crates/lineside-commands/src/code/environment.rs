//! The environment as code shows it: all of it, or a variable that is named like a secret, where that is printed or sent.

use super::arguments::{arguments, statement};
use super::table::{Does, does};
use super::tokens::{Token, tokens};

/// Of a language: what its environment and the calls that ask for it are named, and what prints.
type Row = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("python", "os.environ os.environb os.getenv environ getenv", "print pprint pp write info debug warning error exit"),
    ("node", "process.env Bun.env Deno.env", "log error info warn debug table dir write writeSync"),
    ("ruby", "ENV", "puts p pp print printf warn putc write"),
    ("php", "getenv _ENV _SERVER", "echo print print_r var_dump var_export printf error_log"),
    ("other", "os.getenv Sys.getenv System.get_env System.fetch_env ENV", "print println cat message puts inspect write show"),
];

/// What tells no more of a value than that there is one.
const HIDES: &[&str] = &[
    "bool", "len", "type", "isinstance", "Boolean", "typeof", "isset", "empty", "strlen", "count", "not",
    "sha256", "Object.keys",
];

/// What a use of the environment is.
enum Use {
    Whole,
    /// A value of which the name is not known.
    One,
    Secret,
}

/// What hands a value on as it is.
const WRAPS: &[&str] = &[
    "dict", "str", "repr", "json.dumps", "urlencode", "urllib.parse.urlencode", "JSON.stringify",
    "Object.assign", "String", "Buffer.from",
];

/// What code does with its environment, or with a secret of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Or all of it is written into a file.
    pub(super) is_printed: bool,
    /// To another machine, in another place than a header.
    pub(super) is_sent: bool,
}

/// What code tells of its environment.
pub(super) fn told(text: &str, language: &str) -> Told {
    let Some(row) = ROWS.iter().find(|row| row.0 == language) else { return Told::default() };
    if !["env", "ENV", "_SERVER"].iter().any(|part| text.contains(part)) {
        return Told::default();
    }
    let tokens = super::names::imported(&tokens(&opened(text, language), language));
    let printed = given(&tokens, |name| {
        let last = name.rsplit('.').next().unwrap_or_default();
        row.2.split(' ').any(|print| print == last)
    });
    // A file may have one value of it, as settings have.
    let written = given(&tokens, |name| {
        does(language, name) == Some(Does::Write) || name.ends_with(".write_text") || name == "json.dump"
    });
    let sent = sent(&tokens, language);
    let any = |_: &Use| true;
    let is_whole = |used: &Use| matches!(used, Use::Whole);
    Told {
        is_printed: reaches(&tokens, row, text, &printed, any, true)
            || reaches(&tokens, row, text, &written, is_whole, false),
        is_sent: reaches(&tokens, row, text, &sent, any, false),
    }
}

/// Whether what counts of the environment stands in one of these tokens; `loops` for all tokens of a loop over it.
fn reaches(
    tokens: &[Token],
    row: &Row,
    text: &str,
    marked: &[bool],
    counts: fn(&Use) -> bool,
    loops: bool,
) -> bool {
    if !marked.contains(&true) {
        return false;
    }
    let mut held: Vec<&str> = Vec::new();
    let (mut has_one, mut has_all) = (false, false);
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let is_told = || marked[at] && !is_hidden(tokens, at);
        let used = used(row, name, &tokens[at + 1..], text).filter(counts);
        // `for k in os.environ` goes through names.
        let is_names = row.0 == "python" && name.ends_with("environ") && ends_with_in(&tokens[..at]);
        if is_names && matches!(used, Some(Use::Whole)) {
            has_all = true;
            continue;
        }
        has_all |= matches!(used, Some(Use::Whole));
        match used {
            None if held.contains(&value(name)) && is_told() => return true,
            Some(Use::One) => has_one |= is_told(),
            Some(_) if is_told() => return true,
            Some(Use::Whole) if loops && is_gone_through(tokens, at) => return true,
            Some(Use::Secret | Use::Whole) => held.extend(holder(&tokens[..at])),
            _ => {}
        }
    }
    // Its name may come from all names, or stand in the code.
    let is_secret = |token: &Token| matches!(token, Token::Text(name) if crate::expand::is_secret_name(name));
    has_one && (has_all || tokens.iter().any(is_secret))
}

/// The name without a method that gives the value back in another form.
fn value(name: &str) -> &str {
    let of = |method: &str| {
        matches!(method, "encode" | "strip" | "trim" | "toString" | "items" | "copy" | "to_json")
    };
    name.rsplit_once('.').filter(|(_, method)| of(method)).map_or(name, |(name, _)| name)
}

/// The name that is given a value behind these tokens, which nothing changes: `k =`, `k = dict(`.
fn holder(mut before: &[Token]) -> Option<&str> {
    while let [rest @ .., Token::Name(wrap), Token::Sign('(')] = before
        && WRAPS.contains(&wrap.as_str())
    {
        before = rest;
    }
    match before {
        [.., Token::Name(name), Token::Sign('=')] => Some(name),
        _ => None,
    }
}

/// Which tokens are sent to another machine: what a call that asks one is given, but for its headers.
fn sent(tokens: &[Token], language: &str) -> Vec<bool> {
    let asks = |name: &str| does(language, name) == Some(Does::Asks);
    let has_asked = tokens.iter().any(|token| matches!(token, Token::Name(name) if asks(name)));
    // `request(…).end(body)`, `socket.send(text)`.
    let ends = |name: &str| has_asked && matches!(name.rsplit('.').next(), Some("end" | "send"));
    let mut all = given(tokens, |name| asks(name) || ends(name));
    let of_header = |name: &str| matches!(name.trim_start_matches('.'), "headers" | "auth" | "set");
    for (at, token) in tokens.iter().enumerate() {
        match token {
            // `headers={…}`, `headers: {…}`, `auth=(…)`.
            Token::Name(name) if all[at] && of_header(name) => {
                let behind = usize::from(matches!(tokens.get(at + 1), Some(Token::Sign('=' | ':')))) + at + 1;
                let end = behind + group(&tokens[behind.min(tokens.len())..]);
                all[at..end.min(tokens.len())].fill(false);
            }
            // What is asked on this machine.
            Token::Name(name) if asks(name) => {
                let given = arguments(&tokens[at + 1..]);
                if given.iter().find_map(Token::text).is_some_and(crate::address::is_here) {
                    all[at + 1..].iter_mut().take(given.len() + 2).for_each(|one| *one = false);
                }
            }
            _ => {}
        }
    }
    all
}

/// How many tokens the value has that stands here: one, or those of its brackets.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// What a name and the tokens behind it ask of the environment.
fn used(row: &Row, name: &str, behind: &[Token], text: &str) -> Option<Use> {
    let name = name.trim_start_matches('.');
    let method = |known| name.strip_prefix(known).filter(|rest| rest.is_empty() || rest.starts_with('.'));
    let method = row.1.split(' ').find_map(method)?.trim_start_matches('.');
    let of = |name: &str| crate::expand::is_secret_name(name).then_some(Use::Secret);
    let asks = matches!(method, "" | "get" | "fetch" | "pop" | "getenv");
    // Tokens have no commas: `print(environ, [x])`.
    let touches =
        |sign: &char| text.contains(&format!("{}{sign}", name.rsplit('.').next().unwrap_or_default()));
    match behind {
        [Token::Sign('[' | '('), Token::Text(name), ..] if asks => of(name),
        [Token::Sign(sign @ ('[' | '(')), one, ..]
            if asks && !matches!(one, Token::Sign(')' | ']')) && touches(sign) =>
        {
            Some(Use::One)
        }
        _ if matches!(method, "" | "get" | "fetch" | "items" | "copy" | "values" | "toObject") => {
            Some(Use::Whole)
        }
        _ if method.starts_with("to_") || method.starts_with("each") || method == "inspect" => {
            Some(Use::Whole)
        }
        _ => of(method.split('.').next().unwrap_or_default()),
    }
}

/// Which tokens such a call is given: those within its parentheses, or up to the end of its statement.
fn given(tokens: &[Token], is_call: impl Fn(&str) -> bool) -> Vec<bool> {
    let mut all = vec![false; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        if !is_call(name) {
            continue;
        }
        let given = match tokens.get(at + 1) {
            Some(Token::Sign('(')) => arguments(&tokens[at + 1..]).len() + 2,
            _ => statement(&tokens[at + 1..]).len(),
        };
        all[at + 1..].iter_mut().take(given).for_each(|one| *one = true);
    }
    all
}

/// Whether what is printed is no more than that there is a value: `!x`, `bool(x)`, `x.length`, `x is None`, `x ? 1 : 0`.
fn is_hidden(tokens: &[Token], at: usize) -> bool {
    let hides = |token: &Token| matches!(token, Token::Name(name) if HIDES.contains(&name.as_str()));
    let before = &tokens[..at];
    let is_within = matches!(before, [.., call, Token::Sign('(')] if hides(call));
    let closes = |token: &Token| matches!(token, Token::Sign(']' | ')'));
    let end = match &tokens[at + 1..] {
        [Token::Sign('[' | '('), _, close, ..] if closes(close) => at + 4,
        _ => at + 1,
    };
    // `x if NAME else y`.
    let is_asked = matches!(before, [.., Token::Name(word)] if word == "if")
        && matches!(tokens.get(end), Some(Token::Name(word)) if word == "else");
    is_sought(before)
        || is_asked
        || is_within
        || before.last().is_some_and(|token| *token == Token::Sign('!') || hides(token))
        || matches!(tokens.get(end), Some(Token::Sign('?' | '=' | '&' | '!')))
        || matches!(tokens.get(end), Some(Token::Name(name)) if matches!(name.as_str(), ".length" | ".size" | "is" | "in"))
        || matches!(&tokens[at], Token::Name(name) if name.ends_with(".length"))
}

/// Whether it is asked for a name that stands before it: `"X" in`, `k not in`, `if k in`.
fn is_sought(before: &[Token]) -> bool {
    let asks =
        |word: &str| matches!(word, "if" | "elif" | "and" | "or" | "not" | "assert" | "while" | "return");
    match before {
        [.., Token::Text(_), Token::Name(word)] => word == "in",
        [.., Token::Name(not), Token::Name(word)] if not == "not" => word == "in",
        [.., Token::Name(front), Token::Name(_), Token::Name(word)] => word == "in" && asks(front),
        _ => false,
    }
}

/// Whether these tokens end with the word in front of what a loop goes through.
fn ends_with_in(before: &[Token]) -> bool {
    matches!(before.last(), Some(Token::Name(word)) if word == "in")
}

/// Whether a loop goes through it.
fn is_gone_through(tokens: &[Token], at: usize) -> bool {
    let before = &tokens[at.saturating_sub(3)..at];
    let goes = |word: &&str| matches!(*word, "foreach" | "Object.entries" | "Object.values");
    let named = |token: &Token| matches!(token, Token::Name(name) if goes(&name.as_str()));
    let is_each = matches!(&tokens[at], Token::Name(name) if name.contains(".each"));
    let is_in = match before {
        before if is_sought(before) => false,
        [.., Token::Name(word)] => word == "in" || word == "of",
        _ => false,
    };
    is_each || is_in || before.iter().any(named)
}

/// The code with what stands in the holes of its texts beside them: `f"a {x}"` as `f"a "+x+""`.
fn opened(text: &str, language: &str) -> String {
    let (delimiters, hole) = match language {
        "node" => (&['`'][..], "${"),
        "ruby" => (&['"'][..], "#{"),
        "php" => (&['"'][..], "{"),
        "python" => (&['"', '\''][..], "{"),
        _ => return text.to_owned(),
    };
    let mut out = String::with_capacity(text.len());
    let mut within: Option<char> = None;
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let is_open = language != "python" || out.ends_with('f');
        match within {
            None if delimiters.contains(&sign) && is_open => within = Some(sign),
            Some(delimiter) if delimiter == sign => within = None,
            Some(delimiter) if rest.starts_with(hole) => {
                let end = rest.find('}').unwrap_or(rest.len());
                out.extend([delimiter, '+']);
                out.push_str(&rest[hole.len()..end]);
                out.extend(['+', delimiter]);
                rest = rest.get(end + 1..).unwrap_or_default();
                continue;
            }
            _ => {}
        }
        out.push(sign);
        rest = &rest[sign.len_utf8()..];
    }
    // What a backquote holds is a text of node.
    if language == "node" { out.replace('`', "\"") } else { out }
}
