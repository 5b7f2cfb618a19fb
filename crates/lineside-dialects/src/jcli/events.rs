//! The table of events: their points, and what may be read and written at each (JC-13, JC-14, JC-33).

use lineside_core::{AnyEvent, Point, PointInfo};
use lineside_points::{
    AfterCompact, AfterModel, AfterSession, AfterTool, AfterToolError, BeforeCompact, BeforeModel,
    BeforePrompt, BeforeSession, BeforeStop, BeforeTool, OnPrompt,
};

use crate::names::{self, Named};

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name.
    pub(super) name: &'static str,
    /// The point that it stands for.
    pub(super) point: &'static PointInfo,
    /// Which compactions it is about.
    pub(super) compaction: Compaction,
    /// The fields of stdin that it has beside those of every event, each with its source in the payload.
    pub(super) readable: &'static [(&'static str, &'static str)],
    /// The fields of a result that amend, each with what it amends in the payload (JC-39).
    pub(super) amends: &'static [(&'static str, &'static str)],
    /// Whether it takes `inject_messages`.
    pub(super) inject: bool,
    /// Whether it takes `additional_context`.
    pub(super) context: bool,
    /// What `retry_feedback` does.
    pub(super) feedback: Feedback,
    /// The reason that `action: stop` gives, where it is listed.
    pub(super) stop: Option<&'static str>,
    /// Whether `action: skip` is listed.
    pub(super) skip: bool,
    /// Whether its hooks only notify (JC-15).
    pub(super) notice_only: bool,
}

/// Which compactions an event is about (JC-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compaction {
    /// It is not about one.
    Any,
    /// Those of the kind `micro`.
    Micro,
    /// Those of the kinds `auto` and `manual`.
    Full,
}

/// What `retry_feedback` does, and what one verdict too many in a row becomes (JC-35, JC-36).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feedback {
    /// It is refused.
    Refused,
    /// It may be given as often as it likes.
    Unlimited,
    /// It is overridden beyond the limit.
    Overridden,
    /// It is a stop beyond the limit.
    Stops,
}

/// What the model reads of a tool call that was skipped (JC-34).
pub(super) const SKIPPED: &str = "该工具调用被 hook 跳过";

const MESSAGE: &str = "消息发送被 hook 拦截";
const REQUEST: &str = "请求被 hook 中止";
const REPLY: &str = "回复被 hook 拦截";
const COMPACT: &str = "压缩被 hook 中止";

impl Event {
    /// An event at which nothing may be written.
    const fn new(
        name: &'static str,
        point: &'static PointInfo,
        readable: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            name,
            point,
            compaction: Compaction::Any,
            readable,
            amends: &[],
            inject: false,
            context: false,
            feedback: Feedback::Refused,
            stop: None,
            skip: false,
            notice_only: false,
        }
    }

    /// Whether it has a tool (JC-12).
    pub(super) fn has_tool(&self) -> bool {
        self.readable.iter().any(|(field, _)| *field == "tool_name")
    }

    /// The compaction that its name means.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match self.compaction {
            Compaction::Any => None,
            Compaction::Micro => Some("micro"),
            Compaction::Full => Some("auto"),
        }
    }

    /// Whether an event of its point is one of its own (JC-14).
    pub(super) fn is_about(&self, event: &AnyEvent) -> bool {
        match (self.compaction, event.payload().text("kind")) {
            (Compaction::Any, _) | (Compaction::Micro, Some("micro")) => true,
            (Compaction::Full, Some(kind)) => matches!(kind, "auto" | "manual"),
            (Compaction::Micro | Compaction::Full, _) => false,
        }
    }
}

const MESSAGES: (&str, &str) = ("messages", "messages");
const SYSTEM_PROMPT: (&str, &str) = ("system_prompt", "system_prompt");
const MODEL: (&str, &str) = ("model", "model");
const TOOL_NAME: (&str, &str) = ("tool_name", "tool_name");
const TOOL_ARGUMENTS: (&str, &str) = ("tool_arguments", "tool_input");

/// All events, in the order of JC-13.
pub(super) static EVENTS: [Event; 14] = [
    Event {
        amends: &[("user_input", "prompt")],
        stop: Some(MESSAGE),
        feedback: Feedback::Unlimited,
        ..Event::new("pre_send_message", BeforePrompt::INFO, &[("user_input", "prompt"), MESSAGES])
    },
    Event {
        notice_only: true,
        ..Event::new("post_send_message", OnPrompt::INFO, &[("user_input", "prompt"), MESSAGES])
    },
    Event {
        amends: &[MESSAGES, SYSTEM_PROMPT],
        inject: true,
        context: true,
        stop: Some(REQUEST),
        feedback: Feedback::Stops,
        ..Event::new("pre_llm_request", BeforeModel::INFO, &[MESSAGES, SYSTEM_PROMPT, MODEL])
    },
    Event {
        amends: &[("assistant_output", "output")],
        stop: Some(REPLY),
        feedback: Feedback::Stops,
        ..Event::new(
            "post_llm_response",
            AfterModel::INFO,
            &[("assistant_output", "output"), MESSAGES, MODEL],
        )
    },
    Event {
        amends: &[TOOL_ARGUMENTS],
        stop: Some(REQUEST),
        skip: true,
        ..Event::new("pre_tool_execution", BeforeTool::INFO, &[TOOL_NAME, TOOL_ARGUMENTS])
    },
    Event {
        amends: &[("tool_result", "tool_output")],
        ..Event::new(
            "post_tool_execution",
            AfterTool::INFO,
            &[TOOL_NAME, ("tool_result", "tool_output"), TOOL_ARGUMENTS],
        )
    },
    Event {
        amends: &[("tool_error", "error")],
        context: true,
        ..Event::new(
            "post_tool_execution_failure",
            AfterToolError::INFO,
            &[TOOL_NAME, ("tool_error", "error"), TOOL_ARGUMENTS],
        )
    },
    Event {
        context: true,
        stop: Some(REQUEST),
        feedback: Feedback::Overridden,
        ..Event::new("stop", BeforeStop::INFO, &[("user_input", "output"), MESSAGES, SYSTEM_PROMPT, MODEL])
    },
    Event {
        compaction: Compaction::Micro,
        stop: Some(COMPACT),
        ..Event::new("pre_micro_compact", BeforeCompact::INFO, &[MESSAGES, MODEL])
    },
    Event {
        compaction: Compaction::Micro,
        amends: &[MESSAGES],
        ..Event::new("post_micro_compact", AfterCompact::INFO, &[MESSAGES])
    },
    Event {
        compaction: Compaction::Full,
        context: true,
        stop: Some(COMPACT),
        ..Event::new("pre_auto_compact", BeforeCompact::INFO, &[MESSAGES, SYSTEM_PROMPT, MODEL])
    },
    Event {
        compaction: Compaction::Full,
        amends: &[MESSAGES],
        ..Event::new("post_auto_compact", AfterCompact::INFO, &[MESSAGES])
    },
    Event { notice_only: true, ..Event::new("session_start", BeforeSession::INFO, &[MESSAGES]) },
    Event { notice_only: true, ..Event::new("session_end", AfterSession::INFO, &[MESSAGES]) },
];

impl Named for Event {
    fn name(&self) -> &'static str {
        self.name
    }

    fn points(&self) -> &[&'static PointInfo] {
        std::slice::from_ref(&self.point)
    }

    fn is_gate(&self) -> bool {
        self.stop.is_some()
    }
}

/// The event of that name.
pub(super) fn find(name: &str) -> Option<&'static Event> {
    names::row(&EVENTS, name)
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|event| event.name)
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::{EVENTS, Feedback, find};
    use crate::jcli::samples;

    #[test]
    fn what_a_result_may_change_is_what_the_point_lets_an_amendment_change() {
        // JC-13, JC-39
        for event in &EVENTS {
            for (_, target) in event.amends {
                assert!(event.point.field(target).is_some_and(|field| field.amendable), "{}", event.name);
            }
        }
    }

    #[test]
    fn each_event_lists_what_takes_effect() {
        // JC-13, JC-32, JC-35
        let names = |holds: fn(&super::Event) -> bool| -> Vec<&str> {
            EVENTS.iter().filter(|event| holds(event)).map(|event| event.name).collect()
        };
        assert_eq!(
            names(|event| event.stop.is_none()),
            [
                "post_send_message",
                "post_tool_execution",
                "post_tool_execution_failure",
                "post_micro_compact",
                "post_auto_compact",
                "session_start",
                "session_end",
            ]
        );
        assert_eq!(names(|event| event.skip), ["pre_tool_execution"]);
        assert_eq!(names(|event| event.inject), ["pre_llm_request"]);
        assert_eq!(
            names(|event| event.context),
            ["pre_llm_request", "post_tool_execution_failure", "stop", "pre_auto_compact"]
        );
        assert_eq!(
            names(|event| event.feedback != Feedback::Refused),
            ["pre_send_message", "pre_llm_request", "post_llm_response", "stop"]
        );
        assert_eq!(names(|event| event.notice_only), ["post_send_message", "session_start", "session_end"]);
        assert_eq!(
            names(super::Event::has_tool),
            ["pre_tool_execution", "post_tool_execution", "post_tool_execution_failure"]
        );
    }

    #[test]
    fn the_kind_of_a_compaction_says_whose_event_it_is() {
        // JC-14
        for (kind, micro, full) in [
            ("micro", true, false),
            ("auto", false, true),
            ("manual", false, true),
            ("of-another-host", false, false),
        ] {
            for (point, own) in [("before_compact", "pre"), ("after_compact", "post")] {
                let event = samples::event(point, json!({"kind": kind}));
                for (name, expected) in [("micro", micro), ("auto", full)] {
                    let found = find(&format!("{own}_{name}_compact")).unwrap();
                    assert_eq!((found.point.name, found.is_about(&event)), (point, expected), "{kind}");
                }
            }
        }
    }
}
