//! Types of payload fields that are more than a text, a number or free JSON.

use lineside_core::json::Value;
use lineside_core::payload::{Item, Probe};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares a closed list of words that keeps an unknown word as it is.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant, )*
            /// A word of the host that the catalogue does not have, kept as it is.
            Other(String),
        }

        impl $name {
            /// The word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )*
                    Self::Other(word) => word,
                }
            }
        }

        impl<T: AsRef<str>> From<T> for $name {
            fn from(word: T) -> Self {
                match word.as_ref() {
                    $( $word => Self::$variant, )*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }

        impl Probe for $name {
            fn text(&self) -> Option<&str> {
                Some(self.as_str())
            }
        }
    };
}

words! {
    /// How a session begins.
    SessionStart {
        /// A new one.
        Startup = "startup",
        /// An earlier one goes on.
        Resume = "resume",
        /// Its history was cleared.
        Clear = "clear",
        /// Its history was compacted.
        Compact = "compact",
        /// It continues a copy of another one's history.
        Fork = "fork",
        /// Another agent started it.
        Subagent = "subagent",
    }
}

words! {
    /// How a context is compacted.
    CompactKind {
        /// Old tool results are dropped.
        Micro = "micro",
        /// It had become too long.
        Auto = "auto",
        /// A person asked for it.
        Manual = "manual",
    }
}

/// One tool call of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub tool_name: String,
    /// The host's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What the tool was called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Value>,
    /// What it gave back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_output: Option<Value>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The paths that the host names for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// One file that a batch of tool calls changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The file.
    pub path: String,
    /// The tool that changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Whether it was not there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_new: Option<bool>,
    /// Whether it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_deleted: Option<bool>,
    /// The change as a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Tokens that a model call took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Probe for Usage {}

impl Item for ToolCall {
    fn weight(&self) -> usize {
        let Self { tool_name, tool_call_id, tool_input, tool_output, error, paths } = self;
        tool_name.len()
            + tool_call_id.weight()
            + tool_input.weight()
            + tool_output.weight()
            + error.weight()
            + paths.weight()
    }
}

impl Item for ChangedFile {
    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn weight(&self) -> usize {
        let Self { path, tool_name, is_new: _, is_deleted: _, diff } = self;
        path.len() + tool_name.weight() + diff.weight()
    }
}
