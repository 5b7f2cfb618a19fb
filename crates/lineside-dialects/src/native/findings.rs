//! What can be wrong with a file or an entry, and where.

use std::fmt;

use lineside_core::matcher::CompileMatcherError;
use lineside_core::secret::{FillTemplateError, ReadTemplateError};

use crate::yaml::ReadYamlError;

pub(super) use crate::findings::Findings;

/// Why something is not loaded.
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
    #[error("the file is not a mapping with the key `hooks`")]
    RootType,
    #[error("`hooks` is {0}, not a list of hooks")]
    HooksType(String),
    #[error("the entry is {0}, not a mapping")]
    EntryType(String),
    #[error("there is no `{0}`, which every hook needs")]
    Missing(&'static str),
    #[error("a hook of this name stands on line {0} already")]
    SameName(u32),
    #[error("`{key}` is {found}, not {expected}")]
    Value { key: String, found: String, expected: String },
    #[error("`on` has no point `{wrong}`, did you mean `{nearest}`?")]
    Point { wrong: String, nearest: &'static str },
    #[error("`on` names `{0}` twice")]
    SamePoint(&'static str),
    #[error("there is nothing to run: one of `command`, `worker` and `post` is needed")]
    NothingToRun,
    #[error("there are both `{0}` and `{1}`, and a hook runs one thing")]
    TwoRuns(&'static str, &'static str),
    #[error(
        "`{key}` starts `{program}`, which in a file of the user would be a program of whatever project an event is \
         about: an absolute path is needed, or a name that is found in PATH"
    )]
    ProgramOfProject { key: &'static str, program: String },
    #[error("`match.tool`: {0}")]
    Glob(CompileMatcherError),
    #[error("`post.headers.{name}`: {error}; names of variables stand in `post.secrets`")]
    Template { name: String, error: ReadTemplateError },
    #[error("`post.headers.{name}`: {error}")]
    Fill { name: String, error: FillTemplateError },
    #[error("`post.secrets`: the variable `{0}` is not set")]
    Unset(String),
    #[error("`post.url` has a name or password in it, which belongs into `post.headers` as a secret")]
    UrlUser,
    #[error("`amends` is true, but nothing can be amended at {0}")]
    NothingToAmend(String),
}

/// What does not keep a hook from loading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadWarning {
    #[error("unknown key `{key}`{hint}", hint = .nearest.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey { key: String, nearest: Option<&'static str> },
    #[error("`{key}` has no effect: {why}")]
    NoEffect { key: &'static str, why: &'static str },
    #[error("`match` is for tools, and there is none at {0}: the hook never runs there")]
    NeverRuns(&'static str),
    #[error("`post.secrets` lists `{0}`, which no header uses")]
    UnusedSecret(String),
}

/// The hook that a finding is about.
pub(super) struct About<'a>(pub(super) &'a str);

impl fmt::Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook \"{}\"", self.0)
    }
}
