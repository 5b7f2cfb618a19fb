//! Members of a cluster on a server.

use lineside_nats::cluster::Questions;
use lineside_nats::{Cluster, Health, JoinSettings, Sync, Token};
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
    }
}

/// A member that is together with the others.
pub(crate) async fn member(url: &str, machine: &str) -> (Cluster, Questions) {
    let (cluster, questions) = Cluster::join(settings(url, machine, "1")).await.unwrap();
    stands(&cluster, |health| health.link.is_together()).await;
    (cluster, questions)
}

/// Waits until a member stands so.
pub(crate) async fn stands(cluster: &Cluster, so: impl Fn(&Health) -> bool) -> Health {
    let mut health = cluster.health();
    match timeout(LONG, health.wait_for(so)).await {
        Ok(found) => found.unwrap().clone(),
        Err(_) => panic!("it does not stand so: {:?}", cluster.health().borrow()),
    }
}
