//! Runs under keys that hold on other machines as well, where such are there.

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_core::FailureKind;
use tokio::sync::oneshot;

use super::{Automations, Engine};
use crate::control::Scope;
use crate::machine::Outcome;
use crate::shared_keys::{LostKeyError, RunUnderKey, SharedKeys};

/// What runs, with the fencing token of a key that is shared.
pub(super) type CallUnderKey = Box<dyn FnOnce(Option<u64>) -> BoxFuture<Outcome> + Send>;

impl Automations {
    /// Has keys with the scope `cluster` hold on other machines as well, from the next run on. The first ones count; they
    /// are given before automations are registered, so that no run goes without them.
    pub fn share_keys(&self, keys: Arc<dyn SharedKeys>) {
        self.engine.shared_keys.set(keys).ok();
    }

    /// The automations with a key of the scope `cluster` that holds on this machine only, as nothing shares keys with others.
    #[must_use]
    pub fn keys_not_shared(&self) -> Vec<Arc<str>> {
        if self.engine.shared_keys.get().is_some() {
            return Vec::new();
        }
        let core = self.engine.core();
        let shared = core.handlers.values().filter(|handler| handler.scope == Scope::Cluster);
        let mut names: Vec<_> = shared.map(|handler| Arc::clone(&handler.name)).collect();
        names.sort();
        names
    }
}

impl Engine {
    /// Runs this under a key of which other machines know; what ran while the key was lost does not count.
    pub(super) async fn under_shared(&self, key: &str, call: CallUnderKey) -> Outcome {
        let Some(keys) = self.shared_keys.get() else { return call(None).await };
        let (ended, outcome) = oneshot::channel();
        let run: RunUnderKey = Box::new(move |fence| {
            Box::pin(async move {
                // It is always waited for.
                ended.send(call(Some(fence)).await).ok();
            })
        });
        let lost = |why: &LostKeyError| Err((FailureKind::Closed, why.to_string()));
        match keys.under(key, run).await {
            Ok(()) => outcome.await.unwrap_or_else(|_| lost(&LostKeyError("it was given up".to_owned()))),
            Err(why) => lost(&why),
        }
    }
}
