//! Folding the answers of one event's hooks into a verdict: a pure state machine.
//!
//! It holds the laws of the decision: a block is final and ends the chain; the reason is that of the first in plan
//! order; who judged an earlier payload judges once more; an approval of an earlier payload counts for nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::Failure;
use crate::hook::{AfterBlock, Hook, NATIVE, Part};
use crate::outcome::{Outcome, Round, Run, SkipReason};
use crate::receipt::Runs;
use crate::verdict::{Reason, Standing, Strength, Verdict};

/// The chain of one event.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use lineside_core::chain::Chain;
/// use lineside_core::{Hook, Outcome, Part, Round, SkipReason, Verdict};
///
/// let hooks = ["budget", "no-push", "audit"].map(|name| Arc::new(Hook::native(name, Part::Gate)));
/// let mut chain = Chain::new(hooks.into());
/// chain.passed(0, Duration::from_micros(3));
/// let block = Outcome::Answered(Verdict::block("not on Fridays"));
/// chain.record(1, Round::First, Duration::from_millis(2), block);
/// assert_eq!(chain.refuses(2), Some(SkipReason::Blocked));
///
/// let (verdict, author) = chain.decide();
/// assert_eq!((verdict, author), (Verdict::block("not on Fridays"), Some(1)));
/// ```
#[derive(Debug)]
pub struct Chain {
    hooks: Arc<[Arc<Hook>]>,
    runs: Runs,
    /// The authors of the versions that the payload has had so far, the first version's left out.
    authors: Vec<u32>,
    ended_by: Option<u32>,
    /// What counts in the place of questions.
    answered: Option<Verdict>,
}

/// For how many runs room is made beforehand.
const MOST_AT_ONCE: usize = 16;

impl Chain {
    /// A chain over these hooks, in plan order; nothing has run yet.
    #[inline]
    #[must_use]
    pub fn new(hooks: Arc<[Arc<Hook>]>) -> Self {
        let runs = Runs::with_room(hooks.len().min(MOST_AT_ONCE));
        Self { hooks, runs, authors: Vec::new(), ended_by: None, answered: None }
    }

    /// Why the hook at this place may no longer run; `None` when it may.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use lineside_core::chain::Chain;
    /// use lineside_core::{Hook, Outcome, Part, Round, SkipReason, Verdict};
    ///
    /// let hooks = ["no-push", "audit"].map(|name| Arc::new(Hook::native(name, Part::Gate)));
    /// let mut chain = Chain::new(hooks.into());
    /// assert_eq!(chain.refuses(1), None);
    ///
    /// let block = Outcome::Answered(Verdict::block("not on Fridays"));
    /// chain.record(0, Round::First, Duration::ZERO, block);
    /// assert_eq!(chain.refuses(1), Some(SkipReason::Blocked));
    /// ```
    #[inline]
    #[must_use]
    pub fn refuses(&self, hook: u32) -> Option<SkipReason> {
        self.refuses_after(hook, self.ended_by?)
    }

    fn refuses_after(&self, hook: u32, ended_by: u32) -> Option<SkipReason> {
        let (ended_by, hook) = (self.hook(ended_by)?, self.hook(hook)?);
        let within = hook.after_block == AfterBlock::RunWithinDialect && hook.dialect == ended_by.dialect;
        (!within).then_some(SkipReason::Blocked)
    }

    /// Why the hook at this place, which is in shadow, would not have run: one before it had refused the event in the first
    /// round. What comes later does not count, nor does which hook was faster.
    #[must_use]
    pub fn refused_before(&self, hook: u32) -> Option<SkipReason> {
        let ends = |run: &&Run| {
            let verdict = run.outcome.verdict().map(Verdict::strength);
            run.round == Round::First && run.hook < hook && verdict.is_some_and(Strength::is_final)
        };
        let by = self.runs.iter().filter(ends).map(|run| run.hook).min()?;
        self.refuses_after(hook, by)
    }

    /// The hook at this place has given the payload a new version.
    pub fn amended(&mut self, by: u32) {
        self.authors.push(by);
    }

    /// How many amendments the payload has taken.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u32 {
        // A hook amends at most once, and a plan numbers its hooks in 32 bits.
        u32::try_from(self.authors.len()).unwrap_or(u32::MAX)
    }

    /// The hook that amended last.
    #[must_use]
    pub fn last_author(&self) -> Option<&Arc<Hook>> {
        self.hook(*self.authors.last()?)
    }

    /// Whether the hook at this place has said something, or is taken to have.
    #[must_use]
    pub fn has_judged(&self, hook: u32) -> bool {
        self.runs.iter().any(|run| run.hook == hook && run.outcome.verdict().is_some())
    }

    /// Records that the hook at this place had no objection in the first round.
    #[inline]
    pub fn passed(&mut self, hook: u32, took: Duration) {
        if self.authors.is_empty() {
            self.runs.pass(hook, took);
        } else {
            self.record(hook, Round::First, took, Outcome::Answered(Verdict::Continue));
        }
    }

    /// Records what became of the hook at this place.
    pub fn record(&mut self, hook: u32, round: Round, took: Duration, outcome: Outcome) {
        let is_first = round == Round::First && self.authors.is_empty();
        match outcome {
            Outcome::Answered(Verdict::Continue) if is_first => self.runs.pass(hook, took),
            Outcome::Skipped(SkipReason::Filter) if is_first => self.runs.leave_out(hook),
            outcome => self.record_in_full(hook, round, took, outcome),
        }
    }

    fn record_in_full(&mut self, hook: u32, round: Round, took: Duration, outcome: Outcome) {
        let ends = outcome.verdict().is_some_and(|verdict| verdict.strength().is_final());
        if ends && self.ended_by.is_none_or(|first| hook < first) {
            self.ended_by = Some(hook);
        }
        let version = self.version();
        self.runs.push(Run { hook, version, round, took, outcome, earlier: Vec::new() });
    }

    /// What was recorded last of the hook at this place had failed before, like this.
    pub fn failed_before(&mut self, hook: u32, earlier: Vec<Failure>) {
        if let Some(run) = self.runs.iter_mut().rfind(|run| run.hook == hook) {
            run.earlier = earlier;
        }
    }

    /// Adds a hook behind all others, which is in no plan and has its turn now; gives its place.
    pub fn add(&mut self, hook: Arc<Hook>) -> u32 {
        let place = u32::try_from(self.hooks.len()).unwrap_or(u32::MAX);
        self.hooks = self.hooks.iter().cloned().chain([hook]).collect();
        place
    }

    /// The hook at this place, which has had its turn, is taken to have said this of the payload as it is now.
    pub fn decree(&mut self, hook: u32, verdict: Verdict) {
        let version = self.version();
        let ends = verdict.strength().is_final();
        let Some(run) = self.runs.iter_mut().rfind(|run| run.hook == hook) else { return };
        run.version = version;
        match &mut run.outcome {
            Outcome::Answered(said) | Outcome::Failed { verdict: said, .. } => *said = verdict,
            Outcome::Skipped(_) | Outcome::Detached | Outcome::Offered(_) => return,
        }
        if ends && self.ended_by.is_none_or(|first| hook < first) {
            self.ended_by = Some(hook);
        }
    }

    /// The hooks whose questions stand, in the order in which they were recorded, each with why it asks. None where
    /// something stronger stands.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use lineside_core::chain::Chain;
    /// use lineside_core::{Hook, Outcome, Part, Round, Verdict};
    ///
    /// let mut chain = Chain::new([Arc::new(Hook::native("ask-before-push", Part::Gate))].into());
    /// let ask = Outcome::Answered(Verdict::ask("a push leaves this machine"));
    /// chain.record(0, Round::First, Duration::ZERO, ask);
    /// assert_eq!(&*chain.asks()[0].0.name, "ask-before-push");
    ///
    /// chain.answer(Verdict::allow());
    /// assert_eq!(chain.decide().0, Verdict::allow());
    /// ```
    #[must_use]
    pub fn asks(&self) -> Vec<(&Arc<Hook>, &Reason)> {
        let standing = self.runs.iter().map(|run| self.counts(run)).fold(Standing::default(), Standing::join);
        if standing.strength != Strength::Ask || self.runs.is_short() {
            return Vec::new();
        }
        let asks = self.runs.iter().filter(|run| self.counts(run).strength == Strength::Ask);
        asks.filter_map(|run| Some((self.hook(run.hook)?, run.outcome.verdict()?.reason()?))).collect()
    }

    /// The questions that stand were answered: this counts in their place, and nothing else changes. What is stronger than
    /// a question stays what it is, and an answer that is final ends the chain.
    pub fn answer(&mut self, verdict: Verdict) {
        if verdict.strength().is_final() && self.ended_by.is_none() {
            self.ended_by = self.decide().1;
        }
        self.answered = Some(verdict);
    }

    /// Whether a block or stop has ended it.
    #[inline]
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended_by.is_some()
    }

    /// The hooks that judged an earlier payload than the present one and have to judge once more, in plan order.
    /// None once the chain has ended.
    ///
    /// Gates judge again, whichever hook amended. An amender of a foreign format is asked again only if a hook of another
    /// format amended after it: among its own, its page fixes how often each runs.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use lineside_core::chain::Chain;
    /// use lineside_core::{Hook, Part};
    ///
    /// let gate = Hook::native("no-rm", Part::Gate);
    /// let amender = Hook::native("locked-tests", Part::Amender);
    /// let mut chain = Chain::new([gate, amender].map(Arc::new).into());
    /// chain.passed(0, Duration::ZERO);
    /// assert!(chain.stale().is_empty());
    ///
    /// chain.amended(1);
    /// assert_eq!(chain.stale(), [0]);
    /// ```
    #[inline]
    #[must_use]
    pub fn stale(&self) -> Vec<u32> {
        if self.has_ended() || self.authors.is_empty() {
            return Vec::new();
        }
        let mut stale: Vec<u32> =
            self.runs.iter().filter(|run| self.is_stale(run)).map(|run| run.hook).collect();
        stale.sort_unstable();
        stale
    }

    fn is_stale(&self, run: &Run) -> bool {
        let Some(hook) = self.hook(run.hook) else { return false };
        if hook.is_shadow() || hook.ensemble.as_ref().is_some_and(|ensemble| !ensemble.judges_again()) {
            return false;
        }
        // A hook that its matcher left out may be meant by what the payload has become.
        let considered =
            run.outcome.verdict().is_some() || run.outcome == Outcome::Skipped(SkipReason::Filter);
        if !considered {
            return false;
        }
        let judged = usize::try_from(run.version).unwrap_or(usize::MAX);
        let mut later = self.authors.iter().skip(judged);
        match hook.part {
            Part::Gate | Part::LoneGate => later.next().is_some(),
            Part::Amender if hook.dialect != NATIVE => {
                later.any(|author| self.hook(*author).is_some_and(|author| author.dialect != hook.dialect))
            }
            Part::Amender | Part::Detached | Part::PostDecision | Part::Observer => false,
        }
    }

    /// The hook at a place in plan order.
    #[inline]
    #[must_use]
    pub fn hook(&self, place: u32) -> Option<&Arc<Hook>> {
        self.hooks.get(usize::try_from(place).ok()?)
    }

    /// What has run so far, in the order in which it was recorded.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The verdict that stands, and whose it is.
    #[inline]
    #[must_use]
    pub fn decide(&self) -> (Verdict, Option<u32>) {
        if self.runs.is_short() {
            return (Verdict::Continue, None);
        }
        let standing = self.runs.iter().map(|run| self.counts(run)).fold(Standing::default(), Standing::join);
        let author = standing.author;
        if let Some(answered) = self.answered.as_ref().filter(|_| standing.strength == Strength::Ask) {
            return (answered.clone(), author);
        }
        let verdict = self
            .runs
            .iter()
            .rev()
            .filter(|run| Some(run.hook) == author)
            .find_map(|run| run.outcome.verdict().filter(|said| said.strength() == standing.strength))
            .cloned()
            .unwrap_or_default();
        (verdict, author)
    }

    /// The hooks, in plan order.
    #[inline]
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        &self.hooks
    }

    /// The hooks and what became of them, once the verdict is known.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use lineside_core::chain::Chain;
    /// use lineside_core::{Hook, Outcome, Part, Verdict};
    ///
    /// let mut chain = Chain::new([Arc::new(Hook::native("audit", Part::Gate))].into());
    /// chain.passed(0, Duration::from_micros(3));
    ///
    /// let (hooks, runs) = chain.into_parts();
    /// assert_eq!(&*hooks[0].name, "audit");
    /// assert_eq!(runs[0].outcome, Outcome::Answered(Verdict::Continue));
    /// ```
    #[inline]
    #[must_use]
    pub fn into_parts(self) -> (Arc<[Arc<Hook>]>, Runs) {
        (self.hooks, self.runs)
    }

    /// What a run contributes to the verdict.
    fn counts(&self, run: &Run) -> Standing {
        let Some(verdict) = run.outcome.verdict() else {
            return Standing::default();
        };
        let strength = verdict.strength();
        let outdated = run.version < self.version();
        if outdated && run.round == Round::First && self.has_judged_again(run.hook) {
            return Standing::default();
        }
        if outdated && strength == Strength::Allow {
            return Standing::default();
        }
        Standing::of(strength, run.hook)
    }

    fn has_judged_again(&self, hook: u32) -> bool {
        self.runs.iter().any(|run| run.round == Round::Rejudge && run.hook == hook)
    }
}

#[cfg(test)]
mod tests;
