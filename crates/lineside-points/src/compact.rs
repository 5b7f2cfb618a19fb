//! A context is compacted.

use lineside_core::json::Value;

use crate::declare::points;
use crate::parts::CompactKind;

points! {
    /// A context is about to be compacted. A block keeps it as it is.
    BeforeCompact = "before_compact", Before {
        needs {
            /// How.
            kind: CompactKind;
        }
        may {
            /// Why.
            reason: String;
            /// How full it is, in the host's figures.
            usage: Value;
            /// The messages.
            messages: Vec<Value>;
        }
    }

    /// A context was compacted. A block withholds the result.
    AfterCompact = "after_compact", After, amend AfterCompactAmendment [summary: String, messages: Vec<Value>] {
        needs {
            /// How.
            kind: CompactKind;
        }
        may {
            /// What took the place of the messages.
            summary: String;
            /// How full it was.
            usage_before: Value;
            /// How full it is.
            usage_after: Value;
            /// The messages now.
            messages: Vec<Value>;
        }
    }
}
