//! The hooks that fire, and what is known of each (OC-35).
//!
//! Where the catalogue of points has no such moment, the hook has a point of its own, `x.openclaw.…`, which is declared
//! here. A program that has the moment publishes it there, in OpenClaw's own words.

use std::sync::LazyLock;
use std::time::Duration;

use lineside_core::worker::CallClass;
use lineside_core::{Phase, Point, PointInfo};
use lineside_points::{
    AfterAgent, AfterCompact, AfterModel, AfterSession, AfterSubagent, AfterTool, AfterToolError,
    BeforeAgent, BeforeCompact, BeforeMessageSend, BeforeModel, BeforeResultAppend, BeforeSession,
    BeforeStop, BeforeSubagent, BeforeTool, OnMessageReceived, OnMessageSent, OnServiceStart, OnServiceStop,
    custom,
};

use super::pack_events;

/// The hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    BeforeAgentStart,
    BeforePromptBuild,
    BeforeToolCall,
    ToolResultPersist,
    BeforeAgentFinalize,
    MessageSending,
    SessionStart,
    SessionEnd,
    AgentEnd,
    LlmInput,
    LlmOutput,
    AfterToolCall,
    SubagentSpawned,
    SubagentEnded,
    BeforeCompaction,
    AfterCompaction,
    MessageReceived,
    MessageSent,
    GatewayStart,
    GatewayStop,
    /// A modifying hook at a point of its own.
    OwnGate,
    /// A hook that observes, at a point of its own.
    OwnFact,
    /// An event of hook packs, which observe.
    PackEvent,
    /// The event of hook packs that may add files to the context.
    Bootstrap,
}

/// One row of the catalogue.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    /// Its name.
    pub(super) name: &'static str,
    /// Where it fires.
    pub(super) points: Vec<&'static PointInfo>,
    /// How its handlers are called.
    pub(super) class: CallClass,
    /// Whether a failing handler refuses the event, whatever the configuration says.
    pub(super) fails_closed: bool,
    milliseconds: u64,
}

fn row(
    kind: Kind,
    name: &'static str,
    points: &[&'static PointInfo],
    class: CallClass,
    milliseconds: u64,
) -> Row {
    Row { kind, name, points: points.to_vec(), class, fails_closed: false, milliseconds }
}

/// A modifying hook at a point of its own, where these fields can be amended.
fn gate(name: &'static str, class: CallClass, amendable: &[&str], milliseconds: u64) -> Row {
    row(Kind::OwnGate, name, &declared("before", name, amendable), class, milliseconds)
}

/// A gate whose failing handlers refuse the event.
fn closed_gate(name: &'static str, milliseconds: u64) -> Row {
    Row { fails_closed: true, ..gate(name, Modifying, &[], milliseconds) }
}

fn fact(name: &'static str, milliseconds: u64) -> Row {
    row(Kind::OwnFact, name, &declared("on", name, &[]), Void, milliseconds)
}

/// `x.openclaw.`, then the name, behind the prefix that says what handlers may do if it has none, with `_` for each
/// `:` or `-`. None when the program has declared such a point in another way.
pub(super) fn declared(prefix: &str, name: &str, amendable: &[&str]) -> Vec<&'static PointInfo> {
    let name = name.replace([':', '-'], "_");
    let has_one = Phase::of(&name).is_some();
    let name = if has_one { format!("{OWN}{name}") } else { format!("{OWN}{prefix}_{name}") };
    custom::declare(&name, amendable).into_iter().collect()
}

/// How the points begin that only OpenClaw has.
const OWN: &str = "x.openclaw.";

/// Whether it is a point that only OpenClaw has.
pub(super) fn is_own(point: &PointInfo) -> bool {
    point.name.starts_with(OWN)
}

use CallClass::{Modifying, Sync, Void};

/// The catalogue, in the order of OC-35; then those at points of their own.
#[rustfmt::skip]
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = vec![
        row(Kind::BeforeAgentStart, "before_agent_start", &[BeforeAgent::INFO], Modifying, 15_000),
        row(Kind::BeforePromptBuild, "before_prompt_build", &[BeforeAgent::INFO], Modifying, 15_000),
        row(Kind::BeforeToolCall, "before_tool_call", &[BeforeTool::INFO], Modifying, 15_000),
        row(Kind::ToolResultPersist, "tool_result_persist", &[BeforeResultAppend::INFO], Sync, 15_000),
        row(Kind::BeforeAgentFinalize, "before_agent_finalize", &[BeforeStop::INFO], Modifying, 15_000),
        row(Kind::MessageSending, "message_sending", &[BeforeMessageSend::INFO], Modifying, 15_000),
        row(Kind::SessionStart, "session_start", &[BeforeSession::INFO], Void, 600_000),
        row(Kind::SessionEnd, "session_end", &[AfterSession::INFO], Void, 600_000),
        row(Kind::AgentEnd, "agent_end", &[AfterAgent::INFO], Void, 30_000),
        row(Kind::LlmInput, "llm_input", &[BeforeModel::INFO], Void, 600_000),
        row(Kind::LlmOutput, "llm_output", &[AfterModel::INFO], Void, 600_000),
        row(Kind::AfterToolCall, "after_tool_call", &[AfterTool::INFO, AfterToolError::INFO], Void, 600_000),
        row(Kind::SubagentSpawned, "subagent_spawned", &[BeforeSubagent::INFO], Void, 600_000),
        row(Kind::SubagentEnded, "subagent_ended", &[AfterSubagent::INFO], Void, 600_000),
        row(Kind::BeforeCompaction, "before_compaction", &[BeforeCompact::INFO], Void, 30_000),
        row(Kind::AfterCompaction, "after_compaction", &[AfterCompact::INFO], Void, 30_000),
        row(Kind::MessageReceived, "message_received", &[OnMessageReceived::INFO], Void, 600_000),
        row(Kind::MessageSent, "message_sent", &[OnMessageSent::INFO], Void, 600_000),
        row(Kind::GatewayStart, "gateway_start", &[OnServiceStart::INFO], Void, 600_000),
        row(Kind::GatewayStop, "gateway_stop", &[OnServiceStop::INFO], Void, 5_000),
        // What answers before a model does may ask one itself.
        gate("before_model_resolve", Modifying, &["modelOverride", "providerOverride"], 15_000),
        gate("agent_turn_prepare", Modifying, &[], 15_000),
        closed_gate("before_agent_run", 15_000),
        gate("before_agent_reply", Modifying, &[], 600_000),
        gate("heartbeat_prompt_contribution", Modifying, &[], 15_000),
        fact("model_call_started", 600_000),
        fact("model_call_ended", 600_000),
        gate("resolve_exec_env", Modifying, &[], 15_000),
        gate("before_message_write", Sync, &["message"], 15_000),
        gate("inbound_claim", Modifying, &[], 600_000),
        fact("channel_pairing_requested", 2_000),
        gate("reply_payload_sending", Modifying, &["payload"], 15_000),
        gate("before_dispatch", Modifying, &[], 600_000),
        gate("reply_dispatch", Modifying, &[], 600_000),
        fact("before_reset", 600_000),
        fact("subagent_progress", 600_000),
        gate("subagent_delivery_target", Modifying, &[], 15_000),
        closed_gate("before_install", 15_000),
        fact("cron_reconciled", 600_000),
        fact("cron_changed", 600_000),
        gate("skill_proposal_evaluate", Modifying, &[], 120_000),
        fact("skill_proposal_changed", 30_000),
        fact("skill_changed", 30_000),
    ];
    rows.extend(pack_events::rows());
    rows
});

impl Row {
    /// A hook of hook packs.
    pub(super) fn of_packs(
        kind: Kind,
        name: &'static str,
        points: Vec<&'static PointInfo>,
        class: CallClass,
        milliseconds: u64,
    ) -> Self {
        Self { kind, name, points, class, fails_closed: false, milliseconds }
    }

    /// The time of a handler that declares no other one (OC-35, OC-57).
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    /// Whether `failClosed` can have it block (OC-56).
    pub(super) fn can_close(&self) -> bool {
        let is_awaited = !matches!(self.kind, Kind::BeforeAgentFinalize | Kind::PackEvent | Kind::Bootstrap);
        self.class != Void && is_awaited
    }

    /// Whether its handlers are notified and not waited for.
    pub(super) fn is_told(&self) -> bool {
        self.class == Void || self.kind == Kind::PackEvent
    }

    /// Whether only a program that has OpenClaw's own moments publishes what it waits for.
    pub(super) fn is_own(&self) -> bool {
        self.points.iter().all(|point| is_own(point))
    }

    /// The place of its first point in the catalogue of points (OC-29).
    pub(super) fn place(&self) -> usize {
        let first = lineside_points::CATALOGUE.iter().position(|point| self.points.contains(point));
        first.unwrap_or(usize::MAX)
    }
}

/// The hook of that name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// All of them.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// All names that an event may be published under.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).filter(|name| !pack_events::is_family(name))
}

#[cfg(test)]
mod tests {
    use super::{ROWS, find, names};

    #[test]
    fn every_hook_has_its_points_and_its_time() {
        // OC-35
        assert_eq!(names().take_while(|name| *name != "before_model_resolve").count(), 20);
        let points =
            |name: &str| find(name).unwrap().points.iter().map(|point| point.name).collect::<Vec<_>>();
        assert_eq!(points("before_prompt_build"), ["before_agent"]);
        assert_eq!(points("after_tool_call"), ["after_tool", "after_tool_error"]);
        assert_eq!(points("gateway_stop"), ["on_service_stop"]);
        assert_eq!(find("gateway_stop").unwrap().timeout().as_millis(), 5000);
        assert_eq!(points("before_reset"), ["x.openclaw.before_reset"]);
        assert_eq!(points("cron_changed"), ["x.openclaw.on_cron_changed"]);
        assert_eq!(points("reply_dispatch"), ["x.openclaw.before_reply_dispatch"]);
        assert!(find("subagent_spawning").is_none());
        assert!(ROWS.iter().all(|row| row.is_own() || row.place() < usize::MAX || !row.points.is_empty()));
    }

    #[test]
    fn every_name_of_the_release_has_a_row() {
        // OC-35, OC-36
        let released = include_str!("../../../../tests/plugins/openclaw-2026.9.6.hooks.txt");
        let released = released.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for name in released {
            assert!(find(name).is_some_and(|row| !row.points.is_empty()), "{name}");
        }
    }

    #[test]
    fn what_is_awaited_can_be_closed_but_for_the_end_of_a_turn() {
        // OC-56
        let closing: Vec<_> = ROWS.iter().filter(|row| row.can_close()).map(|row| row.name).collect();
        assert_eq!(
            closing,
            [
                "before_agent_start",
                "before_prompt_build",
                "before_tool_call",
                "tool_result_persist",
                "message_sending",
                "before_model_resolve",
                "agent_turn_prepare",
                "before_agent_run",
                "before_agent_reply",
                "heartbeat_prompt_contribution",
                "resolve_exec_env",
                "before_message_write",
                "inbound_claim",
                "reply_payload_sending",
                "before_dispatch",
                "reply_dispatch",
                "subagent_delivery_target",
                "before_install",
                "skill_proposal_evaluate"
            ]
        );
    }
}
