//! What most programs that publish or intercept need.

#[cfg(feature = "automation")]
pub use lineside_automation::{AtEnd, Automate, Batch, OnBusy, Rate, Report, ResultRule, ResultWhen, Retry};
#[cfg(feature = "actors")]
pub use lineside_bus::Intercept;
pub use lineside_bus::{Bus, Cx, Decision, Delivery, Heard, Overflow, Session, Signal};
pub use lineside_core::flow::Debounce;
pub use lineside_core::hook::Join;
pub use lineside_core::json::{Value, json};
pub use lineside_core::matcher::{agent, argument, path, project, text, tool};
pub use lineside_core::{
    Agent, AgentKind, Event, Judgement, Layer, Notice, OnFailure, Reach, Reply, Strength, Verdict,
};
#[cfg(feature = "commands")]
pub use lineside_guards::{deletes, reads, runs, writes};
pub use lineside_points::{
    AfterAgent, AfterCompact, AfterModel, AfterSession, AfterSubagent, AfterTool, AfterToolBatch,
    AfterToolError, BeforeAgent, BeforeCompact, BeforeMessageSend, BeforeModel, BeforePermission,
    BeforePrompt, BeforeResultAppend, BeforeSession, BeforeStop, BeforeSubagent, BeforeTool, ChangedFile,
    CompactKind, OnConfigChange, OnError, OnIdle, OnInterrupt, OnMessageReceived, OnMessageSent,
    OnNotification, OnPermissionDenied, OnPrompt, OnServiceStart, OnServiceStop, OnStopFailure,
    OnTaskCompleted, OnTaskCreated, OnWaitConfirm, OnWaitQuestion, SessionStart, ToolCall, Usage,
};

/// A duration of `n` milliseconds.
///
/// ```
/// use lineside::prelude::*;
///
/// assert_eq!(millis(1_500), secs(1) + millis(500));
/// ```
#[must_use]
pub const fn millis(n: u64) -> std::time::Duration {
    std::time::Duration::from_millis(n)
}

/// A duration of `n` seconds.
///
/// ```
/// use lineside::prelude::*;
///
/// let pace = Debounce::quiet(millis(300)).at_most(secs(5));
/// assert_eq!(pace.at_most, secs(5));
/// ```
#[must_use]
pub const fn secs(n: u64) -> std::time::Duration {
    std::time::Duration::from_secs(n)
}
