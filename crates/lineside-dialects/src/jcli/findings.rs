//! What can be wrong with a hook, in the words of JC-10 and JC-11, and where.

use crate::yaml::ReadYamlError;

pub(super) use crate::findings::Findings;

/// Why an `llm` hook cannot run.
pub(super) const NO_JUDGE: &str = "no judge endpoint is configured";

/// Why a hook does not load, or is not bound to an event (JC-10).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadHookError {
    #[error("Invalid YAML: {0}")]
    Yaml(ReadYamlError),
    #[error("The file must be a YAML mapping")]
    NoMapping,
    #[error("Missing required field: events")]
    NoEvents,
    #[error("Field 'events' must be a list of event names")]
    EventsType,
    #[error("Field 'events' is empty")]
    EventsEmpty,
    #[error("Unknown event '{event}'. Did you mean '{nearest}'?")]
    Event { event: String, nearest: &'static str },
    #[error("Field 'type' must be 'bash' or 'llm'")]
    Type,
    #[error("bash hook '{0}' has no command")]
    NoCommand(String),
    #[error("llm hook '{0}' has no prompt")]
    NoPrompt(String),
    #[error("Field 'timeout' must be an integer of at least 1")]
    Timeout,
    #[error("Field 'retry' must be an integer of at least 0")]
    Retry,
    #[error("Field 'on_error' must be 'skip' or 'stop'")]
    OnError,
    #[error("Field 'filter' must be a mapping")]
    FilterType,
    #[error("Field '{0}' must be a string")]
    NoString(&'static str),
    #[error("Duplicate key '{0}'")]
    Duplicate(String),
    #[error("not valid UTF-8")]
    NotUtf8,
    #[error("larger than 1048576 bytes")]
    TooLarge,
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("no hooks can be looked for: {0}")]
    Place(String),
}

/// What does not keep a hook from loading (JC-11).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HookWarning {
    #[error("HOOK.yml is not read beside HOOK.yaml")]
    OtherFile,
    #[error("Unexpected field: '{0}'")]
    Unexpected(String),
    #[error("Unexpected field in filter: '{0}'")]
    UnexpectedInFilter(String),
    #[error("Event '{0}' is listed twice")]
    Twice(&'static str),
    #[error("filter.tool_matcher is ignored beside filter.tool_name")]
    MatcherIgnored,
    #[error("filter.{field} never matches at '{event}', which has no tool")]
    NoTool { field: &'static str, event: &'static str },
    #[error("llm hook '{0}' is unavailable: {NO_JUDGE}")]
    NoJudge(String),
    #[error("unknown template variable '{{{{{0}}}}}'")]
    Variable(String),
    #[error("Field '{field}' has no effect on a {kind} hook")]
    NoEffect { field: &'static str, kind: &'static str },
}
