//! Which tool calls a handler is called for (OC-28).

use lineside_core::hook::{Select, Selected};
use lineside_core::json::Value;
use lineside_core::{AnyEvent, SkipReason};

use super::event::extra;

/// Names of tools, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tools(Vec<String>);

impl Tools {
    /// The matcher of a registration; nothing when every tool is meant.
    pub(super) fn read(matcher: Option<&Value>) -> Option<Self> {
        let names = matcher?.as_array()?;
        Some(Self(names.iter().filter_map(Value::as_str).map(|name| name.trim().to_lowercase()).collect()))
    }
}

impl Select for Tools {
    fn select(&self, event: &AnyEvent) -> Selected {
        let name = event.payload().text("tool_name").unwrap_or_default().to_lowercase();
        if self.0.contains(&name) { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) }
    }

    fn describe(&self) -> String {
        format!("tool={}", self.0.join("|"))
    }
}

/// What a turn or a dispatch must be for, where the host tells it (OC-30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Eligible {
    /// The field of the context.
    field: &'static str,
    words: Vec<String>,
    /// Whether an event that does not tell it is left out.
    must_tell: bool,
}

impl Eligible {
    /// What a registration says; nothing when all are meant, or when a word of it is unknown.
    pub(super) fn read(hook: &str, given: &Value) -> Option<Self> {
        let (option, field, known, must_tell) = match hook {
            "before_agent_reply" => ("eligibleTriggers", "trigger", &["cron", "heartbeat", "user"][..], true),
            "reply_dispatch" => ("eligibleDispatchKinds", "dispatchKind", &["agent", "acp"][..], false),
            _ => return None,
        };
        let words = given.get(option)?.as_array()?;
        let words: Option<Vec<String>> = words
            .iter()
            .map(|word| word.as_str().filter(|word| known.contains(word)).map(str::to_owned))
            .collect();
        let words = words.filter(|words| !words.is_empty())?;
        Some(Self { field, words, must_tell })
    }
}

impl Select for Eligible {
    fn select(&self, event: &AnyEvent) -> Selected {
        let told =
            extra(event, "ctx").find(|(name, _)| *name == self.field).and_then(|(_, value)| value.as_str());
        let runs = match told.or_else(|| event.payload().text(self.field)) {
            Some(told) => self.words.iter().any(|word| word == told),
            None => !self.must_tell,
        };
        if runs { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) }
    }

    fn describe(&self) -> String {
        format!("{}={}", self.field, self.words.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::SkipReason;
    use lineside_core::hook::{Select as _, Selected};
    use lineside_core::json::json;

    use super::{Eligible, Tools};
    use crate::openclaw::samples::{event, with_extra};

    #[test]
    fn turns_and_dispatches_are_told_apart_where_the_host_tells_them() {
        // OC-30
        let event = event("before_agent", json!({ "prompt": "p" }));
        let of =
            |word: &str, value: &str| with_extra(&event, json!({ "openclaw": { "ctx": { word: value } } }));
        let replies = Eligible::read("before_agent_reply", &json!({ "eligibleTriggers": ["cron"] })).unwrap();
        assert_eq!(replies.select(&of("trigger", "cron")), Selected::Runs);
        assert_eq!(replies.select(&of("trigger", "user")), Selected::Skipped(SkipReason::Filter));
        assert_eq!(replies.select(&event), Selected::Skipped(SkipReason::Filter));
        let kinds = Eligible::read("reply_dispatch", &json!({ "eligibleDispatchKinds": ["acp"] })).unwrap();
        assert_eq!(kinds.select(&of("dispatchKind", "agent")), Selected::Skipped(SkipReason::Filter));
        assert_eq!(kinds.select(&event), Selected::Runs);
        // A list with a word that there is not restricts nothing.
        assert_eq!(Eligible::read("before_agent_reply", &json!({ "eligibleTriggers": ["cron", "x"] })), None);
        assert_eq!(Eligible::read("agent_end", &json!({ "eligibleTriggers": ["cron"] })), None);
    }

    #[test]
    fn names_are_compared_whole_and_without_regard_to_case() {
        // OC-28
        let tools = Tools::read(Some(&json!([" Exec ", "apply_patch"]))).unwrap();
        assert_eq!(tools.describe(), "tool=exec|apply_patch");
        for (name, expected) in [
            ("EXEC", Selected::Runs),
            ("execute", Selected::Skipped(SkipReason::Filter)),
            ("apply_patch", Selected::Runs),
        ] {
            let event = event("before_tool", json!({ "tool_name": name, "tool_input": {} }));
            assert_eq!(tools.select(&event), expected, "{name}");
        }
        assert_eq!(Tools::read(None), None);
    }
}
