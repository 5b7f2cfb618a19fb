//! Which tool calls a hook waits for (AH-21 to AH-27).

use lineside_core::hook::{Select, Selected};
use lineside_core::json::Value;
use lineside_core::json::any_string;
use lineside_core::{AnyEvent, SkipReason};

use lineside_search::Effort;

use crate::hosts::{Column, Host, Seen};
use lineside_pyregex::{Pattern, Search};

/// So many searches of one event are given up; the texts behind them are not looked at.
const MOST_GIVEN_UP: usize = 8;

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

    /// Both conditions must be found, that on the tool under one of its names (AH-22, AH-24).
    fn search(&self, event: &AnyEvent) -> Search {
        let (payload, mut effort) = (event.payload(), Effort::default());
        let tool = match (&self.tool, seen(event)) {
            (Some(tool), Some(Seen { name, host_name: None })) => tool.search(name, name.len(), &mut effort),
            (Some(tool), Some(Seen { name, host_name: Some(host_name) })) => {
                let total = name.len() + host_name.len();
                match tool.search(name, total, &mut effort) {
                    Search::Absent => tool.search(host_name, total, &mut effort),
                    found => found,
                }
            }
            (Some(_), None) => Search::Absent,
            (None, _) => Search::Found,
        };
        let input = match (&self.pattern, payload.value("tool_input")) {
            (Some(_), _) if tool == Search::Absent => Search::Absent,
            (Some(pattern), Some(input)) => search_input(pattern, input, &mut effort),
            (Some(_), None) => Search::Absent,
            (None, _) => Search::Found,
        };
        match (tool, input) {
            (Search::Absent, _) | (_, Search::Absent) => Search::Absent,
            (Search::Found, Search::Found) => Search::Found,
            (Search::Exhausted, _) | (_, Search::Exhausted) => Search::Exhausted,
        }
    }
}

/// The tool of an event, which an event served for an agent program has in the words of this format (HO-16).
pub(super) fn seen(event: &AnyEvent) -> Option<Seen<'_>> {
    let host = event.envelope().source.host.as_deref();
    if host.and_then(Host::named).is_some() {
        return Seen::by(Column::AgentHooks, event);
    }
    Some(Seen { name: event.payload().text("tool_name")?, host_name: None })
}

/// The text that a pattern searches (AH-23). `null` stands for a tool input that is not there. One hit is a match; without one, a text whose search was
/// given up counts.
fn search_input(pattern: &Pattern, input: &Value, effort: &mut Effort) -> Search {
    if input.is_null() {
        return Search::Absent;
    }
    let mut total = 0_usize;
    any_string(input, &mut |text| {
        total = total.saturating_add(text.len());
        false
    });
    let mut given_up = 0;
    let mut hits = |text: &str| match pattern.search(text, total, effort) {
        Search::Found => true,
        Search::Absent => false,
        Search::Exhausted => {
            given_up += 1;
            given_up == MOST_GIVEN_UP
        }
    };
    let found = any_string(input, &mut |text| {
        let bare = text.trim_end_matches(['\n', '\r']);
        hits(text) || (bare.len() < text.len() && hits(bare))
    }) || lineside_core::json::to_string(input).is_ok_and(|text| hits(&text));
    match given_up {
        MOST_GIVEN_UP.. => Search::Exhausted,
        _ if found => Search::Found,
        0 => Search::Absent,
        _ => Search::Exhausted,
    }
}

impl Select for Filter {
    fn select(&self, event: &AnyEvent) -> Selected {
        match self.search(event) {
            Search::Found => Selected::Runs,
            Search::Absent => Selected::Skipped(SkipReason::Filter),
            // What cannot be known counts as a match (AH-25).
            Search::Exhausted => Selected::InDoubt(
                "the search of its matcher would have taken too long and counts as a match".into(),
            ),
        }
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
    use lineside_core::json::{Value, json};

    use super::{Filter, Pattern, Select as _, Selected, SkipReason};
    use crate::agenthooks::samples::event;

    fn check(tool: &str, pattern: &str, name: &str, input: &Value, runs: bool) {
        let compile = |text: &str| (!text.is_empty()).then(|| Pattern::compile(text).unwrap());
        let filter = Filter::new(compile(tool), compile(pattern)).unwrap();
        let event = event("before_tool", json!({"tool_name": name, "tool_input": input}));
        assert_eq!(
            filter.select(&event) != Selected::Skipped(SkipReason::Filter),
            runs,
            "{tool} {pattern} {input}"
        );
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
        assert_eq!(filter.select(&event), Selected::Skipped(SkipReason::Filter));
    }

    #[test]
    fn a_search_that_is_given_up_is_a_match() {
        // AH-25
        let input = json!({"command": format!("{}b", "a".repeat(64))});
        check("", "^((?=a)(a|aa))+$", "Shell", &input, true);
        // The searches of one event are bounded, too, however many texts it has.
        let text = format!("{}b", "a".repeat(64));
        let filter = Filter::new(None, Pattern::compile("^((?=a)(a|aa))+$").ok()).unwrap();
        let input = json!({"edits": vec![text; 20_000]});
        let event = event("before_tool", json!({"tool_name": "Shell", "tool_input": input}));
        assert!(matches!(filter.select(&event), Selected::InDoubt(_)));
    }

    #[test]
    fn a_filter_is_told_by_what_it_has() {
        let compile = |text: &str| Pattern::compile(text).ok();
        let both = Filter::new(compile("Shell"), compile("rm"));
        assert_eq!(both.unwrap().describe(), "tool=/Shell/ pattern=/rm/");
        assert_eq!(Filter::new(None, compile("rm")).unwrap().describe(), "pattern=/rm/");
        assert!(Filter::new(None, None).is_none());
    }
}
