//! How many names of jobs wait on a machine for keys.

use futures_util::future::join_all;
use lineside_nats::{Clock, Cluster, JoinSettings, Sync, Token};

use crate::jobs::{Scene, WAITS, idles, jobs};
use crate::machine::Machine;

const MOST: usize = 1_024;
const MORE: usize = 3;

/// The keys of the names in the stream.
async fn keys(url: &str, names: usize) -> Vec<Token> {
    let client = async_nats::connect(url).await.unwrap();
    let stream = async_nats::jetstream::new(client).get_stream("lineside_default_jobs").await.unwrap();
    let mut keys = Vec::new();
    for sequence in 1..=names {
        let name = stream.get_raw_message(u64::try_from(sequence).unwrap()).await.unwrap();
        let text = std::str::from_utf8(&name.payload).unwrap();
        keys.push(Token::new(text.rsplit(' ').next().unwrap()).unwrap());
    }
    keys
}

/// A member that has these keys until it is dropped.
async fn holds(url: &str, keys: Vec<Token>) -> tokio::task::JoinHandle<()> {
    let token = |text: &str| Token::new(text).unwrap();
    let settings = JoinSettings {
        servers: url.to_owned(),
        credentials: None,
        roots: None,
        cluster: token("default"),
        machine: token("holder"),
        life: token("1"),
        sync: Sync::AsSet,
        clock: Clock::default(),
    };
    let (cluster, questions) = Cluster::join(settings).await.unwrap();
    let (all, held) = (keys.len(), cluster.clone());
    let holding = tokio::spawn(async move {
        let _questions = questions;
        let of = |key| {
            let held = held.clone();
            async move { held.under(&key, |_| std::future::pending::<()>()).await.unwrap() }
        };
        join_all(keys.into_iter().map(of)).await;
    });
    while cluster.keys_held() < all {
        tokio::task::yield_now().await;
    }
    holding
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_has_a_thousand_names_wait_for_keys_and_another_one_takes_what_is_more() {
    let scene = Scene::new(", concurrency: '{session}', scope: cluster").await;
    let (a, root) = scene.a(WAITS).await;
    scene.busy(&a).await;
    for number in 0..MOST + MORE {
        idles(&a, &root, &format!("s{number}")).await;
    }
    a.until(|status| jobs(status, "published") == u64::try_from(MOST + MORE).unwrap()).await;
    let url = scene.nats.url();
    let holding = holds(&url, keys(&url, MOST + MORE).await).await;
    let (b, _) = scene.b("repo", WAITS).await;
    let waiting = async |machine: &Machine, names: usize| {
        machine.until(|status| jobs(status, "waiting") == u64::try_from(names).unwrap()).await
    };
    waiting(&b, MOST).await;
    let c = Machine::with_running(&url, "c", 1).await;
    scene.project(&c, "repo", WAITS);
    waiting(&c, MORE).await;
    waiting(&b, MOST).await;
    holding.abort();
}
