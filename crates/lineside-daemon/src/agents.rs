//! Which processes have sessions of agent programs, and what follows from it: whose child a new session is, and that a
//! session ends with its process.
//!
//! The process of a session is the nearest one above its calls that is neither the command of the entry nor a shell
//! around that. It counts for as long as it is there; that it has ended ends its session when two calls have come from it,
//! so that a program around a single call ends nothing.

mod by_tree;
mod persons;
mod refused;
mod whose;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::bus::session::Bequest;
use lineside::core::propagation::SESSION;
use lineside::core::{AttributedBy, Attribution, SessionId};
use lineside::hosts::Ownership;
use lineside::{Bus, Session};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use self::by_tree::ByTree;
pub(crate) use self::by_tree::Of;
use self::refused::{OVER, TOO_DEEP, elsewhere, of_another, together};
use crate::bequests::{Bequests, covers};
use crate::guarded::{AgentAbove, Guarded};
use crate::lineage::{DEEPEST, Lineage, Process};

/// The processes of agents, and those above callers.
pub(crate) struct Agents {
    lineage: Lineage,
    kept: Mutex<Kept>,
    guarded: Guarded,
    by_tree: ByTree,
    /// Whether all that this process starts are hooks.
    starts_hooks_alone: bool,
}

/// What is kept of open sessions. Each entry goes with its session.
#[derive(Default)]
struct Kept {
    roots: BTreeMap<Arc<str>, Root>,
    /// The sessions that were opened by other programs than agents in their own words, with the processes that did so.
    held: HashMap<SessionId, Held>,
    /// The sessions of a process, in the order of their first calls.
    of_process: HashMap<Process, Vec<Arc<str>>>,
    /// What those that have ended leave to what runs below their processes.
    bequests: Bequests,
    /// The session that was looked after last.
    last: Option<Arc<str>>,
}

/// A session, and the process that has it.
struct Held {
    session: Session,
    by: Process,
    how: Hold,
}

/// How a process has come to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Opened,
    /// It was open.
    TakenOver,
}

/// The session of a main agent.
struct Root {
    session: Session,
    process: Option<Process>,
    /// What it leaves when it has ended.
    bequest: Option<Bequest>,
    /// Whether two calls have come from there.
    is_settled: bool,
    last: Instant,
}

/// Where the session of a caller stands.
#[derive(Clone)]
pub(crate) struct Standing {
    /// The session that it is below, if any.
    pub(crate) above: Option<Session>,
    by: AttributedBy,
    /// The process whose session it is.
    pub(crate) process: Option<Process>,
    /// The session of its id is open and no longer that of a program: it ends before the new one is opened.
    pub(crate) is_over: bool,
}

impl Standing {
    /// How a session that is opened now has come to its place.
    pub(crate) fn attribution(&self, bus: &Bus) -> Attribution {
        let process = self.process.map(|process| process.pid);
        Attribution { by: self.by, process, since: bus.wall_clock() }
    }
}

/// Which grant a caller shows.
pub(crate) enum Shown<'a> {
    None,
    Of(&'a Session),
    /// One that is not known; it may be of a session that has ended.
    Over,
}

/// For how long a session of which one call was seen waits for a second one when the process has ended that it came from.
const AROUND_A_CALL: Duration = Duration::from_secs(15 * 60);

impl Agents {
    pub(crate) fn of(state: &Path, starts_hooks_alone: bool, tracker: &TaskTracker) -> Self {
        let (guarded, by_tree) = (Guarded::of(state), ByTree::of(tracker));
        if starts_hooks_alone {
            guarded.mark_hooks();
        }
        Self { lineage: Lineage::default(), kept: Mutex::default(), guarded, by_tree, starts_hooks_alone }
    }

    /// That it is known who asks: not where no process is seen, nor of what a hook has started, which may be a program of an
    /// agent and has shed what says so, nor of what stands below no session of an agent and [is no person
    /// either](Self::is_typed_by_a_person).
    ///
    /// # Errors
    /// It is not: why, and what a person does instead.
    pub(crate) fn is_known(&self, peer: Option<Process>) -> Result<(), String> {
        let line = self.line(peer);
        let is_below_one = !self.is_of_a_hook(&line) && !self.nearest(&line, "").is_empty();
        // One that publishes in a loop is looked up once.
        let is_known = is_below_one || self.is_told_apart_as_a_persons(peer);
        if is_known { Ok(()) } else { self.is_typed_by_a_person(peer) }
    }

    /// Whether a hook, which this process has started, is at the top of this line.
    fn is_of_a_hook(&self, line: &[Process]) -> bool {
        self.starts_hooks_alone && line.last().is_some_and(|top| top.is_own_child())
    }

    /// Where the session `id`, which a process opens by itself, stands.
    ///
    /// # Errors
    /// The grant is of a session that has nothing to do with the one that the process runs below.
    pub(crate) fn standing_of_client(
        &self,
        peer: Option<Process>,
        grant: &Shown<'_>,
    ) -> Result<Standing, String> {
        let line = self.whole_line(peer)?;
        let nearest = self.nearest(line.get(1..).unwrap_or_default(), "");
        let above = together(grant, nearest.last())?;
        Ok(Standing {
            by: self.by(grant, (above.as_ref(), &nearest), peer, &line),
            above,
            process: line.first().copied(),
            is_over: false,
        })
    }

    /// Where the session of a call of an agent program stands, and what is to become of the one that is `open` already as
    /// that of the program.
    ///
    /// # Errors
    /// Why the call is refused, and what to do, in words for people.
    pub(crate) fn standing(
        &self,
        peer: Option<Process>,
        grant: &Shown<'_>,
        root: &str,
        open: Option<&Session>,
    ) -> Result<Standing, String> {
        let line = self.whole_line(peer)?;
        let (serving, had, is_settled) = {
            let kept = self.kept();
            let served = kept.roots.get(root);
            let serving = served.and_then(|root| root.process);
            let had = serving.or_else(|| kept.bequests.process_of(root, &line));
            (serving, had, served.is_some_and(|root| root.is_settled))
        };
        // As an earlier daemon has recorded it, too.
        let recorded = serving.is_none().then(|| self.guarded.holder(root)).flatten();
        let (holder, had) = (serving.or(recorded), had.or(recorded));
        let own = had.and_then(|process| line.iter().position(|above| *above == process));
        let own = own.or_else(|| {
            let first = line.first().is_some_and(|caller| caller.is_hook_command());
            let found = line.iter().skip(first.into()).position(|process| process.may_be_an_agent())?;
            Some(found + usize::from(first))
        });
        let process = own.and_then(|own| line.get(own)).copied();
        let nearest = self.nearest(line.get(own.unwrap_or_default() + 1..).unwrap_or_default(), root);
        let above = together(grant, nearest.last())?;
        if matches!(grant, Shown::Over)
            && above.is_none()
            && (open.is_none() || serving.is_none() || serving != process)
        {
            return Err(OVER.to_owned());
        }
        let by = self.by(grant, (above.as_ref(), &nearest), peer, &line);
        let standing = |is_over| Standing { above: above.clone(), by, process, is_over };
        // Over HTTP no process is seen, and the token may be read by what another agent has started.
        if is_unseen(peer, &line) && holder.is_some_and(Process::is_alive) && matches!(grant, Shown::None) {
            return Err(of_another(root, holder, true));
        }
        let caller = (process, &*line);
        let is_of_another = || match holder {
            Some(holder) => self.is_beside(root, caller, (holder, is_settled || recorded.is_some())),
            None => open.is_some_and(|session| self.is_of_another(root, session, process, peer)),
        };
        let refused = || of_another(root, holder, self.is_of_agent(root, process));
        let Some(session) = open else {
            return if is_of_another() { Err(refused()) } else { Ok(standing(false)) };
        };
        let is_in_place = match &above {
            Some(above) => {
                let of_above = nearest.iter().filter(|one| together(grant, Some(one)).is_ok()).chain([above]);
                let parent = session.source().parent_session.as_ref();
                // What another process has opened further below is under hooks that are not those above this one.
                of_above.into_iter().any(|one| {
                    if process == serving { session.is_below(one) } else { parent == Some(one.id()) }
                })
            }
            None => session.source().parent_session.is_none(),
        };
        if is_in_place && is_of_another() {
            return Err(refused());
        }
        if is_in_place {
            return Ok(standing(false));
        }
        match (serving, &above) {
            (Some(serving), _) if !serving.is_alive() => Ok(standing(true)),
            // Its ancestors have ended, and it stays where it was.
            (Some(own), None) if process == Some(own) => Ok(standing(false)),
            (None, None) => Ok(standing(true)),
            (Some(own), Some(_)) if process == Some(own) && !session.has_own_hooks() => Ok(standing(true)),
            // It cannot be moved, and is under the hooks that it was opened under.
            (Some(own), Some(_)) if process == Some(own) && matches!(grant, Shown::None) => {
                Ok(standing(false))
            }
            (serving, above) => Err(elsewhere(root, above.as_ref(), serving)),
        }
    }

    /// This process has opened a session otherwise than by a call of an agent program, or takes one over whose process has ended.
    pub(crate) fn hold(&self, session: &Session, peer: Option<Process>, how: Hold) {
        let Some(by) = peer.filter(|peer| peer.is_there()) else { return };
        let held = &mut self.kept().held;
        if held.len() == held.capacity() {
            held.retain(|_, held| held.session.is_open());
        }
        let before = held.get(session.id()).filter(|held| held.session.is_open() && held.by.is_alive());
        if before.is_none() {
            held.insert(session.id().clone(), Held { session: session.clone(), by, how });
        }
    }

    /// Whether the process that holds a session is that of the caller or one above it.
    pub(crate) fn proves(&self, session: &Session, peer: Option<Process>) -> bool {
        let holder = self.holder(session).map(|(holder, _)| holder);
        holder.is_some_and(|holder| holder.is_caller(peer) || self.line(peer).contains(&holder))
    }

    /// Whose a session is that stands under the id of a program which calls, and that none of its calls has opened. A program
    /// with hooks on it that is there loses it to a new agent of the user, and to one that it runs below, and to no other.
    pub(crate) fn owner(&self, session: &Session, peer: Option<Process>, caller: &Standing) -> Ownership {
        if self.proves(session, peer) {
            return Ownership::OfHost;
        }
        let line_of = |holder: Process| self.line(Some(holder));
        let holder = self.holder(session).map(|(holder, _)| holder);
        let holder = holder.filter(|holder| session.has_own_hooks() && holder.is_alive());
        let line =
            holder.map(line_of).filter(|line| caller.process.is_none_or(|process| !line.contains(&process)));
        let has_another = || {
            let process = caller.process.as_slice();
            !self.nearest(process, session.id().as_str()).is_empty()
        };
        let is_of_other = match (&caller.above, line) {
            (Some(above), line) => !session.is_below(above) || line.is_some(),
            (None, Some(line)) => has_another() && self.nearest(&line, "").is_empty(),
            (None, None) => false,
        };
        if is_of_other { Ownership::OfOther } else { Ownership::OfStranger }
    }

    /// How the process of the caller has come to a session, if it holds that.
    pub(crate) fn holds(&self, session: &Session, peer: Option<Process>) -> Option<Hold> {
        self.holder(session).filter(|(holder, _)| holder.is_caller(peer)).map(|(_, how)| how)
    }

    /// Whether a process has come to a session, be that there still or not.
    pub(crate) fn is_held(&self, session: &Session) -> bool {
        self.holder(session).is_some()
    }

    /// The process that has opened a session otherwise than by a call of an agent program.
    pub(crate) fn opened_by(&self, session: &Session) -> Option<Process> {
        self.holder(session).map(|(process, _)| process).filter(|process| !process.is_own())
    }

    /// Whether another process than that of the caller holds a session, and is there still.
    pub(crate) fn is_held_elsewhere(&self, session: &Session, peer: Option<Process>) -> bool {
        self.holds(session, peer).is_none() && self.holder(session).is_some_and(|(by, _)| by.is_alive())
    }

    fn holder(&self, session: &Session) -> Option<(Process, Hold)> {
        self.kept()
            .held
            .get(session.id())
            .filter(|held| held.session.is_open())
            .map(|held| (held.by, held.how))
    }

    /// The session that the nearest process above a caller holds; of several that one whose id is the first.
    pub(crate) fn held_above(&self, peer: Option<Process>) -> Option<Session> {
        let line = self.line(peer);
        let kept = self.kept();
        let above = |by: &Process| line.iter().skip(1).position(|process| process == by);
        let open = kept.held.values().filter(|held| held.session.is_open());
        let open = open.filter_map(|held| Some((above(&held.by)?, &held.session)));
        open.min_by_key(|(place, held)| (*place, held.id().as_str())).map(|(_, held)| held.clone())
    }

    /// A process looks at what agents are not to answer: what it was seen below counts when its parent has ended, too.
    pub(crate) fn remember(&self, peer: Option<Process>) {
        peer.into_iter().for_each(|peer| self.lineage.remember(peer));
    }

    /// By what the session above was found. A grant is what the environment says; it is proved by a process above that has
    /// the session, or was started with the grant by this one.
    fn by(
        &self,
        grant: &Shown<'_>,
        (above, nearest): (Option<&Session>, &[Session]),
        peer: Option<Process>,
        line: &[Process],
    ) -> AttributedBy {
        match (grant, above) {
            (Shown::Of(granted), Some(_)) => {
                let is_near = |near: &Session| near.id() == granted.id() || near.is_below(granted);
                let given = || format!("{SESSION}={}", granted.id());
                let was_given = || line.last().is_some_and(|top| top.was_given(given().as_bytes()));
                let is_own = peer.is_some_and(Process::is_own);
                let is_proved =
                    is_own || nearest.iter().any(is_near) || self.proves(granted, peer) || was_given();
                if is_proved { AttributedBy::Grant } else { AttributedBy::Claim }
            }
            (_, Some(_)) => AttributedBy::Ancestry,
            (_, None) if line.is_empty() => AttributedBy::Unknown,
            (_, None) => AttributedBy::Nothing,
        }
    }

    /// A call for the session of this id has come from this process, and has found this one. That it has come counts
    /// whatever becomes of the session, which may end meanwhile, or of this daemon.
    pub(crate) fn note(&self, root: &str, found: Option<&Session>, process: Option<Process>) {
        let (process, is_open) = found.map_or((process, false), |session| self.keep(session, process));
        let Some(process) = process else { return };
        self.note_agent(root, process, is_open);
    }

    /// Keeps that a call of a session has come from this process, and tells which one has it by now, and whether it is open.
    /// Keeps nothing of one that has ended meanwhile, which is forgotten already.
    fn keep(&self, session: &Session, process: Option<Process>) -> (Option<Process>, bool) {
        let root = session.id().as_str();
        let mut kept = self.kept();
        if !session.is_open() {
            return (process, false);
        }
        let before = kept.roots.get(root).and_then(|root| root.process);
        // A call of another process takes over what has no living one.
        let process =
            process.filter(|now| before.is_none_or(|before| before == *now || !before.is_alive())).or(before);
        let is_settled =
            process.is_some_and(|process| before == Some(process) || self.guarded.is_settled(process, root));
        let id: Arc<str> =
            kept.roots.get_key_value(root).map_or_else(|| root.into(), |(id, _)| Arc::clone(id));
        let mut replaced = kept.roots.remove(root);
        let of_same = replaced.as_mut().filter(|before| before.session.number() == session.number());
        let bequest = of_same.and_then(|before| before.bequest.take());
        let bequest = bequest.or_else(|| process.and_then(|_| session.bequeath()));
        let root_of = Root { session: session.clone(), process, bequest, is_settled, last: Instant::now() };
        kept.roots.insert(Arc::clone(&id), root_of);
        let over = replaced.and_then(|before| kept.leaves(before));
        if before != process {
            if let Some(before) = before {
                kept.leave(before, root);
            }
            if let Some(process) = process {
                kept.of_process.entry(process).or_default().push(id);
            }
        }
        drop(kept);
        drop(over);
        (process, true)
    }

    /// A session has ended.
    pub(crate) fn forget(&self, root: &str) {
        let mut kept = self.kept();
        let Some(ended) = kept.roots.remove(root) else { return };
        if let Some(process) = ended.process {
            kept.leave(process, root);
        }
        let over = kept.leaves(ended);
        drop(kept);
        drop(over);
    }

    /// The sessions whose process has ended, or which have no known one and were silent for this long. Looks at so many
    /// of them, in turn.
    pub(crate) fn over(&self, silent: Duration, most: usize) -> Vec<Arc<str>> {
        self.guarded.catch_up();
        let mut kept = self.kept();
        let now = Instant::now();
        let after = kept.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let turn: Vec<_> = kept.roots.range::<Arc<str>, _>((after, Bound::Unbounded)).take(most).collect();
        let is_over = |root: &Root| match root.process {
            Some(process) if root.is_settled => !process.is_alive(),
            // A program around a single call may be all that it was.
            Some(process) if now.duration_since(root.last) > AROUND_A_CALL => !process.is_alive(),
            _ => now.duration_since(root.last) > silent,
        };
        let over = turn.iter().filter(|(_, root)| is_over(root)).map(|(id, _)| Arc::clone(id)).collect();
        // From the first again behind the last.
        kept.last = turn.last().filter(|_| turn.len() == most).map(|(id, _)| Arc::clone(id));
        let let_go = kept.bequests.take_over();
        drop(kept);
        drop(let_go);
        over
    }

    /// How many sessions there are to look after.
    pub(crate) fn count(&self) -> usize {
        self.kept().roots.len()
    }

    /// The line of a process up to where it ends.
    fn whole_line(&self, peer: Option<Process>) -> Result<Vec<Process>, String> {
        let line = self.line(peer);
        if line.len() < DEEPEST { Ok(line) } else { Err(TOO_DEEP.to_owned()) }
    }

    /// A caller and the processes above it; empty where it has ended, whatever has its number by now.
    fn line(&self, peer: Option<Process>) -> Vec<Process> {
        peer.map(|peer| self.lineage.of(peer)).unwrap_or_default()
    }

    /// The sessions of the nearest of these processes that has any but this one: open ones, and those that have ended. At the
    /// end is the one with hooks of its own or of sessions above it, of several the one that called first: neither a further
    /// session, which any process below can open with one call, nor the end of one, which it can send, leads anything out
    /// from under hooks. One that has ended counts where an open one of the same process is not under all of its hooks.
    fn nearest(&self, line: &[Process], but: &str) -> Vec<Session> {
        let kept = self.kept();
        let is_other = |session: &Session| *session.id().as_str() != *but;
        let of = |process: &Process| {
            let ids = kept.of_process.get(process).into_iter().flatten().rev();
            let roots = ids.filter_map(|id| kept.roots.get(id)).filter(|root| is_other(&root.session));
            let is_there = |root: &&Root| root.is_settled && root.session.is_open() || process.is_alive();
            let left = kept.bequests.of(*process).rev().filter(|session| is_other(session));
            let left = left.take_while(|_| process.is_alive());
            let all: Vec<_> = roots.filter(is_there).map(|root| &root.session).chain(left).cloned().collect();
            (!all.is_empty()).then_some(all)
        };
        let mut nearest = line.iter().find_map(of).unwrap_or_default();
        drop(kept);
        let open: Vec<_> = nearest.iter().filter(|session| session.is_open()).cloned().collect();
        let counts = |one: &Session| one.is_open() || !open.iter().any(|open| covers(open, one));
        // What a grant alone says, which any process may have, puts nothing before anything.
        let has_parent = |one: &Session| {
            let source = one.source();
            let is_claim =
                source.attribution.as_ref().is_some_and(|attribution| attribution.by == AttributedBy::Claim);
            source.parent_session.is_some() && !is_claim
        };
        nearest.sort_by_cached_key(|one| (counts(one), one.has_own_hooks(), has_parent(one)));
        nearest
    }

    /// The nearest of these processes that is that of an agent with a session.
    fn agent_among(&self, line: &[Process]) -> Option<AgentAbove> {
        let of = |process: &Process| Some((*process, self.nearest(&[*process], "").pop()?));
        let (process, session) = line.iter().find_map(of)?;
        Some(AgentAbove { pid: process.pid, name: process.command(), session: session.id().to_string() })
    }

    /// The sessions that have ended and leave something to what runs below their processes.
    pub(crate) fn left(&self) -> Vec<Session> {
        self.kept().bequests.all().cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is not known which process asks, above which these are, where the system shows processes.
fn is_unseen(peer: Option<Process>, line: &[Process]) -> bool {
    line.is_empty() && !peer.is_some_and(Process::is_own) && Process::of(std::process::id()).is_some()
}

impl Kept {
    /// A session has ended, or another one has its id. Gives back what is to be let go of without the lock.
    fn leaves(&mut self, ended: Root) -> Option<Bequest> {
        match (ended.process, ended.bequest) {
            (Some(process), Some(bequest)) => self.bequests.add(process, bequest),
            (_, bequest) => bequest,
        }
    }

    fn leave(&mut self, process: Process, root: &str) {
        if let Some(roots) = self.of_process.get_mut(&process) {
            roots.retain(|id| **id != *root);
            if roots.is_empty() {
                self.of_process.remove(&process);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// The process of an agent.
    fn agent() -> (Child, Process) {
        let child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        (child, process)
    }

    #[tokio::test]
    async fn what_is_known_of_a_process_goes_with_its_sessions() {
        let (bus, agents) = (Bus::new(), Agents::of(Path::new("/nonexistent"), false, &TaskTracker::new()));
        let (mut child, process) = agent();
        for number in 0..1_000 {
            let session = bus.session(number.to_string()).open().await.unwrap();
            agents.note(session.id().as_str(), Some(&session), Some(process));
            agents.hold(&session, Some(process), Hold::Opened);
            session.close().await;
        }
        assert_eq!((agents.count(), agents.kept().of_process.len()), (1_000, 1));
        assert!(agents.kept().held.len() < 10, "what is closed goes when there is no room for more");
        (0..1_000).for_each(|number| agents.forget(&number.to_string()));
        assert!(agents.kept().roots.is_empty() && agents.kept().of_process.is_empty());
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn each_session_has_its_turn_and_one_without_a_process_ends_when_it_was_silent_for_long() {
        let (bus, agents) = (Bus::new(), Agents::of(Path::new("/nonexistent"), false, &TaskTracker::new()));
        let opened = (0..10).map(|number| bus.session(number.to_string()).open_now().unwrap());
        let sessions: Vec<Session> = opened.collect();
        let silent = Duration::from_secs(24 * 60 * 60);
        let note = |session: &Session, process| agents.note(session.id().as_str(), Some(session), process);
        sessions.iter().for_each(|session| note(session, None));
        assert!(agents.over(silent, 100).is_empty());
        tokio::time::advance(silent + Duration::from_secs(1)).await;
        // Two calls came from the process of this one, which goes on.
        let (mut child, process) = agent();
        (0..2).for_each(|_| note(&sessions[3], Some(process)));
        let mut over: Vec<_> = (0..4).flat_map(|_| agents.over(silent, 3)).collect();
        over.sort();
        let ids = sessions.iter().map(|session| Arc::<str>::from(session.id().as_str()));
        assert_eq!(over, ids.filter(|id| **id != *"3").collect::<Vec<_>>());
        // One of which a single call was seen ends sooner when its process has ended.
        note(&sessions[4], Some(Process { started: process.started + 1, ..process }));
        tokio::time::advance(AROUND_A_CALL).await;
        assert!(!agents.over(silent, 100).contains(&Arc::from("4")));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(agents.over(silent, 100).contains(&Arc::from("4")));
        child.kill().and_then(|()| child.wait()).unwrap();
    }
}
