//! What is claimed about background work of an event: which hooks have accepted it, as which jobs, and what that survives.
//!
//! With a journal, a claim is made when its record is kept and not before.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use lineside_automation::Automations;
use lineside_automation::jobs::is_named;
use lineside_core::journal::{Durability, Unavailable};
use lineside_core::json::{Map, Value, json};
use lineside_core::{AcknowledgedAs, Acknowledgement, Hook, Origin, Outcome, Receipt, Run, SkipReason};
use tokio::time::timeout;

use crate::LoadReport;

/// What one hook has made of an event in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The place of its run in the receipt.
    pub run: usize,
    /// What it has made of the event.
    pub accepted: Acknowledgement,
}

/// Knows which hooks have their runs kept. Clones are the same.
///
/// ```
/// use lineside::automation::Automations;
/// use lineside::claims::Claims;
/// use lineside::core::AcknowledgedAs;
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let automations = Automations::of(&bus)?;
/// let session = bus.session("s1").open().await?;
/// let tidy = session.automate::<OnIdle>("tidy").debounce(Debounce::quiet(secs(1)).at_most(secs(5)));
/// tidy.run(async |_event, _cx| Ok(Report::success("all is in order")))?;
///
/// let decision = session.publish(OnIdle::new()).await?;
/// let receipt = decision.receipt().expect("an automation listens");
/// let claims = Claims::new(Some(automations), &lineside::LoadReport::default());
/// let claimed = claims.of(receipt, secs(1)).await;
/// assert_eq!(claimed[0].accepted.verb, AcknowledgedAs::Held);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Claims {
    automations: Option<Automations>,
    /// By what has loaded them.
    kept: Arc<RwLock<HashMap<String, HashSet<Key>>>>,
}

type Key = (Arc<str>, &'static str, Option<Origin>);

fn key(hook: &Hook) -> Key {
    (Arc::clone(&hook.name), hook.dialect, hook.origin.clone())
}

impl Claims {
    /// The claims of hooks that were loaded on a bus with these automations. Without automations, nothing is claimed to be
    /// kept.
    #[must_use]
    pub fn new(automations: Option<Automations>, report: &LoadReport) -> Self {
        let claims = Self { automations, kept: Arc::default() };
        claims.put("", report);
        claims
    }

    /// The hooks of one place are those of this report from now on: of the user, without a name, or of a project, by its
    /// root.
    pub fn put(&self, place: &str, report: &LoadReport) {
        let own: HashSet<Key> =
            report.hooks.iter().filter(|found| found.kept).map(|found| key(&found.hook)).collect();
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if own.is_empty() {
            kept.remove(place);
        } else {
            kept.insert(place.to_owned(), own);
        }
    }

    fn is_kept(&self, hook: &Hook) -> bool {
        let (key, kept) = (key(hook), self.kept.read().unwrap_or_else(PoisonError::into_inner));
        kept.values().any(|own| own.contains(&key))
    }

    /// What became of an event in the background, as the receipt says it, before anything is kept.
    ///
    /// ```
    /// use lineside::LoadReport;
    /// use lineside::claims::Claims;
    /// use lineside::core::AcknowledgedAs;
    /// use lineside::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let tidy = session.automate::<OnIdle>("tidy").debounce(Debounce::quiet(secs(1)));
    /// tidy.run(async |_event, _cx| Ok(Report::success("all is in order")))?;
    /// let decision = session.publish(OnIdle::new()).await?;
    /// let claims = Claims::new(None, &LoadReport::default());
    /// let claimed = claims.unkept(decision.receipt().expect("an automation listens"));
    /// assert_eq!(claimed[0].accepted.verb, AcknowledgedAs::Held);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn unkept(&self, receipt: &Receipt) -> Vec<Claim> {
        let mut claims = first_word(receipt);
        if let Some(automations) = &self.automations {
            let named = claims.iter_mut().filter(|claim| self.is_job(claim, receipt));
            name_jobs(named, automations, receipt);
        }
        claims
    }

    /// Whether a claim is about a job that is known by its number: one of an automation, or one that is kept.
    fn is_job(&self, claim: &Claim, receipt: &Receipt) -> bool {
        match &receipt.runs[claim.run].outcome {
            Outcome::Offered(acceptance) => acceptance.is_accepted(),
            _ => receipt.hook(receipt.runs[claim.run].hook).is_some_and(|hook| self.is_kept(hook)),
        }
    }

    /// What became of an event in the background. Waits until that is kept, where it is to be, and for `most` of this
    /// time; what is not kept by then is [unavailable](AcknowledgedAs::Unavailable), although there may be a run for it.
    ///
    /// Cancel safe.
    pub async fn of(&self, receipt: &Receipt, most: Duration) -> Vec<Claim> {
        let mut claims = self.unkept(receipt);
        let Some(automations) = &self.automations else { return claims };
        let runs_anyway = |claim: &Claim| !matches!(receipt.runs[claim.run].outcome, Outcome::Offered(_));
        let is_job = |claim: &Claim| self.is_job(claim, receipt);
        if !claims.iter().any(is_job) {
            return claims;
        }
        let kept = match timeout(most, automations.kept()).await {
            Ok(kept) => kept.map_err(NotKept::Never),
            Err(_) => Err(NotKept::Yet(most)),
        };
        for claim in claims.iter_mut().filter(|claim| is_job(claim)) {
            let runs_anyway = runs_anyway(claim);
            let accepted = &mut claim.accepted;
            match &kept {
                Ok(durability) if accepted.job.is_some() || !runs_anyway => {
                    accepted.durability = Some(*durability);
                }
                Ok(_) => {
                    accepted.why = Some(
                        "there are as many jobs as there may be, or their events are too long".to_owned(),
                    );
                }
                Err(not_kept) => {
                    accepted.why = Some(not_kept.to_string());
                    if !runs_anyway || matches!(not_kept, NotKept::Yet(_)) {
                        accepted.verb = AcknowledgedAs::Unavailable;
                        accepted.durability = None;
                    }
                }
            }
        }
        claims
    }
}

/// Why a record is not kept.
#[derive(Debug, thiserror::Error)]
enum NotKept {
    #[error("{0}")]
    Never(Unavailable),
    #[error("its record was not kept within {0:?}; it may run all the same")]
    Yet(Duration),
}

/// What the receipt says, which is said before anything is kept.
fn first_word(receipt: &Receipt) -> Vec<Claim> {
    let claim = |(run, settled): (usize, &Run)| {
        let in_memory = |verb| Acknowledgement {
            hook: Arc::from(receipt.name(settled.hook)),
            verb,
            job: None,
            durability: Some(Durability::Memory),
            why: None,
        };
        let accepted = match &settled.outcome {
            Outcome::Detached => in_memory(AcknowledgedAs::Started),
            Outcome::Skipped(SkipReason::Debounced) => in_memory(AcknowledgedAs::Held),
            Outcome::Offered(acceptance) => {
                let accepted = acceptance.unkept(Arc::from(receipt.name(settled.hook)));
                // The one that it survives when its record is kept.
                let durability = accepted.durability.map(|_| Durability::Memory);
                Acknowledgement { durability, ..accepted }
            }
            _ => return None,
        };
        Some(Claim { run, accepted })
    };
    receipt.runs.iter().enumerate().filter_map(claim).collect()
}

/// Gives each claim the job of its hook. Two hooks of one name have accepted the event in the order of their runs.
fn name_jobs<'a>(claims: impl Iterator<Item = &'a mut Claim>, automations: &Automations, receipt: &Receipt) {
    let mut claims = claims.peekable();
    if claims.peek().is_none() {
        return;
    }
    let mut jobs = automations.jobs().of_event(receipt.event.envelope().id);
    for claim in claims {
        let own = jobs.iter().position(|(automation, _)| is_named(automation, &claim.accepted.hook));
        claim.accepted.job = own.map(|own| jobs.remove(own).1.0);
    }
}

/// Puts claims into the JSON of a decision: as `accepted`, and with the last word in `hooks`, where the decision has them.
pub fn put(claims: &[Claim], decision: &mut Map) {
    if let Some(runs) = decision.get_mut("hooks") {
        claims.iter().for_each(|claim| amend(claim, runs));
    }
    if !claims.is_empty() {
        decision.insert("accepted".to_owned(), to_json(claims));
    }
}

/// Claims as JSON.
pub(crate) fn to_json(claims: &[Claim]) -> Value {
    claims.iter().map(|claim| Value::Object(claim.accepted.to_json())).collect()
}

/// Puts the last word in the place of the first in the receipt.
fn amend(claim: &Claim, runs: &mut Value) {
    let Claim { run, accepted } = claim;
    let Some(run) = runs.get_mut(*run).and_then(Value::as_object_mut) else { return };
    if let Some(durability) = accepted.durability {
        run.insert("durability".to_owned(), json!(durability.as_str()));
    }
    if accepted.is_unkept() {
        if accepted.verb == AcknowledgedAs::Unavailable {
            for word in ["held", "queued", "started", "durability"] {
                run.remove(word);
            }
        }
        run.insert("unavailable".to_owned(), json!(accepted.why));
    }
}
