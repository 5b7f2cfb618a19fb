//! What became of each change, and what that comes to for each file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::accepted::Accepted;

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Caught,
    /// A test did not come to its end, which is noticed too.
    TimedOut,
    /// No test failed, though some came by it.
    Missed,
    /// No test came by it.
    Unreached,
    /// It does not compile.
    Unviable,
    /// It cannot be switched while a program runs.
    Untried,
}

/// Of the viable changes of a file, at least so many of a hundred have to be noticed.
const ENOUGH: f64 = 95.0;

/// What all of it comes to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    files: BTreeMap<String, Tally>,
    missed: Vec<(String, Fate)>,
    /// Accepted, and noticed all the same or no longer there.
    stale: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    caught: usize,
    missed: usize,
    accepted: usize,
    unviable: usize,
    untried: usize,
}

impl Tally {
    /// Of the viable changes that are not accepted, the noticed ones; all of them where there is none.
    fn caught_of_a_hundred(self) -> f64 {
        let viable = self.caught + self.missed;
        if viable == 0 { 100.0 } else { self.caught as f64 * 100.0 / viable as f64 }
    }

    fn add(&mut self, other: Self) {
        self.caught += other.caught;
        self.missed += other.missed;
        self.accepted += other.accepted;
        self.unviable += other.unviable;
        self.untried += other.untried;
    }
}

impl Verdict {
    /// Judges changes by their names, with line and column.
    pub(super) fn of<'a>(fates: impl IntoIterator<Item = (&'a String, Fate)>, accepted: &Accepted) -> Self {
        let mut verdict = Self::default();
        let (mut tried, mut unnoticed) = (BTreeSet::new(), BTreeSet::new());
        for (change, fate) in fates {
            let file = change.split(':').next().unwrap_or_default();
            let tally = verdict.files.entry(file.to_owned()).or_default();
            tried.insert(change.clone());
            match fate {
                Fate::Caught | Fate::TimedOut => tally.caught += 1,
                Fate::Unviable => tally.unviable += 1,
                Fate::Untried => tally.untried += 1,
                Fate::Missed | Fate::Unreached if accepted.holds(change) => tally.accepted += 1,
                Fate::Missed | Fate::Unreached => {
                    tally.missed += 1;
                    verdict.missed.push((change.clone(), fate));
                }
            }
            // One name may be of several places.
            if fate > Fate::TimedOut {
                unnoticed.insert(super::accepted::without_place(change));
            }
        }
        verdict.stale = accepted.beyond(&tried).into_iter().map(str::to_owned).collect();
        let is_stale = |change: &&String| {
            accepted.holds(change) && !unnoticed.contains(&super::accepted::without_place(change))
        };
        verdict.stale.extend(tried.iter().filter(is_stale).cloned());
        verdict
    }

    /// Whether enough changes of each file are noticed.
    pub(super) fn is_enough(&self) -> bool {
        self.files.values().all(|tally| tally.caught_of_a_hundred() >= ENOUGH)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caught, missed, accepted, unviable, untried } = self;
        let share = self.caught_of_a_hundred();
        write!(f, "{share:5.1} %: {caught} caught, {missed} missed, {accepted} accepted, ")?;
        write!(f, "{unviable} unviable, {untried} untried")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.stale {
            writeln!(f, "stale in the list: {change}")?;
        }
        for (change, fate) in &self.missed {
            writeln!(f, "{}: {change}", if *fate == Fate::Missed { "missed" } else { "unreached" })?;
        }
        let mut all = Tally::default();
        for (file, tally) in &self.files {
            let verdict = if tally.caught_of_a_hundred() >= ENOUGH { "" } else { "  (too few)" };
            writeln!(f, "{tally}  {file}{verdict}")?;
            all.add(*tally);
        }
        write!(f, "{all}  of all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(fates: &[(&str, Fate)], accepted: &str) -> Verdict {
        let fates: Vec<_> = fates.iter().map(|(name, fate)| ((*name).to_owned(), *fate)).collect();
        let accepted = Accepted::parse(accepted).unwrap();
        Verdict::of(fates.iter().map(|(name, fate)| (name, *fate)), &accepted)
    }

    #[test]
    fn each_file_is_judged_for_itself() {
        let found = verdict(
            &[
                ("a.rs:1:1: x", Fate::Caught),
                ("a.rs:2:1: y", Fate::TimedOut),
                ("b.rs:1:1: z", Fate::Missed),
                ("b.rs:2:1: z", Fate::Caught),
                ("b.rs:3:1: v", Fate::Unreached),
                ("b.rs:4:1: w", Fate::Unviable),
            ],
            "# why\nb.rs: z\nb.rs: gone\na.rs: x\n",
        );
        assert!(!found.is_enough());
        assert_eq!(
            found.to_string(),
            "stale in the list: b.rs: gone\n\
             stale in the list: a.rs:1:1: x\n\
             unreached: b.rs:3:1: v\n\
             100.0 %: 2 caught, 0 missed, 0 accepted, 0 unviable, 0 untried  a.rs\n\
             \x2050.0 %: 1 caught, 1 missed, 1 accepted, 1 unviable, 0 untried  b.rs  (too few)\n\
             \x2075.0 %: 3 caught, 1 missed, 1 accepted, 1 unviable, 0 untried  of all"
        );
    }

    #[test]
    fn nothing_to_notice_is_enough() {
        assert!(verdict(&[], "").is_enough());
    }
}
