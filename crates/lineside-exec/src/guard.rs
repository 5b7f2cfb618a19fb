//! Ends a run whose future was dropped.
//!
//! The first signal is sent at once, in the drop; the rest is done by a task that the runner tracks.
//! Without a runtime, or when the runtime goes down under that task, the tree's own last resort kills it at once.

use std::future::poll_fn;

use lineside_core::UntilOver;
use lineside_core::invocation::Ending;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::background::Background;
use crate::escaped::Search;
use crate::running::Running;

/// Who ends the runs that were dropped.
#[derive(Debug, Clone)]
pub(crate) struct Reapers {
    /// Has the tasks.
    pub(crate) tasks: Background,
    /// Runs the tasks that reap processes which were left running.
    pub(crate) orphans: Background,
    /// Cancelled: no grace any more.
    pub(crate) hurry: CancellationToken,
}

impl Reapers {
    /// Takes the statuses of those who were left alone, once they exit.
    pub(crate) fn adopt(&self, left: Option<Search>) {
        if let (Some(left), Ok(runtime)) = (left, Handle::try_current()) {
            self.orphans.start(left.reap_all(), &runtime);
        }
    }
}

/// A run in progress that is ended when this is dropped before the run is over.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    running: Option<Running>,
    ending: Ending,
    reapers: &'a Reapers,
    until_over: Option<UntilOver>,
}

impl<'a> Guard<'a> {
    /// A guard of nothing yet. `until_over` is held until the run is over, or was ended.
    pub(crate) fn new(ending: Ending, reapers: &'a Reapers, until_over: Option<UntilOver>) -> Self {
        Self { running: None, ending, reapers, until_over }
    }

    /// Guards this run from here on.
    pub(crate) fn over(&mut self, running: Running) -> &mut Running {
        self.running.insert(running)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        if running.tree.is_over() {
            return;
        }
        match self.ending {
            Ending::Terminate { .. } => running.tree.terminate(),
            Ending::Kill => running.tree.kill(),
        }
        // Without a runtime the run is dropped here, and its tree sees to itself.
        if let Ok(runtime) = Handle::try_current() {
            let reaping = reap(running, self.ending, self.reapers.hurry.clone(), self.until_over.take());
            self.reapers.tasks.start(reaping, &runtime);
        }
    }
}

async fn reap(mut running: Running, ending: Ending, hurry: CancellationToken, until_over: Option<UntilOver>) {
    tokio::select! {
        _ = running.end(ending) => {}
        () = hurry.cancelled() => {
            running.end(Ending::Kill).await;
        }
    }
    // What the system does not let end holds up nothing else.
    drop(until_over);
    if !running.tree.is_over() {
        tracing::warn!("a hook's process outlives its SIGKILL; waiting for it");
        poll_fn(|cx| running.tree.poll_exit(cx)).await;
        running.tree.take_status();
    }
}
