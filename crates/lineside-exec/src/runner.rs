//! The public face: runs commands.

use lineside_core::UntilOver;
use lineside_core::invocation::{Ended, Invocation};
use std::num::NonZeroUsize;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::background::Background;
use crate::containment::Containment;
use crate::guard::Reapers;
use crate::run;

/// Runs commands for hooks.
///
/// Clones are cheap and share the tasks that [`Runner::drain`] waits for.
///
/// ```
/// use lineside_core::invocation::{Environment, Exit, Invocation, Limits, Program};
/// use lineside_exec::Runner;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let invocation = Invocation {
///     program: Program::argv(["cat"]),
///     stdin: b"{\"tool\":\"Shell\"}".to_vec(),
///     environment: Environment::default(),
///     files: Vec::new(),
///     working_directory: None,
///     limits: Limits::default(),
/// };
/// let ended = Runner::new().run(&invocation).await;
/// assert_eq!(ended.exit, Exit::Code(0));
/// assert_eq!(ended.stdout.trimmed_text(), "{\"tool\":\"Shell\"}");
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Runner {
    admission: Admission,
    containment: Containment,
    reapers: Reapers,
}

impl Runner {
    /// A runner with nothing to wait for, and with what keeps processes together everywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::contained(Containment::new())
    }

    /// A runner with nothing to wait for.
    #[must_use]
    pub fn contained(containment: Containment) -> Self {
        let [tasks, orphans] = [Background::new(), Background::new()];
        let reapers = Reapers { tasks, orphans, hurry: CancellationToken::new() };
        Self { admission: Admission::default(), containment, reapers }
    }

    /// The same runner, with so many starts at once instead of eight for each processor.
    ///
    /// A start takes a turn, in the order of the calls, and gives it back when the process has exited or has run for
    /// 100 ms. Waiting for a turn takes from the time of the run.
    #[must_use]
    pub fn starting_at_once(self, most: NonZeroUsize) -> Self {
        Self { admission: Admission::of(most), ..self }
    }

    /// What keeps the processes of a run together.
    #[must_use]
    pub fn containment(&self) -> &Containment {
        &self.containment
    }

    /// Runs a command and says how it ended.
    ///
    /// The process leads a group of its own.
    /// `limits.timeout` counts from the call and covers the start, the input, the run and the outputs; the clock is
    /// tokio's, so under a paused clock, which jumps when nothing else is to do, a hook meets its deadline at once.
    ///
    /// - **In time**: the run has ended when the process has exited. Its outputs are read until their end, at most
    ///   for `leak_grace` and never beyond the deadline, and then closed. What is left of the group is killed or left
    ///   alone, as `leftovers` says.
    /// - **At the deadline**: the group is ended as `ending` says, whatever `leftovers` says, and `exit` is
    ///   [`Exit::TimedOut`](lineside_core::invocation::Exit::TimedOut) whatever the process did after. The call
    ///   returns 0.4 s after the deadline and the grace at the latest, even if the pipes are held. `leaked` then tells
    ///   whether anything outlasted a leader that ended within the grace.
    /// - **Not started**: anything that the system refuses gives
    ///   [`Exit::NotStarted`](lineside_core::invocation::Exit::NotStarted) with a reason. A program that is open for
    ///   writing is tried again for `busy_retry`, or until the deadline if that comes first. So does a deadline that
    ///   comes while it waits for its turn to start, because too many others are starting.
    ///
    /// A relative program, and a relative entry of `PATH`, are relative to the working directory of the hook.
    /// A hook that does not read its input has done nothing wrong; an empty input is `/dev/null`.
    /// Only the start itself blocks the thread, for the time of a `posix_spawn` and for that of writing `files`, which
    /// are in a directory of their own (0700) below the system's one for temporary files, each with 0600, and are
    /// removed when the run has ended; after a drop, when its processes have.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the whole group: the first signal is sent in the drop, the rest is done by a task
    /// that [`Runner::drain`] waits for.
    /// If the drop happens outside a runtime, or the runtime goes down, the group is killed there and then.
    /// No zombie stays.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn run(&self, invocation: &Invocation) -> Ended {
        self.run_with(invocation, std::future::ready(()), None).await
    }

    /// As [`run`](Self::run), and awaits `on_turn` when the run has its turn and before it starts; not at all when it has
    /// none. What that takes is within the run's time; at the deadline it is given up, and the program is not started. What
    /// it gives is dropped when the program was started, or could not be.
    ///
    /// `until_over` is dropped when the processes of the run have ended: with the future where it comes to its end, and
    /// otherwise after the grace and 0.4 s at the latest, even if one cannot be killed.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    pub async fn run_with<T>(
        &self,
        invocation: &Invocation,
        on_turn: impl Future<Output = T>,
        until_over: Option<UntilOver>,
    ) -> Ended {
        // The run bounds its own reads; a budget spent by a neighbour in the same task must not stop its clock.
        let run =
            run::run(invocation, on_turn, &self.admission, &self.containment, &self.reapers, until_over);
        tokio::task::unconstrained(run).await
    }

    /// Waits until everything that belongs to dropped runs has ended.
    ///
    /// Cancel safe: nothing is lost, and it can be called again.
    pub async fn drain(&self) {
        self.reapers.tasks.ended().await;
    }

    /// Takes the grace away from runs that were dropped, and from those that will be: they get `SIGKILL` at once.
    ///
    /// Runs in progress go on.
    pub fn hurry(&self) {
        self.reapers.hurry.cancel();
    }
}

impl Default for Runner {
    fn default() -> Self {
        Self::new()
    }
}
