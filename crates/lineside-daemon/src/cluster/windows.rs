//! Windows and rates of automations that hold on all machines of the cluster: each is an entry there, named by its digest.

use std::collections::HashSet;

use lineside::automation::engine::SharedWindow;
use lineside::automation::{SharedRate, SharedWindows};
use lineside::bus::interceptor::BoxFuture;
use lineside_nats::{Cluster, HeldEvents, StartsIn, Token, WindowPart};
use tokio_util::sync::CancellationToken;

use super::draining::Draining;
use super::keys::named;

/// The windows and the rates of a cluster.
pub(super) struct ClusterWindows {
    pub(super) cluster: Cluster,
    pub(super) draining: Draining,
    pub(super) ending: CancellationToken,
}

/// What this machine holds in a window.
struct Part(SharedWindow);

impl WindowPart for Part {
    fn held(&self) -> Option<HeldEvents> {
        let held = self.0.held()?;
        Some(HeldEvents {
            ids: held.events.iter().map(|event| event.id.to_string()).collect(),
            quiet: held.hold.pace.quiet,
            at_most: held.hold.pace.at_most,
            count: held.hold.count,
            closes: held.closes,
        })
    }

    fn texts(&self, ids: &[String]) -> Vec<(String, String)> {
        let wanted: HashSet<&String> = ids.iter().collect();
        let events = self.0.held().map(|held| held.events).unwrap_or_default();
        let texts = events.iter().map(|event| (event.id.to_string(), event));
        texts.filter(|(id, _)| wanted.contains(id)).map(|(id, event)| (id, event.text())).collect()
    }

    async fn changed(&self) {
        self.0.changed().await;
    }

    async fn close(&self, all: Vec<String>) {
        // What is not kept is said of the automations as a whole.
        self.0.close(&all).await.ok();
    }

    fn elsewhere(&self, ids: Vec<String>) {
        self.0.elsewhere(ids.iter().filter_map(|id| id.parse().ok()).collect());
    }
}

impl SharedWindows for ClusterWindows {
    fn take_part(&self, window: SharedWindow) -> BoxFuture<bool> {
        let (cluster, draining, ending) = (self.cluster.clone(), self.draining.clone(), self.ending.clone());
        Box::pin(async move {
            let Ok(name) = Token::new(named(&window.name())) else { return false };
            let part = Part(window);
            tokio::select! {
                biased;
                // What this machine holds is left to its next start.
                () = ending.cancelled() => false,
                () = draining.begun() => false,
                () = cluster.take_part(&name, &part) => true,
            }
        })
    }

    fn let_in(&self, rate: SharedRate) -> BoxFuture<bool> {
        let (cluster, draining, ending) = (self.cluster.clone(), self.draining.clone(), self.ending.clone());
        Box::pin(async move {
            let SharedRate { name, starts, period, waits } = rate;
            let Ok(name) = Token::new(named(&name)) else { return std::future::pending().await };
            let starts = usize::try_from(starts).unwrap_or(usize::MAX);
            let not_here = async {
                tokio::select! {
                    () = ending.cancelled() => {}
                    () = draining.begun() => {}
                }
                std::future::pending::<bool>().await
            };
            tokio::select! {
                biased;
                is_in = not_here => is_in,
                is_in = cluster.let_in(&name, StartsIn { starts, period }, waits) => is_in,
            }
        })
    }
}
