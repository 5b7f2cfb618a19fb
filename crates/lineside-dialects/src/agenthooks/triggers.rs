//! The table of triggers: two names and one point each.

use lineside_core::{Point, PointInfo};
use lineside_points::{
    AfterAgent, AfterCompact, AfterSession, AfterSubagent, AfterTool, AfterToolError, BeforeAgent,
    BeforeCompact, BeforeSession, BeforeStop, BeforeSubagent, BeforeTool,
};

use crate::names;

/// One trigger.
#[derive(Debug)]
pub(super) struct Trigger {
    /// What it is.
    pub(super) kind: Kind,
    /// Its name on the page.
    pub(super) page: &'static str,
    /// Its name in the specification.
    pub(super) specification: &'static str,
    /// The point that it stands for.
    pub(super) point: &'static PointInfo,
    /// What `ask` does there.
    pub(super) ask: Ask,
}

/// What `"decision": "ask"` does (AH-59).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// The user is asked.
    Asks,
    /// It is a block.
    Blocks,
    /// It is refused and has no effect.
    Refused,
}

/// The triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SessionStart,
    SessionEnd,
    BeforeAgent,
    AfterAgent,
    BeforeTool,
    AfterTool,
    AfterToolFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    BeforeStop,
    PostCompact,
    AfterStop,
}

impl Kind {
    /// Whether a matcher filters it (AH-21).
    pub(super) fn takes_matcher(self) -> bool {
        matches!(self, Self::BeforeTool | Self::AfterTool | Self::AfterToolFailure)
    }

    /// Whether a block keeps an agent working (AH-56).
    pub(super) fn keeps_working(self) -> bool {
        matches!(self, Self::BeforeStop | Self::SubagentStop)
    }
}

const fn row(
    kind: Kind,
    page: &'static str,
    specification: &'static str,
    point: &'static PointInfo,
    ask: Ask,
) -> Trigger {
    Trigger { kind, page, specification, point, ask }
}

/// All triggers, in the order of AH-17.
#[rustfmt::skip]
pub(super) static TRIGGERS: &[Trigger] = &[
    row(Kind::SessionStart, "session_start", "pre-session", BeforeSession::INFO, Ask::Asks),
    row(Kind::SessionEnd, "session_end", "post-session", AfterSession::INFO, Ask::Refused),
    row(Kind::BeforeAgent, "before_agent", "pre-agent-turn", BeforeAgent::INFO, Ask::Asks),
    row(Kind::AfterAgent, "after_agent", "post-agent-turn", AfterAgent::INFO, Ask::Refused),
    row(Kind::BeforeTool, "before_tool", "pre-tool-call", BeforeTool::INFO, Ask::Asks),
    row(Kind::AfterTool, "after_tool", "post-tool-call", AfterTool::INFO, Ask::Refused),
    row(Kind::AfterToolFailure, "after_tool_failure", "post-tool-call-failure", AfterToolError::INFO, Ask::Refused),
    row(Kind::SubagentStart, "subagent_start", "pre-subagent", BeforeSubagent::INFO, Ask::Asks),
    row(Kind::SubagentStop, "subagent_stop", "post-subagent", AfterSubagent::INFO, Ask::Refused),
    row(Kind::PreCompact, "pre_compact", "pre-context-compact", BeforeCompact::INFO, Ask::Asks),
    row(Kind::BeforeStop, "before_stop", "pre-agent-turn-stop", BeforeStop::INFO, Ask::Blocks),
    row(Kind::PostCompact, "post_compact", "post-context-compact", AfterCompact::INFO, Ask::Refused),
    row(Kind::AfterStop, "after_stop", "post-agent-turn-stop", AfterAgent::INFO, Ask::Refused),
];

/// The trigger of that name (AH-17).
pub(super) fn find(name: &str) -> Option<&'static Trigger> {
    TRIGGERS.iter().find(|trigger| trigger.page == name || trigger.specification == name)
}

/// All names: those of the page, then those of the specification.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let page = TRIGGERS.iter().map(|trigger| trigger.page);
    page.chain(TRIGGERS.iter().map(|trigger| trigger.specification))
}

/// The name that is proposed for a wrong one.
pub(super) fn nearest(wrong: &str) -> &'static str {
    names::proposed(wrong, names(), |name| find(name).map(|trigger| trigger.point))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{find, names};

    #[test]
    fn every_name_stands_for_one_point() {
        // AH-17
        assert_eq!(names().count(), 26);
        assert_eq!(names().collect::<BTreeSet<_>>().len(), 26);
        for (name, point) in [
            ("session_start", "before_session"),
            ("post-session", "after_session"),
            ("after_tool_failure", "after_tool_error"),
            ("post-tool-call-failure", "after_tool_error"),
            ("pre-subagent", "before_subagent"),
            ("subagent_stop", "after_subagent"),
            ("post_compact", "after_compact"),
            ("post-agent-turn-stop", "after_agent"),
            ("after_stop", "after_agent"),
        ] {
            assert_eq!(find(name).map(|trigger| trigger.point.name), Some(point));
        }
        assert!(find("Before_Tool").is_none());
    }
}
