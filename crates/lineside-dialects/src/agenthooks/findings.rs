//! What can be wrong with a hook, in the words of AH-14 and AH-15, and where.

use std::path::Path;

use lineside_core::{Diagnostic, Origin};

use crate::broken::{Broken, Owner, Repair};
use crate::dialect::Loaded;
use crate::findings;
use crate::frontmatter::SplitTextError;
use crate::yaml::ReadYamlError;
use lineside_pyregex::CompilePatternError;

/// Why a hook does not load (AH-14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadHookError {
    #[error(transparent)]
    Frontmatter(#[from] SplitTextError),
    #[error("Invalid YAML in frontmatter: {0}")]
    Yaml(ReadYamlError),
    #[error("HOOK.md frontmatter must be a YAML mapping")]
    NoMapping,
    #[error("Missing required field in frontmatter: {0}")]
    Missing(&'static str),
    #[error("Field 'name' must be a non-empty string")]
    Name,
    #[error("Field 'trigger' must be a string")]
    TriggerType,
    #[error("Invalid trigger '{trigger}'. Did you mean '{nearest}'? Valid values: {all}")]
    Trigger { trigger: String, nearest: &'static str, all: String },
    #[error("Field 'matcher' must be an object")]
    MatcherType,
    #[error("Matcher field '{0}' must be a string")]
    MatcherField(&'static str),
    #[error("Invalid regex in matcher.{field}: {error}")]
    Regex { field: &'static str, error: CompilePatternError },
    #[error("Field '{0}' must be an integer")]
    Integer(&'static str),
    #[error("Field 'async' must be a boolean")]
    Boolean,
    #[error("Field 'on_failure' must be 'continue' or 'block'")]
    OnFailure,
    #[error("Duplicate key '{0}' in frontmatter")]
    Duplicate(String),
    #[error("HOOK.md is not valid UTF-8")]
    NotUtf8,
    #[error("HOOK.md is larger than 1048576 bytes")]
    TooLarge,
    #[error("HOOK.md cannot be read: {0}")]
    Unreadable(String),
    #[error("no hooks can be looked for: {0}")]
    Place(String),
}

/// What does not keep a hook from loading (AH-15).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HookWarning {
    #[error("Missing field in frontmatter: description")]
    NoDescription,
    #[error("Description exceeds 1024 character limit ({0} chars)")]
    LongDescription(usize),
    #[error("Hook name '{name}' exceeds 64 character limit ({count} chars)")]
    LongName { name: String, count: usize },
    #[error("Hook name '{name}' {rule}")]
    NameRule { name: String, rule: &'static str },
    #[error("Field '{field}' is a string, read as {value}")]
    IntegerText { field: &'static str, value: i128 },
    #[error("Timeout must be between 100 and 600000 ms (got {got}), using {used}")]
    TimeoutRange { got: i128, used: u64 },
    #[error("Priority must be between 0 and 1000 (got {got}), using {used}")]
    PriorityRange { got: i128, used: u64 },
    #[error("Unexpected field in {within}: '{key}'{}", meant(*nearest))]
    Unexpected { within: &'static str, key: String, nearest: Option<&'static str> },
    #[error(
        "unknown escape '\\{0}' in a double-quoted string is read as it stands; use single quotes or '\\\\{0}'"
    )]
    UnknownEscape(char),
    #[error("'\\b' in matcher.{0} is read as a word boundary; use single quotes or '\\\\b'")]
    WordBoundary(&'static str),
    #[error("matcher has no effect on trigger '{0}'")]
    MatcherWithoutEffect(String),
    #[error("No entry point found (scripts/run, scripts/run.sh, or scripts/run.py)")]
    NoEntryPoint,
    #[error("scripts/{file} is not executable, it is run with {interpreter}")]
    NotExecutable { file: &'static str, interpreter: String },
    #[error("scripts/{file} has no #! line, it is run with {interpreter}")]
    NoInterpreterLine { file: &'static str, interpreter: String },
    #[error("Project hook '{0}' overrides user-level hook")]
    OverridesUser(String),
    #[error("Hook '{name}' in '{by}' overrides the one in '{before}'")]
    Overrides { name: String, by: String, before: String },
    #[error("'{folder}' holds {count} hook folders one level deeper, they are not loaded")]
    TooDeep { folder: String, count: usize },
    #[error("on_failure has no effect on an async hook")]
    OnFailureWithoutEffect,
    #[error("Trigger '{0}' has no point of its own, it runs at after_agent")]
    NoPointOfItsOwn(String),
    #[error("'{0}' is not read, rename it to HOOK.md")]
    OtherCapitals(String),
    #[error("Field 'mode' is {value}, not 'worker': the hook is started for each event{}", meant(*nearest))]
    Mode { value: String, nearest: Option<&'static str> },
    #[error("worker has no effect without 'mode: worker'")]
    WorkerWithoutEffect,
    #[error("Field 'worker' is not a mapping, it has no effect")]
    WorkerType,
    #[error("Worker field '{field}' is {value}, not {expected}; it has no effect")]
    WorkerField { field: &'static str, value: String, expected: &'static str },
    #[error("scripts/{file}: interpreter '{path}' not found{hint}")]
    NoInterpreter { file: &'static str, path: String, hint: &'static str },
}

/// What was found about one file.
#[derive(Debug)]
pub(super) struct Findings {
    all: findings::Findings,
    errors: Vec<(u32, LoadHookError)>,
}

impl Findings {
    /// Nothing yet.
    pub(super) fn about(file: &Path) -> Self {
        Self { all: findings::Findings::about(file), errors: Vec::new() }
    }

    /// A line of the file.
    pub(super) fn origin(&self, line: u32) -> Origin {
        self.all.origin(line)
    }

    /// Adds an error.
    pub(super) fn error(&mut self, line: u32, error: LoadHookError) {
        self.all.error(line, &error);
        self.errors.push((line, error));
    }

    /// Adds a warning.
    #[allow(clippy::needless_pass_by_value, reason = "a warning is made to be given away")]
    pub(super) fn warning(&mut self, line: u32, warning: HookWarning) {
        self.all.warning(line, warning);
    }

    /// The line of the first error; the first line without one.
    pub(super) fn first_line(&self) -> u32 {
        self.errors.iter().map(|(line, _)| *line).min().unwrap_or(1)
    }

    /// The first error of the file, by line.
    pub(super) fn first_error(&self) -> Option<&LoadHookError> {
        self.errors.iter().min_by_key(|(line, _)| *line).map(|(_, error)| error)
    }

    /// What is to be repaired first.
    pub(super) fn repair(&self) -> Repair {
        self.all.repair(0, "")
    }

    /// The hook is lost.
    pub(super) fn lose(&mut self, broken: Broken) {
        self.all.lose(broken);
    }

    /// Puts what stands in for it behind what is loaded.
    pub(super) fn stand_in(&mut self, owner: &Owner, loaded: &mut Loaded) {
        self.all.stand_in(owner, loaded);
    }

    /// All of it, by line.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.all.into_diagnostics()
    }
}

/// What a wrong key was perhaps meant to be.
fn meant(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean '{nearest}'?")).unwrap_or_default()
}
