//! The agent wants to stop.

use lineside_core::json::Value;

use crate::declare::points;

points! {
    /// The agent is about to end its turn. A block keeps it working, and the reason goes to its context.
    BeforeStop = "before_stop", Before, role Stop {
        needs {
            /// Whether an earlier block already kept this turn alive.
            stop_active: bool;
        }
        may {
            /// What it said last: text, or the host's own structure.
            output: Value;
            /// Why it stops.
            reason: String;
        }
    }
}
