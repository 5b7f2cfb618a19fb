//! What a hook adds to the agent's context, and what it tells the user.

use serde::{Deserialize, Serialize};

/// The role that a message has in the agent's context. Never `user` unless a foreign format demands it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Beside the conversation: the default.
    #[default]
    System,
    /// As if the user had said it. Only for formats whose page promises it.
    User,
    /// As if the agent had said it.
    Assistant,
    /// As the result of a tool.
    Tool,
}

/// A message for the agent's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Append {
    /// Its role.
    pub role: Role,
    /// Its text, as the hook gave it.
    pub text: String,
}

impl Append {
    /// A message beside the conversation.
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, text: text.into() }
    }
}

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// How serious it is.
    pub level: NoticeLevel,
    /// Its text.
    pub text: String,
}

impl Notice {
    /// A remark.
    pub fn info(text: impl Into<String>) -> Self {
        Self { level: NoticeLevel::Info, text: text.into() }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { level: NoticeLevel::Warning, text: text.into() }
    }
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// A remark.
    Info,
    /// Something to look at.
    Warning,
    /// Something went wrong.
    Error,
}
