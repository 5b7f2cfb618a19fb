//! A tool is called, and its result goes to the context.

use std::borrow::Cow;

use lineside_core::json::Value;
use lineside_core::tool_class;

use crate::declare::points;
use crate::parts::{ChangedFile, ToolCall};

points! {
    /// A tool is about to run. A block keeps it from running.
    BeforeTool = "before_tool", Before, amend BeforeToolAmendment [tool_input: Value] {
        needs {
            /// The tool.
            tool_name: String;
            /// What it is called with.
            tool_input: Value;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// The host's id of the call.
            tool_call_id: String;
            /// The paths that the host names for it.
            paths: Vec<String>;
            /// How long it may take, in milliseconds.
            timeout_ms: u64;
        }
    }

    /// The user is about to be asked for permission. An answer takes the place of the question.
    BeforePermission = "before_permission", Before, amend BeforePermissionAmendment [tool_input: Value] {
        needs {
            /// The tool.
            tool_name: String;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// What it is called with.
            tool_input: Value;
            /// Why permission is needed.
            reason: String;
        }
    }

    /// Permission was refused.
    OnPermissionDenied = "on_permission_denied", On {
        needs {
            /// The tool.
            tool_name: String;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// Why.
            reason: String;
        }
    }

    /// A tool has run. A block withholds its output and puts the reason in its place.
    AfterTool = "after_tool", After, amend AfterToolAmendment [tool_output: Value] {
        needs {
            /// The tool.
            tool_name: String;
            /// What it gave back.
            tool_output: Value;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// What it was called with.
            tool_input: Value;
            /// The host's id of the call.
            tool_call_id: String;
            /// What it changed, as a diff.
            diff: String;
            /// The paths that the host names for it.
            paths: Vec<String>;
            /// How long it took, in milliseconds.
            duration_ms: u64;
        }
    }

    /// A tool has failed. A block withholds the error and puts the reason in its place.
    AfterToolError = "after_tool_error", After, amend AfterToolErrorAmendment [error: Value] {
        needs {
            /// The tool.
            tool_name: String;
            /// How it failed: text, or the host's own structure.
            error: Value;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// What it was called with.
            tool_input: Value;
            /// The host's id of the call.
            tool_call_id: String;
            /// The host's word for this kind of failure.
            error_kind: String;
            /// The paths that the host names for it.
            paths: Vec<String>;
        }
    }

    /// A result is about to go to the context. A block keeps it out and puts the reason in its place.
    BeforeResultAppend = "before_result_append", Before, amend BeforeResultAppendAmendment [tool_output: Value, display_output: Value] {
        needs {
            /// The tool.
            tool_name: String;
            /// What goes to the context.
            tool_output: Value;
        }
        may {
            /// What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
            tool_class: String;
            /// What it was called with.
            tool_input: Value;
            /// What the user sees.
            display_output: Value;
            /// How the tool failed.
            error: String;
            /// The paths that the host names for it.
            paths: Vec<String>;
        }
    }

    /// All tool calls of one step have run.
    AfterToolBatch = "after_tool_batch", After {
        needs {
            /// The calls.
            tool_calls: Vec<ToolCall>;
            /// The files that they changed.
            changed_files: Vec<ChangedFile>;
        }
        may {}
    }
}

impl BeforeTool {
    /// The shell command, where the tool input has one; words are joined by blanks. An input may have several, and which of
    /// them the tool takes is not known: each stands on lines of its own then, so that what is looked for in the command is
    /// looked for in all of them.
    #[must_use]
    pub fn command(&self) -> Option<Cow<'_, str>> {
        tool_class::command(&self.tool_input)
    }
}
