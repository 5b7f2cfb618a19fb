//! What happened to one event: every hook considered, why it ran or not, what it said, how long it took, what changed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::Serialize;

use crate::json::{Map, Value, json};

use crate::acceptance::Acceptance;
use crate::amendment::Change;
use crate::approval::Approval;
use crate::context::{Append, MessageId, Notice};
use crate::event::AnyEvent;
use crate::hook::Hook;
use crate::journal::Unavailable;
use crate::outcome::{FromHook, Outcome, Round, Run, SkipReason};
use crate::payload::{fields_weight, json_weight};
use crate::roster::Named;
use crate::verdict::Verdict;

mod runs;

pub use runs::Runs;

/// A publisher believes that its session is under other hooks than it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoverageMismatch {
    /// The digest that it stated.
    pub believed: Arc<str>,
    /// The digest of the hooks in force.
    pub in_force: Arc<str>,
}

/// The record of one event.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The event as the hooks have left it.
    pub event: AnyEvent,
    /// The hooks that were considered, in plan order.
    pub hooks: Arc<[Arc<Hook>]>,
    /// The hooks in force at the point that name their tools, of each place that has some; among them those that were
    /// not considered because they are for other tools.
    pub named: Vec<Named>,
    /// What became of them, in the order in which it was settled.
    pub runs: Runs,
    /// The joined verdict.
    pub verdict: Verdict,
    /// The place of the verdict's author; `None` for `continue`.
    pub author: Option<u32>,
    /// What the hooks gave beside verdicts, which the receipt gives as if it were its own; `None` when that is nothing.
    pub given: Option<Box<Given>>,
    /// From the publication to the decision.
    pub took: Duration,
    /// The digest that the publisher stated was not that of the hooks in force when the event was let in.
    pub coverage: Option<Box<CoverageMismatch>>,
    /// Who has answered what its author has asked, in the place of which this verdict stands.
    pub approval: Option<Box<Approval>>,
}

/// What the hooks of one event gave beside their verdicts.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Each field changed, in order.
    pub changes: Vec<FromHook<Change>>,
    /// Messages appended to the context, in order.
    pub context: Vec<FromHook<Append>>,
    /// Messages for the user, in order.
    pub notices: Vec<FromHook<Notice>>,
    /// The messages of the mailbox that are the reason of a block which keeps an agent working. They wait there until the
    /// publisher accepts them.
    pub results: Vec<MessageId>,
    /// What else is worth knowing: refused fields, overridden blocks.
    pub remarks: Vec<FromHook<Cow<'static, str>>>,
    /// What hooks have for the publisher beside the verdict, under names of their formats.
    pub extra: Map,
}

impl Given {
    /// About how many bytes its texts and values take.
    #[must_use]
    pub fn weight(&self) -> usize {
        let texts = self.context.iter().map(|given| given.what.text.len()).sum::<usize>()
            + self.notices.iter().map(|given| given.what.text.len()).sum::<usize>();
        let change =
            |given: &FromHook<Change>| json_weight(&given.what.before) + json_weight(&given.what.after);
        let changes: usize = self.changes.iter().map(change).sum();
        let remarks: usize = self.remarks.iter().map(|given| given.what.len()).sum();
        texts + remarks + changes + fields_weight(&self.extra)
    }
}

static NOTHING: LazyLock<Given> = LazyLock::new(Given::default);

impl Deref for Receipt {
    type Target = Given;

    fn deref(&self) -> &Given {
        self.given.as_deref().unwrap_or(&NOTHING)
    }
}

impl Receipt {
    /// The receipt of an event that was abandoned after this time, before its decision: it has no hooks and no verdict.
    #[must_use]
    pub fn undecided(event: AnyEvent, took: Duration) -> Self {
        Self {
            event,
            hooks: Arc::new([]),
            named: Vec::new(),
            runs: Runs::default(),
            verdict: Verdict::Continue,
            author: None,
            given: None,
            took,
            coverage: None,
            approval: None,
        }
    }

    /// About how many bytes it takes: its event, what hooks have given, and something for each that was considered.
    #[must_use]
    pub fn weight(&self) -> usize {
        const BASE: usize = 1 << 10;
        let runs = self.runs.len() * size_of::<Run>() + self.runs.texts_weight();
        let coverage = self.coverage.as_ref().map_or(0, |mismatch| mismatch.believed.len());
        let approval = self.approval.as_ref().map_or(0, |approval| approval.weight());
        let event = self.event.weight() + self.event.made_weight();
        let given = self.given.as_ref().map_or(0, |given| given.weight());
        BASE + event + runs + self.verdict.weight() + coverage + approval + given
    }

    /// The hook at a place in plan order.
    #[must_use]
    pub fn hook(&self, index: u32) -> Option<&Hook> {
        self.hooks.get(usize::try_from(index).ok()?).map(|hook| &**hook)
    }

    /// The name of the hook at a place in plan order.
    #[must_use]
    pub fn name(&self, index: u32) -> &str {
        self.hook(index).map_or("", |hook| &hook.name)
    }

    /// The hook whose verdict stands.
    #[must_use]
    pub fn author(&self) -> Option<&Hook> {
        self.hook(self.author?)
    }

    /// The hooks that no longer accept anything, because their records are not kept, each with what has happened.
    pub fn unavailable(&self) -> impl Iterator<Item = (&Hook, &Unavailable)> {
        self.runs.iter().filter_map(|run| match &run.outcome {
            Outcome::Offered(Acceptance::Unavailable(unavailable)) => {
                Some((self.hook(run.hook)?, unavailable))
            }
            _ => None,
        })
    }

    /// The hooks in force that were not considered, in plan order, each with why not. They are for other tools, or
    /// switched off, and an event costs no more because of them; so they are looked up only now.
    #[must_use]
    pub fn left_out(&self) -> Vec<(Arc<Hook>, SkipReason)> {
        let considered: HashSet<_> = self.hooks.iter().map(|hook| hook.order()).collect();
        let named = self.named.iter().flatten().flat_map(|named| named.values());
        let mut left_out: Vec<_> =
            named.filter(|hook| !considered.contains(&hook.order())).cloned().collect();
        left_out.sort_by_key(|hook| hook.order());
        // One that a place below has tightened stands in the tables of both.
        left_out.dedup_by_key(|hook| hook.order());
        let why = |hook: &Hook| hook.skip(&self.event).unwrap_or(SkipReason::Filter);
        left_out
            .into_iter()
            .map(|hook| {
                let why = why(&hook);
                (hook, why)
            })
            .collect()
    }

    /// The receipt as one JSON object: the shape that `lineside run --receipts` prints.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let envelope = self.event.envelope();
        let runs = self.runs_json();
        let mut map = Map::new();
        map.insert("id".into(), json!(envelope.id));
        map.insert("session".into(), json!(envelope.source.session));
        map.insert("seq".into(), json!(envelope.seq));
        map.insert("point".into(), json!(self.event.point().name));
        map.insert("verdict".into(), json!(self.verdict.strength()));
        if let Some(reason) = self.verdict.reason() {
            map.insert("reason".into(), json!(reason));
        }
        if let Some(author) = self.author() {
            map.insert("by".into(), json!(author.name));
        }
        map.insert("took_us".into(), micros(self.took));
        map.insert("payload_sha256".into(), json!(self.event.digest()));
        map.insert("hooks".into(), Value::Array(runs));
        let changes: Vec<Value> = self
            .changes
            .iter()
            .map(|FromHook { hook, what }| {
                json!({"by": self.name(*hook), "field": what.field, "before": what.before, "after": what.after})
            })
            .collect();
        map.insert("changes".into(), Value::Array(changes));
        if let Some(mismatch) = &self.coverage {
            map.insert("coverage_mismatch".into(), json!(**mismatch));
        }
        if let Some(approval) = &self.approval {
            map.insert("approval".into(), json!(**approval));
        }
        if !self.extra.is_empty() {
            map.insert("extra".into(), Value::Object(self.extra.clone()));
        }
        map
    }

    /// What became of each hook, in the order in which it was settled; those that were not considered have the places
    /// that plan order gives them.
    fn runs_json(&self) -> Vec<Value> {
        let mut left_out = self.left_out().into_iter().peekable();
        let mut runs = Vec::with_capacity(self.runs.len());
        let skipped = |(hook, why): (Arc<Hook>, SkipReason)| {
            let mut map = head_json(Some(&hook));
            map.insert("skipped".into(), json!(why));
            Value::Object(map)
        };
        for run in &self.runs {
            if let Some(order) = self.hook(run.hook).map(Hook::order) {
                runs.extend(
                    std::iter::from_fn(|| left_out.next_if(|(hook, _)| hook.order() < order)).map(skipped),
                );
            }
            runs.push(Value::Object(self.run_json(run)));
        }
        runs.extend(left_out.map(skipped));
        runs
    }

    fn run_json(&self, run: &Run) -> Map {
        let mut map = head_json(self.hook(run.hook));
        match &run.outcome {
            Outcome::Answered(verdict) => {
                map.insert("said".into(), json!(verdict.strength()));
            }
            Outcome::Failed { failure, verdict } => {
                map.insert("failed".into(), json!(failure.kind));
                map.insert("detail".into(), json!(failure.detail));
                map.insert("taken_as".into(), json!(verdict.strength()));
            }
            Outcome::Skipped(why) => {
                map.insert("skipped".into(), json!(why));
            }
            Outcome::Detached => {
                map.insert("started".into(), json!(true));
            }
            Outcome::Offered(acceptance) => acceptance.write(&mut map),
        }
        if run.round == Round::Rejudge {
            map.insert("again".into(), json!(true));
        }
        if !run.earlier.is_empty() {
            let attempts: Vec<_> = run
                .earlier
                .iter()
                .map(|failure| json!({"failed": failure.kind, "detail": failure.detail}))
                .collect();
            map.insert("earlier_attempts".into(), Value::Array(attempts));
        }
        if run.outcome.has_run() && !matches!(run.outcome, Outcome::Offered(_)) {
            map.insert("took_us".into(), micros(run.took));
        }
        let remarks: Vec<_> =
            self.remarks.iter().filter(|by| by.hook == run.hook).map(|by| by.what.as_ref()).collect();
        if !remarks.is_empty() {
            map.insert("remarks".into(), json!(remarks));
        }
        map
    }
}

fn head_json(hook: Option<&Hook>) -> Map {
    let mut map = Map::new();
    map.insert("hook".into(), json!(hook.map_or("", |hook| &hook.name)));
    if hook.is_some_and(Hook::is_shadow) {
        map.insert("mode".into(), json!("shadow"));
    }
    if let Some(origin) = hook.and_then(|hook| hook.origin.as_ref()) {
        map.insert("origin".into(), json!(origin.to_string()));
    }
    map
}

fn micros(duration: Duration) -> Value {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).into()
}

#[cfg(test)]
mod tests;
