//! What is certain of a line for a shell: its first word, and the plain words behind it. No line is parsed here.

use std::path::Path;

use super::Program;

/// The words at the start of a line that a shell reads itself: reserved words and what is built into `sh` or `bash`.
const OF_THE_SHELL: &[&str] = &[
    ".", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
    "compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "echo", "elif", "else",
    "enable", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi", "for", "function",
    "getopts", "hash", "help", "history", "if", "in", "jobs", "kill", "let", "local", "logout", "mapfile",
    "newgrp", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "select", "set",
    "shift", "shopt", "source", "suspend", "test", "then", "time", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
];

/// The program that a line for a shell starts first; `None` where another reading is possible.
pub(super) fn first_word(program: &Program) -> Option<&str> {
    Some(split(program)?.0)
}

/// That program and the words behind it, up to the first that a shell may read in another way.
pub(super) fn words(program: &Program) -> impl Iterator<Item = &str> {
    let (first, rest) = split(program).unzip();
    let rest = rest.unwrap_or_default();
    let rest = rest.split([';', '&', '|', '<', '>', '\n']).next().unwrap_or_default();
    first.into_iter().chain(rest.split_whitespace().map_while(plain))
}

/// A word without its quotes, if a shell changes nothing else in it.
fn plain(word: &str) -> Option<&str> {
    let within = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let word = within('"').or_else(|| within('\'')).unwrap_or(word);
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./+=:,@%".contains(sign);
    word.chars().all(is_plain).then_some(word)
}

/// The first word and what stands behind it.
fn split(program: &Program) -> Option<(&str, &str)> {
    let [shell, flag, line] = &program.argv[..] else { return None };
    let shell = Path::new(shell).file_name()?.to_str()?;
    if !matches!(shell, "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" | "fish") {
        return None;
    }
    // Other shells have words of their own, and a login shell a PATH of its own; a path is the same in all of them.
    let may_be_name = matches!(shell, "sh" | "bash" | "dash") && flag == "-c";
    if !may_be_name && !matches!(flag.to_str()?, "-c" | "-lc") {
        return None;
    }
    let line = line.to_str()?.trim_start();
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./+".contains(sign);
    let (word, rest) = line.split_at(line.find(|sign| !is_plain(sign)).unwrap_or(line.len()));
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>']);
    let defines = rest.trim_start().starts_with('(');
    // A number before `<` or `>` is a descriptor.
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let is_program = ends && !defines && !is_number && !OF_THE_SHELL.contains(&word);
    (is_program && (may_be_name || word.contains('/'))).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_shell_line_is_known_where_no_other_reading_is_possible() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(first_word(&Program::shell("/bin/sh", line)), expected, "{line}");
        };
        for (line, word) in [
            ("./guard.sh --x", "./guard.sh"),
            (" jq . | sort", "jq"),
            ("tool>out", "tool"),
            ("a/b;c", "a/b"),
            ("x&", "x"),
        ] {
            check(line, Some(word));
        }
        for line in [
            "", "A=b tool", "\"./guard.sh\"", "$HOOK/x", "~/x", "x$y", "x\\ y", "x*", "f() { :; }; f",
            "f () { :; }; f", "2>&1 tool", "! tool", "{ tool; }", "(tool)", "[ -x tool ] && tool", "exit 2",
            "if tool; then exit 2; fi", ". ./lib.sh", "# tool",
        ] {
            check(line, None);
        }
        for shell in [["zsh", "-c"], ["/usr/bin/fish", "-c"], ["bash", "-lc"], ["zsh", "-lc"]] {
            let of = |line| Program::argv(shell.into_iter().chain([line]));
            assert_eq!(first_word(&of("./guard.sh --x")), Some("./guard.sh"), "{shell:?}");
            assert_eq!(first_word(&of("guard --x")), None, "{shell:?}");
        }
        assert_eq!(first_word(&Program::argv(["bash", "-x", "./tool"])), None);
        assert_eq!(first_word(&Program::argv(["grep", "-c", "tool"])), None);
        assert_eq!(first_word(&Program::argv(["sh", "script"])), None);
    }
}
