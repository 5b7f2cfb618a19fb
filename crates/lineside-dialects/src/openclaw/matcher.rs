//! Which tool calls a handler is called for (OC-28).

use lineside_core::hook::{Select, Selected};
use lineside_core::json::Value;
use lineside_core::{AnyEvent, SkipReason};

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

#[cfg(test)]
mod tests {
    use lineside_core::SkipReason;
    use lineside_core::hook::{Select as _, Selected};
    use lineside_core::json::json;

    use super::Tools;
    use crate::openclaw::samples::event;

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
