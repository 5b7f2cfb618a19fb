//! What an event is about, in a few words: the command of a shell call, the task of a subagent, the files of a batch.

use std::borrow::Cow;

use lineside::core::{Payload, PointInfo, tool_class};
use lineside::json::Value;

use crate::painter::in_passing;

/// The event in a few words.
pub(crate) fn subject(payload: &dyn Payload) -> String {
    let text = |field: &str| payload.text(field).unwrap_or_default();
    let words = match payload.info().name {
        "before_tool" | "before_permission" | "after_tool" | "after_tool_error" => {
            format!("{} {}", text("tool_name"), argument(payload.value("tool_input")))
        }
        "before_prompt" => format!("“{}”", text("prompt")),
        "before_session" => text("source").to_owned(),
        "after_session" => text("reason").to_owned(),
        "before_model" => text("model").to_owned(),
        "before_subagent" => format!("{}: {}", text("agent_type"), text("task")),
        "after_subagent" => format!("{}: {}", text("agent_type"), text("output")),
        "before_stop" => format!("“{}”", text("output")),
        "after_tool_batch" => changed(payload),
        _ => String::new(),
    };
    in_passing(&words)
}

/// What a tool is called with, as far as it fits on a line.
fn argument(input: Option<&Value>) -> Cow<'_, str> {
    input.and_then(tool_class::about).unwrap_or_default()
}

fn changed(payload: &dyn Payload) -> String {
    let json = payload.to_json();
    let files = json.get("changed_files").and_then(Value::as_array);
    let paths: Vec<_> = files.into_iter().flatten().filter_map(|file| file.get("path")?.as_str()).collect();
    paths.join(", ")
}

/// What a refusal or a question comes to at this point.
pub(super) fn consequence(point: &PointInfo, refused: bool) -> Option<&'static str> {
    match (point.name, refused) {
        ("before_tool", true) => Some("the call does not run; the agent reads the reason"),
        ("before_tool", false) => Some("the call waits for a person"),
        ("after_tool", true) => Some("the output is withheld; the reason takes its place"),
        ("before_stop", true) => Some("the agent keeps working; the reason goes to its context"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lineside::prelude::*;

    use super::subject;

    #[test]
    fn an_event_is_told_in_a_few_words() {
        assert_eq!(subject(&BeforeTool::new("Shell", json!({"command": "ls\n-l"}))), "Shell ls -l");
        assert_eq!(subject(&BeforeTool::new("Wait", json!({"for": 3}))), "Wait");
        assert_eq!(subject(&BeforeTool::new("Read", json!({"file_path": "/p/a.rs"}))), "Read /p/a.rs");
        let mut asked = BeforePermission::new("Bash");
        asked.tool_input = Some(json!({"command": "git push"}));
        assert_eq!(subject(&asked), "Bash git push");
        let decoy = json!({"command": "ls", "cmd": "rm -rf /"});
        assert_eq!(subject(&BeforeTool::new("Bash", decoy)), "Bash ls rm -rf /");
        assert_eq!(subject(&BeforePrompt::new("Go on.")), "“Go on.”");
        let file = |path: &str| ChangedFile { path: path.to_owned(), ..ChangedFile::default() };
        assert_eq!(subject(&AfterToolBatch::new([], [file("a"), file("b")])), "a, b");
    }
}
