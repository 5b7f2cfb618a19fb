//! Concurrency keys that hold on all machines of the cluster: a key is a lease there, named by its digest.

use lineside::automation::{LostKeyError, RunUnderKey, SharedKeys};
use lineside::bus::interceptor::BoxFuture;
use lineside_nats::{Cluster, Token};
use sha2::Digest as _;
use tokio::sync::oneshot;

use super::draining::Draining;
use crate::random;

/// How many bytes of the digest name a key.
const NAME: usize = 16;

/// The keys of a cluster.
pub(super) struct ClusterKeys {
    pub(super) cluster: Cluster,
    pub(super) draining: Draining,
}

/// What a key is called on all machines.
pub(super) fn named(key: &str) -> String {
    random::hex(sha2::Sha256::digest(key).into_iter().take(NAME))
}

impl SharedKeys for ClusterKeys {
    fn under(&self, key: &str, run: RunUnderKey) -> BoxFuture<Result<(), LostKeyError>> {
        let Self { cluster, draining } = self;
        let (cluster, draining, name) = (cluster.clone(), draining.clone(), Token::new(named(key)));
        Box::pin(async move {
            let name = name.map_err(|error| LostKeyError(error.to_string()))?;
            let (has_it, had) = oneshot::channel();
            let run = |fence| {
                has_it.send(()).ok();
                run(fence)
            };
            let mut held = std::pin::pin!(cluster.under(&name, run));
            tokio::select! {
                biased;
                Ok(()) = had => {}
                // A machine that leaves goes on with what has its key, and leaves what waits to its next start.
                () = draining.begun() => std::future::pending().await,
                ended = &mut held => return ended.map_err(|error| LostKeyError(error.to_string())),
            }
            held.await.map_err(|error| LostKeyError(error.to_string()))
        })
    }
}
