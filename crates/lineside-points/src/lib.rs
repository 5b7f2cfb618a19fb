//! The catalogue of lifecycle points: one typed payload for each point of an agent's life.
//!
//! The prefix of a name states the authority of a synchronous interceptor there, and so do the types:
//!
//! ```compile_fail
//! use lineside_core::payload::Interceptable;
//! use lineside_points::OnIdle;
//! fn may_intercept<P: Interceptable>() {}
//! may_intercept::<OnIdle>(); // a fact cannot be intercepted
//! ```
//!
//! ```compile_fail
//! use lineside_points::BeforeTool;
//! BeforeTool::amend().tool_name("Other"); // only `tool_input` is amendable
//! ```
//!
//! This crate does not know how events are dispatched, and no foreign name of a point.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod declare;

mod session;
mod prompt;
mod model;
mod tool;
mod subagent;
mod stop;
mod compact;
mod fact;
mod message;

pub mod custom;
pub mod parts;

mod event;

use lineside_core::nearest::suggestion;
use lineside_core::payload::Point as _;
use lineside_core::point::PointInfo;

pub use compact::{AfterCompact, AfterCompactAmendment, BeforeCompact};
pub use custom::Custom;
pub use event::{ReadEventError, read_event};
pub use fact::{
    OnConfigChange, OnError, OnIdle, OnInterrupt, OnNotification, OnServiceStart, OnServiceStop,
    OnStopFailure, OnTaskCompleted, OnTaskCreated, OnWaitConfirm, OnWaitQuestion,
};
pub use message::{BeforeMessageSend, BeforeMessageSendAmendment, OnMessageReceived, OnMessageSent};
pub use model::{AfterModel, AfterModelAmendment, BeforeModel, BeforeModelAmendment};
pub use parts::{ChangedFile, CompactKind, SessionStart, ToolCall, Usage};
pub use prompt::{
    AfterAgent, BeforeAgent, BeforeAgentAmendment, BeforePrompt, BeforePromptAmendment, OnPrompt,
};
pub use session::{AfterSession, BeforeSession};
pub use stop::BeforeStop;
pub use subagent::{AfterSubagent, AfterSubagentAmendment, BeforeSubagent, BeforeSubagentAmendment};
pub use tool::{
    AfterTool, AfterToolAmendment, AfterToolBatch, AfterToolError, AfterToolErrorAmendment, BeforePermission,
    BeforePermissionAmendment, BeforeResultAppend, BeforeResultAppendAmendment, BeforeTool,
    BeforeToolAmendment, OnPermissionDenied,
};

declare::catalogue![
    BeforeSession, AfterSession, BeforePrompt, OnPrompt, BeforeAgent, AfterAgent, BeforeModel, AfterModel,
    BeforeTool, BeforePermission, OnPermissionDenied, AfterTool, AfterToolError, BeforeResultAppend,
    AfterToolBatch, BeforeSubagent, AfterSubagent, OnTaskCreated, OnTaskCompleted, BeforeStop, OnStopFailure,
    OnInterrupt, BeforeCompact, AfterCompact, OnIdle, OnWaitConfirm, OnWaitQuestion, OnNotification, OnError,
    OnConfigChange, OnMessageReceived, OnMessageSent, BeforeMessageSend, OnServiceStart, OnServiceStop,
];

/// The payloads of the points as JSON Schemas, and the objects that stand in them: one JSON object with a schema for each, by
/// the name of its type, in the form of the components of an OpenAPI document. The schema of a payload has under `x-point`
/// the `name` of its point, and the fields that a hook may amend as `amendable`.
pub const SCHEMAS: &str = include_str!("schemas.json");

/// The points whose events end what an event of a point begins, of which one is to be expected; none where no point does.
///
/// ```
/// use lineside_core::payload::Point as _;
/// use lineside_points::{AfterModel, BeforeModel, BeforePrompt, ends};
///
/// assert_eq!(ends(BeforeModel::INFO), [AfterModel::INFO]);
/// assert!(ends(BeforePrompt::INFO).is_empty());
/// ```
#[must_use]
pub fn ends(point: &PointInfo) -> &'static [&'static PointInfo] {
    const ENDS: [(&PointInfo, &[&PointInfo]); 5] = [
        (BeforeTool::INFO, &[AfterTool::INFO, AfterToolError::INFO, OnPermissionDenied::INFO]),
        (BeforeSubagent::INFO, &[AfterSubagent::INFO]),
        (BeforeAgent::INFO, &[AfterAgent::INFO]),
        (BeforeModel::INFO, &[AfterModel::INFO]),
        (BeforeCompact::INFO, &[AfterCompact::INFO]),
    ];
    ENDS.iter().find(|(begin, _)| *begin == point).map_or(&[], |(_, ends)| ends)
}

/// The point of that name: one of the catalogue, or one that was declared with [`custom::declare`].
///
/// # Errors
/// No such point; the error names one that is near enough to be meant.
pub fn find(name: &str) -> Result<&'static PointInfo, UnknownPointError> {
    known(name).ok_or_else(|| UnknownPointError {
        name: name.to_owned(),
        nearest: suggestion(name, CATALOGUE.iter().map(|point| point.name)),
    })
}

/// The same where no other name is to be proposed.
#[must_use]
pub fn known(name: &str) -> Option<&'static PointInfo> {
    CATALOGUE.iter().copied().find(|point| point.name == name).or_else(|| custom::declared(name))
}

/// A name that no point has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown point `{name}`{}", nearest.map_or_else(String::new, |near| format!("; the nearest is `{near}`")))]
pub struct UnknownPointError {
    /// The name.
    pub name: String,
    /// The nearest name of the catalogue; `None` when none is near enough to be meant.
    pub nearest: Option<&'static str>,
}

#[cfg(test)]
mod tests;
