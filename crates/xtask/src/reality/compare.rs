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
    if let Some(plugin) = plugin.filter(|plugin| plugin["status"] != "loaded") {
        differences.push(format!("OpenClaw does not load it: {}", without_folders(&text(&plugin["error"]))));
    }
    let refusals = ours.said.iter().filter_map(|line| line.strip_prefix("error: plugin "));
    differences.extend(refusals.map(|line| {
        let why = line.split_once("): ").map_or(line, |(_, why)| why);
        format!("lineside does not load it: {}", without_folders(why))
    }));
    // Those of `before_agent_start`, which the original has no more, are not among them.
    let registered = list("hooks")?.iter().filter(|hook| hook["plugin"] == id).count();
    Ok(Compared { original: registered, ours: handlers.len(), events, differences })
}

/// A text in which each absolute path is the name of its file: the folders are those of this run.
fn without_folders(text: &str) -> String {
    let is_end = |character: char| character.is_whitespace() || "\"'()".contains(character);
    let words = text.split_inclusive(is_end).map(|word| match word.strip_prefix('/') {
        Some(path) => path.rsplit('/').next().unwrap_or(path),
        None => word,
    });
    words.collect()
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
    let outcome = explained(&compared.differences, artifact.explained);
    let counts = Some([compared.original, compared.ours, compared.events]);
    Row { name: artifact.name(), counts, outcome }
}

/// What differences come to: each has its explanation word for word, and each explanation its difference.
fn explained(differences: &[String], explanations: &[(&str, &str)]) -> Outcome {
    let is_new = |difference: &&String| explanations.iter().all(|(known, _)| known != difference);
    let is_stale = |(known, _): &&(&str, &str)| differences.iter().all(|difference| known != difference);
    let stale = explanations.iter().filter(is_stale);
    let stale = stale.map(|(known, _)| format!("explained, and not there any more: {known}"));
    let findings: Vec<String> = differences.iter().filter(is_new).cloned().chain(stale).collect();
    if !findings.is_empty() {
        return Outcome::Differs(findings);
    }
    let mut why: Vec<&str> = explanations.iter().map(|(_, why)| *why).collect();
    why.dedup();
    if why.is_empty() { Outcome::Same } else { Outcome::Explained(why.join("; ")) }
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

#[cfg(test)]
mod tests {
    use super::{Outcome, explained, without_folders};

    #[test]
    fn an_explanation_is_of_one_difference_word_for_word() {
        let known = [("a: 1 there, 2 here", "because"), ("b", "because")];
        let outcome = |differences: &[&str]| {
            let differences: Vec<String> = differences.iter().map(|text| (*text).to_owned()).collect();
            explained(&differences, &known)
        };
        assert_eq!(outcome(&["b", "a: 1 there, 2 here"]), Outcome::Explained("because".to_owned()));
        let findings =
            |texts: &[&str]| Outcome::Differs(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(outcome(&["a: 1 there, 2 here", "b", "c"]), findings(&["c"]));
        let stale = "explained, and not there any more: b";
        assert_eq!(outcome(&["a: 1 there, 3 here"]), {
            findings(&["a: 1 there, 3 here", "explained, and not there any more: a: 1 there, 2 here", stale])
        });
        assert_eq!(explained(&[], &[]), Outcome::Same);
    }

    #[test]
    fn the_folders_of_a_run_are_no_difference() {
        let text = "subpath './sdk' of \"/a/b/c.json\" from /x/y/index.js (or /z)";
        assert_eq!(without_folders(text), "subpath './sdk' of \"c.json\" from index.js (or z)");
    }
}
