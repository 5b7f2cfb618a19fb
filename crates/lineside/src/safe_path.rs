//! Python that a hook hands to its interpreter as text, as `python3 -c` and `python3 -` do: it imports modules from the
//! working directory first, which is a project that the author of the hook need not trust.

use lineside_core::invocation::{Environment, Program};

/// Keeps Python from importing modules of the working directory.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// Has Python that is given as text import nothing from the working directory, unless the hook sets the variable itself.
/// A script is left as it is: it may import what lies beside it.
pub(crate) fn keep(program: &Program, environment: &mut Environment) {
    let is_set = environment.set.iter().any(|(name, _)| name == SAFE_PATH);
    if !is_set && takes_text(words(program)) {
        environment.set.push((SAFE_PATH.into(), "1".into()));
    }
}

/// Keeps Python from writing what it has compiled beside a module.
const NO_BYTECODE: &str = "PYTHONDONTWRITEBYTECODE";

/// Has Python leave the folder of a hook as it is, which was trusted with everything that lies in it, unless the hook sets
/// the variable itself.
pub(crate) fn keep_clean(environment: &mut Environment) {
    if !environment.set.iter().any(|(name, _)| name == NO_BYTECODE) {
        environment.set.push((NO_BYTECODE.into(), "1".into()));
    }
}

/// The interpreters that take modules from the working directory, or from below it, and know no such variable; and their
/// options for a program that is given as text.
const OTHERS: [(&str, &[&str]); 5] = [
    ("node", &["-e", "-p", "-pe", "--eval", "--print"]),
    ("bun", &["-e", "-p", "--eval", "--print"]),
    ("deno", &["eval"]),
    ("ruby", &["-e"]),
    ("perl", &["-e", "-E"]),
];

/// Of a command that hands such an interpreter a program as text: the interpreter.
pub(crate) fn exposed(program: &Program) -> Option<&'static str> {
    let line = words(program).collect::<Vec<_>>().join(" ");
    let line: Vec<_> = line
        .split(|sign: char| sign.is_whitespace() || matches!(sign, ';' | '&' | '|' | '(' | '`'))
        .collect();
    let is_of = |word: &str, name: &str| word.rsplit('/').next() == Some(name);
    let hands_text = |at: usize, options: &[&str]| {
        let options_there =
            line[at + 1..].iter().take_while(|word| word.starts_with('-') || **word == "eval");
        options_there.into_iter().any(|word| options.contains(word))
    };
    let of = |(name, options): &(&'static str, &[&str])| {
        let is_there = (0..line.len()).any(|at| is_of(line[at], name) && hands_text(at, options));
        is_there.then_some(*name)
    };
    OTHERS.iter().find_map(of)
}

/// The words of a command.
fn words(program: &Program) -> impl Iterator<Item = &str> {
    program.argv.iter().filter_map(|word| word.to_str())
}

/// Whether a command, or a line of it for a shell, starts Python without the file of a script.
fn takes_text<'a>(command: impl Iterator<Item = &'a str>) -> bool {
    let command: Vec<_> = command.collect();
    let line = command.join(" ");
    line.match_indices("python").any(|(at, name)| {
        let is_within_word = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
        let rest =
            line[at + name.len()..].trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        !line[..at].ends_with(is_within_word) && !rest.starts_with(is_within_word) && has_no_script(rest)
    })
}

/// Whether what stands behind the name of the interpreter names no script.
fn has_no_script(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'']);
    let mut words = rest
        .split([';', '&', '|', '<', '>', '(', ')', '`', '\n'])
        .next()
        .unwrap_or_default()
        .split_whitespace();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return false,
            Some("W" | "X") => drop(words.next()),
            Some(options) if options.starts_with('-') => {}
            Some(options) if options.is_empty() || options.contains(['c', 'm']) => return true,
            Some(_) => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use lineside_core::invocation::Program;

    use super::{exposed, takes_text};

    #[test]
    fn another_interpreter_that_is_given_a_program_as_text_is_named() {
        for (line, name) in [
            ("/usr/bin/node -e require('yaml')", Some("node")),
            ("sh -c cat | node --no-warnings -p 1", Some("node")),
            ("ruby -e puts", Some("ruby")),
            ("perl -w -e print", Some("perl")),
            ("deno eval x", Some("deno")),
            ("node guard.js -e", None),
            ("perl /opt/guard.pl", None),
            ("grep -e node", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(exposed(&Program::argv(&words)), name, "{line}");
        }
    }

    #[test]
    fn python_that_is_given_as_text_is_known_and_a_script_is_none() {
        for line in [
            "python3 -c 'import json'",
            "/usr/bin/python3.11 -Ic pass",
            "sh -c cat | python3",
            "bash -c x=$(python3 - <<'EOF'\nimport json\nEOF\n)",
            "env python -W ignore -m guard",
            "sh -c \"python3\" -c pass",
        ] {
            assert!(takes_text(line.split(' ')), "{line}");
        }
        for line in [
            "python3 guard.py",
            "python3 -u -X utf8 /opt/guard.py -c",
            "cat python3.txt",
            "pythonic -c x",
            "my-python -c",
            "ls",
        ] {
            assert!(!takes_text(line.split(' ')), "{line}");
        }
    }
}
