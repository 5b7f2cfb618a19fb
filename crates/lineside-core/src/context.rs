//! What a hook adds to the agent's context, and what it tells the user.
//!
//! A message is measured in one way everywhere ([`tokens`]), cut in one way ([`cut`]), and turned into text in one way
//! ([`render`]). Which messages wait, and who gets them, is the bus's.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod message;
mod tokens;
mod cut;
mod escape;
mod rendered;

pub use cut::cut;
pub use escape::is_unseen;
pub use message::{ContextMessage, FullText, MessageId};
pub use rendered::{ParseContextError, labelled, parse, render, render_into};
pub use tokens::{Bounds, Size, tokens};

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

impl Role {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of that word.
    ///
    /// ```
    /// use lineside_core::Role;
    ///
    /// assert_eq!(Role::named("assistant"), Some(Role::Assistant));
    /// assert_eq!(Role::named("Assistant"), None);
    /// ```
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool].into_iter().find(|role| role.as_str() == word)
    }
}

/// A message for the agent's context.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::Append;
///
/// let message = Append::system("cargo fmt changed 2 files").key("fmt").expires(Duration::from_secs(600));
/// assert_eq!(message.key.as_deref(), Some("fmt"));
/// assert_eq!(Append::from("a text"), Append::system("a text"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Append {
    /// Its role.
    pub role: Role,
    /// Its text, as the hook gave it.
    pub text: String,
    /// What it is about, in the words of its hook: it takes the place of a message of the same hook with the same key
    /// that still waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// How long after it was said it is still worth reading; forever by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Duration>,
}

impl Append {
    /// A message beside the conversation.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// A message in a role.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), key: None, expires: None }
    }

    /// It takes the place of an earlier message of the same hook with the same key, if that still waits: the place in
    /// the order too, so that what is renewed often is not postponed forever.
    ///
    /// ```
    /// use lineside_core::Append;
    ///
    /// let first = Append::system("3 tests fail").key("tests");
    /// let next = Append::system("all tests pass").key("tests");
    /// // Of one hook, the second replaces the first while that waits.
    /// assert_eq!(first.key, next.key);
    /// ```
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Expires after this time: it is not delivered later.
    #[must_use]
    pub fn expires(mut self, after: Duration) -> Self {
        self.expires = Some(after);
        self
    }
}

impl<T: Into<String>> From<T> for Append {
    /// A message beside the conversation.
    fn from(text: T) -> Self {
        Self::system(text)
    }
}

/// A message for the user.
///
/// ```
/// use lineside_core::{Notice, NoticeLevel};
///
/// assert_eq!(Notice::warning("the policy is a week old").level, NoticeLevel::Warning);
/// ```
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
