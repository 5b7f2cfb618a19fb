//! Hooks in programs that attach: each is an entry of lineside's own format without what it runs, registered on a
//! session, and asked over the connection of its program as any worker.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use lineside_automation::Automations;
use lineside_automation::engine::OpenError;
use lineside_automation::hook_id::escaped;
use lineside_bus::register::{RegisterHookError, Registration};
use lineside_bus::{Installed, Session};
use lineside_core::Reach;
use lineside_core::hook::NATIVE;
use lineside_core::worker::{HookCall, HookWorkerBounds, WorkerEnded};
use lineside_dialects::ForeignHook;
use lineside_dialects::native::{Attached, attached};
use lineside_exec::{HookWorkerClient, LineRoom, WorkerListener, WorkerSeat};
use lineside_stream::Stream;

use crate::assembly::Assembly;
use crate::automated::Automated;
use crate::elsewhere::Elsewhere;
use crate::foreign::Foreign;
use crate::workers::{HookWorkers, Seated};

/// The place of a program that attaches. While it is not there its hooks have failed, each by its `on_failure`, at once.
///
/// ```
/// use lineside::Attachment;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // The hooks of a program that is not there yet can be registered already.
/// assert!(!Attachment::new().is_there());
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Attachment {
    worker: HookWorkerClient,
    seat: WorkerSeat,
}

impl Default for Attachment {
    fn default() -> Self {
        Self::new()
    }
}

impl Attachment {
    /// A place to which no program has attached yet.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time enabled.
    #[must_use]
    pub fn new() -> Self {
        let (worker, seat) = HookWorkerClient::seated(HookWorkerBounds::default(), WorkerListener::default());
        Self { worker, seat }
    }

    /// The program is at the other end of this connection, of which this much has been read already. It takes the place
    /// of one that is over. The room is for what it has begun to write and has not ended, and is held for as long as the
    /// connection is there.
    ///
    /// # Errors
    /// The connection, when there is one already that waits for its turn, or the place was given up.
    pub fn connect(&self, stream: Stream, begun: Vec<u8>, room: Box<dyn LineRoom>) -> Result<(), Stream> {
        self.seat.connect_within(stream, begun, room)
    }

    /// Whether the program is there. It may be gone the next moment.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.worker.is_there()
    }

    /// Waits until the program is there. Cancel safe.
    pub async fn connected(&self) {
        self.worker.connected().await;
    }

    /// Calls a hook of the program, as an event does.
    ///
    /// Dropping the future cancels the call: the program is notified.
    pub async fn call(&self, call: HookCall) -> WorkerEnded {
        self.worker.call(call).await
    }

    /// Has the program know that its hook of this name is asked no more.
    pub fn release(&self, called: &str) {
        self.worker.release(called);
    }

    /// Lets the calls under way finish, closes the connection, and waits for that. Cancel safe.
    pub async fn shutdown(&self) {
        self.worker.shutdown().await;
    }
}

/// Why an attached hook is not registered.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AttachHookError {
    /// Its entry is invalid; one text for each thing that is wrong.
    #[error("{}", .0.join("; "))]
    Entry(Vec<String>),
    /// It cannot be registered there.
    #[error(transparent)]
    Register(#[from] RegisterHookError),
    /// It is an automation, and there is no runtime for it.
    #[error("failed to start automations")]
    Automations(#[source] OpenError),
}

/// A hook that is registered and lives in a program that attaches.
pub struct AttachedHook {
    number: u64,
    name: Arc<str>,
    warnings: Vec<String>,
    registrations: Vec<Registration>,
    /// Which automations it has declared, and under which name.
    declared: Option<(Automations, String)>,
    warm: Arc<HookWorkers>,
}

impl std::fmt::Debug for AttachedHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttachedHook").field("name", &self.name).finish_non_exhaustive()
    }
}

impl AttachedHook {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What in its entry has no effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Removes it. Events under way end with it.
    pub fn remove(self) {
        self.give_way(None);
    }

    /// Removes it after another one of its name has been registered on its session, which has its work now, if both
    /// are automations.
    pub fn give_way_to(self, next: &Self) {
        self.give_way(next.declared.as_ref());
    }

    fn give_way(self, declared: Option<&(Automations, String)>) {
        for registration in &self.registrations {
            registration.remove();
        }
        let gone = self.declared.filter(|(_, source)| declared.is_none_or(|(_, next)| next != source));
        if let Some((automations, source)) = gone {
            automations.declared(&source, &HashSet::new());
        }
        self.warm.attach(self.number, None);
    }
}

/// The number of the last hook. Numbers begin elsewhere in each process, so that what is kept of one names no hook of another.
static LAST: LazyLock<AtomicU64> =
    LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(()) >> 32 << 20));

/// A hook that lives in a program, as it was declared. Its patterns are compiled, which may take some milliseconds;
/// nothing of it is registered.
pub struct DeclaredHook {
    number: u64,
    read: Attached,
}

impl DeclaredHook {
    /// Reads an entry as one of `hooks.yaml`, as a JSON object without `command`, `worker` or `post`; `called` is its name
    /// in the calls that the program gets.
    ///
    /// ```
    /// use lineside::{AttachHookError, DeclaredHook};
    ///
    /// assert!(DeclaredHook::read("guard", r#"{"name": "g", "on": "before_tool"}"#).is_ok());
    /// let Err(AttachHookError::Entry(wrong)) = DeclaredHook::read("guard", r#"{"name": "g", "on": "befor_tool"}"#) else {
    ///     panic!("there is no such point")
    /// };
    /// assert!(wrong[0].contains("before_tool"));
    /// ```
    ///
    /// # Errors
    /// The entry is invalid, or its patterns are too large.
    pub fn read(called: &str, entry: &str) -> Result<Self, AttachHookError> {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Self { number, read: attached(entry, number, called).map_err(AttachHookError::Entry)? })
    }

    /// What its patterns have compiled to, in bytes.
    #[must_use]
    pub fn compiled(&self) -> usize {
        self.read.compiled
    }
}

impl std::fmt::Debug for DeclaredHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeclaredHook").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Assembly {
    /// Registers a hook of a program that attaches on a session; `reach` are the sessions that it is for. The program
    /// need not be there.
    ///
    /// # Errors
    /// The session is closed, or the hook has no authority at one of its points. Nothing is registered then.
    pub fn attach(
        &self,
        session: &Session,
        to: &Attachment,
        reach: Reach,
        hook: DeclaredHook,
    ) -> Result<AttachedHook, AttachHookError> {
        self.seat(session, Seated::Program(to.worker.clone()), reach, hook)
    }

    /// The same for a hook that lives elsewhere.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_elsewhere(
        &self,
        session: &Session,
        to: Arc<dyn Elsewhere>,
        reach: Reach,
        hook: DeclaredHook,
    ) -> Result<AttachedHook, AttachHookError> {
        self.seat(session, Seated::Elsewhere(to), reach, hook)
    }

    fn seat(
        &self,
        session: &Session,
        to: Seated,
        reach: Reach,
        DeclaredHook { number, read }: DeclaredHook,
    ) -> Result<AttachedHook, AttachHookError> {
        let name = read.hooks.first().map(|found| Arc::clone(&found.hook.name)).unwrap_or_default();
        let warm = Arc::clone(&self.outside.warm);
        warm.attach(number, Some(to));
        let mut hook = AttachedHook {
            number,
            name,
            warnings: read.warnings,
            registrations: Vec::new(),
            declared: None,
            warm,
        };
        let mut automated = Automated::default();
        for mut found in read.hooks {
            found.hook.reach = reach;
            if let Err(error) = self.register(session, found, &mut hook, &mut automated) {
                // What its name has declared before is not its own to take away.
                hook.declared = None;
                hook.remove();
                return Err(error);
            }
        }
        if let Some((automations, source)) = &hook.declared {
            automated.declared(automations, source);
        }
        Ok(hook)
    }

    fn register(
        &self,
        session: &Session,
        mut found: ForeignHook,
        hook: &mut AttachedHook,
        automated: &mut Automated,
    ) -> Result<(), AttachHookError> {
        let mut installed = Vec::new();
        match found.automation.take() {
            Some(automation) => {
                let automations = Automations::of(self.bus()).map_err(AttachHookError::Automations)?;
                // What stands behind the `/` is no part of the session.
                let own = escaped(session.id().as_str());
                let place = format!("attached:{own}");
                let declared = automated.declare(&place, &automations, &found, &automation, &self.outside);
                installed.extend(declared.into_iter().map(|declared| declared.installed));
                hook.declared = Some((automations, format!("{place}/{}", found.hook.name)));
            }
            None => {
                let run = Foreign::new(&found, self.outside.clone(), None).in_memory(&found, self.bus());
                let run = Arc::new(run);
                installed.extend(found.points.iter().map(|point| Installed {
                    point,
                    hook: found.hook.clone(),
                    run: Arc::clone(&run) as _,
                }));
            }
        }
        for one in installed {
            hook.registrations.push(session.of_dialect(NATIVE).attach(one)?);
        }
        Ok(())
    }
}
