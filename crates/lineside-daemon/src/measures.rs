//! What is counted of decisions, hooks, background work and questions, for `/v1/metrics`.
//!
//! The feed hands every signal over as it takes it, so that what a slow reader loses is counted here all the same. Names of
//! hooks and points come from files and from clients: those that come first have figures of their own, and all further ones
//! share those of [`OTHER`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lineside::Signal;
use lineside::core::{Outcome, Receipt, Strength};
use lineside::log::job_kind;

/// How many hooks have figures of their own, and how many points: more than a person tells apart on a page, and with all
/// buckets less than a megabyte of text.
pub(crate) const HOOKS: usize = 256;
pub(crate) const POINTS: usize = 64;

/// The label of all further ones.
pub(crate) const OTHER: &str = "other";

/// The upper bounds of the buckets of times, as labels in seconds.
///
/// A guard or a closure answers within microseconds, a worker within a millisecond, a process within 5 to 100, a server
/// within a second; from one second on an agent waits noticeably, and 60 is the usual limit of a hook in most formats.
pub(crate) const BUCKETS: [(Duration, &str); 14] = [
    (Duration::from_micros(10), "1e-05"),
    (Duration::from_micros(50), "5e-05"),
    (Duration::from_micros(100), "0.0001"),
    (Duration::from_micros(500), "0.0005"),
    (Duration::from_millis(1), "0.001"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(10), "0.01"),
    (Duration::from_millis(50), "0.05"),
    (Duration::from_millis(100), "0.1"),
    (Duration::from_millis(500), "0.5"),
    (Duration::from_secs(1), "1"),
    (Duration::from_secs(5), "5"),
    (Duration::from_secs(10), "10"),
    (Duration::from_secs(60), "60"),
];

/// How long things took.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    /// How many took at most as long as this bucket, and longer than the one before.
    pub(crate) buckets: [u64; BUCKETS.len()],
    pub(crate) count: u64,
    pub(crate) sum: Duration,
}

/// What there is of a point or a hook.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    pub(crate) times: Times,
    /// By verdict, in the order of [`Strength::ALL`].
    pub(crate) verdicts: [u64; Strength::ALL.len()],
    /// How many could not answer.
    pub(crate) failed: u64,
}

/// Figures by name; of a bounded number of names.
#[derive(Debug, Clone)]
pub(crate) struct ByName {
    most: usize,
    known: HashMap<Box<str>, Figures>,
    other: Figures,
}

/// Everything that is counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) points: ByName,
    pub(crate) hooks: ByName,
    /// What has become of jobs; the words are few.
    pub(crate) jobs: HashMap<&'static str, u64>,
    /// Questions that have waited for a person, and what was answered, in the order of [`Strength::ALL`].
    pub(crate) asked: u64,
    pub(crate) answered: [u64; Strength::ALL.len()],
}

/// The counts of a daemon. Bounded in memory.
#[derive(Debug, Default)]
pub(crate) struct Measures(Mutex<Counted>);

impl Times {
    fn note(&mut self, took: Duration) {
        let bucket = BUCKETS.iter().position(|(bound, _)| took <= *bound);
        if let Some(count) = bucket.and_then(|at| self.buckets.get_mut(at)) {
            *count += 1;
        }
        self.count += 1;
        self.sum += took;
    }
}

impl Figures {
    fn note(&mut self, took: Duration, outcome: &Outcome) {
        match outcome {
            Outcome::Answered(verdict) => one_more(&mut self.verdicts, verdict.strength()),
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Skipped(_) | Outcome::Detached | Outcome::Offered(_) => return,
        }
        self.times.note(took);
    }
}

impl ByName {
    fn at_most(most: usize) -> Self {
        Self { most, known: HashMap::new(), other: Figures::default() }
    }

    fn of(&mut self, name: &str) -> &mut Figures {
        // Looked up twice at first, and once from then on.
        if !self.known.contains_key(name) {
            if self.known.len() >= self.most || name == OTHER {
                return &mut self.other;
            }
            self.known.insert(name.into(), Figures::default());
        }
        self.known.get_mut(name).unwrap_or(&mut self.other)
    }

    /// Names and figures, by name; those of all further names last, if there are any.
    pub(crate) fn sorted(&self) -> Vec<(&str, &Figures)> {
        let mut all: Vec<_> = self.known.iter().map(|(name, figures)| (&**name, figures)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all.extend((self.other.times.count > 0).then_some((OTHER, &self.other)));
        all
    }
}

impl Default for Counted {
    fn default() -> Self {
        let (points, hooks) = (ByName::at_most(POINTS), ByName::at_most(HOOKS));
        Self { points, hooks, jobs: HashMap::new(), asked: 0, answered: Default::default() }
    }
}

impl Counted {
    fn hear(&mut self, signal: &Signal) {
        match signal {
            Signal::Decided(receipt) => self.decided(receipt),
            Signal::DetachedFinished { hook, outcome, took, .. } => {
                self.hooks.of(&hook.name).note(*took, outcome);
            }
            Signal::Automation { news, .. } => *self.jobs.entry(job_kind(news)).or_default() += 1,
            Signal::ApprovalAsked { .. } => self.asked += 1,
            Signal::ApprovalAnswered { approval, .. } => {
                one_more(&mut self.answered, approval.verdict.strength());
            }
            _ => {}
        }
    }

    fn decided(&mut self, receipt: &Receipt) {
        let point = self.points.of(receipt.event.point().name);
        one_more(&mut point.verdicts, receipt.verdict.strength());
        point.times.note(receipt.took);
        receipt.runs.each(|hook, took, outcome| {
            // Whatever was left out has no figures, and its name is not looked up.
            if outcome.verdict().is_some() {
                self.hooks.of(receipt.name(hook)).note(took, outcome);
            }
        });
    }
}

impl Measures {
    /// Takes a signal in.
    pub(crate) fn hear(&self, signal: &Signal) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(signal);
    }

    /// What was counted so far.
    pub(crate) fn now(&self) -> Counted {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn one_more(counts: &mut [u64; Strength::ALL.len()], strength: Strength) {
    if let Some(count) = counts.get_mut(strength as usize) {
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_bound_and_further_ones_share_the_figures_of_the_others() {
        let mut names = ByName::at_most(HOOKS);
        let answered = Outcome::Answered(lineside::core::Verdict::Continue);
        for round in 0..2 {
            for number in 0..10 * HOOKS {
                let took = Duration::from_micros(if round == 0 { 10 } else { 11 });
                names.of(&format!("hook {number}")).note(took, &answered);
            }
        }
        let sorted = names.sorted();
        assert_eq!(sorted.len(), HOOKS + 1);
        let (name, others) = sorted.last().unwrap();
        assert_eq!((*name, others.times.count), (OTHER, 2 * 9 * HOOKS as u64));
        assert_eq!(others.times.buckets[..2], [9 * HOOKS as u64; 2], "a bound belongs to its bucket");
        let all: u64 = sorted.iter().map(|(_, figures)| figures.times.count).sum();
        assert_eq!(all, 2 * 10 * HOOKS as u64);
    }

    #[test]
    fn a_hook_that_is_called_other_is_one_of_the_others_and_the_labels_are_the_bounds() {
        let mut names = ByName::at_most(2);
        names.of(OTHER).note(Duration::from_hours(1), &Outcome::Answered(lineside::core::Verdict::Continue));
        assert_eq!(names.sorted().len(), 1);
        assert_eq!(names.other.times.buckets.iter().sum::<u64>(), 0, "it is longer than the last bound");
        for (bound, label) in BUCKETS {
            assert_eq!(label.parse::<f64>().unwrap().to_bits(), bound.as_secs_f64().to_bits());
        }
    }
}
