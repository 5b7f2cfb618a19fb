//! What can be wrong with a file, a point or an entry, and where (CH-5).

use std::fmt;

use super::glob::ReadGlobError;
use super::points::{ChordPoint, Class};
use crate::yaml::ReadYamlError;

pub(super) use crate::findings::Findings;

/// What disables what it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("the file is not valid UTF-8")]
    NotUtf8,
    #[error("malformed YAML: {0}")]
    Yaml(ReadYamlError),
    #[error("key `{0}` occurs twice in a mapping")]
    Duplicate(String),
    #[error("the file is not a mapping")]
    RootType,
    #[error("`hooks` is {0}, not a mapping")]
    HooksType(String),
    #[error("unknown key `{0}`, did you mean `hooks`?")]
    Misspelt(String),
    #[error("there is no point `{0}`, did you mean `{1}`?")]
    Point(String, &'static str),
    #[error("`{0}` is {1}, not a list of hooks")]
    PointType(&'static str, String),
    #[error("the entry is {0}, not a mapping")]
    EntryType(String),
    #[error("`{key}` is {found}, not {expected}")]
    Value { key: String, found: String, expected: String },
    #[error("`{key}` has a malformed glob `{pattern}`: {error}")]
    Glob { key: &'static str, pattern: String, error: ReadGlobError },
    #[error("there is neither `command` nor `shell`")]
    NoCommand,
    #[error("there are both `command` and `shell`")]
    TwoCommands,
}

/// What may not do what its author expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadWarning {
    #[error("unknown key `{0}`{hint}", hint = .1.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey(String, Option<&'static str>),
    #[error("without effect on {class} that is declared like this: {keys}", class = .0.word(), keys = ticked(.1))]
    NoEffect(Class, Vec<&'static str>),
    #[error(
        "`min_changed_files` is {0}, but only `on_tool_batch_complete` has changed files: the hook never runs"
    )]
    NeverRuns(usize),
    #[error("`{0}` contains `<<<` and there is no bash: sh runs it")]
    NoBash(&'static str),
}

fn ticked(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// The hook that a finding is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    /// Its point.
    pub(super) point: &'static ChordPoint,
    /// Its name.
    pub(super) name: &'a str,
}

impl fmt::Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, hook \"{}\"", self.point.name, self.name)
    }
}
