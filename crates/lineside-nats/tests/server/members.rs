//! Members of a cluster on a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lineside_nats::cluster::Questions;
use lineside_nats::{Clock, Cluster, Health, JoinSettings, Sync, Token};
use tokio::time::timeout;

use crate::nats::LONG;

pub(crate) fn settings(url: &str, machine: &str, life: &str) -> JoinSettings {
    let token = |text: &str| Token::new(text).unwrap();
    JoinSettings {
        servers: url.to_owned(),
        credentials: None,
        roots: None,
        cluster: token("test"),
        machine: token(machine),
        life: token(life),
        sync: Sync::AsSet,
        clock: Clock::default(),
    }
}

/// A member that is together with the others.
pub(crate) async fn member(url: &str, machine: &str) -> (Cluster, Questions) {
    joined(settings(url, machine, "1")).await
}

async fn joined(settings: JoinSettings) -> (Cluster, Questions) {
    let (cluster, questions) = Cluster::join(settings).await.unwrap();
    stands(&cluster, |health| health.link.is_together()).await;
    (cluster, questions)
}

/// A member on a machine that is suspended for as many seconds as are added here.
pub(crate) async fn suspended(url: &str, machine: &str) -> (Cluster, Questions, Arc<AtomicU64>) {
    let (seconds, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let added = Arc::clone(&seconds);
    let clock = Clock::new(move || began.elapsed() + Duration::from_secs(added.load(Ordering::SeqCst)));
    let (cluster, questions) = by_clock(url, machine, clock).await;
    (cluster, questions, seconds)
}

/// A member on a machine with this clock.
pub(crate) async fn by_clock(url: &str, machine: &str, clock: Clock) -> (Cluster, Questions) {
    joined(JoinSettings { clock, ..settings(url, machine, "1") }).await
}

/// Waits until a member stands so.
pub(crate) async fn stands(cluster: &Cluster, so: impl Fn(&Health) -> bool) -> Health {
    let mut health = cluster.health();
    match timeout(LONG, health.wait_for(so)).await {
        Ok(found) => found.unwrap().clone(),
        Err(_) => panic!("it does not stand so: {:?}", cluster.health().borrow()),
    }
}
