//! What can be wrong with a file or an entry, and where (FL-5).

pub(super) use crate::findings::Findings;

/// Why something is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("no plugins can be looked for: {0}")]
    Plugins(String),
    #[error("the file is not JSON: {0}")]
    NotJson(String),
    #[error("the file must hold a JSON object, not {0}")]
    NotAnObject(String),
    #[error("'hooks' must be an object, not {0}")]
    Hooks(String),
    #[error("unknown key '{0}', did you mean 'hooks'?")]
    Misspelt(String),
    #[error("unknown hook type '{wrong}', its hooks are not loaded; did you mean '{nearest}'?")]
    UnknownType { wrong: String, nearest: &'static str },
    #[error("the hooks of '{hook_type}' must be a list, not {value}")]
    List { hook_type: &'static str, value: String },
    #[error("the key 'hooks' occurs twice, the last one counts")]
    DuplicateHooks,
    #[error("the hooks of '{0}' are declared twice, the last list counts")]
    DuplicateType(String),
    #[error("hook \"{0}\" must be an object, not {1}")]
    Entry(String, String),
    #[error("hook \"{hook}\": '{key}' must be {expected}, not {value}")]
    Value { hook: String, key: &'static str, expected: &'static str, value: String },
    #[error("hook \"{0}\" has neither 'command' nor 'webhook_url'")]
    NothingToRun(String),
}

/// What does not keep a hook from loading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadWarning {
    #[error("hook \"{hook}\": unknown key '{key}' in {file} is ignored")]
    UnknownKey { hook: String, key: String, file: String },
    #[error("hook \"{hook}\": 'webhook_url' ({url}) is not used, because 'command' runs")]
    WebhookUnused { hook: String, url: String },
    #[error("hook \"{0}\": nothing can be posted to a 'webhook_url' with a name and password")]
    WebhookUser(String),
    #[error(
        "hook \"{hook}\": '{key}' ({value}) is ignored, because the hook belongs to the plugin '{plugin}'"
    )]
    OfPlugin { hook: String, key: &'static str, value: String, plugin: String },
    #[error("hook \"{hook}\": 'on_failure' (\"block\") is ignored, because {why}")]
    OnFailure { hook: String, why: &'static str },
    #[error("the key '{0}' occurs twice, the last one counts")]
    Duplicate(String),
}
