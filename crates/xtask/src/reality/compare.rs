//! What both programmes made of the events, and where they differ.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::artifacts::Artifact;
use super::play::Ours;
use super::table::{Outcome, Row};

/// What a comparison has found.
pub(super) struct Compared {
    /// How many handlers each has.
    pub(super) original: usize,
    pub(super) ours: usize,
    /// How many events met a handler.
    pub(super) events: usize,
    pub(super) differences: Vec<String>,
    /// Why the original does not load it.
    pub(super) refused: Option<String>,
    /// Whether lineside loads it.
    pub(super) loads: bool,
}

/// What came of one event, in the terms of both.
#[derive(Debug, PartialEq)]
struct Observed {
    /// Which handlers ran, in order.
    ran: Vec<String>,
    verdict: &'static str,
    reason: Option<String>,
    /// What was amended or appended.
    changed: Value,
}

pub(super) fn compare(id: &str, original: &Value, ours: &Ours) -> Result<Compared> {
    let own = format!("{id}:");
    let list = |name: &str| original[name].as_array().context("the answer of OpenClaw is cut off");
    let mut differences = Vec::new();
    let mut events = 0;
    let mut handlers = BTreeSet::new();
    for (theirs, receipt) in list("outcomes")?.iter().zip(&ours.receipts) {
        let hook = theirs["hook"].as_str().unwrap_or_default();
        handlers.extend(hooks(receipt).map(|hook| text(&hook["hook"])));
        let (mut there, here) = (of_original(hook, theirs, receipt), of_ours(hook, receipt));
        // OpenClaw has plugins of its own beside it.
        there.ran.retain(|name| name.starts_with(&own));
        events += usize::from(!there.ran.is_empty());
        if there != here {
            differences.push(difference(hook, &there, &here));
        }
    }
    let failed: BTreeSet<String> = list("outcomes")?
        .iter()
        .flat_map(|outcome| outcome["failures"].as_array().into_iter().flatten())
        .filter_map(|line| failure(&text(line)))
        .collect();
    let ours_failed: BTreeSet<String> = ours.said.iter().filter_map(|line| failure(line)).collect();
    if failed != ours_failed {
        differences.push(format!("failures: OpenClaw {failed:?}, lineside {ours_failed:?}"));
    }
    let plugin = list("plugins")?.iter().find(|plugin| plugin["id"] == id);
    let refused = plugin.filter(|plugin| plugin["status"] != "loaded").map(|plugin| text(&plugin["error"]));
    for line in ours.said.iter().filter(|line| line.starts_with("error: plugin")) {
        differences.push(line.chars().take(300).collect());
    }
    // Those of `before_agent_start`, which the original has no more, are not among them.
    let registered = list("hooks")?.iter().filter(|hook| hook["plugin"] == id).count();
    let loads = !ours.said.iter().any(|line| line.starts_with("error: plugin"));
    Ok(Compared { original: registered, ours: handlers.len(), events, differences, refused, loads })
}

/// What the table says of an artifact.
pub(super) fn row(artifact: &Artifact, compared: Result<Compared>) -> Row {
    let compared = match compared {
        Ok(compared) => compared,
        Err(error) => {
            let outcome = Outcome::Failed(format!("{error:#}"));
            return Row { name: artifact.name(), counts: None, outcome };
        }
    };
    let short = |text: &str| text.chars().take(160).collect::<String>();
    let is_explained =
        |(part, _): &(&str, &str)| compared.differences.iter().all(|difference| difference.contains(part));
    let outcome = match (&compared.refused, artifact.explained.filter(is_explained)) {
        (None, _) if compared.differences.is_empty() => Outcome::Same,
        (_, Some((_, why))) => Outcome::Explained(why.to_owned()),
        (Some(why), None) if compared.loads => {
            Outcome::Explained(format!("lineside runs it; OpenClaw does not load it: {}", short(why)))
        }
        (Some(why), None) => Outcome::Neither(short(why)),
        (None, None) => Outcome::Differs(compared.differences),
    };
    let counts = Some([compared.original, compared.ours, compared.events]);
    Row { name: artifact.name(), counts, outcome }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn hooks(receipt: &Value) -> impl Iterator<Item = &Value> {
    receipt["hooks"].as_array().into_iter().flatten()
}

/// Those that ran, under the names that the original has for them.
fn of_ours(hook: &str, receipt: &Value) -> Observed {
    let ran = hooks(receipt).filter(|hook| hook.get("skipped").is_none());
    let name = |hook: &Value| text(&hook["hook"]).split('#').next().unwrap_or_default().to_owned();
    let payload = &receipt["payload"];
    let context: Vec<String> =
        receipt["context"].as_array().into_iter().flatten().map(|message| text(&message["text"])).collect();
    let verdict = match receipt["verdict"].as_str() {
        Some("block") => "block",
        Some("ask") => "ask",
        _ => "continue",
    };
    let changed = match hook {
        "before_tool_call" if verdict != "block" => payload["tool_input"].clone(),
        "before_prompt_build" => json!({ "context": context, "system": payload.get("system_prompt") }),
        "message_sending" if verdict != "block" => payload["content"].clone(),
        "tool_result_persist" => payload["tool_output"].clone(),
        _ => Value::Null,
    };
    let reason = (verdict != "continue").then(|| text(&receipt["reason"]));
    // The original calls what waits for events of hook packs after those of `api.on`.
    let is_of_packs = |name: &String| {
        name.split_once(':').is_some_and(|(_, hook)| hook.contains(':') || !hook.contains('_'))
    };
    let (of_packs, mut all): (Vec<String>, Vec<String>) = ran.map(name).partition(is_of_packs);
    all.extend(of_packs);
    Observed { ran: all, verdict, reason, changed }
}

fn of_original(hook: &str, outcome: &Value, receipt: &Value) -> Observed {
    let ran = outcome["started"].as_array().into_iter().flatten().map(text).collect();
    let result = &outcome["result"];
    let given = receipt["payload"].as_object().cloned().unwrap_or_default();
    let before =
        |field: &str| before(receipt, field).or_else(|| given.get(field).cloned()).unwrap_or_default();
    let blocks = |flag: &str| result[flag] == true;
    let said = |field: &str| result[field].as_str().map(str::to_owned);
    let plain = |verdict, reason, changed| (verdict, reason, changed);
    let (verdict, reason, changed) = match hook {
        "before_tool_call" if blocks("block") => plain("block", said("blockReason"), Value::Null),
        "before_tool_call" => {
            let input = merged(&before("tool_input"), &result["params"]);
            let approval = &result["requireApproval"];
            let reason = format!("{}: {}", text(&approval["title"]), text(&approval["description"]));
            if approval.is_object() {
                plain("ask", Some(reason), input)
            } else {
                plain("continue", None, input)
            }
        }
        "before_prompt_build" => {
            let context: Vec<&str> = ["prependContext", "appendContext"]
                .iter()
                .filter_map(|field| result[*field].as_str())
                .collect();
            let system = prompt(before("system_prompt").as_str(), result);
            plain("continue", None, json!({ "context": context, "system": system }))
        }
        "message_sending" if blocks("cancel") => plain("block", said("cancelReason"), Value::Null),
        "message_sending" => {
            plain("continue", None, result.get("content").cloned().unwrap_or_else(|| before("content")))
        }
        "tool_result_persist" => {
            let parts = result["message"]["content"].as_array();
            let written = parts
                .map(|parts| parts.iter().map(|part| text(&part["text"])).collect::<Vec<_>>().join("\n"));
            plain("continue", None, written.map_or_else(|| before("tool_output"), Value::from))
        }
        "before_agent_finalize" if result["action"] == "revise" => {
            plain("block", said("reason"), Value::Null)
        }
        _ => plain("continue", None, Value::Null),
    };
    Observed { ran, verdict, reason, changed }
}

/// A field as it was before a hook changed it.
fn before(receipt: &Value, field: &str) -> Option<Value> {
    let changes = receipt["changes"].as_array()?;
    let first = changes.iter().find(|change| change["field"] == field)?;
    Some(first["before"].clone())
}

/// The parameters that the original would run.
fn merged(input: &Value, params: &Value) -> Value {
    let mut fields: Map<String, Value> = input.as_object().cloned().unwrap_or_default();
    fields.extend(params.as_object().cloned().unwrap_or_default());
    Value::Object(fields)
}

/// The system prompt that the original would use, if a handler says anything of it.
fn prompt(given: Option<&str>, result: &Value) -> Option<String> {
    let own = result["systemPrompt"].as_str().or(given).map(str::to_owned);
    let parts =
        [result["prependSystemContext"].as_str(), own.as_deref(), result["appendSystemContext"].as_str()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// `before_tool_call handler from guard failed: …`, out of a line of either.
fn failure(line: &str) -> Option<String> {
    let line = line.split_once("[hooks] ").map(|(_, rest)| rest)?;
    let at = line.find(" handler from ")?;
    line.get(at..)?.contains(" failed: ").then(|| line.trim().to_owned())
}

fn difference(hook: &str, there: &Observed, here: &Observed) -> String {
    let short = |value: &Value| value.to_string().chars().take(120).collect::<String>();
    let mut parts = Vec::new();
    if there.ran != here.ran {
        parts.push(format!("ran {:?} in OpenClaw and {:?} in lineside", there.ran, here.ran));
    }
    if (there.verdict, &there.reason) != (here.verdict, &here.reason) {
        parts.push(format!(
            "{} {:?} in OpenClaw, {} {:?} in lineside",
            there.verdict, there.reason, here.verdict, here.reason
        ));
    }
    if there.changed != here.changed {
        parts.push(format!("{} in OpenClaw, {} in lineside", short(&there.changed), short(&here.changed)));
    }
    format!("{hook}: {}", parts.join(", "))
}
