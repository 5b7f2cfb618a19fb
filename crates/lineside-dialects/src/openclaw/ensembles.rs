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
