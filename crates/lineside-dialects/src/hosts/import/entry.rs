//! One imported hook, whatever host it was written for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::exchange::Addresses;
use lineside_core::{AnyEvent, Layer, Origin};

use super::condition::Condition;
use super::fields::{Fields, Refused};
use super::follow_ups::FollowUps;
use super::matcher::Matcher;
use super::references::expand_braced;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;

/// An imported hook.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its event, as the host spells it.
    pub(crate) event: &'static str,
    /// The rows of its event, one for each point.
    pub(crate) rows: Vec<&'static Row>,
    /// The words in which it knows tools.
    pub(crate) column: Column,
    /// Which file it is from, in plan order.
    pub(crate) file: usize,
    /// Where it stands.
    pub(crate) origin: Origin,
    /// Its layer.
    pub(crate) layer: Layer,
    /// Which events it is for.
    pub(crate) matcher: Matcher,
    /// Whether its group has hooks run one after another.
    pub(crate) is_sequential: bool,
    /// Whether it is switched off.
    pub(crate) is_disabled: bool,
    /// What it runs, and how.
    pub(crate) handler: Handler,
    /// How often it has kept agents working, where that is bounded.
    pub(crate) follow_ups: FollowUps,
}

/// What an imported hook runs, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    pub(crate) run: Run,
    /// The name that its author gave it.
    pub(crate) given_name: Option<String>,
    pub(crate) timeout: Duration,
    /// Whether its author gave the time.
    pub(crate) is_timed: bool,
    /// Variables that are set.
    pub(crate) env: Vec<(String, String)>,
    /// Where it runs; in the directory of the event when absent.
    pub(crate) cwd: Option<PathBuf>,
    /// Whether it runs in the root of the project.
    pub(crate) in_project: bool,
    pub(crate) condition: Option<Condition>,
    /// Nothing waits for it.
    pub(crate) is_async: bool,
    /// Nothing waits for it, and exit code 2 gives what it printed to the context.
    pub(crate) rewakes: bool,
    /// Its failure blocks where a block is possible.
    pub(crate) closes: bool,
    /// How often it may keep the agent of a session working; without a bound when there is none.
    pub(crate) loop_limit: Option<u32>,
    /// By what it is the same as another one.
    pub(crate) key: String,
    /// A warning that goes with it.
    pub(crate) warning: Option<String>,
}

impl Handler {
    /// Where it runs for an event; `work_dir` is the root of the project of an event that names none.
    pub(super) fn working_directory(&self, event: &AnyEvent, work_dir: &Path) -> PathBuf {
        let source = &event.envelope().source;
        let root = source.project_root.as_deref().map_or(work_dir, Path::new);
        match (&self.cwd, self.in_project) {
            (Some(cwd), _) => root.join(cwd),
            (None, true) => root.to_path_buf(),
            (None, false) => source.cwd.as_deref().map_or(root, Path::new).to_path_buf(),
        }
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Run {
    /// A line of a shell.
    Shell {
        /// The shell and its options, without the line.
        shell: Vec<String>,
        /// The line.
        line: String,
    },
    /// A program and its arguments.
    Program(Vec<String>),
    /// A request.
    Http {
        /// Where to.
        url: String,
        /// Headers, with references to variables.
        headers: Vec<(String, String)>,
        /// The variables that headers may name.
        allowed: Vec<String>,
        /// The addresses that may be reached.
        addresses: Addresses,
    },
}

impl Default for Run {
    fn default() -> Self {
        Self::Program(Vec::new())
    }
}

impl Run {
    /// The line, or the program and its arguments; `None` for a request.
    pub(super) fn command(&self) -> Option<&[String]> {
        match self {
            Self::Shell { line, .. } => Some(std::slice::from_ref(line)),
            Self::Program(argv) => Some(argv),
            Self::Http { .. } => None,
        }
    }

    /// A line for `sh -c`.
    pub(crate) fn shell(line: impl Into<String>) -> Self {
        Self::Shell { shell: vec!["/bin/sh".to_owned(), "-c".to_owned()], line: line.into() }
    }

    /// A line for `bash -c`, or for `sh` where there is no bash.
    pub(crate) fn bash(line: String) -> Self {
        let known = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
        let shell = known.into_iter().find(|shell| Path::new(shell).exists()).unwrap_or("sh");
        Self::Shell { shell: vec![shell.to_owned(), "-c".to_owned()], line }
    }

    /// A request; one of a project reaches no other addresses than those that are written.
    pub(crate) fn http(fields: Fields<'_>, layer: Layer) -> Result<Self, Refused> {
        Ok(Self::Http {
            url: fields.required("url")?,
            headers: fields.map("headers")?,
            allowed: fields.texts("allowedEnvVars")?.unwrap_or_default(),
            addresses: if layer == Layer::Project { Addresses::AsWritten } else { Addresses::Any },
        })
    }

    /// The same with `${NAME}` in the words of a program replaced by these values.
    pub(crate) fn expanded(self, values: &[(String, String)]) -> Self {
        match self {
            Self::Program(argv) => {
                Self::Program(argv.iter().map(|word| expand_braced(word, values)).collect())
            }
            other => other,
        }
    }

    /// Refuses our own entry (HO-38).
    ///
    /// # Errors
    /// It is one.
    pub(crate) fn of_others(self) -> Result<Self, Refused> {
        let is_ours = match &self {
            Self::Shell { line, .. } => is_our_line(line),
            Self::Program(argv) => are_ours(argv),
            Self::Http { .. } => false,
        };
        if is_ours { Err(Refused::Ours) } else { Ok(self) }
    }
}

/// Whether a program with this first argument is the hook command of this project (HO-38).
pub(crate) fn is_ours(program: &str, first: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    matches!(name, "lineside" | "lineside.exe") && first == "hook"
}

/// Whether these words start it.
pub(crate) fn are_ours(words: &[String]) -> bool {
    matches!(words, [program, first, ..] if is_ours(program, first))
}

/// Whether a shell line starts the hook command of this project, `lineside hook`, under any path and however it is
/// quoted.
#[must_use]
pub fn is_our_line(line: &str) -> bool {
    are_ours(&shell_words(line))
}

/// The words of a shell line, as far as quotes make them up. Nothing is expanded; a line with an operator goes on.
pub(crate) fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            char if char.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(chars.by_ref().take_while(|char| *char != '\''));
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(char) = chars.next().filter(|char| *char != '"') {
                    let escaped =
                        chars.next_if(|next| char == '\\' && matches!(next, '"' | '\\' | '$' | '`'));
                    word.push(escaped.unwrap_or(char));
                }
            }
            // A path of Windows keeps what elsewhere would quote.
            '\\' => {
                let escaped = chars.next_if(|next| matches!(next, ' ' | '\'' | '"' | '\\'));
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::{Run, shell_words};

    #[test]
    fn the_words_of_a_line_have_their_quotes_taken_away() {
        for (line, words) in [
            ("lineside hook codex", vec!["lineside", "hook", "codex"]),
            ("  'a b'/lineside  hook", vec!["a b/lineside", "hook"]),
            (r#""/a b/lineside" "hook" ''"#, vec!["/a b/lineside", "hook", ""]),
            (r"a\ b C:\x\lineside.exe", vec!["a b", r"C:\x\lineside.exe"]),
            (r"'it'\''s'", vec!["it's"]),
        ] {
            assert_eq!(shell_words(line), words, "{line}");
        }
    }

    #[test]
    fn an_entry_of_ours_is_known_by_program_and_first_argument() {
        for ours in ["lineside hook claude", "'/opt/a b/lineside' hook x", r"C:\p\lineside.exe hook y"] {
            assert!(Run::shell(ours).of_others().is_err(), "{ours}");
        }
        for other in ["lineside run", "mylineside hook x", "echo lineside hook", "lineside"] {
            assert!(Run::shell(other).of_others().is_ok(), "{other}");
        }
    }
}
