//! Programs as data: a row for each program or subcommand, with its options and what it does.
//!
//! A row is three texts. The *names*: one or several programs, or a program with its subcommand (`git push`), with `|`
//! between. The *options*: words such as `-f|--force`, with `=` behind those that take a value and `=?` behind those
//! whose value has to be attached, `=#` where that is digits, `=*` where words up to the next option are more values, and `=!` where the words behind the value are operands. Words without
//! a dash are options of a program with `sub` (`workspace=`). What it *does*: words, each perhaps behind a condition `-i?` (one of these options is
//! given) or `!-n?` (none is):
//!
//! | word | meaning |
//! |---|---|
//! | `r:*`, `w:$`, `d:1`, `rw:2+`, `r:<`, `w:-o` | reads, writes, deletes all operands, the last, the first, all from the second, all but the last, the value of `-o` |
//! | `d:.` | deletes all operands; without any, files of the folder at hand, of which the names are not known |
//! | `whole`, `-r?whole` | what it deletes or changes is taken with all below it |
//! | `shows` | prints its files as they are |
//! | `relays` | prints of its input what can be read there |
//! | `consents:-y` | asks before it begins: an input answers as this option does |
//! | `into` | what it writes may be a folder, in which each of its other operands is written by its name |
//! | `sub` | the first operand is a subcommand, with a row of its own or not |
//! | `words` | options are words behind one dash (`-delete`), not clusters of letters |
//! | `stop`, `stop:2` | options end at the first operand, at the second |
//! | `modes` | `-x`, `-rw` and the like are operands |
//! | `plus` | options begin with `+` as well, which gives them back, and a lone `-` ends them |
//! | `dashless` | no value of an option begins with a dash: what does is an option |
//! | `apart` | the same, and each letter of a cluster that takes a value takes a word of its own |
//! | `wrap`, `wrap:1`, `wrap:=`, `wrap:run` | starts the program of its operands: of all, behind one, behind assignments, behind the word `run` |
//! | `known` | starts the program of its operands if there is a row for it and words stand behind it: a script may have any name |
//! | `verb`, `verb:add,link` | starts the program that its subcommand names, which is none of its own: neither one with a row nor, where some
//! are named, one of these or one of which there is no row |
//! | `@wrap:1`, `@text:-c` | does so on another machine or in a container |
//! | `text:-c`, `texts:*` | runs the value, or its operands joined, as a shell does |
//! | `env:PAGER` | runs the value of this variable as a shell does |
//! | `code:-e:python`, `script:python`, `input:python` | runs code of the option, a file of the first operand, its input |
//! | `scripts` | runs scripts among its words: those that the command has written are entered |
//! | `cd:-C` | works in this folder |
//! | `quiet`, `same`, `base64`, `hex`, `reverse`, `settings`, `fresh` | prints nothing, its input, the decoded input, settings for a shell, a new path |
//! | `fetches`, `sends`, `environment`, `prints` | asks another machine, gives it what it is given, prints the environment, or secrets |
//! | `sql:-c`, `sql:*`, `sql`, `sql-of:-f` | statements of a database: of the option, the operands, the input, a file of the option that the command has written |

mod code;
mod files;
mod network;
mod programs;
pub(crate) mod secrets;
mod services;
mod shells;
mod source;
mod vcs;
mod wrappers;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::analysis::Access;

type Map<V> = std::collections::HashMap<&'static str, V, foldhash::fast::FixedState>;

/// An option with its spellings.
#[derive(Debug)]
pub(crate) struct Opt {
    pub(crate) spellings: Vec<Cow<'static, str>>,
    pub(crate) takes: Takes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    Attached,
    /// Digits that touch it, behind which other options stand.
    Digits,
    /// A value, behind which only operands stand.
    Last,
    /// A value, and more of them up to the next option.
    List,
}

/// Which words an effect is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Which {
    All,
    From(usize),
    Only(usize),
    ButLast,
    Last,
    AllOrHere,
    Value(&'static str),
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Deed {
    Touch(Access, Which),
    Whole,
    Shows,
    Relays,
    Into,
    Wrap {
        skip: usize,
        assigns: bool,
        word: Option<&'static str>,
    },
    /// Starts the program of its operands if it has a row.
    Known,
    /// Starts the program that the subcommand names, unless it is one of these or has a row as that.
    Verb(&'static str),
    Text(Which),
    Variable(&'static str),
    Code(&'static str, &'static str),
    Script(&'static str),
    Input(&'static str),
    Folder(&'static str),
    Prints(&'static str),
    Sql(Option<Which>),
    SqlOf(Which),
    Scripts,
    Fetches,
    Sends,
    Environment,
    Secrets,
    /// What it asks is answered by its input, as by this option.
    Consents(&'static str),
    Special(&'static str),
}

/// A deed, and the options on which it depends.
#[derive(Debug)]
pub(crate) struct When {
    pub(crate) with: Vec<Vec<&'static str>>,
    pub(crate) without: Vec<&'static str>,
    pub(crate) deed: Deed,
    /// Whether that is done on another machine or in a container.
    pub(crate) elsewhere: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) options: Vec<Opt>,
    pub(crate) deeds: Vec<When>,
    pub(crate) subcommands: bool,
    pub(crate) words: bool,
    /// Whether words without a dash are options of it.
    pub(crate) bare: bool,
    /// At which operand options end; at none for 0.
    pub(crate) stops: usize,
    pub(crate) modes: bool,
    pub(crate) plus: bool,
    pub(crate) apart: bool,
    pub(crate) dashless: bool,
}

static ROWS: LazyLock<Map<std::sync::Arc<Row>>> = LazyLock::new(|| {
    let mut rows = Map::default();
    let all = [
        files::ROWS,
        shells::ROWS,
        code::ROWS,
        wrappers::ROWS,
        vcs::ROWS,
        network::ROWS,
        services::ROWS,
        programs::ROWS,
    ];
    for (names, options, does) in all.into_iter().flatten() {
        let row = std::sync::Arc::new(row(options, does));
        for name in names.split('|') {
            rows.insert(name, std::sync::Arc::clone(&row));
        }
    }
    rows
});

/// Packages by whose names runners start a program of another name.
const PACKAGES: [(&str, &str); 6] = [
    ("aws-cdk", "cdk"),
    ("cdktf-cli", "cdktf"),
    ("firebase-tools", "firebase"),
    ("netlify-cli", "netlify"),
    ("trash-cli", "trash"),
    ("ansible-core", "ansible"),
];

/// The name of a program: `prisma@5` and `npm:prisma` of a runner are `prisma`, and `@prisma/cli` is so as well.
pub(crate) fn program_name(path: &str) -> &str {
    let last = path.bytes().rposition(|byte| byte == b'/').map_or(path, |at| &path[at + 1..]);
    if last.contains('-') {
        let package = last.split('@').next();
        if let Some((_, program)) = PACKAGES.iter().find(|(known, _)| package == Some(known)) {
            return program;
        }
    }
    if !path.bytes().any(|byte| matches!(byte, b'@' | b':')) {
        return last;
    }
    let plain = last.strip_prefix("npm:").unwrap_or(last).split('@').next().unwrap_or_default();
    let scope = path.trim_start_matches("npm:").strip_prefix('@').and_then(|path| path.split_once('/'));
    let plain = scope.filter(|_| plain == "cli").map_or(plain, |(scope, _)| scope);
    if find(plain).is_some() { plain } else { last }
}

/// The row of a program, or of a program with its subcommand.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.get(name).map(|row| &**row)
}

fn row(options: &'static str, does: &'static str) -> Row {
    let mut row = Row { options: options.split_ascii_whitespace().map(option).collect(), ..Row::default() };
    for word in does.split_ascii_whitespace() {
        match word {
            "sub" => row.subcommands = true,
            "words" => row.words = true,
            "stop" => row.stops = 1,
            "stop:2" => row.stops = 2,
            "modes" => row.modes = true,
            "plus" => row.plus = true,
            "dashless" => row.dashless = true,
            "apart" => (row.plus, row.apart) = (true, true),
            _ => deeds(word, &mut row.deeds),
        }
    }
    let wraps = row.deeds.iter().any(|when| matches!(when.deed, Deed::Wrap { .. })) && !row.subcommands;
    row.stops = row.stops.max(usize::from(wraps));
    row.bare = row.options.iter().any(|option| !option.spellings[0].starts_with(['-', '+']));
    row
}

fn option(text: &'static str) -> Opt {
    let ends = [
        ("=?", Takes::Attached),
        ("=#", Takes::Digits),
        ("=!", Takes::Last),
        ("=*", Takes::List),
        ("=", Takes::Value),
    ];
    let takes = ends.into_iter().find_map(|(end, takes)| Some((text.strip_suffix(end)?, takes)));
    let (names, takes) = takes.unwrap_or((text, Takes::Nothing));
    Opt { spellings: names.split('|').map(Cow::Borrowed).collect(), takes }
}

fn deeds(word: &'static str, all: &mut Vec<When>) {
    let (mut with, mut without, mut word) = (Vec::new(), Vec::new(), word);
    while let Some((condition, rest)) = word.split_once('?') {
        match condition.strip_prefix('!') {
            Some(names) => without.extend(names.split('|')),
            None => with.push(condition.split('|').collect()),
        }
        word = rest;
    }
    let elsewhere = word.starts_with('@');
    let word = word.trim_start_matches('@');
    let (verb, object) = word.split_once(':').unwrap_or((word, ""));
    let deeds: Vec<Deed> = match verb {
        "whole" => vec![Deed::Whole],
        "shows" => vec![Deed::Shows],
        "relays" => vec![Deed::Relays],
        "consents" => vec![Deed::Consents(object)],
        "into" => vec![Deed::Into],
        "wrap" => {
            let skip = object.parse().unwrap_or(0);
            let named = (!object.is_empty() && object != "=" && skip == 0).then_some(object);
            vec![Deed::Wrap { skip, assigns: object == "=", word: named }]
        }
        "known" => vec![Deed::Known],
        "verb" => vec![Deed::Verb(object)],
        "text" | "texts" => vec![Deed::Text(which(object))],
        "code" => {
            object.split_once(':').map(|(flag, language)| Deed::Code(flag, language)).into_iter().collect()
        }
        "env" => vec![Deed::Variable(object)],
        "script" => vec![Deed::Script(object)],
        "input" => vec![Deed::Input(object)],
        "cd" => vec![Deed::Folder(object)],
        "sql" => vec![Deed::Sql((!object.is_empty()).then(|| which(object)))],
        "sql-of" => vec![Deed::SqlOf(which(object))],
        "scripts" => vec![Deed::Scripts],
        "fetches" => vec![Deed::Fetches],
        "sends" => vec![Deed::Sends],
        "environment" => vec![Deed::Environment],
        "prints" => vec![Deed::Secrets],
        "quiet" | "same" | "base64" | "hex" | "reverse" | "translate" | "settings" | "fresh" | "coded" => {
            vec![Deed::Prints(verb)]
        }
        "special" => vec![Deed::Special(object)],
        letters => {
            letters.chars().filter_map(access).map(|access| Deed::Touch(access, which(object))).collect()
        }
    };
    all.extend(deeds.into_iter().map(|deed| When {
        with: with.clone(),
        without: without.clone(),
        deed,
        elsewhere,
    }));
}

fn access(letter: char) -> Option<Access> {
    match letter {
        'r' => Some(Access::Read),
        'w' => Some(Access::Write),
        'd' => Some(Access::Delete),
        _ => None,
    }
}

fn which(text: &'static str) -> Which {
    match text {
        "*" | "" => Which::All,
        "$" => Which::Last,
        "." => Which::AllOrHere,
        "<" => Which::ButLast,
        text if text.starts_with('-') => Which::Value(text),
        text => match (text.strip_suffix('+').unwrap_or(text).parse(), text.ends_with('+')) {
            (Ok(number), true) => Which::From(number),
            (Ok(number), false) => Which::Only(number),
            _ => Which::All,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_understood_and_each_option_of_a_condition_is_its_own() {
        for (name, row) in ROWS.iter() {
            for when in &row.deeds {
                for flag in when.with.iter().flatten().chain(&when.without) {
                    let parent = name.split_once(' ').and_then(|(parent, _)| find(parent));
                    let known = row.options.iter().chain(parent.iter().flat_map(|row| &row.options));
                    assert!(
                        known.clone().any(|o| o.spellings.iter().any(|spelling| spelling == flag)),
                        "{name}: {flag} is no option of it"
                    );
                }
            }
        }
    }
}
