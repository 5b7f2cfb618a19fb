//! The hooks of one event count together (JC-17 to JC-19, JC-22, JC-35).

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use lineside_core::answer::Beyond;
use lineside_core::ensemble::{Ensemble, Sees};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, AnyEvent, KeepWorking, Verdict};

/// The time of a chain, unless the environment says otherwise (JC-22).
const TIME: Duration = Duration::from_secs(30);
/// The environment's word on it.
const SETTING: &str = "LINESIDE_JCLI_CHAIN_BUDGET_S";

/// A chain.
#[derive(Debug)]
pub(super) struct Chain {
    time: Duration,
}

/// Chains in use. Hooks that a host registers for a session count together with those of the files only if they hold
/// the same value.
static IN_USE: Mutex<Vec<Weak<Chain>>> = Mutex::new(Vec::new());

impl Chain {
    /// The chain with the time that the environment allows.
    pub(super) fn allowed(setting: Option<&str>) -> Arc<Self> {
        let time = setting.and_then(|text| text.trim().parse().ok()).filter(|seconds| *seconds >= 1);
        let time = time.map_or(TIME, |seconds: u32| Duration::from_secs(seconds.into()));
        let mut chains = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = chains.iter().filter_map(Weak::upgrade).find(|chain| chain.time == time) {
            return known;
        }
        let chain = Arc::new(Self { time });
        chains.retain(|chain| chain.strong_count() > 0);
        chains.push(Arc::downgrade(&chain));
        chain
    }

    /// The chain of a runtime.
    pub(super) fn of(places: &crate::Places) -> Arc<Self> {
        Self::allowed(places.variable(SETTING))
    }
}

impl Ensemble for Chain {
    fn sees(&self) -> Sees {
        Sees::Amended
    }

    fn time(&self) -> Option<Duration> {
        Some(self.time)
    }

    fn finalize(&self, _event: &AnyEvent, mut given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        let halted = given.last().is_some_and(|last| {
            let answer = &last.what;
            answer.ends_chain || answer.verdict.strength().is_final()
        });
        if halted {
            let before = given.len().saturating_sub(1);
            // Notices are kept, and what was refused stays recorded (JC-19).
            for FromHook { what, .. } in given.iter_mut().take(before) {
                let (notices, remarks) =
                    (std::mem::take(&mut what.notices), std::mem::take(&mut what.remarks));
                *what = Answer { notices, remarks, ..Answer::default() };
            }
        } else {
            join_feedback(&mut given);
        }
        let stops = given.iter().any(|by| {
            by.what.keep_working.as_ref().is_some_and(|keep_working| keep_working.beyond == Beyond::Stop)
        });
        if stops { given.into_iter().flat_map(while_it_stands).collect() } else { given }
    }
}

/// Makes the feedback of all of them one verdict, in the name of the first (JC-35).
fn join_feedback(given: &mut [FromHook<Answer>]) {
    let own = |by: &FromHook<Answer>| Some(by.what.own.as_deref()?.as_str()?.to_owned());
    let feedback: Vec<String> = given.iter().filter_map(own).collect();
    if let Some(first) = given.iter_mut().find(|by| by.what.own.is_some()) {
        first.what.verdict = Verdict::block(feedback.join("\n\n"));
    }
}

/// Makes each message for the context one that stands or falls with the block: where feedback beyond the limit is a stop,
/// nothing is appended then, whichever hook gave it (JC-36).
fn while_it_stands(by: FromHook<Answer>) -> Vec<FromHook<Answer>> {
    let FromHook { hook, mut what } = by;
    let own = what.keep_working.take().map(|keep_working| keep_working.append);
    let messages: Vec<_> = std::mem::take(&mut what.context).into_iter().chain(own).collect();
    let appended = messages.into_iter().map(|append| Answer {
        keep_working: Some(Box::new(KeepWorking { append, beyond: Beyond::Stop, at_most: None })),
        ..Answer::default()
    });
    std::iter::once(what).chain(appended).map(|what| FromHook { hook, what }).collect()
}

#[cfg(test)]
mod tests;
