//! The lab: an event is edited, and what would become of it is shown. No hook runs, and nothing is published.

use lineside_core::Strength;
use lineside_core::context::is_unseen;
use lineside_core::json::{self, Value, json};
use lineside_log::Decision;
use maud::{Markup, html};

use super::{BASE, verdict};
use crate::text::line;

/// An event to begin with.
pub const EXAMPLE: &str = r#"{
  "point": "before_tool",
  "session": "lab",
  "payload": {
    "tool_name": "Shell",
    "tool_input": {"command": "rm -rf build"}
  }
}"#;

/// An event of the log as one to be edited.
#[must_use]
pub fn event(decision: &Decision) -> String {
    let payload = json::from_str::<Value>(&decision.payload).unwrap_or_default();
    let event = json!({
        "point": decision.point, "session": decision.session, "cwd": decision.project, "payload": payload,
    });
    let mut text = String::new();
    spread(&event, 0, &mut text);
    text
}

/// A text of JSON in which everything can be seen, and which says the same. A form has its lines end in CR LF.
fn seen(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut seen = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '\n' | '\t') || !char.is_control() && !is_unseen(char) {
            seen.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            seen.push_str(&format!("\\u{unit:04x}"));
        }
    }
    seen
}

/// A value, a line for each field.
fn spread(value: &Value, depth: usize, into: &mut String) {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            let indent = "  ".repeat(depth + 1);
            for (at, (name, field)) in fields.iter().enumerate() {
                into.push_str(if at == 0 { "{\n" } else { ",\n" });
                into.push_str(&format!("{indent}{}: ", json!(name)));
                spread(field, depth + 1, into);
            }
            into.push_str(&format!("\n{}}}", "  ".repeat(depth)));
        }
        None => into.push_str(&value.to_string()),
    }
}

/// The two halves of the lab, of which this is one.
pub(super) fn tabs(here: &str) -> Markup {
    html! {
        nav.tabs aria-label="Lab" {
            @for (path, name) in [("/lab", "An event"), ("/lab/flow", "Flow control")] {
                a href={ (BASE) (path) } aria-current=[(path == here).then_some("page")] { (name) }
            }
        }
    }
}

/// The content: the event as it was written, and its explanation or what is wrong with it.
#[must_use]
pub fn content(event: &str, explained: Option<&Result<Value, String>>) -> Markup {
    html! {
        h1 { "Lab" span.count { "no hook runs, and nothing is published" } }
        (tabs("/lab"))
        div.lab {
            form method="post" action={ (BASE) "/lab" } {
                label for="event" { "Event" }
                textarea #event name="event" rows="22" spellcheck="false" autocomplete="off" { (seen(event)) }
                button.accent { "What would happen" }
                span.dim { " Ctrl ↵" }
            }
            section aria-live="polite" aria-label="What would happen" {
                @match explained {
                    None => p.none { "The hooks that would run for this event appear here, and why others would not." },
                    Some(Err(error)) => p.wrong role="alert" { (line(error)) },
                    Some(Ok(explanation)) => (explained_hooks(explanation)),
                }
            }
        }
    }
}

/// What would come of the event, as far as that is known while nothing runs.
fn foreseen(foreseen: &Value) -> Markup {
    let names = |field: &str| {
        let names = foreseen[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| line(name).into_owned()).collect::<Vec<_>>().join(", ")
    };
    let said = foreseen["verdict"].as_str().and_then(Strength::named).unwrap_or_default();
    let (by, open) = (names("by"), names("open"));
    html! {
        p.foreseen {
            @if said > Strength::Allow { (verdict(said.as_str())) " by " (by) }
            @else if open.is_empty() { (verdict(Strength::Continue.as_str())) " no hook would object" }
            @if !said.is_final() && !open.is_empty() { span.dim { " only a run shows what these say: " (open) } }
        }
    }
}

fn explained_hooks(explanation: &Value) -> Markup {
    let hooks: Vec<&Value> = explanation["hooks"].as_array().into_iter().flatten().collect();
    let run = hooks.iter().filter(|hook| hook["runs"].as_bool() == Some(true)).count();
    let text = |of: &Value, field: &str| line(of[field].as_str().unwrap_or_default()).into_owned();
    html! {
        h2 { (text(&explanation["event"], "point")) span.count { (run) " of " (hooks.len()) " hooks would run" } }
        (foreseen(&explanation["foreseen"]))
        ol.chain {
            @for hook in &hooks {
                @let runs = hook["runs"].as_bool() == Some(true);
                li.{ (if runs { "h-good" } else { "h-skipped" }) } {
                    span.sign aria-hidden="true" { (if runs { "→" } else { "–" }) }
                    div {
                        p { b { (text(hook, "hook")) } " " span.said { @if runs { "runs" } @else { (text(hook, "skipped")) } } }
                        @for field in ["misfit", "fit"] { @if hook[field].is_string() { p.detail { (text(hook, field)) } } }
                        p.dim { (text(hook, "layer")) " · " (text(hook, "part")) " · priority " (hook["priority"]) @if hook["file"].is_string() { " · " code { (text(hook, "file")) ":" (hook["line"]) } } }
                    }
                }
            }
        }
        @if let Some(elsewhere) = explanation["elsewhere"].as_object() {
            @if !elsewhere.is_empty() {
                details { summary { "Hooks at other points" }
                    dl.facts { @for (point, names) in elsewhere.iter() { dt { (line(point)) } dd { (names.as_array().into_iter().flatten().filter_map(Value::as_str).map(|name| line(name).into_owned()).collect::<Vec<_>>().join(", ")) } } }
                }
            }
        }
    }
}
