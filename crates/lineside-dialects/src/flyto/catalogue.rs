//! The table of hook types: point, authority and variables of each (FL-9, FL-10).

use lineside_core::{Point, PointInfo};
use lineside_points::{
    AfterCompact, AfterModel, AfterSession, AfterTool, AfterToolError, BeforeCompact, BeforeModel,
    BeforePermission, BeforePrompt, BeforeSession, BeforeStop, BeforeTool, OnConfigChange, OnNotification,
    OnPermissionDenied, OnTaskCompleted, OnTaskCreated,
};

use super::variables::Of;
use crate::names::{self, Named};

/// A hook type.
#[derive(Debug)]
pub struct HookType {
    name: &'static str,
    point: &'static PointInfo,
    waits: Waits,
    authority: Authority,
    variables: &'static [(&'static str, Of)],
}

/// Whether the publisher waits for hooks that are not asynchronous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Yes,
    No,
}

/// What a hook may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authority {
    /// Nothing.
    Nothing,
    /// To block.
    Block,
    /// To block, or to have the user asked.
    Tool,
    /// To block, to have the user asked, or to allow.
    Permission,
    /// To stop.
    Stop,
    /// Nothing, but what it prints joins the summary.
    Summary,
}

impl Authority {
    /// Whether it has the authority to block.
    pub(super) fn blocks(self) -> bool {
        matches!(self, Self::Block | Self::Tool | Self::Permission)
    }
}

const fn row(
    name: &'static str,
    point: &'static PointInfo,
    waits: Waits,
    authority: Authority,
    variables: &'static [(&'static str, Of)],
) -> HookType {
    HookType { name, point, waits, authority, variables }
}

const TOOL_NAME: (&str, Of) = ("TOOL_NAME", Of::Text("tool_name"));
const TOOL_INPUT: (&str, Of) = ("TOOL_INPUT", Of::Input);
const PERMISSION_REASON: (&str, Of) = ("PERMISSION_REASON", Of::Text("reason"));
const MODEL: (&str, Of) = ("MODEL", Of::Text("model"));
const TURN: (&str, Of) = ("TURN", Of::Turn);
const COMPACT_KIND: (&str, Of) = ("COMPACT_KIND", Of::Text("kind"));
const TASK_ID: (&str, Of) = ("TASK_ID", Of::Text("task_id"));
const TASK_DESCRIPTION: (&str, Of) = ("TASK_DESCRIPTION", Of::Text("description"));

/// The types (FL-9) with the variables of each (the second table of FL-10).
pub(super) static TYPES: [HookType; 17] = [
    row(
        "session_start",
        BeforeSession::INFO,
        Waits::Yes,
        Authority::Nothing,
        &[("SESSION_SOURCE", Of::Text("source"))],
    ),
    row(
        "session_end",
        AfterSession::INFO,
        Waits::No,
        Authority::Nothing,
        &[("SESSION_REASON", Of::Text("reason"))],
    ),
    row(
        "user_prompt_submit",
        BeforePrompt::INFO,
        Waits::Yes,
        Authority::Block,
        &[("PROMPT", Of::Text("prompt"))],
    ),
    row(
        "pre_sampling",
        BeforeModel::INFO,
        Waits::Yes,
        Authority::Block,
        &[MODEL, TURN, ("MESSAGE_COUNT", Of::Messages)],
    ),
    row(
        "post_sampling",
        AfterModel::INFO,
        Waits::No,
        Authority::Nothing,
        &[
            MODEL,
            TURN,
            ("INPUT_TOKENS", Of::Tokens("input_tokens")),
            ("OUTPUT_TOKENS", Of::Tokens("output_tokens")),
            ("STOP_REASON", Of::Text("stop_reason")),
            ("RESPONSE_PREVIEW", Of::Preview("output")),
        ],
    ),
    row("pre_tool_use", BeforeTool::INFO, Waits::Yes, Authority::Tool, &[TOOL_NAME, TOOL_INPUT]),
    row(
        "post_tool_use",
        AfterTool::INFO,
        Waits::Yes,
        Authority::Block,
        &[
            TOOL_NAME,
            TOOL_INPUT,
            ("TOOL_OUTPUT", Of::Free("tool_output")),
            ("TOOL_IS_ERROR", Of::Fixed("false")),
        ],
    ),
    row(
        "post_tool_use_failure",
        AfterToolError::INFO,
        Waits::Yes,
        Authority::Block,
        &[TOOL_NAME, TOOL_INPUT, ("TOOL_OUTPUT", Of::Free("error")), ("TOOL_IS_ERROR", Of::Fixed("true"))],
    ),
    row(
        "permission_request",
        BeforePermission::INFO,
        Waits::Yes,
        Authority::Permission,
        &[TOOL_NAME, PERMISSION_REASON, TOOL_INPUT],
    ),
    row(
        "permission_denied",
        OnPermissionDenied::INFO,
        Waits::No,
        Authority::Nothing,
        &[TOOL_NAME, PERMISSION_REASON],
    ),
    row(
        "stop",
        BeforeStop::INFO,
        Waits::Yes,
        Authority::Stop,
        &[("STOP_ACTIVE", Of::Flag("stop_active")), ("STOP_REASON", Of::Text("reason"))],
    ),
    row(
        "pre_compact",
        BeforeCompact::INFO,
        Waits::Yes,
        Authority::Block,
        &[COMPACT_KIND, ("COMPACT_REASON", Of::Text("reason"))],
    ),
    row(
        "post_compact",
        AfterCompact::INFO,
        Waits::Yes,
        Authority::Summary,
        &[COMPACT_KIND, ("COMPACT_SUMMARY", Of::Text("summary"))],
    ),
    row(
        "notification",
        OnNotification::INFO,
        Waits::No,
        Authority::Nothing,
        &[
            ("MESSAGE", Of::Text("message")),
            ("NOTIFICATION_MESSAGE", Of::Text("message")),
            ("LEVEL", Of::Text("level")),
            ("NOTIFICATION_LEVEL", Of::Text("level")),
        ],
    ),
    row(
        "config_change",
        OnConfigChange::INFO,
        Waits::No,
        Authority::Nothing,
        &[("CONFIG_PATH", Of::Text("path")), ("CONFIG_KEYS", Of::Words("keys"))],
    ),
    row("task_created", OnTaskCreated::INFO, Waits::No, Authority::Nothing, &[TASK_ID, TASK_DESCRIPTION]),
    row(
        "task_completed",
        OnTaskCompleted::INFO,
        Waits::No,
        Authority::Nothing,
        &[TASK_ID, TASK_DESCRIPTION, ("TASK_RESULT", Of::Free("result"))],
    ),
];

impl HookType {
    /// All of them.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TYPES.iter()
    }

    /// The type of that wire name; the camel case of the page's prose is not one (FL-8).
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        names::row(&TYPES, name)
    }

    /// The wire name that is nearest to a wrong one.
    #[must_use]
    pub fn nearest(wrong: &str) -> &'static str {
        names::proposed_row(&TYPES, wrong)
    }

    /// Its wire name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The point that it stands for.
    #[must_use]
    pub fn point(&self) -> &'static PointInfo {
        self.point
    }

    /// Whether the publisher waits for its hooks, if they are not asynchronous.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.waits == Waits::Yes
    }

    /// What its hooks may decide, if they are not asynchronous.
    pub(super) fn authority(&self) -> Authority {
        self.authority
    }

    /// The variables that it has beside those of every type.
    pub(super) fn variables(&self) -> &'static [(&'static str, Of)] {
        self.variables
    }
}

impl Named for HookType {
    fn name(&self) -> &'static str {
        self.name
    }

    fn points(&self) -> &[&'static PointInfo] {
        std::slice::from_ref(&self.point)
    }

    fn is_gate(&self) -> bool {
        self.authority.blocks()
    }
}

impl PartialEq for HookType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for HookType {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Authority, HookType};

    #[test]
    fn there_are_seventeen_types_with_a_point_each() {
        // FL-9
        let points: BTreeSet<_> = HookType::all().map(|hook_type| hook_type.point().name).collect();
        assert_eq!(points.len(), 17);
        let waited: Vec<_> = HookType::all().filter(|one| one.waits()).map(HookType::name).collect();
        assert_eq!(
            waited,
            [
                "session_start", "user_prompt_submit", "pre_sampling", "pre_tool_use", "post_tool_use",
                "post_tool_use_failure", "permission_request", "stop", "pre_compact", "post_compact"
            ]
        );
        for hook_type in HookType::all() {
            // A fact is not waited for, and only what is waited for has authority.
            assert!(hook_type.point().phase.may_intercept() || !hook_type.waits(), "{}", hook_type.name());
            assert!(hook_type.waits() || hook_type.authority() == Authority::Nothing, "{}", hook_type.name());
        }
    }

    #[test]
    fn only_wire_names_are_types() {
        // FL-8
        assert_eq!(HookType::find("PreToolUse"), None);
        assert_eq!(HookType::find("Stop"), None);
        for (wrong, nearest) in
            [("PreToolUse", "pre_tool_use"), ("Stop", "stop"), ("UserPromptSubmit", "user_prompt_submit")]
        {
            assert_eq!(HookType::nearest(wrong), nearest);
        }
        assert_eq!(HookType::nearest("post_tool_use_fail"), "post_tool_use_failure");
    }
}
