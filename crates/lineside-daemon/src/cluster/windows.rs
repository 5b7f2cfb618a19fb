//! Windows and rates of automations that hold on all machines of the cluster: each is an entry there, named by its digest.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lineside::automation::engine::SharedWindow;
use lineside::automation::{SharedRate, SharedWindows};
use lineside::bus::interceptor::BoxFuture;
use lineside_nats::{Cluster, HeldEvents, StartsIn, Token, WindowPart};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::draining::Draining;
use super::keys::named;

/// The windows and the rates of a cluster.
pub(super) struct ClusterWindows {
    pub(super) cluster: Cluster,
    pub(super) draining: Draining,
    /// In how many windows of the cluster something of this machine is.
    pub(super) parts: Arc<AtomicUsize>,
    pub(super) ending: CancellationToken,
}

/// What this machine holds in a window of the cluster, which is over when the machine leaves.
struct Part {
    window: SharedWindow,
    draining: Draining,
    /// Its task knows that the machine leaves.
    is_known: AtomicBool,
    count: Arc<AtomicUsize>,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WindowPart for Part {
    fn held(&self) -> Option<HeldEvents> {
        let held = self.window.held()?;
        Some(HeldEvents {
            ids: held.events.iter().map(|event| event.id.to_string()).collect(),
            quiet: held.hold.pace.quiet,
            at_most: held.hold.pace.at_most,
            count: held.hold.count,
            closes: held.closes || self.draining.has_begun(),
        })
    }

    fn texts(&self, ids: &[String]) -> Vec<(String, String)> {
        let wanted: HashSet<&String> = ids.iter().collect();
        let events = self.window.held().map(|held| held.events).unwrap_or_default();
        let texts = events.iter().map(|event| (event.id.to_string(), event));
        texts.filter(|(id, _)| wanted.contains(id)).map(|(id, event)| (id, event.text())).collect()
    }

    async fn changed(&self) {
        tokio::select! {
            () = self.window.changed() => {}
            () = self.draining.begun(), if !self.is_known.load(Ordering::Relaxed) => {
                self.is_known.store(true, Ordering::Relaxed);
            }
        }
    }

    async fn close(&self, all: Vec<String>) {
        // What is not kept is said of the automations as a whole.
        self.window.close(&all).await.ok();
    }

    fn elsewhere(&self, ids: Vec<String>) {
        self.window.elsewhere(ids.iter().filter_map(|id| id.parse().ok()).collect());
    }
}

/// A window of a machine that has left, or is about to: it is over by the clock of this machine.
async fn alone(window: &SharedWindow) {
    let began = Instant::now();
    let (mut last, mut count) = (began, 0);
    while let Some(held) = window.held() {
        if held.events.len() != count {
            (last, count) = (Instant::now(), held.events.len());
        }
        let due = (last + held.hold.pace.quiet).min(began + held.hold.pace.at_most);
        if held.closes || count >= held.hold.count || due <= Instant::now() {
            window.close(&[]).await.ok();
            return;
        }
        timeout_at(due, window.changed()).await.ok();
    }
}

impl SharedWindows for ClusterWindows {
    fn take_part(&self, window: SharedWindow) -> BoxFuture<bool> {
        let Self { cluster, draining, parts, ending } = self;
        let (cluster, draining) = (cluster.clone(), draining.clone());
        let (count, ending) = (Arc::clone(parts), ending.clone());
        Box::pin(async move {
            let Ok(name) = Token::new(named(&window.name())) else { return false };
            let held = async {
                if draining.has_begun() {
                    return alone(&window).await;
                }
                count.fetch_add(1, Ordering::Relaxed);
                let part = Part { window, draining, is_known: AtomicBool::new(false), count };
                cluster.take_part(&name, &part).await;
            };
            // At the end, what this machine holds is left to its next start.
            ending.run_until_cancelled(held).await.is_some()
        })
    }

    fn let_in(&self, rate: SharedRate) -> BoxFuture<bool> {
        let cluster = self.cluster.clone();
        Box::pin(async move {
            let SharedRate { name, starts, period, waits } = rate;
            let Ok(name) = Token::new(named(&name)) else { return std::future::pending().await };
            let starts = usize::try_from(starts).unwrap_or(usize::MAX);
            cluster.let_in(&name, StartsIn { starts, period }, waits).await
        })
    }
}
