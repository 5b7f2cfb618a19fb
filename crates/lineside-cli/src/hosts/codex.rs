//! Whether Codex runs our entries: its own list says which of them their user has trusted (HO-70).

use std::io;
use std::path::Path;
use std::time::Duration;

use lineside::dialects::Places;
use lineside::dialects::hosts::install::is_our_line;
use lineside::json::{Value, from_str, json};

use super::finding::Finding;
use crate::child::Question;
use crate::places::shown;

/// How long it has for its answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The number of the request whose answer has the list.
const LIST: u64 = 2;

/// What its list says of our entries. One that is not trusted is skipped without a word.
pub(super) async fn untrusted(program: &Path, places: &Places) -> Vec<Finding> {
    let remedy = "start codex, and at “Hooks need review” choose “Trust all and continue”";
    match list(program, places.work_dir()).await {
        Ok(list) => {
            let hooks = list["result"]["data"].as_array().into_iter().flatten();
            let hooks = hooks.flat_map(|place| place["hooks"].as_array().into_iter().flatten());
            let text = |hook: &Value, field: &str| hook[field].as_str().unwrap_or_default().to_owned();
            let skipped: Vec<_> = hooks
                .filter(|hook| is_our_line(hook["command"].as_str().unwrap_or_default()))
                .filter(|hook| hook["enabled"] == Value::Bool(false) || !is_trusted(hook))
                .map(|hook| (text(hook, "sourcePath"), text(hook, "trustStatus")))
                .collect();
            let Some((file, status)) = skipped.first() else { return Vec::new() };
            let file = shown(Path::new(file), places);
            let text = format!("codex skips {} of {file} ({status})", entries(skipped.len()));
            vec![Finding::error(text, remedy)]
        }
        Err(error) => {
            let text = format!("codex did not say which hooks it runs: {error}");
            vec![Finding::warning(text, "start codex and look at /hooks")]
        }
    }
}

fn entries(number: usize) -> String {
    if number == 1 { "an entry".to_owned() } else { format!("{number} entries") }
}

fn is_trusted(hook: &Value) -> bool {
    hook["isManaged"] == Value::Bool(true)
        || matches!(hook["trustStatus"].as_str(), Some("trusted" | "managed"))
}

/// The answer of its server to `hooks/list`.
async fn list(program: &Path, project: &Path) -> io::Result<Value> {
    let requests = [
        json!({"id": 1, "method": "initialize", "params": {
            "clientInfo": {"name": "lineside", "title": "lineside", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": LIST, "method": "hooks/list", "params": {"cwds": [project]}}),
    ];
    let stdin: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let argv = [program.display().to_string(), "app-server".to_owned()];
    let question =
        Question { argv: &argv, stdin: stdin.as_bytes(), set: Vec::new(), cwd: project, limit: LIMIT };
    let id = |line: &str| from_str::<Value>(line).ok().filter(|answer| answer["id"] == json!(LIST));
    let line = question.line(|line| id(line).is_some()).await?;
    let answer = id(&line).unwrap_or_default();
    match answer["error"]["message"].as_str() {
        Some(message) => Err(io::Error::other(message.to_owned())),
        None => Ok(answer),
    }
}
