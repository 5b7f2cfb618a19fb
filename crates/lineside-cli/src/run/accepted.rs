//! What a decision claims about background work: which hooks have taken the event, and what that survives.
//!
//! With a journal, a claim is made when its record is kept and not before.

use std::collections::HashSet;
use std::sync::Arc;

use lineside::assembly::Report;
use lineside::automation::Automations;
use lineside::core::journal::Durability;
use lineside::core::{Acceptance, Hook, Origin, Outcome, Receipt, SkipReason};
use lineside::json::{Map, Value, json};

/// What a hook in the background has made of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accepted {
    /// The place of its run in the receipt.
    pub(super) run: usize,
    pub(super) hook: Arc<str>,
    /// The word for it, as in receipts.
    pub(super) word: &'static str,
    /// What the run survives, if there will be one.
    pub(super) durability: Option<Durability>,
    /// Why there will be none, or why it is not kept.
    pub(super) why: Option<String>,
}

/// Knows which hooks have their runs kept.
#[derive(Default)]
pub(super) struct Claims {
    automations: Option<Automations>,
    kept: HashSet<Key>,
}

type Key = (Arc<str>, &'static str, Option<Origin>);

fn key(hook: &Hook) -> Key {
    (Arc::clone(&hook.name), hook.dialect, hook.origin.clone())
}

impl Claims {
    /// The claims of hooks that were loaded on a bus with these automations.
    pub(super) fn new(automations: Option<Automations>, report: &Report) -> Self {
        let kept = report.hooks.iter().filter(|found| found.kept).map(|found| key(&found.hook)).collect();
        Self { automations, kept }
    }

    /// What became of an event in the background. Waits until that is kept, where it is to be.
    pub(super) async fn of(&self, receipt: &Receipt) -> Vec<Accepted> {
        let mut accepted = first_word(receipt);
        let Some(automations) = &self.automations else { return accepted };
        let is_job = |claim: &Accepted| match &receipt.runs[claim.run].outcome {
            Outcome::Offered(acceptance) => acceptance.is_accepted(),
            _ => {
                receipt.hook(receipt.runs[claim.run].hook).is_some_and(|hook| self.kept.contains(&key(hook)))
            }
        };
        if !accepted.iter().any(is_job) {
            return accepted;
        }
        let has_room = automations.has_room();
        let kept = automations.kept().await;
        for claim in accepted.iter_mut().filter(|claim| is_job(claim)) {
            let runs_anyway = !matches!(receipt.runs[claim.run].outcome, Outcome::Offered(_));
            match &kept {
                Ok(durability) if has_room || !runs_anyway => claim.durability = Some(*durability),
                Ok(_) => {
                    claim.why = Some(
                        "there are as many jobs as there may be, or their events are too long".to_owned(),
                    );
                }
                Err(unavailable) => {
                    claim.why = Some(unavailable.to_string());
                    if !runs_anyway {
                        claim.word = "unavailable";
                        claim.durability = None;
                    }
                }
            }
        }
        accepted
    }
}

/// What the receipt says, which is said before anything is kept.
fn first_word(receipt: &Receipt) -> Vec<Accepted> {
    let claim = |(run, settled): (usize, &lineside::core::Run)| {
        let memory = Some(Durability::Memory);
        let (word, durability, why) = match &settled.outcome {
            Outcome::Detached => ("started", memory, None),
            Outcome::Skipped(SkipReason::Debounced) => ("held", memory, None),
            Outcome::Offered(acceptance) => match acceptance {
                Acceptance::Held(durability)
                | Acceptance::Queued(durability)
                | Acceptance::Started(durability) => (acceptance.as_str(), Some(*durability), None),
                Acceptance::Refused(why) => (acceptance.as_str(), None, Some(why.to_string())),
                Acceptance::Unavailable(unavailable) => {
                    (acceptance.as_str(), None, Some(unavailable.to_string()))
                }
                Acceptance::Cancels(_) => (acceptance.as_str(), None, None),
            },
            _ => return None,
        };
        Some(Accepted { run, hook: Arc::from(receipt.name(settled.hook)), word, durability, why })
    };
    receipt.runs.iter().enumerate().filter_map(claim).collect()
}

impl Accepted {
    /// Whether something that was to be kept is not.
    pub(super) fn is_unkept(&self) -> bool {
        self.word != "refused" && self.why.is_some()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut map =
            Map::from_iter([("hook".to_owned(), json!(self.hook)), ("as".to_owned(), json!(self.word))]);
        if let Some(durability) = self.durability {
            map.insert("durability".to_owned(), json!(durability.as_str()));
        }
        if let Some(why) = &self.why {
            map.insert("why".to_owned(), json!(why));
        }
        Value::Object(map)
    }

    /// Puts the last word in the place of the first in the receipt.
    pub(super) fn amend(&self, runs: &mut Value) {
        let Some(run) = runs.get_mut(self.run).and_then(Value::as_object_mut) else { return };
        if let Some(durability) = self.durability {
            run.insert("durability".to_owned(), json!(durability.as_str()));
        }
        if self.is_unkept() {
            if self.word == "unavailable" {
                for word in ["held", "queued", "started", "durability"] {
                    run.remove(word);
                }
            }
            run.insert("unavailable".to_owned(), json!(self.why));
        }
    }
}
