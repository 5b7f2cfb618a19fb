//! Recorded events as they were published, before any hook changed them, so that they can be published once more.

use lineside_core::json::{self, Map, Value};
use lineside_redact::REDACTED;
use rusqlite::OptionalExtension as _;

use crate::look::{Decision, Look, LookError, Order};
use crate::query::Query;
use crate::redacted::{LEFT_OUT, is_cut};

/// How much of a payload there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    Whole,
    /// All of it but what looked like a secret.
    Redacted,
    /// It was too long, or is not there any more.
    Cut,
}

/// An event that was decided, as it was published.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recorded {
    /// What was decided.
    pub decision: Decision,
    /// The payload before hooks changed it.
    pub payload: Map,
    /// How much of it there is.
    pub kept: Kept,
    /// The working directory.
    pub cwd: Option<String>,
    /// `main` or `subagent`.
    pub agent_kind: String,
    /// The model.
    pub model: Option<String>,
}

impl Look {
    /// The first decisions after a row that a query asks for, in order; 0 is before all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn recorded(&self, query: &Query, after: i64, most: usize) -> Result<Vec<Recorded>, LookError> {
        let found = self.found(query, &format!("e.row > {after}"), Order::First, most)?;
        found.into_iter().map(|decision| self.as_published(decision)).collect()
    }

    fn as_published(&self, decision: Decision) -> Result<Recorded, LookError> {
        let mut payload: Map = json::from_str(&decision.payload).unwrap_or_default();
        let mut is_lost = payload.is_empty() && decision.payload.len() != "{}".len();
        if decision.changes > 0 {
            // The last change first.
            let sql =
                "SELECT field, before FROM said WHERE event = ? AND what = 'change' ORDER BY rowid DESC";
            let mut rows = self.store.prepare_cached(sql)?;
            let mut rows = rows.query([decision.row])?;
            while let Some(row) = rows.next()? {
                let (field, before): (String, String) = (row.get(0)?, row.get(1)?);
                match json::from_str(&before) {
                    Ok(before) => drop(payload.insert(field, before)),
                    Err(_) => is_lost = true,
                }
            }
        }
        let sql = "SELECT s.cwd, s.agent_kind, s.model FROM event e JOIN source s ON s.id = e.source WHERE e.row = ?";
        let mut source = self.store.prepare_cached(sql)?;
        let source = source.query_row([decision.row], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let (cwd, agent_kind, model) = source.optional()?.unwrap_or_default();
        let kept = if is_lost { Kept::Cut } else { Kept::of(&payload) };
        Ok(Recorded { decision, payload, kept, cwd, agent_kind, model })
    }
}

impl Kept {
    /// How much there is of a payload that was in the log.
    #[must_use]
    pub fn of(payload: &Map) -> Self {
        if payload.get(LEFT_OUT).is_some() {
            return Self::Cut;
        }
        payload.iter().map(|(_, value)| of_value(value)).fold(Self::Whole, worse)
    }
}

fn of_value(value: &Value) -> Kept {
    match value {
        Value::String(text) if is_cut(text) => Kept::Cut,
        Value::String(text) if text.contains(REDACTED) => Kept::Redacted,
        Value::Array(values) => values.iter().map(of_value).fold(Kept::Whole, worse),
        Value::Object(fields) if fields.get(LEFT_OUT).is_some() => Kept::Cut,
        Value::Object(fields) => fields.iter().map(|(_, value)| of_value(value)).fold(Kept::Whole, worse),
        _ => Kept::Whole,
    }
}

fn worse(one: Kept, other: Kept) -> Kept {
    match (one, other) {
        (Kept::Cut, _) | (_, Kept::Cut) => Kept::Cut,
        (Kept::Redacted, _) | (_, Kept::Redacted) => Kept::Redacted,
        (Kept::Whole, Kept::Whole) => Kept::Whole,
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::*;
    use crate::redacted::payload;

    fn check(value: &Value, expected: Kept) {
        let text = payload(&value.to_string()).into_owned();
        assert_eq!(Kept::of(&json::from_str(&text).unwrap()), expected, "{text:.200}");
    }

    #[test]
    fn what_was_redacted_or_cut_on_its_way_into_the_log_is_known() {
        check(&json!({"tool_input": {"command": "ls (3 bytes)"}}), Kept::Whole);
        check(&json!({"tool_input": {"password": "hunter2"}}), Kept::Redacted);
        check(&json!({"tool_input": {"content": "x".repeat(20_000)}}), Kept::Cut);
        check(&json!({"all": vec!["x".repeat(10_000); 40]}), Kept::Cut);
    }
}
