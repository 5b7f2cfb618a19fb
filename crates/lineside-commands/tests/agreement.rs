//! Whether another parser reads the texts that ours does: over the corpus and over changed forms of it.
//!
//! Where the two differ, `bash -n` decides. What it decides against ours is listed, with the reason.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use brush_parser::{Parser, ParserOptions};
use fastrand::Rng;
use regex::Regex;
use serde_json::Value;

mod corpus {
    pub(crate) mod mutants;
}

use corpus::mutants::mutant;
use lineside_commands::{Shell, parses};

/// How many changed forms are read; a build by night asks for more.
const COUNT: &str = match option_env!("LINESIDE_MUTANTS") {
    Some(count) => count,
    None => "2000",
};

/// What `bash -n` reads and ours does not, or the other way: an expression of the text, which of them reads it, and why.
/// What ours does not read is unclear; what ours alone reads is not run at all, so that too much is listed.
const DIFFERENCES: &[(&str, Reads, &str)] = &[
    (r"\}", Reads::Bash, "a brace that closes nothing, within a word, is an error of ours"),
    (r"!\s*(;|$|\n)", Reads::Bash, "`!` alone is an error of ours"),
    (r"\(\(", Reads::Bash, "arithmetic that has no value is an error of ours"),
    (r"\(.*#", Reads::Bash, "a sign of a comment within a word of a subshell"),
    (r"[<>]&.*[<>]&", Reads::Bash, "a redirection whose target is another one"),
    (r"\{[\w-]|[<>-]\{", Reads::Bash, "a brace in front of a word is taken for a group"),
    (
        r"\[\[ ",
        Reads::Bash,
        "a bracket or a redirection within a condition is taken for a pattern or an operator",
    ),
    (
        r"[\w~:*/}.\-\])'!]\s*\(|\(\s*\S*$",
        Reads::Ours,
        "a parenthesis behind a word is taken for a function or a pattern",
    ),
    (r"\)\s*[^\s;|&)<>]", Reads::Ours, "a word behind a parenthesis is taken for one of a list"),
    (r"\}\s*\S", Reads::Ours, "a word behind a brace is taken for one of a list"),
    (r#"["'`]"#, Reads::Ours, "quotes within braces or expansions may have no end"),
    (r"[{(]", Reads::Ours, "an expansion, a brace or a list may have no end"),
    (
        r"[;&|]\s*[;&|]|^\s*[;&|]|[<>]",
        Reads::Ours,
        "a command may be absent between two signs, and a target behind one",
    ),
];

/// The most of a hundred texts in which the two may differ so: most are changed until they are none.
const SHARE: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    Ours,
    Bash,
}

fn ours(text: &str) -> bool {
    parses(text, Shell::Bash).is_ok()
}

fn other(text: &str) -> bool {
    Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program().is_ok()
}

fn bash(text: &str) -> bool {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-O", "extglob", "-n", "-c", text]).stdin(Stdio::null()).stdout(Stdio::null());
    // A here-document without an end is a warning: it is run.
    bash.env_clear().env("LC_ALL", "C.UTF-8").stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn another_parser_reads_what_ours_reads() {
    let corpus: Value = serde_json::from_str(include_str!("../../../tests/commands/commands.json")).unwrap();
    let is_bash = |case: &&Value| case["shell"].as_str().is_none_or(|shell| shell == "bash");
    let commands: Vec<&str> = corpus["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_bash)
        .map(|case| case["command"].as_str().unwrap())
        .collect();
    let mut random = Rng::with_seed(11);
    let mutants = (0..COUNT.parse().unwrap())
        .map(|_: usize| mutant(commands[random.usize(..commands.len())], &mut random));
    let mutants: Vec<String> = mutants.filter(|text| !text.contains('\0')).collect();
    let differences: Vec<(Reads, Regex)> =
        DIFFERENCES.iter().map(|(pattern, by, _)| (*by, Regex::new(pattern).unwrap())).collect();
    let (mut of_parsers, mut listed, mut found) = (0, 0, Vec::new());
    for text in commands.iter().copied().chain(mutants.iter().map(String::as_str)) {
        let reads = ours(text);
        if reads == other(text) {
            continue;
        }
        of_parsers += 1;
        if reads == bash(text) {
            continue;
        }
        let who = if reads { Reads::Ours } else { Reads::Bash };
        if differences.iter().any(|(by, pattern)| *by == who && pattern.is_match(text)) {
            listed += 1;
        } else {
            found.push(format!("{who:?} alone: {text:?}"));
        }
    }
    let all = commands.len() + mutants.len();
    println!("{all} texts: two parsers differ in {of_parsers}, of these ours and bash in {listed} as listed");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    assert!(listed * 100 <= all * SHARE, "{listed} of {all} texts are more than {SHARE} %");
}
