//! The workers of formats whose hooks are functions: kept over a reload that changes nothing, and ended with the bus.

use std::collections::HashMap;

use lineside_core::worker::{StartWorkerError, WorkerReady, WorkerSpec};
use lineside_dialects::{Loaded, Plugins};
use lineside_exec::{Worker, WorkerListener};
use tokio::sync::Mutex;

use crate::outside::Outside;

/// The worker of each dialect that has one.
#[derive(Default)]
pub(crate) struct Workers {
    kept: Mutex<HashMap<&'static str, Kept>>,
}

struct Kept {
    spec: WorkerSpec,
    worker: Worker,
    started: Result<WorkerReady, StartWorkerError>,
}

/// What is to be ended once the hooks of its successor are in force.
#[must_use = "a worker that is not ended goes on"]
pub(crate) struct Replaced(Option<Worker>);

impl Replaced {
    /// Lets the calls under way finish, then ends it.
    pub(crate) async fn end(self) {
        if let Some(worker) = self.0 {
            worker.shutdown().await;
        }
    }
}

impl Workers {
    /// The worker of a load and the hooks that it has, and the worker that it takes the place of. One that would be
    /// the same is kept, with everything that its plugins remember.
    pub(crate) async fn load(
        &self,
        dialect: &'static str,
        plugins: Plugins,
        outside: &Outside,
    ) -> (Worker, Loaded, Replaced) {
        let Plugins { mut worker, script, registered } = plugins;
        outside.rebase(&mut worker.environment);
        let mut kept = self.kept.lock().await;
        if let Some(same) = kept.get(dialect).filter(|kept| kept.spec == worker && kept.started.is_ok()) {
            return (same.worker.clone(), registered(same.started.clone()), Replaced(None));
        }
        let containment = outside.runner.containment().clone();
        let listener = WorkerListener::default();
        let (process, started) =
            Worker::start_contained(worker.clone(), &script, listener, containment).await;
        let loaded = registered(started.clone());
        let before = kept.insert(dialect, Kept { spec: worker, worker: process.clone(), started });
        (process, loaded, Replaced(before.map(|kept| kept.worker)))
    }

    /// The worker of a dialect that has no plugins any more.
    pub(crate) async fn unload(&self, dialect: &'static str) -> Replaced {
        Replaced(self.kept.lock().await.remove(dialect).map(|kept| kept.worker))
    }

    /// Ends all of them.
    pub(crate) async fn end(&self) {
        let all: Vec<Worker> = self.kept.lock().await.drain().map(|(_, kept)| kept.worker).collect();
        for worker in all {
            worker.shutdown().await;
        }
    }
}
