//! The file that an interpreter is given to run: `policy.py` of `python3 -u policy.py`.

use std::path::Path;

/// Programs that run the file that they are given, without the digits of their version.
const INTERPRETERS: &[&str] = &[
    "Rscript", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "pwsh", "python",
    "ruby", "sh", "ts-node", "tsx", "zsh",
];

/// Options with which what follows is no file.
const NO_FILE: &[&str] = &["-c", "-e", "-lc", "-m", "-p", "--eval", "--print"];

const ENDINGS: &[&str] = &[
    ".R", ".bash", ".cjs", ".fish", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".rb", ".sh", ".ts",
];

/// The relative path of a script among the words of a command; `None` where there is none for certain.
pub(super) fn relative<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_script = |word: &str, is_first| is_first || word.contains('/') || has_ending(word);
    among(words, is_script).filter(|script| !script.starts_with(['/', '~', '$']))
}

/// The path of a script among the words of a command, of which it is certain that the interpreter opens it.
pub(super) fn opened<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    among(words, |word, is_first| is_first || has_ending(word))
        .filter(|script| !script.starts_with(['~', '$']) && !script.contains(':'))
}

fn has_ending(word: &str) -> bool {
    ENDINGS.iter().any(|end| word.ends_with(end))
}

/// The first word behind an interpreter that is a script, by whether it stands right behind it.
fn among<'a>(
    words: impl Iterator<Item = &'a str>,
    is_script: impl Fn(&str, bool) -> bool,
) -> Option<&'a str> {
    let mut words = words.skip_while(|word| matches!(*word, "env" | "/usr/bin/env")).peekable();
    let program = Path::new(words.next()?).file_name()?.to_str()?;
    let name = program.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // These two begin with the name of what they do.
    let first = words.peek().copied().filter(|_| !matches!(name, "bun" | "deno"));
    let mut files = words.take_while(|word| !NO_FILE.contains(word)).filter(|word| !word.starts_with('-'));
    files.find(|word| is_script(word, Some(*word) == first))
}

#[cfg(test)]
mod tests {
    use crate::invocation::Program;

    #[test]
    fn a_script_is_opened_where_no_other_reading_of_the_words_is_possible() {
        for (line, script) in [
            ("python3 policy.py", Some("policy.py")),
            ("python3 -u /opt/policy.py x.py", Some("/opt/policy.py")),
            ("bash guard", Some("guard")),
            ("node -r dotenv/config app.js", Some("app.js")),
            ("deno run npm:a/b", None),
            ("deno run https://a.b/c.ts", None),
            ("python3 -m pytest tests/x.py", None),
            ("cat policy.py", None),
        ] {
            let opened = |program: &Program| program.script().map(std::ffi::OsStr::to_owned);
            assert_eq!(opened(&Program::argv(line.split(' '))), script.map(Into::into), "{line}");
            assert_eq!(opened(&Program::shell("/bin/sh", line)), script.map(Into::into), "sh: {line}");
        }
        assert_eq!(Program::shell("sh", "python3 ~/x.py").script(), None);
        assert_eq!(Program::shell("sh", "python3 \"$X\"/x.py").script(), None);
    }

    #[test]
    fn a_script_behind_its_interpreter_is_a_file_below_the_working_directory() {
        let below = |program: &Program| program.below_working_directory().map(std::ffi::OsStr::to_owned);
        for (line, script) in [
            ("python3 policy.py", Some("policy.py")),
            ("python3 -u policy.py --strict", Some("policy.py")),
            ("python3.13 -W ignore tools/policy.py", Some("tools/policy.py")),
            ("/usr/bin/env node guard.mjs", Some("guard.mjs")),
            ("bash guard", Some("guard")),
            ("deno run guard.ts", Some("guard.ts")),
            ("python3 /opt/policy.py other.py", None),
            ("python3 -c pass x.py", None),
            ("python3 -m pytest tests/x.py", None),
            ("ruff check src/x.py", None),
            ("cat policy.py", None),
        ] {
            let argv = Program::argv(line.split(' '));
            assert_eq!(below(&argv), script.map(Into::into), "{line}");
            assert_eq!(below(&Program::shell("/bin/sh", line)), script.map(Into::into), "sh: {line}");
        }
        for (line, script) in [
            ("python3 'policy.py' | cat", Some("policy.py")),
            ("bash \"guard.sh\"; true", Some("guard.sh")),
            ("python3 ~/policy.py x.py", None),
            ("python3 $HOME/policy.py x.py", None),
            ("python3 \"$DIR\"/policy.py x.py", None),
            ("node --version; x.js", None),
        ] {
            assert_eq!(below(&Program::shell("sh", line)), script.map(Into::into), "{line}");
        }
    }
}
