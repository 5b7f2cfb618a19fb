//! A session of a program as a recording: what each call of the hook command was given, with paths as variables.
//!
//! The recordings are those of `examples/sessions`, which `lineside demo` plays. They hold nothing of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

use super::program::{Ground, Program};

/// The variables of a host that a call is read by.
const READ: [&str; 7] = [
    "CLAUDE_PROJECT_DIR", "COPILOT_CLI", "CURSOR_VERSION", "GEMINI_CWD", "GEMINI_PROJECT_DIR",
    "GEMINI_SESSION_ID", "QWEN_PROJECT_DIR",
];

/// The longest text of a document that is kept whole, in characters.
const LONGEST: usize = 300;

/// Puts the recorder in the place of `lineside` on this ground. Gives the folder of its calls.
pub(super) fn stand_in(ground: &Ground, folder: &Path) -> Result<PathBuf> {
    let calls = folder.join("calls");
    fs::create_dir_all(&calls)?;
    let own = ground.lineside.join("lineside");
    let real = ground.lineside.join("lineside-recorded");
    fs::rename(&own, &real)?;
    let script = include_str!("recorder.sh");
    let script = script.replace("$REAL", &quoted(&real)).replace("$CALLS", &quoted(&calls));
    fs::write(&own, script)?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755))?;
    Ok(calls)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

/// Writes the recording of these calls.
pub(super) fn write(program: &Program, ground: &Ground, calls: &Path, into: &Path) -> Result<usize> {
    let mut names: Vec<PathBuf> = fs::read_dir(calls)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "stdin"))
        // A host may end a call that it does not wait for; what is written last is missing then.
        .filter(|path| path.with_extension("arguments").exists())
        .collect();
    names.sort();
    ensure!(!names.is_empty(), "no call was made");
    let head = json!({"program": program.name, "version": program.version(), "host": program.host});
    let mut lines = vec![head.to_string()];
    for stdin in &names {
        lines.push(line(ground, stdin).with_context(|| format!("{}", stdin.display()))?);
    }
    lines.push(String::new());
    fs::write(into, lines.join("\n"))?;
    Ok(names.len())
}

fn line(ground: &Ground, stdin: &Path) -> Result<String> {
    let document = fs::read_to_string(stdin)?;
    let document: Value = serde_json::from_str(&document).context("what it was given is no JSON")?;
    let environment = fs::read_to_string(stdin.with_extension("env"))?;
    let variables = environment.lines().filter_map(|line| line.split_once('='));
    let variables = variables.filter(|(name, _)| READ.contains(name));
    let variables: BTreeMap<&str, String> =
        variables.map(|(name, value)| (name, portable(ground, value))).collect();
    let arguments = fs::read_to_string(stdin.with_extension("arguments"))?;
    let mut words = arguments.lines().skip_while(|word| *word != "--event");
    let mut line = Map::new();
    if let Some(event) = words.nth(1) {
        line.insert("event".to_owned(), event.into());
    }
    if !variables.is_empty() {
        line.insert("env".to_owned(), json!(variables));
    }
    line.insert("stdin".to_owned(), cleaned(ground, document));
    Ok(Value::Object(line).to_string())
}

/// The value without what is of this machine, and with long texts cut.
fn cleaned(ground: &Ground, value: Value) -> Value {
    match value {
        Value::String(text) => {
            let text = portable(ground, &text);
            if text.chars().count() <= LONGEST {
                return text.into();
            }
            format!("{} […]", text.chars().take(LONGEST).collect::<String>()).into()
        }
        Value::Array(items) => items.into_iter().map(|item| cleaned(ground, item)).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, member)| (name, cleaned(ground, member)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

/// A text in which the folders of a ground stand as variables.
fn portable(ground: &Ground, text: &str) -> String {
    let mut text = text.to_owned();
    for (path, name) in [(&ground.project, "$PROJECT"), (&ground.home, "$HOME")] {
        let path = path.to_string_lossy();
        text = text.replace(&*path, name);
        // Some programs make a name of a path.
        text = text.replace(&path.replace(['/', '.', '_'], "-"), "$SLUG");
    }
    // Codex names its agents like folders.
    text = text.replace(concat!("/", "root/"), "$AGENTS/");
    // A machine that plays it has other folders.
    while let Some(at) = text.find("/tmp/") {
        let end = text[at..].find(|end: char| end.is_whitespace() || "\"'<>,;".contains(end));
        text.replace_range(at..end.map_or(text.len(), |end| at + end), "$TMP");
    }
    text
}
