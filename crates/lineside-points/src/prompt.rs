//! A prompt arrives, and the agent takes its turn.

use lineside_core::json::Value;

use crate::declare::points;

points! {
    /// A prompt of the user is about to be taken in. A block refuses it.
    BeforePrompt = "before_prompt", Before, role NewWork, amend BeforePromptAmendment [prompt: String] {
        needs {
            /// The prompt.
            prompt: String;
        }
        may {
            /// The messages so far.
            messages: Vec<Value>;
        }
    }

    /// A prompt of the user was taken in.
    OnPrompt = "on_prompt", On, role NewWork {
        needs {
            /// The prompt.
            prompt: String;
        }
        may {}
    }

    /// The agent is about to take its turn. A block keeps it from doing so.
    BeforeAgent = "before_agent", Before, role NewWork, amend BeforeAgentAmendment [prompt: String, system_prompt: String] {
        needs {}
        may {
            /// The prompt of the turn.
            prompt: String;
            /// The system prompt.
            system_prompt: String;
            /// The messages so far.
            messages: Vec<Value>;
        }
    }

    /// The agent has taken its turn. A block withholds the result.
    AfterAgent = "after_agent", After {
        needs {
            /// Whether it ended well.
            success: bool;
        }
        may {
            /// How it failed.
            error: String;
            /// How long it took, in milliseconds.
            duration_ms: u64;
            /// What it said last.
            output: String;
            /// The messages now.
            messages: Vec<Value>;
        }
    }
}
