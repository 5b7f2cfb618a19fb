//! What sessions of agents that have ended leave to the programs below their processes, until these have ended: the end of a
//! session is an event that any of those programs can send.
//!
//! Which process has which session is for `agents`.

use std::collections::HashMap;

use lineside::Session;
use lineside::bus::session::Bequest;

use crate::lineage::Process;

/// How many sessions of a process leave something: those that have ended first do.
const MOST: usize = 64;

/// What is left, by the processes.
#[derive(Default)]
pub(crate) struct Bequests(HashMap<Process, Vec<Bequest>>);

impl Bequests {
    /// A session of a process has ended. Gives back what is not kept, which is let go of without a lock.
    pub(crate) fn add(&mut self, process: Process, bequest: Bequest) -> Option<Bequest> {
        if !process.is_alive() {
            return Some(bequest);
        }
        let left = self.0.entry(process).or_default();
        let adds_nothing = left.iter().any(|before| covers(before.session(), bequest.session()));
        if adds_nothing || left.len() >= MOST {
            return Some(bequest);
        }
        left.push(bequest);
        None
    }

    /// Whether a process has had a session that has ended.
    pub(crate) fn has(&self, process: Process) -> bool {
        self.0.contains_key(&process)
    }

    /// The sessions of a process that have ended, in that order.
    pub(crate) fn of(&self, process: Process) -> impl DoubleEndedIterator<Item = &Session> {
        self.0.get(&process).into_iter().flatten().map(Bequest::session)
    }

    /// Which of these processes has had the session of that id.
    pub(crate) fn process_of(&self, id: &str, line: &[Process]) -> Option<Process> {
        line.iter().copied().find(|process| self.of(*process).any(|session| *session.id().as_str() == *id))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Session> {
        self.0.values().flatten().map(Bequest::session)
    }

    /// Takes out what processes have left that have ended, to be let go of without a lock.
    pub(crate) fn take_over(&mut self) -> Vec<Bequest> {
        self.0.extract_if(|process, _| !process.is_alive()).flat_map(|(_, left)| left).collect()
    }
}

/// Whether everything below one session is under all that another one, which has ended, has for what is below it.
pub(crate) fn covers(one: &Session, ended: &Session) -> bool {
    let is_in = |scope| one.is_in(&scope);
    let is_below = |parent| one.is_below(&parent);
    !ended.has_own_hooks() && ended.scopes().all(is_in) && ended.parent().is_none_or(is_below)
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    #[tokio::test]
    async fn what_adds_hooks_is_kept_within_a_bound_and_the_first_stays() {
        let (bus, process) = (Bus::new(), Process::of(std::process::id()).unwrap());
        let mut bequests = Bequests::default();
        let scopes: Vec<_> = (0..2 * MOST).map(|_| bus.scope()).collect();
        for (number, scope) in scopes.iter().chain(&scopes).enumerate() {
            let session = bus.session(number.to_string()).scope(scope).open().await.unwrap();
            let bequest = session.bequeath().unwrap();
            session.close().await;
            drop(bequests.add(process, bequest));
            assert_eq!(session.has_heirs(), number < MOST, "{number}");
        }
        let left: Vec<_> = bequests.of(process).map(|session| session.id().to_string()).collect();
        assert_eq!(left, (0..MOST).map(|number| number.to_string()).collect::<Vec<_>>());
        assert!(bequests.take_over().is_empty());
    }

    #[tokio::test]
    async fn a_session_covers_another_that_leaves_the_same_and_none_with_more() {
        let bus = Bus::new();
        let (run, scope) = (bus.session("run").open().await.unwrap(), bus.scope());
        let plain = bus.session("plain").open().await.unwrap();
        let below = run.subagent("below").open().await.unwrap();
        let inside = bus.session("inside").scope(&scope).open().await.unwrap();
        let both = run.subagent("both").scope(&scope).open().await.unwrap();
        for ended in [&plain, &below, &inside, &both] {
            assert!(covers(&both, ended));
            let is_plain = ended.number() == plain.number();
            assert_eq!(covers(&plain, ended), is_plain);
        }
        assert!(!covers(&below, &inside) && !covers(&inside, &below));
        let (other, twice) = (bus.scope(), bus.session("twice").scope(&scope).open().await.unwrap());
        assert!(covers(&inside, &twice) && !twice.enter_too(&scope) && twice.enter_too(&other));
        assert!(!covers(&inside, &twice) && covers(&twice, &inside) && !twice.enter_too(&other));
    }
}
