//! Attaching: one connection over which the daemon asks the hooks of this process, in the line protocol of workers.
//!
//! It is made by the first hook that is registered, and made again whenever it breaks: with the token that the daemon
//! has given, so that the hooks are there again, or anew with everything that was registered, when the daemon does not
//! know it any more. A call that was under way when the connection broke is over: its event has been decided without.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lineside_core::AnyEvent;
use lineside_core::json::{Fields as _, Map, ObjectText, Value, from_slice, json};
use lineside_points::read_event;
use serde::Deserialize;

use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::time::{Instant, sleep};

use crate::cx::Cx;
use crate::opening::Opening;
use crate::request::RequestError;
use crate::tasks::{Calls, Ended, Running, leave, start};
use crate::wire::{Attached, Wire};

mod reopen;

/// The version of the protocol that is spoken.
const PROTOCOL: u64 = 2;
/// How many calls are answered at the same time.
const CONCURRENCY: usize = 64;
/// How long the first wait is before the connection is made again, and the longest; each is twice as long as the last.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// A future on the heap.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a hook runs for a call: the JSON of its answer, or why it has none.
pub(crate) type Run = Arc<dyn Fn(AnyEvent, Cx) -> BoxFuture<Result<Value, String>> + Send + Sync>;

/// The hooks of one client, and the connection over which they are asked. Clones are the same.
#[derive(Clone)]
pub(crate) struct Attachment(Arc<Shared>);

struct Shared {
    hooks: Arc<Hooks>,
    /// Held while the connection is made for the first time.
    running: AsyncMutex<Option<Running>>,
}

struct Hooks {
    wire: Wire,
    last: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<String>,
    /// The daemon is another one, and was not said everything that is registered.
    is_unknown: bool,
    /// By what they are called.
    hooks: HashMap<String, Hook>,
    /// The sessions that this daemon, which is another one, has opened again: one of them that is closed stays so.
    reopened: HashSet<String>,
    /// Those that were closed, and that it has opened again for what is below them.
    closing: HashSet<String>,
    /// Those of them that it was asked to open, without an answer so far.
    opening: HashSet<String>,
}

/// Where a hook stands at the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is being registered, by a call that has an error when the daemon ends.
    Registering,
    /// It has this number.
    Registered(u64),
    /// The daemon is another one, which has not taken it yet.
    Lost,
    /// That one does not take it.
    Refused,
    /// Its session is closed, and sessions below that are under it still.
    Inherited,
}

#[derive(Clone)]
struct Hook {
    /// Absent when it was taken away, and the daemon has not confirmed that.
    run: Option<Run>,
    /// What opened its session, to do that again.
    session: Arc<Opening>,
    /// Where it is registered.
    path: String,
    /// What it is registered with, its program apart.
    fields: Map,
    standing: Standing,
}

/// A hook that is registered in the daemon and lives in this process. Dropping this changes nothing.
#[derive(Clone)]
pub struct Registration {
    attachment: Attachment,
    called: String,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("called", &self.called).finish_non_exhaustive()
    }
}

impl Registration {
    /// Takes the hook away; events under way still see it. `false` when it was gone already.
    ///
    /// Dropping the future leaves it open whether the daemon has the hook still; removing it again settles that.
    ///
    /// ```no_run
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::Continue).await?;
    /// assert!(guard.remove().await?, "it was there");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No daemon, or a broken connection; the hook is not asked any more in any case, which counts as its failure until it
    /// is removed again.
    pub async fn remove(&self) -> Result<bool, RequestError> {
        self.attachment.0.hooks.remove(&self.called).await
    }
}

/// Removes a hook whose registration was given up, until the daemon has heard it, or the client is gone, and its hooks
/// with it.
async fn take_away(hooks: Weak<Hooks>, called: &str) {
    let mut wait = FIRST;
    while let Some(hooks) = hooks.upgrade() {
        let removed = hooks.remove(called).await;
        drop(hooks);
        if !matches!(removed, Err(RequestError::NoDaemon { .. } | RequestError::Broken { .. })) {
            return;
        }
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
    }
}

#[derive(Deserialize)]
struct Registered {
    hook: u64,
    coverage: String,
}

#[derive(Deserialize)]
struct Removed {
    coverage: String,
}

impl Attachment {
    pub(crate) fn new(wire: Wire) -> Self {
        let hooks = Hooks { wire, last: AtomicU64::new(0), state: Mutex::default() };
        Self(Arc::new(Shared { hooks: Arc::new(hooks), running: AsyncMutex::default() }))
    }

    /// Registers a hook on a session, and attaches if that was not done before. Dropping it leaves no hook behind.
    pub(crate) async fn register(
        &self,
        session: Arc<Opening>,
        path: String,
        mut fields: Map,
        run: Run,
    ) -> Result<Registration, RequestError> {
        let hooks = &self.0.hooks;
        self.attached().await?;
        let called = (hooks.last.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        fields.insert("called".to_owned(), json!(called));
        // It may be asked before the answer to its registration is here.
        let hook = Hook { run: Some(run), session, path, fields, standing: Standing::Registering };
        hooks.state().hooks.insert(called.clone(), hook);
        let (claim, claimed) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let registering = (Arc::clone(hooks), called.clone());
        leave(async move {
            let (hooks, called) = registering;
            // Not broken off in the middle: the number would not be known, by which it is taken away.
            tell.send(hooks.register_new(&called).await).ok();
            if claimed.await.is_err() {
                take_away(Arc::downgrade(&hooks), &called).await;
            }
        });
        let registered =
            told.await.map_err(|error| RequestError::Broken { source: io::Error::other(error) })?;
        claim.send(()).ok();
        registered.map(|()| Registration { attachment: self.clone(), called })
    }

    /// A session is closed: its hooks are asked further where sessions below it are under them still, by this daemon and by
    /// another one that has those sessions again.
    pub(crate) fn close(&self, session: &Opening, inherited: bool) {
        session.close();
        self.0.hooks.close(session.id(), inherited);
    }

    /// Attaches, once.
    async fn attached(&self) -> Result<(), RequestError> {
        let mut running = self.0.running.lock().await;
        if running.is_none() {
            let hooks = Arc::clone(&self.0.hooks);
            let connection = hooks.connect().await?;
            *running = Some(start(async move { hooks.keep(connection).await }));
        }
        Ok(())
    }
}

impl Hooks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session is closed, whichever handles there are of it.
    fn close(&self, session: &str, inherited: bool) {
        let mut state = self.state();
        state.reopened.remove(session);
        // What is still to be brought back below it needs it open once more.
        state.closing.remove(session);
        let known = state.hooks.values().flat_map(|hook| hook.session.line());
        known.filter(|known| known.id() == session).for_each(|known| known.close());
        drop(state);
        self.settle(session, inherited);
    }

    /// What becomes of the hooks of a session that was closed. Those of an earlier one of that id are inherited already.
    fn settle(&self, session: &str, inherited: bool) {
        let mut state = self.state();
        let is_own = |hook: &Hook| {
            hook.session.id() == session && hook.session.is_closed() && hook.standing != Standing::Inherited
        };
        let mut gone = Vec::new();
        // What is below it may come back later than it was closed.
        let standing = match inherited {
            true => Some(Standing::Inherited),
            false => state.is_awaited(session).then_some(Standing::Lost),
        };
        if let Some(standing) = standing {
            let own = state.hooks.values_mut().filter(|hook| is_own(hook));
            own.for_each(|hook| hook.standing = standing);
        } else {
            gone.extend(state.hooks.extract_if(|_, hook| is_own(hook)));
        }
        drop(state);
        // What closures hold is dropped without the lock.
        drop(gone);
    }

    /// Nothing is under a hook any more that is open, and it is kept for what is still to be brought back.
    fn is_released(&self, called: &str) {
        let mut state = self.state();
        let Some(session) = state.hooks.get(called).map(|hook| Arc::clone(&hook.session)) else { return };
        session.close();
        let gone = match state.is_awaited(session.id()) {
            true => {
                state.hooks.get_mut(called).into_iter().for_each(|hook| hook.standing = Standing::Lost);
                None
            }
            false => state.hooks.remove(called),
        };
        drop(state);
        // What the closure holds is dropped without the lock.
        drop(gone);
    }

    /// Registers a hook; one that is refused is forgotten.
    async fn register_new(&self, called: &str) -> Result<(), RequestError> {
        let registered = self.register(called).await;
        if registered.is_err() {
            let gone = self.state().hooks.remove(called);
            // What the closure holds is dropped without the lock.
            drop(gone);
        }
        registered
    }

    async fn register(&self, called: &str) -> Result<(), RequestError> {
        let (token, hook) = {
            let state = self.state();
            (state.token.clone(), state.hooks.get(called).cloned())
        };
        let Some(Hook { session, path, mut fields, .. }) = hook else { return Ok(()) };
        fields.insert("attachment".to_owned(), json!(token));
        let registered: Registered = self.wire.call(hyper::Method::POST, &path, Some(&fields)).await?;
        session.is_under(&registered.coverage);
        self.is_registered(&path, called, registered.hook).await
    }

    /// The daemon has a hook. One that was forgotten meanwhile is taken away there.
    async fn is_registered(&self, path: &str, called: &str, number: u64) -> Result<(), RequestError> {
        let known = self.state().hooks.get_mut(called).map(|hook| {
            hook.standing = Standing::Registered(number);
        });
        if known.is_some() {
            return Ok(());
        }
        let removed = self.take_away(path, number).await;
        match removed {
            Err(RequestError::Refused { .. }) => Ok(()),
            removed => removed.map(drop),
        }
    }

    async fn take_away(&self, path: &str, number: u64) -> Result<Removed, RequestError> {
        let token = self.state().token.clone();
        self.wire.take_away(&format!("{path}/{number}"), token.as_deref()).await
    }

    /// Has a hook asked no more, and gives where the daemon has it; one that it does not have is forgotten.
    fn silence(&self, called: &str) -> Option<(String, u64, Arc<Opening>)> {
        let mut state = self.state();
        let hook = state.hooks.get_mut(called)?;
        let run = hook.run.take();
        let found = match hook.standing {
            Standing::Registered(number) => Some((hook.path.clone(), number, Arc::clone(&hook.session))),
            _ => None,
        };
        if found.is_none() {
            state.hooks.remove(called);
        }
        drop(state);
        // What the closure holds is dropped without the lock.
        drop(run);
        found
    }

    /// Removes a hook; it is known until the daemon has confirmed that.
    async fn remove(&self, called: &str) -> Result<bool, RequestError> {
        let Some((path, number, session)) = self.silence(called) else { return Ok(false) };
        let removed = self.take_away(&path, number).await;
        let was_there = match removed {
            Ok(removed) => {
                session.is_under(&removed.coverage);
                true
            }
            Err(RequestError::Refused { status: 404, .. }) => false,
            Err(error) => return Err(error),
        };
        self.state().hooks.remove(called);
        Ok(was_there)
    }

    /// A connection, with the same token where the daemon knows it still.
    async fn connect(&self) -> Result<Attached, RequestError> {
        let before = self.state().token.clone();
        let upgraded = self.wire.attach(before.as_deref()).await?;
        let mut state = self.state();
        state.token = Some(upgraded.token.clone());
        if before.is_some_and(|before| before != upgraded.token) {
            state.is_another();
        }
        drop(state);
        Ok(upgraded)
    }

    /// Answers over one connection after another.
    async fn keep(&self, first: Attached) {
        let mut next = Some(first);
        let mut wait = FIRST;
        loop {
            let connection = match next.take() {
                Some(connection) => Ok(connection),
                None => self.connect().await,
            };
            match connection {
                Ok(connection) => {
                    let begun = Instant::now();
                    // Calls are answered meanwhile, and so is the hello that registering waits for.
                    let again = async {
                        self.be_known().await;
                        std::future::pending().await
                    };
                    let served: io::Result<()> = tokio::select! {
                        served = self.serve(connection) => served,
                        never = again => never,
                    };
                    if let Err(error) = served {
                        tracing::debug!(%error, "the connection to the daemon is over");
                    }
                    // One that is closed at once, again and again, is not made again without a pause.
                    if begun.elapsed() < FIRST {
                        sleep(wait).await;
                        wait = (wait * 2).min(LONGEST);
                    } else {
                        wait = FIRST;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "the daemon cannot be attached to");
                    sleep(wait).await;
                    wait = (wait * 2).min(LONGEST);
                }
            }
        }
    }

    /// One connection to its end.
    async fn serve(&self, connection: Attached) -> io::Result<()> {
        let Attached { mut lines, mut writer, .. } = connection;
        let mut calls: Calls<Result<Value, String>> = Calls::new();
        let mut leaving = false;
        loop {
            let ended = tokio::select! {
                line = lines.next() => {
                    let Some(line) = line? else { return Ok(()) };
                    match self.hear(&line) {
                        Asked::Call(id, work) => calls.start(id, work).await,
                        Asked::Cancel(id) => {
                            calls.cancel(&id);
                            None
                        }
                        Asked::Leave => {
                            leaving = true;
                            None
                        }
                        Asked::Frame(frame) => {
                            writer.write(frame.to_string()).await?;
                            None
                        }
                        Asked::Nothing => None,
                    }
                }
                ended = calls.next() => Some(ended),
            };
            if let Some((id, ended)) = ended {
                writer.write(answer(&id, ended)).await?;
            }
            if leaving && calls.is_empty() {
                return writer.write(json!({"type": "bye"}).to_string()).await;
            }
        }
    }

    /// What a line asks for.
    fn hear(&self, line: &[u8]) -> Asked {
        let Ok(Frame { kind, id, hook, deadline_ms, event }) = from_slice(line) else {
            return Asked::Nothing;
        };
        match (&*kind, id, hook) {
            ("hello", ..) => {
                Asked::Frame(json!({"type": "hello", "protocol": PROTOCOL, "concurrency": CONCURRENCY}))
            }
            ("ping", ..) => Asked::Frame(json!({"type": "pong"})),
            ("cancel", Some(id), _) => Asked::Cancel(id),
            ("shutdown", ..) => Asked::Leave,
            ("released", _, Some(hook)) => {
                self.is_released(&hook);
                Asked::Nothing
            }
            ("call", Some(id), Some(hook)) => {
                let run = self.state().hooks.get(&hook).and_then(|hook| hook.run.clone());
                let until = Instant::now() + Duration::from_millis(deadline_ms);
                let work = async move {
                    let run = run.ok_or_else(|| "the hook was removed".to_owned())?;
                    let event = event.ok_or("the call has no event")?;
                    let event = read_event(&event, 0).map_err(|error| error.to_string())?;
                    run(event, Cx::new(until)).await
                };
                Asked::Call(id, Box::pin(work))
            }
            // Of a later version.
            _ => Asked::Nothing,
        }
    }
}

/// A line of the daemon. The environment that comes with a call is for programs that start others.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    id: Option<String>,
    hook: Option<String>,
    #[serde(default)]
    deadline_ms: u64,
    event: Option<Map>,
}

/// What a line asks for.
enum Asked {
    /// An answer of a hook.
    Call(String, BoxFuture<Result<Value, String>>),
    /// The end of a call.
    Cancel(String),
    /// The end of the connection, after the calls that are under way.
    Leave,
    /// This frame.
    Frame(Value),
    /// What this version does not know.
    Nothing,
}

fn answer(id: &str, ended: Ended<Result<Value, String>>) -> String {
    let (kind, said) = match ended {
        Ended::With(Ok(answer)) => ("answer", Some(answer)),
        Ended::With(Err(error)) => ("error", Some(error.into())),
        Ended::Panicked(text) => ("error", Some(format!("panicked: {text}").into())),
        Ended::Cancelled => ("cancelled", None),
    };
    let mut frame = ObjectText::new();
    frame.put("type", kind);
    frame.put("id", id);
    if let Some(said) = said {
        frame.put(kind, &said);
    }
    frame.end()
}
