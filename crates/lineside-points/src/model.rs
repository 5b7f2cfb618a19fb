//! A model is called.

use lineside_core::json::Value;

use crate::declare::points;
use crate::parts::Usage;

points! {
    /// A request to a model is about to be sent. A block keeps it back.
    BeforeModel = "before_model", Before, amend BeforeModelAmendment [model: String, system_prompt: String, messages: Vec<Value>] {
        needs {
            /// The model.
            model: String;
        }
        may {
            /// The system prompt.
            system_prompt: String;
            /// The messages.
            messages: Vec<Value>;
            /// How many messages there are, where the host does not hand them over.
            message_count: u64;
            /// The tools that the model is offered.
            tools: Vec<Value>;
        }
    }

    /// A model has answered. A block withholds the answer.
    AfterModel = "after_model", After, amend AfterModelAmendment [output: Value] {
        needs {
            /// The model.
            model: String;
        }
        may {
            /// The answer: text, or the host's own structure.
            output: Value;
            /// The tokens that it took.
            usage: Usage;
            /// Why it ended.
            stop_reason: String;
            /// How it failed.
            error: String;
        }
    }
}
