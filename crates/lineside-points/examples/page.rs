//! Prints the page of the points, from their declarations and from the recorded sessions of agent programs:
//! `cargo run -p lineside-points --example page > docs/reference/points.md`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

use std::fmt::Write as _;
use std::path::Path;

use lineside_core::json::{Value, from_str};

#[path = "from/declarations.rs"]
mod declarations;

use declarations::{Field, points};

#[allow(dead_code, reason = "the test of the page has no use for it")]
fn main() {
    print!("{}", page());
}

/// What stands before the points.
const HEAD: &str = "# Points and their payloads\n
Every event is one JSON object: `point`, `session` and what else [its envelope](../concepts.md#words) has, and `payload` with the fields below.
An optional field is absent where its publisher does not know it, and is never `null`.
An *amendable* field may be changed by a hook that amends.
Fields of an agent program that no point has stand in `extra` of the event, as the program has written them.
This page is made from the declarations in `crates/lineside-points`, and a test keeps it current.
";

/// What stands before the table of programs.
const OUTPUTS: &str = "
## What programs give\n
The names of tools, and what goes into and comes out of a tool, are the program's own: a point does not translate them.
So `tool_input` and `tool_output` are any JSON; for the tool that runs a command line they were these when the sessions that `lineside demo` plays were recorded.
A filter `tool: Shell` and the field `tool_class` mean the same tool in each of them.\n
| program | `tool_name` | `tool_input` | `tool_output` |
|---|---|---|---|
";

/// The recorded programs.
const PROGRAMS: [(&str, &str); 8] = [
    ("Claude Code", "claude-code"),
    ("Codex", "codex"),
    ("Copilot", "copilot"),
    ("Gemini CLI", "gemini-cli"),
    ("Kimi CLI", "kimi-cli"),
    ("Kimi Code", "kimi-code"),
    ("OpenCode", "opencode"),
    ("Qwen Code", "qwen-code"),
];

pub(crate) fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = HEAD.to_owned();
    for point in &points() {
        write!(page, "\n## `{}`\n\n{}\n", point.name, sentences(&point.about)).unwrap();
        if point.fields.is_empty() {
            page.push_str("It has no fields.\n");
            continue;
        }
        page.push_str("\n| field | type | | |\n|---|---|---|---|\n");
        for Field { name, kind, required, about } in &point.fields {
            let mut marks = vec![if *required { "required" } else { "optional" }];
            marks.extend(point.amendable.contains(name).then_some("amendable"));
            let about = about.replace('|', "\\|");
            writeln!(page, "| `{name}` | {} | {} | {about} |", in_json(kind), marks.join(", ")).unwrap();
        }
    }
    page.push_str(OUTPUTS);
    for (title, name) in PROGRAMS {
        let recorded = root.join(format!("../../examples/sessions/{name}.jsonl"));
        let [tool, input, output] = call(&std::fs::read_to_string(recorded).unwrap());
        writeln!(page, "| {title} | `{tool}` | {input} | {output} |").unwrap();
    }
    page
}

/// One sentence a line.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

/// What a type of Rust is in JSON.
fn in_json(kind: &str) -> &'static str {
    match kind {
        "String" => "text",
        "bool" => "`true` or `false`",
        "u16" | "u64" => "whole number",
        "Value" => "any JSON",
        "Vec<String>" => "list of texts",
        "Vec<Value>" => "list of any JSON",
        "SessionStart" => {
            "text: `startup`, `resume`, `clear`, `compact`, `fork`, `subagent`, or the program's own word"
        }
        "CompactKind" => "text: `micro`, `auto`, `manual`, or the program's own word",
        "Usage" => "object: `input_tokens`, `output_tokens`, and whatever else the program counts",
        "Vec<ToolCall>" => {
            "list of objects: `tool_name`, and where known `tool_call_id`, `tool_input`, `tool_output`, `error`, `paths`"
        }
        "Vec<ChangedFile>" => {
            "list of objects: `path`, and where known `tool_name`, `is_new`, `is_deleted`, `diff`"
        }
        other => panic!("what is {other} in JSON?"),
    }
}

/// The first call of a shell in a recorded session that has a result: the tool, its input and its output.
fn call(recorded: &str) -> [String; 3] {
    let first = |document: &Value, names: &[&str]| names.iter().find_map(|name| document.get(name).cloned());
    let calls = recorded.lines().filter_map(|line| {
        let line: Value = from_str(line).ok()?;
        let document = match line.get("stdin")? {
            Value::String(text) => from_str(text).ok()?,
            document => document.clone(),
        };
        let output = first(&document, &["tool_response", "tool_output", "toolResult"])?;
        let input = first(&document, &["tool_input", "toolArgs"])?;
        let tool = first(&document, &["tool_name", "toolName"])?.as_str()?.to_owned();
        input.get("command")?;
        Some([tool, shape(&input), shape(&output)])
    });
    calls.into_iter().next().unwrap()
}

/// What a value looks like, without its texts.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
            format!("object: {}", names.join(", "))
        }
        Value::Array(_) => "list".to_owned(),
        Value::String(_) => "text".to_owned(),
        _ => "number or word".to_owned(),
    }
}
