//! Which tool calls a hook waits for (AH-21 to AH-27).

use lineside_core::hook::Select;
use lineside_core::json::any_string;
use lineside_core::{AnyEvent, SkipReason};
use serde_json::Value;

use crate::python_regex::{MOST_STEPS, Pattern, Search};

/// The two patterns of a `matcher`, at least one of them.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    tool: Option<Pattern>,
    pattern: Option<Pattern>,
}

impl Filter {
    /// A filter, unless it would filter nothing (AH-24).
    pub(super) fn new(tool: Option<Pattern>, pattern: Option<Pattern>) -> Option<Self> {
        (tool.is_some() || pattern.is_some()).then_some(Self { tool, pattern })
    }

    fn matches(&self, event: &AnyEvent) -> bool {
        let payload = event.payload();
        // AH-22, AH-24
        let tool = self
            .tool
            .as_ref()
            .is_none_or(|tool| payload.text("tool_name").is_some_and(|name| hits(tool, name)));
        tool && self.pattern.as_ref().is_none_or(|pattern| {
            payload.value("tool_input").is_some_and(|input| matches_input(pattern, input))
        })
    }
}

/// AH-23. `null` stands for a tool input that is not there.
fn matches_input(pattern: &Pattern, input: &Value) -> bool {
    if input.is_null() {
        return false;
    }
    let in_a_value = any_string(input, &mut |text| {
        let bare = text.trim_end_matches(['\n', '\r']);
        hits(pattern, text) || (bare.len() < text.len() && hits(pattern, bare))
    });
    in_a_value || serde_json::to_string(input).is_ok_and(|text| hits(pattern, &text))
}

/// AH-25: a search that is given up counts as a match.
fn hits(pattern: &Pattern, text: &str) -> bool {
    match pattern.search(text) {
        Search::Found => true,
        Search::Absent => false,
        Search::Exhausted => {
            tracing::warn!(
                pattern = pattern.as_str(),
                steps = MOST_STEPS,
                "matcher gave up its search; this counts as a match"
            );
            true
        }
    }
}

impl Select for Filter {
    fn skip(&self, event: &AnyEvent) -> Option<SkipReason> {
        (!self.matches(event)).then_some(SkipReason::Filter)
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        for (name, pattern) in [("tool", &self.tool), ("pattern", &self.pattern)] {
            parts.extend(pattern.as_ref().map(|pattern| format!("{name}=/{}/", pattern.as_str())));
        }
        parts.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Filter, Pattern, Select as _};
    use crate::agenthooks::samples::event;

    fn check(tool: &str, pattern: &str, name: &str, input: &Value, runs: bool) {
        let compile = |text: &str| (!text.is_empty()).then(|| Pattern::compile(text).unwrap());
        let filter = Filter::new(compile(tool), compile(pattern)).unwrap();
        let event = event("before_tool", json!({"tool_name": name, "tool_input": input}));
        assert_eq!(filter.skip(&event).is_none(), runs, "{tool} {pattern} {input}");
    }

    #[test]
    fn the_table_of_examples_holds() {
        // AH-22 to AH-27
        let any = json!({"x": 1});
        check("Shell", "", "Shell", &any, true);
        check("Shell", "", "PowerShell", &any, true);
        check("^Shell$", "", "PowerShell", &any, false);
        check("shell", "", "Shell", &any, false);
        check("WriteFile|Edit", "", "Edit", &any, true);
        for (pattern, input, runs) in [
            (r"\.py$", json!({"path": "src/a.py", "content": "x"}), true),
            (r"\.py$", json!({"command": "black a.py\n"}), true),
            (r"\.py$", json!({"command": "black a.py\r\n\n"}), true),
            (r"\.py$", json!({"path": "a.pyc"}), false),
            ("rm -rf /", json!({"command": "sudo rm -rf / --x"}), true),
            ("^rm", json!({"command": "sudo rm x"}), false),
            (r#""mode":"write""#, json!({"mode": "write"}), true),
            (r#""mode": "write""#, json!({"mode": "write"}), false),
            (r#""force":true"#, json!({"force": true}), true),
            (r#"say "hi""#, json!({"command": "say \"hi\""}), true),
            ("a\nb", json!({"command": "a\nb"}), true),
            ("/etc/passwd", json!({"edits": [{"path": "/etc/passwd"}]}), true),
            ("^/etc/passwd$", json!({"/etc/passwd": 1}), false),
            (r#""z":1,"a":2"#, json!({"z": 1, "a": 2}), true),
            (r#""名":"x/y""#, json!({"名": "x/y"}), true),
            ("删除", json!({"command": "echo 删除"}), true),
            ("x", Value::Null, false),
            ("^plain$", json!("plain"), true),
        ] {
            check("", pattern, "Shell", &input, runs);
        }
        check("Shell", "rm", "Shell", &json!({"c": "ls"}), false);
        check("Shell", "rm", "Grep", &json!({"c": "rm"}), false);
    }

    #[test]
    fn without_a_tool_input_there_is_no_match() {
        // AH-23
        let filter = Filter::new(None, Pattern::compile("").ok()).unwrap();
        let event = event("after_tool", json!({"tool_name": "Shell", "tool_output": "x"}));
        assert!(filter.skip(&event).is_some());
    }

    #[test]
    fn a_search_that_is_given_up_is_a_match() {
        // AH-25
        let input = json!({"command": format!("{}b", "a".repeat(64))});
        check("", "^((?=a)(a|aa))+$", "Shell", &input, true);
    }
}
