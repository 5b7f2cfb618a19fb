//! What became of each change, over all passes, and what that comes to.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::accepted::Accepted;

/// What became of a change. The greater stands when the passes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Missed,
    /// A test did not come to its end, which is noticed too.
    TimedOut,
    Caught,
    /// It does not compile.
    Unviable,
}

/// The files in which `cargo-mutants` lists the changes.
const LISTS: [(&str, Fate); 4] = [
    ("missed.txt", Fate::Missed),
    ("timeout.txt", Fate::TimedOut),
    ("caught.txt", Fate::Caught),
    ("unviable.txt", Fate::Unviable),
];

/// Changes by name, with line and column.
#[derive(Debug, Default)]
pub(super) struct Fates(BTreeMap<String, Fate>);

impl Fates {
    /// Takes in what one pass has listed.
    pub(super) fn take(&mut self, folder: &Path) -> Result<()> {
        for (file, fate) in LISTS {
            // A list without an entry may not be there.
            let list = fs::read_to_string(folder.join(file)).unwrap_or_default();
            for change in list.lines() {
                self.note(change, fate);
            }
        }
        Ok(())
    }

    fn note(&mut self, change: &str, fate: Fate) {
        let known = self.0.entry(change.to_owned()).or_insert(fate);
        *known = fate.max(*known);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, fate: Fate) -> bool {
        self.0.values().any(|known| *known == fate)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn verdict(&self, accepted: &Accepted) -> Verdict {
        let count = |fate| self.0.values().filter(|known| **known == fate).count();
        let missed =
            self.0.iter().filter(|(_, fate)| **fate == Fate::Missed).map(|(change, _)| change.clone());
        let (accepted_here, missed): (Vec<_>, Vec<_>) = missed.partition(|change| accepted.holds(change));
        let noticed = self.0.iter().filter(|(_, fate)| **fate != Fate::Missed).map(|(change, _)| change);
        let mut stale: Vec<String> = accepted.beyond(self.0.keys()).into_iter().map(str::to_owned).collect();
        stale.extend(noticed.filter(|change| accepted.holds(change)).cloned());
        Verdict {
            caught: count(Fate::Caught),
            timed_out: count(Fate::TimedOut),
            unviable: count(Fate::Unviable),
            missed,
            accepted: accepted_here,
            stale,
        }
    }
}

/// What all of it comes to.
pub(super) struct Verdict {
    caught: usize,
    timed_out: usize,
    unviable: usize,
    missed: Vec<String>,
    accepted: Vec<String>,
    /// Accepted, and noticed all the same or no longer there.
    stale: Vec<String>,
}

impl Verdict {
    /// Of the viable changes that are not accepted, the noticed ones; all of them where there is none.
    pub(super) fn caught_of_a_hundred(&self) -> f64 {
        let noticed = self.caught + self.timed_out;
        let viable = noticed + self.missed.len();
        if viable == 0 { 100.0 } else { noticed as f64 * 100.0 / viable as f64 }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, changes) in
            [("accepted", &self.accepted), ("stale in the list", &self.stale), ("missed", &self.missed)]
        {
            for change in changes {
                writeln!(f, "{what}: {change}")?;
            }
        }
        let Self { caught, timed_out, unviable, missed, accepted, .. } = self;
        let (missed, accepted, share) = (missed.len(), accepted.len(), self.caught_of_a_hundred());
        write!(f, "{caught} caught, {timed_out} timed out, {missed} missed, {accepted} accepted, ")?;
        write!(f, "{unviable} unviable: {share:.1} % are noticed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_pass_can_only_notice_more() {
        let mut fates = Fates::default();
        for (change, fate) in [
            ("a.rs:1:1: x", Fate::Missed),
            ("a.rs:2:1: y", Fate::TimedOut),
            ("a.rs:3:1: z", Fate::Missed),
            ("a.rs:4:1: w", Fate::Unviable),
            ("a.rs:1:1: x", Fate::Caught),
            ("a.rs:2:1: y", Fate::Missed),
        ] {
            fates.note(change, fate);
        }
        let verdict = fates.verdict(&Accepted::default());
        assert_eq!(
            verdict.to_string(),
            "missed: a.rs:3:1: z\n1 caught, 1 timed out, 1 missed, 0 accepted, 1 unviable: 66.7 % are noticed"
        );
    }

    #[test]
    fn nothing_to_notice_is_enough() {
        assert!(Fates::default().verdict(&Accepted::default()).caught_of_a_hundred() >= 100.0);
    }
}
