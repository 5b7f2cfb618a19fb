//! Runs under keys that hold on other machines as well, where such are there.

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_core::FailureKind;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Automations, Engine, Processes};
use crate::machine::job::{Fence, JobId};
use crate::machine::{Ended, Input};
use crate::shared_keys::{LostKeyError, RunUnderKey, SharedKeys};

/// What runs, with the fencing token of a key that is shared. It ends when it is cancelled.
pub(super) type CallUnderKey = Box<dyn FnOnce(Option<u64>) -> BoxFuture<Ended> + Send>;

impl Automations {
    /// Has keys with the scope `cluster` hold on other machines as well, from the next run on. The first ones count; they
    /// are given before automations are registered, so that no run goes without them.
    pub fn share_keys(&self, keys: Arc<dyn SharedKeys>) {
        if self.engine.shared_keys.set(keys).is_ok() {
            self.engine.core().machine.share_keys();
        }
    }

    /// The automations with a key, a rate or a window of the scope `cluster` that holds on this machine only, as nothing is shared
    /// with others.
    #[must_use]
    pub fn keys_not_shared(&self) -> Vec<Arc<str>> {
        if self.engine.shared_keys.get().is_some() {
            return Vec::new();
        }
        let core = self.engine.core();
        let shared = core.handlers.values().filter(|handler| handler.is_shared);
        let mut names: Vec<_> = shared.map(|handler| Arc::clone(&handler.name)).collect();
        names.sort();
        names
    }
}

impl Engine {
    /// Waits until a run that has its key of the cluster has a turn as well; it is cancelled where none comes.
    pub(super) async fn turn(&self, job: JobId, fence: Fence) {
        let (given, waits) = oneshot::channel();
        {
            let mut core = self.core();
            core.turns.insert((job, fence), given);
            self.step_in(core, Input::HasKey(job, fence), |_| ());
        }
        if waits.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// A run is over, or about to be.
    pub(super) fn forget_run(&self, job: JobId, fence: Fence) {
        let mut core = self.core();
        core.runs.remove(&(job, fence));
        core.turns.remove(&(job, fence));
    }

    /// Runs this under a key of which other machines know, and gives the key back when its processes have ended; what ran
    /// while the key was lost does not count. Cancelled, it waits for the key no longer.
    pub(super) async fn under_shared(
        &self,
        key: &str,
        call: CallUnderKey,
        processes: &Processes,
        cancel: &CancellationToken,
    ) -> Ended {
        let Some(keys) = self.shared_keys.get() else { return call(None).await };
        let (ended, outcome) = oneshot::channel();
        let (begun, processes) = (CancellationToken::new(), processes.clone());
        let begins = begun.clone();
        let run: RunUnderKey = Box::new(move |fence| {
            begins.cancel();
            Box::pin(async move {
                // It is always waited for.
                ended.send(call(Some(fence)).await).ok();
                processes.ended().await;
            })
        });
        let not_wanted = async {
            cancel.cancelled().await;
            // From its beginning on, the run sees to its end itself.
            if begun.is_cancelled() {
                std::future::pending::<()>().await;
            }
        };
        let lost = |why: &LostKeyError| Ended::With(Err((FailureKind::Closed, why.to_string())));
        tokio::select! {
            biased;
            under = keys.under(key, run) => match under {
                Ok(()) => outcome.await.unwrap_or_else(|_| lost(&LostKeyError("it was given up".to_owned()))),
                Err(why) => lost(&why),
            },
            () = not_wanted => Ended::Cancelled,
        }
    }
}
