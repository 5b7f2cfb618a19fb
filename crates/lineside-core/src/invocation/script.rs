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
    let mut words = words.skip_while(|word| matches!(*word, "env" | "/usr/bin/env")).peekable();
    let program = Path::new(words.next()?).file_name()?.to_str()?;
    let name = program.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // These two begin with the name of what they do.
    let first = words.peek().copied().filter(|_| !matches!(name, "bun" | "deno"));
    let is_script = |word: &&str| {
        Some(*word) == first || word.contains('/') || ENDINGS.iter().any(|end| word.ends_with(end))
    };
    let mut files = words.take_while(|word| !NO_FILE.contains(word)).filter(|word| !word.starts_with('-'));
    files.find(is_script).filter(|script| !script.starts_with(['/', '~', '$']))
}

#[cfg(test)]
mod tests {
    use crate::invocation::Program;

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
