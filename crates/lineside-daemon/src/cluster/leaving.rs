//! A machine leaves its cluster while it runs: it waits for what is under way between it and the others.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside::core::Notice;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Here;
use super::hearing::parents;
use super::joined::Joined;
use crate::api::shapes::ClusterDrained;

/// How often it is looked whether everything is over.
const LOOK: Duration = Duration::from_millis(100);

impl Joined {
    /// Takes nothing more of other machines, waits for what is under way, at most for this time, and leaves.
    pub(crate) async fn drain(
        &self,
        daemon: &dyn Here,
        within: Duration,
        leaving: Duration,
    ) -> ClusterDrained {
        let until = Instant::now() + within;
        self.draining.begin();
        let name = self.ways.machine();
        let cluster = &self.cluster().settings().cluster;
        daemon.bus().announce(Notice::info(format!(
            "machine `{name}` leaves cluster `{cluster}`: it takes nothing more of others"
        )));
        let left = loop {
            let left = self.under_way(daemon);
            if left.is_over() || Instant::now() >= until {
                break left;
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = daemon.ending().cancelled() => break left,
            }
        };
        // Nothing of others runs here when they hear that this machine has left: they may run it at once then.
        self.jobs.borrowed().values().for_each(CancellationToken::cancel);
        let over = async {
            while self.jobs.status().here > 0 {
                sleep(LOOK).await;
            }
        };
        timeout(leaving, over).await.ok();
        self.leave(leaving).await;
        daemon.bus().announce(Notice::info(format!("machine `{name}` has left cluster `{cluster}`")));
        left
    }

    /// What is under way between this machine and others.
    fn under_way(&self, daemon: &dyn Here) -> ClusterDrained {
        let parents = parents(daemon);
        let here = self.stand_ins().iter().filter(|(_, one)| parents.contains(one.session.id())).count();
        let elsewhere = self.own().held().map(|own| own.machines.len()).sum();
        let jobs = self.jobs.status();
        let jobs = jobs.here + jobs.elsewhere;
        let windows = self.windows.load(Ordering::Relaxed);
        ClusterDrained { here, elsewhere, keys: self.cluster().keys_held(), jobs, windows }
    }
}
