//! Agents of [rig](https://docs.rs/rig-agent) under the hooks of a session.
//!
//! [`Lineside`] is a hook of rig's own: `AgentBuilder::add_hook` takes it, and whatever the agent does is published to the daemon
//! before it happens. Where there is no decision, nothing happens.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod hook;
mod run;

use std::sync::Arc;

use lineside_client::Session;
use lineside_core::Reason;

/// Answers what hooks ask a person: whether a call of a tool may run.
type Ask = Arc<dyn Fn(&str, &Reason) -> bool + Send + Sync>;

/// Puts the agents that have it under the hooks of a session.
///
/// | in rig | is |
/// |---|---|
/// | the prompt of a run | `before_prompt`, which may change it |
/// | a call of a model | `before_model`; what hooks add to the context stands behind its messages |
/// | a call of a tool | `before_tool`, with the input that is decided, then `after_tool` or `after_tool_error` |
/// | an answer without a tool | `before_stop`; where that is blocked, the agent goes on with the reason |
///
/// A refused call has the reason as its result; a refused prompt, a refused call of a model and a `stop` cancel the run with
/// the reason. A call that a hook has a person asked about is refused, unless [`asks`](Self::asks) says who answers.
#[derive(Clone)]
pub struct Lineside {
    session: Session,
    /// The type of an agent whose runs have sessions below; none for one whose runs are in the session itself.
    agent_type: Option<String>,
    ask: Option<Ask>,
}

impl Lineside {
    /// Runs in this session.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self { session, agent_type: None, ask: None }
    }

    /// For an agent that another one calls as a tool: each run is a session below, opened after `before_subagent` and ended
    /// with `after_subagent`.
    #[must_use]
    pub fn subagent(&self, agent_type: impl Into<String>) -> Self {
        Self { agent_type: Some(agent_type.into()), ..self.clone() }
    }

    /// Has this function answer where a hook asks a person: it is given the name of the tool and the reason, and says whether
    /// the call may run.
    #[must_use]
    pub fn asks(mut self, answer: impl Fn(&str, &Reason) -> bool + Send + Sync + 'static) -> Self {
        self.ask = Some(Arc::new(answer));
        self
    }
}
