//! What a program's newest version does otherwise than the one that is pinned, and the tools that are in no class.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::protocol::Protocol;
use super::scene::{Checked, Outcome, said};

/// The tools that have a class, where the names are written.
const CLASSES: &str = include_str!("../../../lineside-core/src/tool_class.rs");

/// What a member of a tool's input is called that holds a command or a program.
const COMMANDS: [&str; 5] = ["command", "commands", "cmd", "script", "code"];

/// The tools that a program has offered to its model, each with whether its input has a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Offered(BTreeMap<String, bool>);

impl Offered {
    /// Those of these requests.
    pub(super) fn of(requests: &[String]) -> Self {
        let mut offered = BTreeMap::new();
        let bodies = requests.iter().filter_map(|request| serde_json::from_str::<Value>(request).ok());
        for body in bodies {
            for protocol in [Protocol::Messages, Protocol::Responses, Protocol::Chat, Protocol::Gemini] {
                for tool in protocol.tools(&body) {
                    let runs = COMMANDS.iter().any(|name| tool.property(name).is_some());
                    *offered.entry(tool.name).or_default() |= runs;
                }
            }
        }
        // What another protocol takes for a name.
        offered.retain(|name, _| name != "function");
        Self(offered)
    }

    /// Those that are in no class, the ones with a command in front and marked.
    pub(super) fn without_class(&self) -> Vec<String> {
        let lines = CLASSES.lines().take_while(|line| *line != "#[cfg(test)]");
        let lines: Vec<_> = lines.filter(|line| !line.starts_with("//")).collect();
        let is_known = |name: &str| lines.iter().any(|line| line.contains(&format!("\"{name}\"")));
        let of_none = self.0.iter().filter(|(name, _)| !is_known(name));
        let (runs, others): (Vec<_>, Vec<_>) = of_none.partition(|(_, runs)| **runs);
        let runs = runs.into_iter().map(|(name, _)| format!("{name} (takes a command)"));
        runs.chain(others.into_iter().map(|(name, _)| name.clone())).collect()
    }
}

/// What a version does otherwise than another one, in lines; none when it is as that.
pub(super) fn changes(pinned: (&[Checked], &Offered), newest: (&[Checked], &Offered)) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, outcome) in newest.0 {
        let before: Option<&Outcome> =
            pinned.0.iter().find(|(known, _)| known == name).map(|(_, outcome)| outcome);
        if before != Some(outcome) {
            let before = before.map_or_else(|| "not checked".to_owned(), said);
            lines.push(format!("{name}: {before} before, now {}", said(outcome)));
        }
    }
    let names = |offered: &Offered| offered.0.keys().cloned().collect::<BTreeSet<_>>();
    let (before, now) = (names(pinned.1), names(newest.1));
    for (what, difference) in [("new tools", &now - &before), ("tools that are gone", &before - &now)] {
        if !difference.is_empty() {
            lines.push(format!("{what}: {}", difference.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offered(tools: &Value) -> Offered {
        Offered::of(&[json!({"tools": tools}).to_string()])
    }

    #[test]
    fn a_tool_in_no_class_is_named_and_one_with_a_command_first() {
        let tools = json!([
            {"name": "Bash", "input_schema": {"properties": {"command": {}}}},
            {"name": "Ask", "input_schema": {"properties": {"question": {}}}},
            {"name": "Watch", "input_schema": {"properties": {"script": {}}}},
        ]);
        assert_eq!(offered(&tools).without_class(), ["Watch (takes a command)", "Ask"]);
    }

    #[test]
    fn what_a_new_version_changes_is_named() {
        let tool = |name: &str| offered(&json!([{"name": name, "input_schema": {}}]));
        let (old, new) = (tool("Bash"), tool("Watch"));
        let before = [("context", Outcome::Holds), ("rewrite", Outcome::Holds)];
        let now = [("context", Outcome::Fails("gone".to_owned())), ("rewrite", Outcome::Holds)];
        assert_eq!(changes((&before, &old), (&before, &old)), Vec::<String>::new());
        let expected =
            ["context: holds before, now **fails**: gone", "new tools: Watch", "tools that are gone: Bash"];
        assert_eq!(changes((&before, &old), (&now, &new)), expected);
    }
}
