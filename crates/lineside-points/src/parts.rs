//! Types of payload fields that are more than a text, a number or free JSON.

use lineside_core::json::{Map, Value};
use lineside_core::payload::{Item, Probe, fields_weight};
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
///
/// ```
/// use lineside_points::ToolCall;
///
/// let call = ToolCall { tool_name: "Shell".to_owned(), paths: Some(vec!["a.txt".to_owned()]), ..ToolCall::default() };
/// assert_eq!(call.error, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object with `tool_name`")]
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
#[serde(expecting = "an object with `path`")]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object with `input_tokens` and `output_tokens`")]
pub struct Usage {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What else the host counts, e.g. `cache_read_input_tokens`, as it says it.
    #[serde(flatten)]
    pub rest: Map,
}

impl ToolCall {
    /// A call of this tool; everything else is absent.
    #[must_use]
    pub fn new(tool_name: impl Into<String>) -> Self {
        Self { tool_name: tool_name.into(), ..Self::default() }
    }

    /// With the host's id of the call.
    #[must_use]
    pub fn tool_call_id(mut self, id: impl Into<String>) -> Self {
        self.tool_call_id = Some(id.into());
        self
    }

    /// With the input of the tool.
    #[must_use]
    pub fn tool_input(mut self, input: impl Into<Value>) -> Self {
        self.tool_input = Some(input.into());
        self
    }

    /// With the output of the tool.
    #[must_use]
    pub fn tool_output(mut self, output: impl Into<Value>) -> Self {
        self.tool_output = Some(output.into());
        self
    }

    /// With the error of the tool.
    #[must_use]
    pub fn error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// With the paths that the host names for it.
    #[must_use]
    pub fn paths<T: Into<String>>(mut self, paths: impl IntoIterator<Item = T>) -> Self {
        self.paths = Some(paths.into_iter().map(Into::into).collect());
        self
    }
}

impl ChangedFile {
    /// A change of this file; everything else is absent.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// With the tool that changed it.
    #[must_use]
    pub fn tool_name(mut self, name: impl Into<String>) -> Self {
        self.tool_name = Some(name.into());
        self
    }

    /// With whether it was created.
    #[must_use]
    pub fn is_new(mut self, is_new: bool) -> Self {
        self.is_new = Some(is_new);
        self
    }

    /// With whether it was deleted.
    #[must_use]
    pub fn is_deleted(mut self, is_deleted: bool) -> Self {
        self.is_deleted = Some(is_deleted);
        self
    }

    /// With the change as a diff.
    #[must_use]
    pub fn diff(mut self, diff: impl Into<String>) -> Self {
        self.diff = Some(diff.into());
        self
    }
}

impl Usage {
    /// The tokens read and written by one call.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens: Some(input_tokens), output_tokens: Some(output_tokens), rest: Map::new() }
    }
}

impl Probe for Usage {
    fn weight(&self) -> usize {
        fields_weight(&self.rest)
    }
}

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

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::*;

    #[test]
    fn parts_are_built_field_by_field() {
        let call = ToolCall::new("Shell")
            .tool_call_id("c1")
            .tool_input(json!({"command": "ls"}))
            .tool_output(json!("a"))
            .paths(["a"]);
        let written = json!({
            "tool_name": "Shell", "tool_call_id": "c1", "tool_input": {"command": "ls"}, "tool_output": "a", "paths": ["a"]
        });
        assert_eq!(lineside_core::json::to_value(&call).unwrap(), written);
        let file = ChangedFile::new("a.rs").tool_name("Edit").is_new(true).is_deleted(false).diff("+a");
        assert_eq!((file.path.as_str(), file.is_new, file.is_deleted), ("a.rs", Some(true), Some(false)));
        assert_eq!((file.tool_name.as_deref(), file.diff.as_deref()), (Some("Edit"), Some("+a")));
        assert_eq!(ToolCall::new("x").error("no").error.as_deref(), Some("no"));
        assert_eq!(
            Usage::new(3, 4),
            Usage { input_tokens: Some(3), output_tokens: Some(4), ..Usage::default() }
        );
    }
}
