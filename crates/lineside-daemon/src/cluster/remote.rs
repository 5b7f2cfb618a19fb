//! A hook that lives on another machine: asked there under the time that the event has left, and given up with it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside::Elsewhere;
use lineside::core::failure::FailureKind;
use lineside::core::worker::{HookCall, WorkerEnded};
use lineside_nats::{AskMachineError, Cluster, EntryName};
use tokio::sync::Semaphore;

use super::words::{Reply, Word, read, written};
use crate::random;

/// How many calls are under way to all other machines; one more fails at once.
const MOST: usize = 4_096;

/// The way to other machines.
#[derive(Clone)]
pub(super) struct Ways {
    pub(super) cluster: Cluster,
    pub(super) room: Arc<Semaphore>,
    pub(super) last: Arc<AtomicU64>,
}

/// The numbers of calls. Those of an earlier life may still be under way on the other machines.
fn numbers() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(random::first_number()))
}

impl Ways {
    pub(super) fn new(cluster: Cluster) -> Self {
        Self { cluster, room: Arc::new(Semaphore::new(MOST)), last: numbers() }
    }

    /// What this machine is called.
    pub(super) fn machine(&self) -> &str {
        self.cluster.settings().machine.as_str()
    }
}

/// A hook on another machine.
pub(super) struct RemoteHook {
    pub(super) ways: Ways,
    pub(super) machine: Arc<str>,
    pub(super) session: EntryName,
    pub(super) number: u64,
}

impl std::fmt::Debug for RemoteHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteHook").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Elsewhere for RemoteHook {
    fn call(&self, call: HookCall) -> Pin<Box<dyn Future<Output = WorkerEnded> + Send + '_>> {
        Box::pin(self.ask(call))
    }
}

impl RemoteHook {
    async fn ask(&self, call: HookCall) -> WorkerEnded {
        let Ok(_room) = self.ways.room.try_acquire() else { return WorkerEnded::Dropped };
        let id = self.ways.last.fetch_add(1, Ordering::Relaxed);
        let HookCall { event, timeout, tree, .. } = call;
        let word = Word::Call {
            from: self.ways.machine().to_owned(),
            id,
            session: self.session.to_string(),
            hook: self.number,
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            tree: tree.map(|tree| tree.to_string()),
        };
        let mut given_up = GivenUp { hook: self, id, is_over: false };
        let asked = self.ways.cluster.ask(&self.machine, written(&word, &event).into(), timeout).await;
        given_up.is_over = !matches!(asked, Err(AskMachineError::TimedOut { .. }));
        drop(given_up);
        match asked {
            Ok(answer) => {
                let ended = read::<Reply>(&answer).and_then(|(reply, text)| reply.ended(text));
                ended.unwrap_or_else(|| self.failed(FailureKind::Output, "its answer cannot be read", true))
            }
            Err(AskMachineError::TooLarge { .. }) => WorkerEnded::TooLarge,
            Err(AskMachineError::Busy { .. }) => WorkerEnded::Dropped,
            Err(AskMachineError::TimedOut { .. }) => self.failed(FailureKind::Timeout, &after(timeout), true),
            Err(error) => self.failed(FailureKind::Closed, &error.to_string(), false),
        }
    }

    fn failed(&self, kind: FailureKind, why: &str, started: bool) -> WorkerEnded {
        let message = format!("on machine `{}`: {why}", self.machine);
        WorkerEnded::Failed { kind, message, started }
    }
}

fn after(timeout: Duration) -> String {
    format!("timed out after {timeout:?}")
}

/// Notifies the machine of a call whose answer is not waited for any more.
struct GivenUp<'a> {
    hook: &'a RemoteHook,
    id: u64,
    is_over: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let ways = &self.hook.ways;
            let word = Word::Cancel { from: ways.machine().to_owned(), id: self.id };
            ways.cluster.tell(&self.hook.machine, written(&word, "").into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_life_are_others_than_those_of_the_one_before() {
        let first = || numbers().load(Ordering::Relaxed);
        assert!(first().abs_diff(first()) >= 1 << 20);
    }
}
