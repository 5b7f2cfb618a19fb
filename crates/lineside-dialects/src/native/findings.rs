//! What can be wrong with a file or an entry, and where.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::matcher::CompileMatcherError;
use lineside_core::secret::{FillTemplateError, ReadTemplateError};
use lineside_core::{Diagnostic, Origin};

use crate::yaml::ReadYamlError;

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

/// What was found about one file.
#[derive(Debug)]
pub(super) struct Findings {
    file: Arc<PathBuf>,
    /// In the order in which it was found.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Findings {
    /// Nothing yet.
    pub(super) fn about(file: &Path) -> Self {
        Self { file: Arc::new(file.to_path_buf()), diagnostics: Vec::new() }
    }

    /// A line of the file.
    pub(super) fn origin(&self, line: u32) -> Origin {
        Origin { file: Arc::clone(&self.file), line }
    }

    /// An error about the file.
    pub(super) fn error(&mut self, line: u32, error: &LoadError) {
        self.diagnostics.push(Diagnostic::error(self.origin(line), error.to_string()));
    }

    /// A warning about the file.
    pub(super) fn warning(&mut self, line: u32, warning: &LoadWarning) {
        self.diagnostics.push(Diagnostic::warning(self.origin(line), warning.to_string()));
    }

    /// An error about a hook.
    pub(super) fn hook_error(&mut self, line: u32, hook: &str, error: &LoadError) {
        self.diagnostics.push(Diagnostic::error(self.origin(line), format!("hook \"{hook}\": {error}")));
    }

    /// A warning about a hook.
    pub(super) fn hook_warning(&mut self, line: u32, hook: &str, warning: &LoadWarning) {
        self.diagnostics.push(Diagnostic::warning(self.origin(line), format!("hook \"{hook}\": {warning}")));
    }
}
