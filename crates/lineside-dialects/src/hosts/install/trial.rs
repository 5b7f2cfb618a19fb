//! One event for an entry to be tried on: its command as the host would start it, and a document as the host would
//! send.

use std::path::Path;

use lineside_core::json::{Map, Value, json};

use super::super::import::Syntax;
use super::super::program::Host;
use super::super::quirks::Documents;
use super::super::table::Standing;
use super::super::{quirks, tables};
use super::act::Act;
use super::entry::{is_our_handler, words};
use super::piece;
use super::plan::handlers;

/// The session in which an entry is tried.
pub const TRIAL_SESSION: &str = "lineside-install";

/// A call of our entry, as the host makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The host's name for the event.
    pub event: &'static str,
    /// The entry's command: a program with its arguments, or a shell with the line.
    pub argv: Vec<String>,
    /// What the host writes to its standard input.
    pub stdin: Vec<u8>,
}

/// The call of the entry in this file at the gate of tools, with a shell command that does nothing, and the call that
/// ends its session, of the same command where the end of a session has no entry. Nothing if the file has no entry at
/// the gate of tools.
#[must_use]
pub fn trials(act: &Act, cwd: &Path) -> Vec<Trial> {
    let Some(text) = &act.after else { return Vec::new() };
    let syntax = act.syntax();
    let points = ["before_tool", "after_session"];
    points.into_iter().filter_map(|point| trial(act.host, &act.file, text, syntax, point, cwd)).collect()
}

fn trial(host: Host, file: &Path, text: &str, syntax: Syntax, point: &str, cwd: &Path) -> Option<Trial> {
    let table = tables(host).first()?;
    let of_point = |point: &str| {
        let mut rows = table.iter().filter(move |row| row.point == point);
        rows.clone().find(|row| row.standing == Standing::Usual).or_else(|| rows.next())
    };
    let (row, tool) = (of_point(point)?, of_point("before_tool")?);
    let root = piece::read(text, syntax).ok()?;
    let of_event = |event| handlers(&root, syntax, event).into_iter().find(|handler| is_our_handler(handler));
    let entry = of_event(row.event).or_else(|| of_event(tool.event))?;
    let argv = match entry.member("args") {
        Some(_) => words(entry),
        None => vec!["/bin/sh".to_owned(), "-c".to_owned(), entry.text("command")?.to_owned()],
    };
    let is_code = file.parent().is_some_and(|folder| folder.ends_with(".kimi-code"));
    let stdin = lineside_core::json::to_vec(&document(host, row.event, point, cwd, is_code)).ok()?;
    Some(Trial { event: row.event, argv, stdin })
}

/// The document of an event, with the fields that the host names.
fn document(host: Host, event: &str, point: &str, cwd: &Path, is_code: bool) -> Map {
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
    let cwd = cwd.display().to_string();
    let Documents { session, is_named_by_argument, project, call, .. } = &quirks(host).documents;
    put(session.first().copied().unwrap_or_default(), TRIAL_SESSION.into());
    if !is_named_by_argument {
        put("hook_event_name", event.into());
    }
    if let Some(field) = project {
        put(field, json!([cwd]));
    }
    if is_code {
        put("client_type", "lineside".into());
    }
    put("cwd", cwd.into());
    let [name, input, id] = *call;
    if point == "before_tool" {
        put(name, super::super::tools::shell_of(host).into());
        put(input, json!({"command": "true"}));
        put(id, TRIAL_SESSION.into());
    } else {
        put("reason", "other".into());
    }
    document
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside_core::json::{Value, json};

    use super::document;
    use crate::hosts::program::Host;

    #[test]
    fn a_trial_has_the_fields_that_its_host_names() {
        let of = |host, point, is_code| Value::from(document(host, "E", point, Path::new("/p"), is_code));
        let call = json!({"command": "true"});
        let session = super::TRIAL_SESSION;
        for (host, is_code, expected) in [
            (
                Host::Claude,
                false,
                json!({"session_id": session, "hook_event_name": "E", "cwd": "/p", "tool_name": "Bash",
                    "tool_input": call, "tool_use_id": session}),
            ),
            (
                Host::Copilot,
                false,
                json!({"sessionId": session, "cwd": "/p", "toolName": "bash", "toolArgs": call, "toolUseId": session}),
            ),
            (
                Host::Cursor,
                false,
                json!({"conversation_id": session, "hook_event_name": "E", "workspace_roots": ["/p"], "cwd": "/p",
                    "tool_name": "Shell", "tool_input": call, "tool_use_id": session}),
            ),
            (
                Host::Kimi,
                true,
                json!({"session_id": session, "hook_event_name": "E", "client_type": "lineside", "cwd": "/p",
                    "tool_name": "Shell", "tool_input": call, "tool_call_id": session}),
            ),
        ] {
            assert_eq!(of(host, "before_tool", is_code), expected, "{host}");
        }
        let ended = json!({"session_id": session, "hook_event_name": "E", "cwd": "/p", "reason": "other"});
        assert_eq!(of(Host::Claude, "after_session", false), ended);
    }
}
