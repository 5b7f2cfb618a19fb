//! A condition over what the calls of an event do.

use std::sync::Arc;

use lineside_commands::filter::{Match, WhenUnclear};
use lineside_commands::{Analysis, CommandFilter, Surroundings};
use lineside_core::hook::Selected;
use lineside_core::json::{Map, Value};
use lineside_core::matcher::Condition;
use lineside_core::point::Slot;
use lineside_core::{AnyEvent, PointInfo, SkipReason};

use crate::account::Account;
use crate::calls::Calls;
use crate::found::Found;
use crate::links::{LocalLinks, alias};
use crate::read::{self, ReadActsError};

/// A condition over what a call does: one call of the event has to meet all of it.
#[derive(Debug, Clone)]
pub struct Acts {
    written: Map,
    filter: CommandFilter,
    unclear: WhenUnclear,
    account: Arc<Account>,
}

impl Acts {
    /// Reads filters as a file has them below `match`; `None` where there is none. Where it is not known whether a call
    /// does what is asked for, `unclear` says what that counts as.
    ///
    /// # Errors
    /// All that is wrong with them, in their order.
    pub fn read(
        written: &Map,
        unclear: WhenUnclear,
        account: &Arc<Account>,
    ) -> Result<Option<Self>, Vec<ReadActsError>> {
        let mut errors = Vec::new();
        let filter = read::read(written, unclear, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let account = Arc::clone(account);
        Ok(filter.map(|filter| Self { written: written.clone(), filter, unclear, account }))
    }

    /// What of a command it matches for, if it does.
    #[must_use]
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        let found = self.filter.matches(analysis, state);
        // What was not read may be anything, and is as easily made as a long comment.
        let is_doubted = found.is_none() && analysis.is_cut && self.unclear == WhenUnclear::Match;
        let cut = analysis.unclear.last().filter(|_| is_doubted);
        found.or_else(|| {
            let unclear = Some(format!("cannot tell what the command does: {}", cut?.reason));
            Some(Match { unclear, ..Match::default() })
        })
    }

    /// What of an event it matches for: for certain where one of the calls does, else in doubt.
    #[must_use]
    pub fn find(&self, event: &AnyEvent) -> Option<Found> {
        Calls::of(event, &self.account, |calls| {
            let links = LocalLinks::new();
            let known = Surroundings { links: Some(&links), ..calls.known() };
            let own = self.account.project.as_deref().unwrap_or(known.project);
            let alias = alias(&links, known.project, own);
            let mut doubt = None;
            for project in [Some(own), alias.as_deref()].into_iter().flatten() {
                let state = Surroundings { project, ..known };
                for call in &calls.calls {
                    match self.matches(&call.analysis, &state) {
                        Some(found) if found.unclear.is_none() => return Some(Found::of(call, found)),
                        Some(found) if doubt.is_none() => doubt = Some(Found::of(call, found)),
                        _ => {}
                    }
                }
            }
            doubt
        })
    }
}

impl Condition for Acts {
    fn select(&self, event: &AnyEvent) -> Selected {
        match self.find(event) {
            None => Selected::Skipped(SkipReason::Filter),
            Some(Found { doubt: Some(doubt), .. }) => Selected::InDoubt(doubt.into()),
            Some(_) => Selected::Runs,
        }
    }

    fn fit(&self, event: &AnyEvent) -> Option<String> {
        self.find(event).map(|found| found.to_string()).filter(|found| !found.is_empty())
    }

    fn describe(&self) -> String {
        let part = |(key, value): (&String, &Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        self.written.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    fn brief(&self) -> String {
        // How doubt is taken is no reason.
        let reasons = self.written.iter().filter(|(key, _)| key.as_str() != "unclear");
        reasons.map(|(key, value)| brief(key, value)).collect::<Vec<_>>().join(" ")
    }

    fn written(&self) -> Map {
        self.written.clone()
    }

    fn has_candidates(&self, point: &PointInfo) -> bool {
        let has = |field: &str| point.field(field).is_some();
        point.slot == Slot::Declared || has("tool_input") || has("tool_calls")
    }
}

/// A part of a filter in a few words: of one that is a list of filters only what each is about.
fn brief(key: &str, value: &Value) -> String {
    let about = |part: &Value| match part {
        Value::Object(fields) if fields.len() == 1 => {
            fields.iter().map(|(key, value)| brief(key, value)).collect()
        }
        Value::Object(fields) => fields.keys().map(String::as_str).collect::<Vec<_>>().join("+"),
        other => other.to_string(),
    };
    match value {
        Value::String(text) => format!("{key}={text}"),
        Value::Array(parts) if matches!(key, "any" | "all") => {
            let mut told: Vec<String> = Vec::new();
            for part in parts.iter().map(about) {
                if !told.contains(&part) {
                    told.push(part);
                }
            }
            format!("{key} of ({})", told.join(", "))
        }
        Value::Object(_) | Value::Array(_) if value.to_string().len() > BRIEF => key.to_owned(),
        other => format!("{key}={other}"),
    }
}

/// How long a value may be that stands there whole, in bytes.
const BRIEF: usize = 24;
