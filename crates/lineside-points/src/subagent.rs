//! A subagent is started and comes back.

use crate::declare::points;

points! {
    /// A subagent is about to be started. A block keeps it from starting.
    BeforeSubagent = "before_subagent", Before, amend BeforeSubagentAmendment [prompt: String] {
        needs {
            /// The session that it will have.
            child_session: String;
        }
        may {
            /// Its type.
            agent_type: String;
            /// What it is to do.
            task: String;
            /// The prompt that it gets.
            prompt: String;
        }
    }

    /// A subagent is about to return. A block keeps it working.
    AfterSubagent = "after_subagent", After, role SubagentStop, amend AfterSubagentAmendment [output: String] {
        needs {
            /// Its session.
            child_session: String;
        }
        may {
            /// Its type.
            agent_type: String;
            /// What it brings back.
            output: String;
            /// How it failed.
            error: String;
            /// Whether a block has kept it working already, where the host says so.
            stop_active: bool;
        }
    }
}
