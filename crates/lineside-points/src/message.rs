//! Messages over channels that connect the agent with people.

use lineside_core::json::Value;

use crate::declare::points;

points! {
    /// A message came in.
    OnMessageReceived = "on_message_received", On {
        needs {
            /// Its content: text, or the host's own structure.
            content: Value;
        }
        may {
            /// The channel.
            channel: String;
            /// Who sent it.
            from: String;
        }
    }

    /// A message is about to go out. A block keeps it back.
    BeforeMessageSend = "before_message_send", Before, amend BeforeMessageSendAmendment [content: Value] {
        needs {
            /// Its content: text, or the host's own structure.
            content: Value;
        }
        may {
            /// The channel.
            channel: String;
            /// To whom.
            to: String;
        }
    }

    /// A message went out.
    OnMessageSent = "on_message_sent", On {
        needs {
            /// Its content: text, or the host's own structure.
            content: Value;
        }
        may {
            /// The channel.
            channel: String;
            /// To whom.
            to: String;
        }
    }
}
