//! The questions of hooks that wait for a person, and the answers.

use lineside_core::json::Value;
use lineside_core::tool_class;
use lineside_redact::{redact, redact_json};
use maud::{Markup, html};

use super::{BASE, session_link};
use crate::text::{block, encoded, line};

/// The content: what waits, the answers for patterns, whether questions wait at all, and whether they can be answered here.
#[must_use]
pub fn content(waiting: &[Value], answers: &[Value], waits: bool, may_change: bool) -> Markup {
    html! {
        h1 { "Approvals" span.count { (waiting.len()) " wait" } }
        @if !waits { p.banner { "No question waits: " code { "approvals" } " is not set in config.yaml." } }
        @if !may_change && !waiting.is_empty() { p.banner { "It is not known which program this browser is, so nothing is answered here; " code { "lineside approvals" } " answers at a terminal." } }
        @if waiting.is_empty() { p.none { "Nothing waits for you." } }
        @for question in waiting { (card(question, may_change)) }
        @if !answers.is_empty() {
            h2 { "Answers for patterns" }
            div.scroll { table.rows.small {
                thead { tr { th { "answer" } th { "tool" } th { "pattern" } th { "hook" } th { "project" } th { "by" } } }
                tbody { @for answer in answers {
                    tr {
                        td { b { (text(answer, "answer")) } } td { (text(answer, "tool")) } td { code { (text(answer, "pattern")) } }
                        td { (text(answer, "hook")) } td.dim { (text(answer, "project")) } td.dim { (text(answer, "by")) }
                    }
                } }
            } }
        }
    }
}

fn text(of: &Value, field: &str) -> String {
    line(&redact(of[field].as_str().unwrap_or_default())).into_owned()
}

fn card(question: &Value, may_change: bool) -> Markup {
    let id = text(question, "id");
    let seconds = question["left_ms"].as_u64().unwrap_or_default() / 1_000;
    let payload = &question["payload"];
    let input = payload.get("tool_input").unwrap_or(payload);
    let about = tool_class::about(input);
    let whole = payload.to_string();
    html! {
        article.question data-key=(id) aria-label={ "question " (id) } {
            header { h2 { "? " (text(question, "tool")) " " span.dim { (text(question, "point")) } } span.left { (seconds / 60) ":" (format!("{:02}", seconds % 60)) " left" } }
            @if let Some(about) = &about { pre.about { (block(&redact(about))) } }
            @for hook in question["hooks"].as_array().into_iter().flatten() {
                p { (text(hook, "reason")) span.dim { " · asked by " b { (text(hook, "hook")) } " " code { (text(hook, "origin")) } } }
            }
            p.dim {
                (text(question, "agent")) " of " (text(question, "host"))
                " · " (session_link(question["session"].as_str().unwrap_or_default(), &text(question, "session")))
                " · " (text(question, "project"))
            }
            details { summary { "Everything it says" } pre { (block(&redact_json(&whole))) } @if question["cut"].as_bool() == Some(true) { p.none { "Its beginning." } } }
            @if may_change {
                form.answer method="post" action={ (BASE) "/approvals/" (encoded(&id)) } {
                    label { "Reason, for the agent" input name="reason" maxlength="1000" autocomplete="off"; }
                    button.good name="answer" value="allow once" { "Allow once" }
                    button name="answer" value="allow session" { "Allow in this session" }
                    button.bad name="answer" value="deny once" { "Deny" }
                }
            }
        }
    }
}
