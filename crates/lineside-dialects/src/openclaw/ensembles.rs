//! What the answers of several handlers come to, one room for each point (OC-42, OC-47 to OC-53).
//!
//! The handlers of one hook count together, and so do those of the two hooks before an agent's turn. Each is shown the
//! event as it was for the first of them, and none is asked again (OC-42).

mod finalize;
mod member;
mod message;
mod own;
mod persist;
mod prompt;
mod recent;
mod tool;

use std::sync::Arc;

use lineside_core::Ensemble;

use self::member::Merged;

pub(super) use self::member::Member;
pub(super) use self::own::{RESULT, verdict as own_verdict};
pub(super) use self::persist::Messages;
use super::catalogue::Kind;

/// The ensembles of one set of plugins, and what they remember.
#[derive(Debug, Default)]
pub(super) struct Ensembles {
    prompt: Arc<Merged<prompt::BeforeAgent>>,
    tool: Arc<Merged<tool::ToolCalls>>,
    message: Arc<Merged<message::Sending>>,
    own: Arc<Merged<own::OwnGates>>,
    finalize: Arc<Merged<finalize::Finalize>>,
    persist: Arc<persist::Persist>,
}

impl Ensembles {
    /// With which handlers one of this hook counts; those that are notified are not asked.
    pub(super) fn of(&self, kind: Kind) -> Option<Arc<dyn Ensemble>> {
        Some(match kind {
            Kind::BeforeAgentStart | Kind::BeforePromptBuild => Arc::clone(&self.prompt) as _,
            Kind::BeforeToolCall => Arc::clone(&self.tool) as _,
            Kind::MessageSending => Arc::clone(&self.message) as _,
            Kind::OwnGate => Arc::clone(&self.own) as _,
            Kind::BeforeAgentFinalize => Arc::clone(&self.finalize) as _,
            Kind::ToolResultPersist => Arc::clone(&self.persist) as _,
            _ => return None,
        })
    }

    /// The messages of `tool_result_persist` under way.
    pub(super) fn messages(&self) -> Arc<Messages> {
        self.persist.messages()
    }
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Ensembles;
    use crate::openclaw::catalogue::find;

    #[test]
    fn the_handlers_of_what_is_asked_count_together_and_those_of_what_is_told_do_not() {
        // OC-42
        let ensembles = Ensembles::default();
        let of = |hook: &str| ensembles.of(find(hook).unwrap().kind);
        let asked = [
            "before_agent_start", "before_prompt_build", "before_tool_call", "message_sending",
            "before_model_resolve", "before_agent_finalize", "tool_result_persist",
        ];
        for hook in asked {
            assert!(of(hook).is_some(), "{hook}");
        }
        for hook in ["gateway_start", "after_tool_call"] {
            assert!(of(hook).is_none(), "{hook}");
        }
        let [start, build, tool] = [asked[0], asked[1], asked[2]].map(|hook| of(hook).unwrap());
        assert!(Arc::ptr_eq(&start, &build) && !Arc::ptr_eq(&start, &tool));
    }
}
