//! One decision: the event, every hook in order with why it ran or not, what changed, what was said, what became of it.

use lineside_core::Strength;
use lineside_core::json::{self, Map, Value};
use lineside_log::{Considered, Given, News, Why};
use maud::{Markup, html};

use super::{BASE, session_link, verdict};
use crate::text::{block, clock, encoded, line, took};

/// The longest value of a payload that is shown without being asked for, in characters.
const OPEN: usize = 600;

/// The content.
#[must_use]
pub fn content(why: &Why) -> Markup {
    let decision = &why.decision;
    let payload = json::from_str::<Map>(&decision.payload).unwrap_or_default();
    let text = |text: &Option<String>| line(text.as_deref().unwrap_or_default()).into_owned();
    let ran = why.hooks.iter().filter(|hook| !hook.is_skipped).count();
    html! {
        article.decision {
            header.{ "v-" (decision.verdict.as_str()) } {
                p.kicker { (verdict(decision.verdict.as_str())) " " span.dim { (decision.point) } }
                h1 { @if let Some(tool) = &decision.tool { (line(tool)) " " } span.mono { (super::decisions::about(decision)) } }
                @if let Some(reason) = &decision.reason { blockquote { (block(reason)) } }
                @if let Some(by) = &decision.by { p { "by " b { (line(by)) } @if let Some(origin) = &decision.by_origin { ", " code { (line(origin)) } } } }
            }
            div.columns {
                section aria-labelledby="hooks" {
                    h2 #hooks { "Every hook, in order" span.count { (why.hooks.len()) " considered, " (ran) " ran" } }
                    @if why.hooks.is_empty() { p.none { "No hook waits for this event." } }
                    ol.chain { @for hook in &why.hooks { (considered(hook)) } }
                    (changes(&why.given))
                    (said(why))
                    (since(&why.since))
                }
                aside aria-label="The event" {
                    h2 { "The event" }
                    dl.facts {
                        (fact("event", &html! { code { (decision.id) } }))
                        (fact("time", &html! { (format!("{:.3}", decision.time)) }))
                        (fact("session", &html! { (session_link(&decision.session, &decision.session)) " · event " (decision.seq) }))
                        (fact("agent", &html! { (line(&decision.agent)) @if let Some(kind) = &decision.agent_type { " (" (line(kind)) ")" } @if decision.host.is_some() { " of " (text(&decision.host)) } }))
                        @if decision.tree != decision.session { (fact("tree", &html! { (session_link(&decision.tree, &decision.tree)) ", " (decision.depth) " below" })) }
                        @if decision.project.is_some() { (fact("project", &html! { code { (text(&decision.project)) } })) }
                        (fact("took", &html! { (took(decision.took)) @if let Some(generation) = decision.generation { " · generation " (generation) } }))
                    }
                    h2 { "What it says" }
                    (fields(&payload))
                    p.actions { a href={ (BASE) "/lab?event=" (encoded(&decision.id.to_string())) } { "Edit in the lab" } " · " code { "lineside why " (decision.id) } }
                }
            }
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { dt { (name) } dd { (value) } }
}

/// A payload, a row for each field; long values are folded.
fn fields(payload: &Map) -> Markup {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let value = |value: &Value| {
        let text = shown(value);
        let text = block(&text);
        html! {
            @if text.chars().count() > OPEN { details { summary { (text.chars().take(80).collect::<String>()) "…" } pre { (text) } } }
            @else { pre { (text) } }
        }
    };
    html! {
        dl.facts.payload {
            @for (name, field) in payload.iter() {
                @match field {
                    Value::Null => {},
                    Value::Object(inner) if !inner.is_empty() => {
                        @for (inner, field) in inner.iter() { (fact(&format!("{name}.{}", line(inner)), &value(field))) }
                    },
                    field => (fact(&line(name), &value(field))),
                }
            }
        }
    }
}

fn considered(hook: &Considered) -> Markup {
    let detail = hook.detail.as_deref().map(line).unwrap_or_default();
    let (class, sign, what) = outcome(hook);
    html! {
        li.{ "h-" (class) } {
            span.sign aria-hidden="true" { (sign) }
            div {
                p { b { (line(&hook.hook)) } " " span.said { (what) } @if let Some(time) = hook.took { span.took { (took(time)) } } }
                @if !detail.is_empty() { p.detail { (detail) } }
                p.dim {
                    (hook.layer) " · " (hook.part) " · "
                    // Behind all others is no priority that an author has set.
                    @if hook.priority > i32::MIN { "priority " (hook.priority) " · " }
                    (hook.dialect)
                    @if let Some(origin) = &hook.origin { " · " code { (line(origin)) } }
                }
            }
        }
    }
}

/// The class of an outcome, its sign, and what it says.
fn outcome(hook: &Considered) -> (&'static str, &'static str, String) {
    let said = hook.verdict.map(|verdict| verdict.to_string()).unwrap_or_default();
    match (&*hook.what, hook.verdict) {
        ("answered", Some(Strength::Continue | Strength::Allow)) => ("good", "✓", said),
        ("answered", Some(Strength::Ask)) => ("asked", "?", said),
        ("answered", _) => ("bad", "✕", said),
        ("failed", _) => (
            "failed",
            "!",
            format!("failed ({}), counts as {said}", hook.failed.as_deref().unwrap_or_default()),
        ),
        ("shadow", None) => ("shadow", "◌", "in shadow, without an answer so far".to_owned()),
        ("shadow", Some(_)) => ("shadow", "◌", format!("in shadow: would {said}")),
        _ if hook.is_skipped => ("skipped", "–", hook.why_skipped().to_owned()),
        (what, _) => {
            ("background", "→", format!("{} in the background", what.replace("detached", "started")))
        }
    }
}

fn changes(given: &[Given]) -> Markup {
    let changes: Vec<&Given> = given.iter().filter(|given| given.what.ends_with("change")).collect();
    html! {
        @if !changes.is_empty() { h2 { "What was changed" } }
        @for change in changes {
            figure.diff {
                figcaption {
                    code { (line(change.field.as_deref().unwrap_or_default())) }
                    @if change.what == "change" { " by " } @else { " would have been changed by the shadow " }
                    b { (line(change.hook.as_deref().unwrap_or_default())) }
                }
                pre { @for (sign, text) in difference(change.before.as_deref().unwrap_or("null"), &change.text) {
                    @match sign { '-' => del { "− " (text) "\n" }, '+' => ins { "+ " (text) "\n" }, _ => span { "  " (text) "\n" } }
                } }
            }
        }
    }
}

/// The lines of two values, those that only one has marked; of lines that both have in other places, the later ones.
fn difference(before: &str, after: &str) -> Vec<(char, String)> {
    let lines = |json: &str| {
        let value = json::from_str::<Value>(json).unwrap_or_default();
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| format!("{name}: {}\n", of_field(value))).collect()
            }
            other => other.to_string(),
        };
        text.lines().take(400).map(|text| line(text).into_owned()).collect::<Vec<_>>()
    };
    let (before, after) = (lines(before), lines(after));
    let mut rows: Vec<(char, String)> = Vec::new();
    let mut rest = &after[..];
    for old in &before {
        match rest.iter().position(|new| new == old) {
            Some(at) => {
                rows.extend(rest.iter().take(at).map(|new| ('+', new.clone())));
                rows.push((' ', old.clone()));
                rest = rest.get(at + 1..).unwrap_or_default();
            }
            None => rows.push(('-', old.clone())),
        }
    }
    rows.extend(rest.iter().map(|new| ('+', new.clone())));
    rows
}

fn of_field(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn said(why: &Why) -> Markup {
    let heard: Vec<&Given> = why.given.iter().filter(|given| !given.what.ends_with("change")).collect();
    html! {
        @if !heard.is_empty() { h2 { "What was said" } }
        ul.said-list {
            @for given in heard {
                li {
                    @if given.what == "approval" { (approval(&given.text)) }
                    @else {
                        span.dim {
                            (match &*given.what {
                                "context" => "to the agent's context",
                                "notice" => "to the user",
                                "shadow_context" => "would have gone to the agent's context",
                                "shadow_notice" => "would have gone to the user",
                                _ => "remark",
                            })
                            ", by " b { (line(given.hook.as_deref().unwrap_or_default())) }
                        }
                        pre { (block(&given.text)) }
                    }
                }
            }
        }
    }
}

fn approval(text: &str) -> Markup {
    let approval = json::from_str::<Value>(text).unwrap_or_default();
    let field = |name: &str| line(approval[name].as_str().unwrap_or_default()).into_owned();
    html! {
        b { (field("answer")) } " by " (field("by")) ", " (field("scope"))
        span.dim { " · question " (field("id")) ", answered at " (field("at")) }
    }
}

fn since(since: &[News]) -> Markup {
    html! {
        @if !since.is_empty() {
            h2 { "What became of it" span.count { "times in UTC" } }
            div.scroll { table.rows.small { tbody {
                @for news in since {
                    tr {
                        td.num { (clock(news.time)) }
                        td { b { (line(news.hook.as_deref().unwrap_or_default())) } }
                        td { @if let Some(job) = news.job { "job " (job) } }
                        td { (news.what.replace('_', " ")) }
                        td.num { @if let Some(time) = news.took { (took(time)) } }
                        td.text { (line(news.detail.as_deref().unwrap_or_default())) }
                    }
                }
            } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_keeps_the_lines_that_both_have() {
        let rows = difference(r#""a\nold\nb""#, r#""a\nnew\nb""#);
        let text: Vec<String> = rows.iter().map(|(sign, text)| format!("{sign}{text}")).collect();
        assert_eq!(text, [" a", "-old", "+new", " b"]);
        let rows = difference(r#"{"command":"x"}"#, r#"{"command":"y"}"#);
        assert_eq!(rows.len(), 2);
    }
}
