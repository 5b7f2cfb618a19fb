//! The hosts, and those of their events at which a call can be refused while nothing can be decided, with the words that
//! refuse it.

/// An agent program with a hook command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot.
    Copilot,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// Kimi CLI and Kimi Code.
    Kimi,
    /// Qwen Code.
    Qwen,
}

/// All hosts, in alphabetical order.
pub const HOSTS: [Host; 7] =
    [Host::Claude, Host::Codex, Host::Copilot, Host::Cursor, Host::Gemini, Host::Kimi, Host::Qwen];

impl Host {
    /// Its name, as it is given to `lineside hook`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Kimi => "kimi",
            Self::Qwen => "qwen",
        }
    }

    /// The host of that name; `None` when there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        HOSTS.into_iter().find(|host| host.name() == name)
    }
}

/// An event at which a call can be refused.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Its name, as the host spells it.
    pub(crate) event: &'static str,
    /// The point at which it is published; the events of two hosts that have one point answer for one another.
    pub(crate) point: &'static str,
    /// The words.
    pub(crate) words: Words,
    /// The words when the call may pass.
    pub(crate) passes: Passes,
    /// The documents with this name that are no gate.
    pub(crate) unless: Unless,
}

/// The words of a refusal, in which `$R` stands for the reason and `$E` for the name of the event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Words {
    /// This document on standard output, and exit status 0.
    Json(&'static str),
    /// The reason on standard error, and exit status 2.
    Exit2,
}

/// The words when a call may pass.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Passes {
    /// None.
    Silently,
    /// This document on standard output.
    Saying(&'static str),
    /// Exit status 2 and this on standard error: the host takes no other answer than a result, which is absent here.
    Failing(&'static str),
}

/// Which documents are no gate although their name is one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unless {
    /// None.
    Never,
    /// Those without a prompt.
    NoPrompt,
    /// Those about the settings of an organisation.
    OfPolicy,
}

const DECISION: Words = Words::Json(r#"{"decision":"block","reason":"$R"}"#);
const DENY: Words = Words::Json(
    r#"{"hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"deny","permissionDecisionReason":"$R"}}"#,
);
const BEHAVIOUR: Words = Words::Json(
    r#"{"hookSpecificOutput":{"hookEventName":"$E","decision":{"behavior":"deny","message":"$R"}}}"#,
);
const DECLINE: Words = Words::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","action":"decline"}}"#);
const COPILOT_TOOL: Words = Words::Json(r#"{"permissionDecision":"deny","permissionDecisionReason":"$R"}"#);
const COPILOT_TOOL_TWICE: Words = Words::Json(
    r#"{"permissionDecision":"deny","permissionDecisionReason":"$R","hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"deny","permissionDecisionReason":"$R"}}"#,
);
const COPILOT_PERMISSION: Words = Words::Json(r#"{"behavior":"deny","message":"$R"}"#);
const CURSOR_PROMPT: Words = Words::Json(r#"{"continue":false,"user_message":"$R"}"#);
const CURSOR_TOOL: Words = Words::Json(r#"{"permission":"deny","user_message":"$R","agent_message":"$R"}"#);
const CURSOR_USER: Words = Words::Json(r#"{"permission":"deny","user_message":"$R"}"#);
const CURSOR_ALLOW: &str = r#"{"permission":"allow"}"#;
const GEMINI: Words = Words::Json(r#"{"decision":"deny","reason":"$R"}"#);
const NO_TOOLS: Words =
    Words::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","toolConfig":{"mode":"NONE"}}}"#);

const fn gate(event: &'static str, point: &'static str, words: Words) -> Gate {
    Gate { event, point, words, passes: Passes::Silently, unless: Unless::Never }
}

/// A gate of a host that wants a word in either case.
const fn either(event: &'static str, point: &'static str, words: Words, says: &'static str) -> Gate {
    Gate { passes: Passes::Saying(says), ..gate(event, point, words) }
}

const CLAUDE: &[Gate] = &[
    gate("UserPromptSubmit", "before_prompt", DECISION),
    gate("PreToolUse", "before_tool", DENY),
    gate("PermissionRequest", "before_permission", BEHAVIOUR),
    gate("UserPromptExpansion", "x.claude.before_prompt_expansion", DECISION),
    gate("TaskCreated", "x.claude.before_task_create", DECISION),
    gate("TaskCompleted", "x.claude.before_task_complete", Words::Exit2),
    gate("TeammateIdle", "x.claude.before_teammate_idle", Words::Exit2),
    Gate { unless: Unless::OfPolicy, ..gate("ConfigChange", "x.claude.before_config_change", DECISION) },
    Gate {
        passes: Passes::Failing("lineside made no worktree"),
        ..gate("WorktreeCreate", "x.claude.before_worktree_create", Words::Exit2)
    },
    gate("PreModelSwitch", "x.claude.before_model_switch", DECISION),
    gate("Elicitation", "x.claude.before_elicitation", DECLINE),
];

const CODEX: &[Gate] = &[
    gate("UserPromptSubmit", "before_prompt", DECISION),
    gate("PreToolUse", "before_tool", DENY),
    gate("PermissionRequest", "before_permission", BEHAVIOUR),
];

const COPILOT_CAMEL: &[Gate] = &[
    gate("userPromptSubmitted", "before_prompt", DECISION),
    gate("preToolUse", "before_tool", COPILOT_TOOL),
    gate("permissionRequest", "before_permission", COPILOT_PERMISSION),
];

const COPILOT_PASCAL: &[Gate] = &[
    gate("UserPromptSubmit", "before_prompt", DECISION),
    gate("PreToolUse", "before_tool", COPILOT_TOOL_TWICE),
    gate("PermissionRequest", "before_permission", COPILOT_PERMISSION),
];

const CURSOR: &[Gate] = &[
    either("beforeSubmitPrompt", "before_prompt", CURSOR_PROMPT, r#"{"continue":true}"#),
    either("preToolUse", "before_tool", CURSOR_TOOL, CURSOR_ALLOW),
    either("beforeShellExecution", "before_tool", CURSOR_TOOL, CURSOR_ALLOW),
    either("beforeMCPExecution", "before_tool", CURSOR_TOOL, CURSOR_ALLOW),
    either("beforeReadFile", "before_tool", CURSOR_USER, CURSOR_ALLOW),
    either("subagentStart", "before_subagent", CURSOR_USER, CURSOR_ALLOW),
    either("beforeTabFileRead", "x.cursor.before_tab_file_read", CURSOR_USER, CURSOR_ALLOW),
];

const GEMINI_GATES: &[Gate] = &[
    gate("BeforeAgent", "before_prompt", GEMINI),
    gate("BeforeToolSelection", "x.gemini.before_tool_selection", NO_TOOLS),
    gate("BeforeTool", "before_tool", GEMINI),
];

const KIMI: &[Gate] = &[
    gate("UserPromptSubmit", "before_prompt", Words::Exit2),
    gate("PreToolUse", "before_tool", Words::Exit2),
];

const QWEN: &[Gate] = &[
    Gate { unless: Unless::NoPrompt, ..gate("UserPromptSubmit", "before_prompt", DECISION) },
    gate("PreToolUse", "before_tool", DENY),
];

/// The events of a host that are no gates although their names are like those of gates.
pub(crate) fn open(host: Host) -> &'static [&'static str] {
    match host {
        Host::Claude => &["PermissionDenied", "PreCompact", "SubagentStart"],
        Host::Codex => &["PreCompact", "SubagentStart"],
        Host::Copilot => &["PreCompact", "SubagentStart", "preCompact", "subagentStart"],
        Host::Cursor => &["preCompact"],
        Host::Gemini => &["BeforeModel", "PreCompress"],
        Host::Kimi => &["PermissionRequest", "PermissionResult", "PreCompact", "SubagentStart"],
        Host::Qwen => &["PermissionRequest", "PreCompact", "SubagentStart"],
    }
}

/// Whether a name is that of a gate of any host, or begins as those of gates do.
pub(crate) fn is_like_one(event: &str) -> bool {
    let begins =
        |prefix: &str| event.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let all = [CLAUDE, CODEX, COPILOT_CAMEL, COPILOT_PASCAL, CURSOR, GEMINI_GATES, KIMI, QWEN];
    ["pre", "before", "permission"].into_iter().any(begins)
        || all.into_iter().flatten().any(|gate| gate.event.eq_ignore_ascii_case(event))
}

/// The gates of a host; those of Copilot are in the style of an event's name.
pub(crate) fn of(host: Host, event: &str) -> &'static [Gate] {
    match host {
        Host::Claude => CLAUDE,
        Host::Codex => CODEX,
        Host::Copilot if event.starts_with(|first: char| first.is_ascii_uppercase()) => COPILOT_PASCAL,
        Host::Copilot => COPILOT_CAMEL,
        Host::Cursor => CURSOR,
        Host::Gemini => GEMINI_GATES,
        Host::Kimi => KIMI,
        Host::Qwen => QWEN,
    }
}
