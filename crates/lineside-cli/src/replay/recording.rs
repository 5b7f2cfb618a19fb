//! Events as they were recorded: in the decision log, or as JSON lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use lineside::core::Strength;
use lineside::json::{self, Map, Value, json};
use lineside::log::{Kept, Look, Query, Recorded};

use crate::log::{StoreArgs, query};

/// How many events are read at once.
const AT_ONCE: usize = 4_096;

/// One recorded event, with what was decided about it.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Its id, where it has one.
    pub(crate) id: Option<String>,
    /// The event, as `lineside run` reads it.
    pub(crate) fields: Map,
    /// How much of its payload there is.
    pub(crate) kept: Kept,
    /// The verdict of the hooks, before a person has answered; that nothing was said of it is `continue`.
    pub(crate) verdict: Strength,
    pub(crate) by: Option<String>,
    pub(crate) reason: Option<String>,
    /// The payload as the hooks left it, where that is known.
    pub(crate) left: Option<Map>,
}

impl Recording {
    /// The event.
    ///
    /// # Errors
    /// It cannot be published once more, for this reason.
    pub(crate) fn event(&self) -> Result<Map, String> {
        match self.kept {
            Kept::Cut => Err("too long to be kept whole".to_owned()),
            Kept::Whole | Kept::Redacted => Ok(self.fields.clone()),
        }
    }

    /// A field that is a text.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// One of the log.
    pub(crate) fn of_log(recorded: Recorded) -> Self {
        let Recorded { decision, payload, kept, cwd, agent_kind, model, .. } = recorded;
        let fields = json!({
            "point": decision.point, "session": decision.session, "time": decision.time.to_string(),
            "agent": {"id": decision.agent, "kind": agent_kind, "type": decision.agent_type},
            "host": decision.host, "project_root": decision.project, "cwd": cwd,
            "model": model.map(|model| json!({"running": model})),
            "parent_session": decision.parent, "payload": payload,
        });
        let (verdict, reason) = of_hooks(decision.of_hooks, decision.verdict, decision.reason);
        Self {
            id: Some(decision.id.to_string()),
            fields: without_null(fields),
            kept,
            verdict,
            by: decision.by,
            reason,
            left: json::from_str(&decision.payload).ok(),
        }
    }

    fn of_line(line: &str) -> Result<Self> {
        let Value::Object(fields) = json::from_str(line).context("it is not JSON")? else {
            bail!("it is no JSON object");
        };
        let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        if text("point").is_none() {
            bail!("it has no `point`");
        }
        let agent = fields.get("agent").cloned().map(|agent| match agent {
            // As `lineside log --json` has it.
            Value::String(id) => {
                let kind =
                    if fields.get("parent").is_some_and(Value::is_string) { "subagent" } else { "main" };
                json!({"id": id, "kind": kind, "type": fields.get("agent_type")})
            }
            other => other,
        });
        let of_event = |field: &str| fields.get(field).cloned();
        let root = of_event("project_root").or_else(|| of_event("project"));
        let event = json!({
            "point": of_event("point"), "session": of_event("session"), "time": of_event("time"), "agent": agent,
            "host": of_event("host"), "project_root": root, "cwd": of_event("cwd"), "turn": of_event("turn"),
            "model": of_event("model"), "extra": of_event("extra"),
            "parent_session": of_event("parent_session").or_else(|| of_event("parent")),
            "payload": of_event("payload"),
        });
        let verdict = match text("verdict") {
            None => Strength::Continue,
            Some(word) => Strength::named(&word).with_context(|| format!("`{word}` is no verdict"))?,
        };
        let said = text("of_hooks").and_then(|word| Strength::named(&word));
        let (verdict, reason) = of_hooks(said, verdict, text("reason"));
        let fields = without_null(event);
        let payload = fields.get("payload").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Self {
            id: text("id"),
            kept: Kept::of(&payload),
            verdict,
            by: text("by"),
            reason,
            left: None,
            fields,
        })
    }
}

/// What the hooks have decided: where a verdict is what came of that, what they had said.
fn of_hooks(said: Option<Strength>, verdict: Strength, reason: Option<String>) -> (Strength, Option<String>) {
    said.map_or((verdict, reason), |said| (said, None))
}

fn without_null(value: Value) -> Map {
    let Value::Object(fields) = value else { return Map::new() };
    let clean = |value: Value| match value {
        Value::Object(inner) if inner.get("kind").is_some() => {
            Value::Object(inner.into_iter().filter(|(_, value)| !value.is_null()).collect())
        }
        other => other,
    };
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name, clean(value)))
        .collect()
}

/// Where events come from.
pub(crate) enum Source {
    /// The log: what a query finds, after a row.
    Log { look: Box<Look>, query: Box<Query>, after: i64, read: VecDeque<Recorded> },
    /// A file, with the number of the next line.
    Lines { name: String, lines: Lines<BufReader<File>>, number: u64 },
}

impl Source {
    /// What these words name: a file that is there, or what a query finds.
    ///
    /// # Errors
    /// The file or the log cannot be read, or the query is none.
    pub(super) fn open(words: &[String], store: &StoreArgs) -> Result<Self> {
        if let [path] = words
            && Path::new(path).is_file()
        {
            let file = File::open(path).with_context(|| format!("cannot read {path}"))?;
            return Ok(Self::Lines { name: path.clone(), lines: BufReader::new(file).lines(), number: 1 });
        }
        Self::of_log(words, store)
    }

    /// What a query finds in the log.
    ///
    /// # Errors
    /// The log cannot be read, or the query is none.
    pub(crate) fn of_log(words: &[String], store: &StoreArgs) -> Result<Self> {
        let (query, look) = (Box::new(query(words)?), Box::new(store.open()?));
        Ok(Self::Log { look, query, after: 0, read: VecDeque::new() })
    }
}

impl Iterator for Source {
    type Item = Result<Recording>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Log { look, query, after, read } => {
                if read.is_empty() {
                    match look.recorded(query, *after, AT_ONCE) {
                        Ok(found) => read.extend(found),
                        Err(error) => return Some(Err(error.into())),
                    }
                }
                let recorded = read.pop_front()?;
                *after = recorded.decision.row;
                Some(Ok(Recording::of_log(recorded)))
            }
            Self::Lines { name, lines, number } => loop {
                let line = match lines.next()? {
                    Ok(line) => line,
                    Err(error) => return Some(Err(error).with_context(|| format!("failed to read {name}"))),
                };
                *number += 1;
                if !line.trim().is_empty() {
                    let place = || format!("{name}:{}", *number - 1);
                    return Some(Recording::of_line(&line).with_context(place));
                }
            },
        }
    }
}
