//! The programs that have attached, and the hooks in them: who owns which, who comes back, and who takes over.

mod entries;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use lineside::bus::register::RegisterHookError;
use lineside::core::{Reach, SessionId};
use lineside::{Assembly, AttachHookError, AttachedHook, Attachment, Session};
use tokio::time::timeout;

pub(crate) use self::entries::{Entry, ReadEntry};
use self::entries::{Patterns, Weighed};
use crate::aside::Aside;
use crate::inherited::Inherited;
use crate::problem::Problem;
use crate::random;
use crate::shares::{Share, Shares, Tree};

/// How many programs are attached at most, those included that are away and have hooks.
const MOST: usize = 1_024;
/// How many hooks all of them have together.
const MOST_HOOKS: usize = 65_536;

/// How long all is that programs declare of their hooks, in bytes, with what their patterns have compiled to.
const MOST_BYTES: usize = 64 << 20;

/// From what size on all patterns of the hooks of programs are much to search for in one event, in bytes of what they compile to:
/// that of dozens of usual ones.
const MUCH: usize = 128 << 10;

/// How long a registration waits for the hello of its program, in steps of [`STEP`].
///
/// A daemon that does not run, because its machine is busy or was asleep, counts one step for all that time: the program
/// may not have run either.
const GREETING: u32 = 50;
/// One of these steps.
const STEP: Duration = Duration::from_millis(100);

/// How long a place is kept for a program that has asked for it and is not there yet.
const COMING: Duration = Duration::from_secs(10);

/// All of them.
pub(crate) struct Attachments {
    state: Mutex<State>,
    programs: Shares,
    hooks: Shares,
    bytes: Shares,
    /// What the patterns of all hooks have compiled to, in bytes.
    patterns: Arc<AtomicUsize>,
    /// Where entries are read: to compile what is in one may take some tenths of a second.
    reading: Aside,
}

impl Default for Attachments {
    /// Numbers begin elsewhere in each daemon, so that one of an earlier daemon takes no other hook away.
    fn default() -> Self {
        Self {
            state: Mutex::new(State { last: random::first_number(), ..State::default() }),
            programs: Shares::of(MOST),
            hooks: Shares::of(MOST_HOOKS),
            bytes: Shares::of(MOST_BYTES),
            patterns: Arc::default(),
            reading: Aside::default(),
        }
    }
}

#[derive(Default)]
struct State {
    /// By their tokens, which are known to the program alone.
    programs: HashMap<String, Program>,
    /// By session and name.
    hooks: HashMap<SessionId, HashMap<String, Owned>>,
    /// Those of sessions that have ended, which sessions below these are under still.
    inherited: Inherited<Owned>,
    /// How many hooks there are, and how long their declarations are together.
    count: usize,
    bytes: usize,
    last: u64,
}

struct Program {
    place: Attachment,
    /// When it has last asked for its place.
    asked: Instant,
    /// Its part of what its tree of processes has.
    _share: Option<Share>,
}

struct Owned {
    number: u64,
    session: Session,
    /// The token of its program.
    owner: String,
    /// What the program calls it.
    called: String,
    by: Registrant,
    /// How long its declaration is, with what its patterns have compiled to.
    bytes: usize,
    /// What it was declared as.
    reach: Reach,
    text: String,
    hook: AttachedHook,
    _patterns: Patterns,
    /// Their parts of what the tree of processes has that registered it.
    _shares: Option<[Share; 2]>,
}

/// A hook that was registered.
pub(crate) struct Registered {
    pub(crate) number: u64,
    pub(crate) warnings: Vec<String>,
}

/// A hook as it was declared.
#[cfg(feature = "nats")]
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Declared {
    pub(crate) number: u64,
    pub(crate) reach: Reach,
    /// As in a file, in JSON.
    pub(crate) text: String,
}

/// Who registers a hook.
#[derive(Clone)]
pub(crate) enum Registrant {
    /// The user, outside of all agents.
    User,
    /// A program that is below an agent or shows a grant, with the session that it may act below.
    Below(Session),
    /// One of which it is not known whether an agent has started it.
    Unknown,
}

/// Who takes a hook away.
pub(crate) enum Remover {
    /// The user, outside of all agents.
    User,
    /// The program of this token, which is below an agent or shows a grant.
    Program(String),
}

impl Owned {
    /// Whether a hook of another program may take its place when its own is gone: one whose program was confined below a
    /// session is no better than others there, and one of the user's gives way to the user alone.
    fn yields_to(&self, other: &Registrant) -> bool {
        match (other, &self.by) {
            (Registrant::User, _) | (Registrant::Unknown, Registrant::Unknown) => true,
            (Registrant::Below(other), Registrant::Below(own)) => {
                own.id() == other.id() || own.is_below(other)
            }
            _ => false,
        }
    }

    /// Whether its session has ended, and another one is under it still.
    fn is_inherited(&self) -> bool {
        !self.session.is_open() && self.session.has_heirs()
    }
}

impl Attachments {
    /// A place for a program: the one that it had, when it is known and its token is, else a new one with its token.
    ///
    /// # Errors
    /// There are too many, in all or in its tree of processes, or the system has no randomness.
    pub(crate) fn place(
        &self,
        token: Option<&str>,
        tree: Option<Tree>,
    ) -> Result<(String, Attachment), Problem> {
        let mut state = self.state();
        let now = Instant::now();
        if let Some((token, program)) = token.and_then(|token| Some((token, state.programs.get_mut(token)?)))
        {
            program.asked = now;
            return Ok((token.to_owned(), program.place.clone()));
        }
        state.tidy(now);
        if state.programs.len() >= MOST {
            let detail = format!("{MOST} programs are attached, or are away and have hooks");
            return Err(too_many(detail));
        }
        let share = tree.map(|tree| self.programs.take(tree, 1).ok_or(tree)).transpose();
        let share = share.map_err(|tree| {
            let most = self.programs.most(tree);
            too_many(format!("{most} programs are attached of those that {}", started(tree)))
        })?;
        let Ok(bytes) = random::bytes::<16>() else {
            return Err(too_many("the system has no randomness for a token"));
        };
        let token = random::hex(bytes);
        let place = Attachment::new();
        state.programs.insert(token.clone(), Program { place: place.clone(), asked: now, _share: share });
        Ok((token, place))
    }

    /// Waits until the program of a token has said hello, so that its hooks can be asked once they are registered.
    ///
    /// # Errors
    /// It is not known, or says nothing in time.
    pub(crate) async fn greeted(&self, token: &str) -> Result<(), Problem> {
        let place =
            self.state().programs.get(token).map(|program| program.place.clone()).ok_or_else(unknown)?;
        for _ in 0..GREETING {
            if timeout(STEP, place.connected()).await.is_ok() {
                return Ok(());
            }
        }
        let detail = format!("the program has not said hello within {} s", (STEP * GREETING).as_secs());
        Err(Problem::conflict("not-attached", "The program has not attached", detail))
    }

    /// Registers a hook of a program on a session; `confined` is the session below which the registering program is confined,
    /// `None` for the user. One of the same name there whose program is gone gives way to it, as does what the program had
    /// declared of this hook before; one that is this hook already stays.
    ///
    /// # Errors
    /// The program is not known, the entry is none, or it is too long, or its patterns are too large, a program that is there
    /// has a hook of that name on the session, or one that was confined less, or there are too many.
    pub(crate) fn register(
        &self,
        assembly: &Assembly,
        session: &Session,
        ReadEntry { entry, hook }: ReadEntry,
        by: Registrant,
    ) -> Result<Registered, Problem> {
        let Entry { owner, called, reach, name, text } = entry;
        let mut state = self.state();
        let Some(place) = state.programs.get(&owner).map(|program| program.place.clone()) else {
            return Err(unknown());
        };
        let before = state.hooks.get(session.id()).and_then(|hooks| hooks.get(&name));
        let before = before.filter(|before| before.session.is_open());
        let is_own = |before: &&Owned| before.owner == owner && before.called == called;
        // A program whose connection broke before the answer asks again. What it declares otherwise takes the place.
        if let Some(same) =
            before.filter(is_own).filter(|before| (before.reach, &before.text) == (reach, &text))
        {
            return Ok(Registered { number: same.number, warnings: same.hook.warnings().to_vec() });
        }
        if before.is_some_and(|before| !is_own(&before) && state.is_there(&before.owner)) {
            let detail = format!(
                "hook `{name}` of session `{}` lives in a program that is there; it can be taken over when that is gone",
                session.id()
            );
            return Err(Problem::conflict("hook-owned", "The hook has an owner", detail));
        }
        if before.is_some_and(|before| before.owner != owner && !before.yields_to(&by)) {
            return Err(owned_elsewhere(&name, session));
        }
        let Weighed { hook, bytes, patterns, shares } = hook?;
        let is_full = |state: &State| state.count >= MOST_HOOKS || state.bytes + bytes > MOST_BYTES;
        if is_full(&state) {
            state.tidy(Instant::now());
            if is_full(&state) {
                let detail = format!(
                    "{} hooks of {} bytes are registered by programs; there may be {MOST_HOOKS} of {MOST_BYTES}",
                    state.count, state.bytes
                );
                return Err(too_many(detail));
            }
        }
        let hook = assembly.attach(session, &place, reach, hook).map_err(|error| not_attached(&error))?;
        let warnings = hook.warnings().to_vec();
        state.last += 1;
        let number = state.last;
        let owned = Owned {
            number,
            session: session.clone(),
            owner,
            called,
            by,
            bytes,
            reach,
            text,
            hook,
            _patterns: patterns,
            _shares: shares,
        };
        state.bytes += bytes;
        // The new one is in force before the one before it leaves: no event comes in between.
        let own = state.hooks.entry(session.id().clone()).or_default();
        let before = own.insert(name.clone(), owned);
        let now = own.get(&name).map(|owned| &owned.hook);
        match (before, now) {
            // Of an earlier session of that id.
            (Some(before), _) if before.is_inherited() => {
                let session = before.session.clone();
                state.inherited.add(&session, before);
                state.count += 1;
            }
            (Some(before), Some(now)) => {
                before.hook.give_way_to(now);
                state.bytes -= before.bytes;
            }
            _ => state.count += 1,
        }
        Ok(Registered { number, warnings })
    }

    /// The parts of a hook of this length in what a tree may have.
    fn shares(&self, tree: Tree, bytes: usize) -> Result<[Share; 2], Problem> {
        let [hook, length] = [(&self.hooks, 1), (&self.bytes, bytes)].map(|(of, much)| of.take(tree, much));
        hook.zip(length).map(Into::into).ok_or_else(|| {
            let [hooks, bytes] = [&self.hooks, &self.bytes].map(|of| of.most(tree));
            too_many(format!("at most {hooks} hooks of {bytes} bytes are of programs that {}", started(tree)))
        })
    }

    /// Takes a hook of a session away, for its program or for one that is not confined. `false` when there is none of
    /// that number.
    ///
    /// # Errors
    /// It is the hook of another program.
    pub(crate) fn remove(&self, session: &Session, number: u64, by: &Remover) -> Result<bool, Problem> {
        // Under the lock: a registration of the same name comes wholly before or wholly after.
        let mut state = self.state();
        let mut hooks = state.hooks.get(session.id()).into_iter().flatten();
        if let Some((name, owned)) = hooks.find(|(_, owned)| owned.number == number)
            && !matches!(by, Remover::User)
            && !matches!(by, Remover::Program(token) if *token == owned.owner)
        {
            return Err(owned_elsewhere(name, session));
        }
        let removed = state.take(session.id(), |owned| owned.number == number);
        let any = !removed.is_empty();
        removed.into_iter().for_each(|owned| owned.hook.remove());
        drop(state);
        Ok(any)
    }

    /// The hooks of a session that hold below it, as they were declared.
    #[cfg(feature = "nats")]
    pub(crate) fn declared(&self, session: &Session) -> Vec<Declared> {
        let state = self.state();
        let is_of =
            |owned: &&Owned| owned.session.number() == session.number() && owned.reach != Reach::Itself;
        let open = state.hooks.get(session.id()).into_iter().flat_map(HashMap::values);
        let mut all: Vec<&Owned> = open.chain(state.inherited.of(session)).filter(is_of).collect();
        // As they were registered.
        all.sort_by_key(|owned| owned.number);
        let entry =
            |owned: &Owned| Declared { number: owned.number, reach: owned.reach, text: owned.text.clone() };
        all.into_iter().map(entry).collect()
    }

    /// The program that has a hook of a session, and what it calls that.
    #[cfg(feature = "nats")]
    pub(crate) fn seat(&self, session: &Session, number: u64) -> Option<(Attachment, String)> {
        let state = self.state();
        let open = state.hooks.get(session.id()).into_iter().flat_map(HashMap::values);
        let mut all = open.chain(state.inherited.of(session));
        let owned = all.find(|owned| owned.number == number)?;
        Some((state.programs.get(&owned.owner)?.place.clone(), owned.called.clone()))
    }

    /// A session is over: what is known of its hooks goes, as far as no session below it is under them.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut state = self.state();
        state.release(session);
        state.release_inherited();
        drop(state);
    }

    /// Whether what the hooks of programs search for is so much that an event may keep a thread for long.
    pub(crate) fn search_much(&self) -> bool {
        self.patterns.load(Ordering::Relaxed) > MUCH
    }

    /// Whether programs have hooks on an open session.
    pub(crate) fn are_on(&self, session: &Session) -> bool {
        let state = self.state();
        let hooks = state.hooks.get(session.id());
        hooks.is_some_and(|hooks| hooks.values().any(|owned| owned.session.is_open()))
    }

    /// How many programs are attached and there, and how many hooks there are in programs that are not.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state();
        let there = state.programs.values().filter(|program| program.place.is_there()).count();
        let hooks = state.hooks.values().flat_map(HashMap::values);
        (there, hooks.filter(|owned| owned.session.is_open() && !state.is_there(&owned.owner)).count())
    }

    /// How many hooks of programs there are, and how many bytes their declarations have.
    pub(crate) fn kept(&self) -> (usize, usize) {
        let state = self.state();
        (state.count, state.bytes)
    }

    /// Closes all connections after the calls that are under way.
    pub(crate) async fn end(&self) {
        let all: Vec<Attachment> =
            self.state().programs.values().map(|program| program.place.clone()).collect();
        futures_util::future::join_all(all.iter().map(Attachment::shutdown)).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_there(&self, owner: &str) -> bool {
        self.programs.get(owner).is_some_and(|program| program.place.is_there())
    }

    /// Takes these hooks of one session out.
    fn take(&mut self, session: &SessionId, leaves: impl Fn(&Owned) -> bool) -> Vec<Owned> {
        let Some(hooks) = self.hooks.get_mut(session) else { return Vec::new() };
        let taken: Vec<Owned> = hooks.extract_if(|_, owned| leaves(owned)).map(|(_, owned)| owned).collect();
        if hooks.is_empty() {
            self.hooks.remove(session);
        }
        self.count -= taken.len();
        self.bytes -= taken.iter().map(|owned| owned.bytes).sum::<usize>();
        taken
    }

    /// Lets go of the hooks of a session that is over, but for those that are inherited.
    fn release(&mut self, session: &SessionId) {
        for owned in self.take(session, |owned| !owned.session.is_open()) {
            if owned.is_inherited() {
                self.count += 1;
                self.bytes += owned.bytes;
                let session = owned.session.clone();
                self.inherited.add(&session, owned);
            } else {
                self.let_go(owned);
            }
        }
    }

    /// Nothing is under a hook any more. Its program may have kept it for sessions below, whose ends it does not see.
    fn let_go(&self, owned: Owned) {
        if let Some(program) = self.programs.get(&owned.owner) {
            program.place.release(&owned.called);
        }
        owned.hook.remove();
    }

    /// Lets go of the hooks that were inherited by sessions which are over as well.
    fn release_inherited(&mut self) {
        for owned in self.inherited.take_released() {
            self.count -= 1;
            self.bytes -= owned.bytes;
            self.let_go(owned);
        }
    }

    /// Lets go of hooks whose sessions are over, and of programs that are gone and have none.
    fn tidy(&mut self, now: Instant) {
        let sessions: Vec<SessionId> = self.hooks.keys().cloned().collect();
        sessions.iter().for_each(|session| self.release(session));
        self.release_inherited();
        let owned = self.hooks.values().flat_map(HashMap::values).chain(self.inherited.iter());
        let owners: HashSet<&String> = owned.map(|owned| &owned.owner).collect();
        let is_coming = |program: &Program| now.duration_since(program.asked) < COMING;
        self.programs.retain(|token, program| {
            is_coming(program) || program.place.is_there() || owners.contains(token)
        });
    }
}

fn owned_elsewhere(name: &str, session: &Session) -> Problem {
    let detail = format!(
        "hook `{name}` of session `{}` is that of another program; its own, or the user outside of all agents, takes it away",
        session.id()
    );
    Problem::new(StatusCode::FORBIDDEN, "hook-owned", "The hook has an owner", detail)
}

fn unknown() -> Problem {
    let detail = "`attachment` is not the token of a program that has attached; POST /v1/attach gives one";
    Problem::conflict("not-attached", "The program has not attached", detail)
}

/// What all in a tree have in common.
fn started(tree: Tree) -> &'static str {
    match tree {
        Tree::Agent(_) => "this agent has started",
        Tree::Person | Tree::Rest => "no agent has started",
    }
}

fn too_many(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attachments", "Too much is attached", detail)
}

fn not_attached(error: &AttachHookError) -> Problem {
    match error {
        AttachHookError::Register(RegisterHookError::Closed(_)) => {
            Problem::conflict("session-closed", "The session is closed", error.to_string())
        }
        AttachHookError::Automations(why) => {
            Problem::conflict("not-registered", "The hook cannot be registered", format!("{error}: {why}"))
        }
        _ => Problem::bad_request(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::poll;
    use lineside::automation::Automations;
    use lineside::points::OnIdle;
    use tokio::time::advance;

    use super::entries::{LONGEST_ENTRY, MOST_READ, declared};
    use super::*;
    use crate::lineage::Process;

    #[tokio::test]
    async fn what_programs_declare_of_their_hooks_has_a_bound_for_each_and_for_all() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let session = assembly.bus().session("s").open().await.unwrap();
        let (owner, _place) = all.place(None, None).unwrap();
        let register = |name: &str, length: usize| {
            let fill = "x".repeat(length);
            let text = format!(r#"{{"name": "{name}", "on": "on_idle", "description": "{fill}"}}"#);
            let (owner, called, name) = (owner.clone(), name.to_owned(), name.to_owned());
            let entry = Entry { owner, called, reach: Reach::Subtree, name, text };
            let read = all.weighed(declared(entry), None);
            all.register(&assembly, &session, read, Registrant::User).map(|registered| registered.number)
        };
        assert_eq!(register("long", LONGEST_ENTRY).unwrap_err().status, 400);
        let first = register("first", 1_000).unwrap();
        let (count, bytes) = all.kept();
        assert!(count == 1 && bytes > 1_000, "{bytes}");
        // As if others had the rest.
        all.state().bytes += MOST_BYTES - bytes;
        assert_eq!(register("one more", 10).unwrap_err().status, 429);
        assert!(all.remove(&session, first, &Remover::User).unwrap());
        assert_eq!(all.kept(), (0, MOST_BYTES - bytes));
        register("one more", 10).unwrap();
    }

    #[tokio::test]
    async fn the_hook_of_a_program_that_is_gone_gives_way_to_none_of_which_less_is_known() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let session = assembly.bus().session("s").open().await.unwrap();
        let above = assembly.bus().session("above").open().await.unwrap();
        let below = above.subagent("below").open().await.unwrap();
        let [user, unknown] = [Registrant::User, Registrant::Unknown];
        let [above, below] = [above, below].map(Registrant::Below);
        let by = |by: &Registrant| {
            // Each is a program of its own, and none is there.
            let (owner, _place) = all.place(None, None).unwrap();
            let text = r#"{"name": "guard", "on": "on_idle"}"#.to_owned();
            let (called, name) = ("guard".to_owned(), "guard".to_owned());
            let entry = Entry { owner, called, reach: Reach::Subtree, name, text };
            let read = all.weighed(declared(entry), None);
            all.register(&assembly, &session, read, by.clone()).map_err(|problem| problem.status).is_ok()
        };
        let steps = [
            (&below, true),
            (&unknown, false),
            (&below, true),
            (&above, true),
            (&below, false),
            (&user, true),
            (&above, false),
            (&unknown, false),
            (&user, true),
        ];
        for (step, (registrant, is_let)) in steps.into_iter().enumerate() {
            assert_eq!(by(registrant), is_let, "step {step}");
        }
    }

    #[tokio::test]
    async fn while_large_patterns_are_searched_for_each_event_counts_as_much_work() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let session = assembly.bus().session("s").open().await.unwrap();
        let (owner, _place) = all.place(None, None).unwrap();
        let register = |name: &str, pattern: &str| {
            let read = all.weighed(declared(with_pattern(&owner, name, pattern)), None);
            all.register(&assembly, &session, read, Registrant::User).unwrap().number
        };
        for number in 0..20 {
            register(&number.to_string(), "rm -rf|git push");
        }
        assert!(!all.search_much());
        let number = register("much", "(?:[a-z]{0,3}){500}[0-9]{3}");
        assert!(all.search_much());
        assert!(all.remove(&session, number, &Remover::User).unwrap() && !all.search_much());
    }

    #[tokio::test]
    async fn what_one_agent_has_started_leaves_others_room_for_hooks() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let session = assembly.bus().session("s").open().await.unwrap();
        let (owner, _place) = all.place(None, None).unwrap();
        let [one, other] = [std::process::id(), std::os::unix::process::parent_id()]
            .map(|pid| Some(Tree::Agent(Process::of(pid).unwrap())));
        let register = |name: &str, tree: Option<Tree>| {
            let fill = "x".repeat(LONGEST_ENTRY - 200);
            let text = format!(r#"{{"name": "{name}", "on": "on_idle", "description": "{fill}"}}"#);
            let (owner, called, name) = (owner.clone(), name.to_owned(), name.to_owned());
            let entry = Entry { owner, called, reach: Reach::Subtree, name, text };
            let read = all.weighed(declared(entry), tree);
            all.register(&assembly, &session, read, Registrant::User).map(|registered| registered.number)
        };
        let registered: Vec<_> = (0..300).map(|number| register(&number.to_string(), one)).collect();
        let numbers: Vec<u64> = registered.iter().flatten().copied().collect();
        assert!(numbers.len() < 135, "an eighth of the bytes: {}", numbers.len());
        assert!(all.kept().1 <= MOST_BYTES / 8);
        assert!(registered.into_iter().filter_map(Result::err).all(|problem| problem.status == 429));
        register("of another", other).unwrap();
        assert!(all.remove(&session, numbers[0], &Remover::User).unwrap());
        register("again", one).unwrap();
    }

    fn with_pattern(owner: &str, name: &str, pattern: &str) -> Entry {
        let text = format!(r#"{{"name": "{name}", "on": "before_tool", "match": {{"text": "{pattern}"}}}}"#);
        let (owner, called, name) = (owner.to_owned(), name.to_owned(), name.to_owned());
        Entry { owner, called, reach: Reach::Subtree, name, text }
    }

    #[tokio::test]
    async fn what_the_patterns_of_a_hook_compile_to_counts_as_its_length_does() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let session = assembly.bus().session("s").open().await.unwrap();
        let (owner, _place) = all.place(None, None).unwrap();
        let tree = Some(Tree::Agent(Process::of(std::process::id()).unwrap()));
        let (mut registered, mut refused) = (0, 0);
        for number in 0..40 {
            let entry = with_pattern(&owner, &number.to_string(), r"\\w{9}");
            let read = all.read(vec![entry], tree).await.pop().unwrap();
            match all.register(&assembly, &session, read, Registrant::User) {
                Ok(_) => registered += 1,
                Err(problem) => {
                    assert_eq!(problem.status, 429);
                    refused += 1;
                }
            }
        }
        assert!(registered > 4 && refused > 4, "{registered} and {refused}");
        let (_, bytes) = all.kept();
        assert!(bytes > registered * 100_000 && bytes <= MOST_BYTES / 8, "{bytes}");
        // Those of one request take no more before they are registered.
        let many = (0..40).map(|number| with_pattern(&owner, &format!("n{number}"), r"\\w{9}")).collect();
        let read = all.read(many, None).await;
        let bytes: usize = read.iter().flat_map(|read| &read.hook).map(|hook| hook.bytes).sum();
        let refused = read.iter().filter(|read| read.hook.is_err()).count();
        assert!(bytes > 0 && bytes < MOST_READ + 100_000 && refused > 4, "{bytes}, {refused}");
    }

    #[test]
    fn entries_are_read_beside_the_requests_of_others_and_without_the_lock() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _within = runtime.enter();
        let all = Attachments::default();
        let (owner, _place) = all.place(None, None).unwrap();
        let entry = with_pattern(&owner, "h", "a");
        let places = runtime.block_on(all.reading.all_places());
        let mut reads = std::pin::pin!(all.read(vec![entry], None));
        let at_once = runtime.block_on(async { poll!(&mut reads) });
        assert!(at_once.is_pending(), "read without a place beside the requests");
        let _lock = all.state();
        drop(places);
        // It is read while something else has the lock.
        assert!(runtime.block_on(reads).pop().unwrap().hook.is_ok());
    }

    #[tokio::test]
    async fn hooks_that_go_with_a_session_take_no_automation_of_a_later_one_of_its_id_along() {
        let (all, assembly) = (Attachments::default(), Assembly::new(lineside::Bus::new()));
        let (owner, _place) = all.place(None, None).unwrap();
        let names: Vec<String> = (0..50).map(|number| format!("hook {number}")).collect();
        let register = |session: &Session| {
            for name in &names {
                let text = format!(r#"{{"name": "{name}", "on": "on_idle", "automate": {{}}}}"#);
                let (owner, called, name) = (owner.clone(), name.clone(), name.clone());
                let entry = Entry { owner, called, reach: Reach::Subtree, name, text };
                let read = all.weighed(declared(entry), None);
                all.register(&assembly, session, read, Registrant::User).unwrap();
            }
        };
        let automations = Automations::of(assembly.bus()).unwrap();
        for _ in 0..20 {
            let before = assembly.bus().session("s").open().await.unwrap();
            register(&before);
            before.close().await;
            let later = assembly.bus().session("s").open().await.unwrap();
            let runtime = tokio::runtime::Handle::current();
            std::thread::scope(|scope| {
                scope.spawn(|| all.forget(before.id()));
                scope.spawn(|| {
                    let _runtime = runtime.enter();
                    register(&later);
                });
            });
            let receipt = later.any_event(Arc::new(OnIdle::new())).publish_any().await.unwrap();
            let jobs = automations.jobs().of_event(receipt.event.envelope().id);
            assert_eq!(jobs.len(), names.len(), "each automation of the later session is there");
            later.close_within(Duration::ZERO).await;
            all.forget(later.id());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_daemon_does_not_run_is_not_that_of_a_program() {
        let all = Attachments::default();
        let (token, _place) = all.place(None, None).unwrap();
        let mut greeted = std::pin::pin!(all.greeted(&token));
        assert!(poll!(&mut greeted).is_pending());
        advance(Duration::from_secs(3_600)).await;
        assert!(poll!(&mut greeted).is_pending(), "an hour in which nothing runs is one step");
        let rest = tokio::time::Instant::now();
        assert_eq!(greeted.await.unwrap_err().status, 409);
        assert_eq!(rest.elapsed().as_secs(), 4);
    }
}
