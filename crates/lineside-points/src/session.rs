//! A session begins and ends.

use lineside_core::json::Value;

use crate::declare::points;
use crate::parts::SessionStart;

points! {
    /// A session is about to begin. A block keeps it from opening.
    BeforeSession = "before_session", Before {
        needs {
            /// How it begins.
            source: SessionStart;
        }
        may {}
    }

    /// A session has ended.
    AfterSession = "after_session", After {
        needs {
            /// Why.
            reason: String;
        }
        may {
            /// Figures of the host, e.g. `duration_ms`.
            stats: Value;
        }
    }
}
