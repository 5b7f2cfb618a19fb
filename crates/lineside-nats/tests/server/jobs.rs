//! Names of jobs: each is given to one of those that ask for its hook, once for each round, and again where it is given back.

use std::time::Duration;

use lineside_nats::{Cluster, JobQueue, NewName, TakenName};
use tokio::time::timeout;

use crate::members::{member, stands};
use crate::nats::{LONG, Nats};

const HOOK: &str = "content.hook";

fn new(job: u64, round: &str) -> NewName {
    NewName { job, round: round.to_owned(), hook: HOOK.to_owned(), key: (job == 2).then(|| "key".to_owned()) }
}

async fn named(cluster: &Cluster, names: Vec<NewName>) {
    let named = async { while cluster.name_jobs(names.clone()).await.is_err() {} };
    timeout(LONG, named).await.expect("they are named in time");
}

pub(crate) async fn next(queue: &mut JobQueue) -> TakenName {
    let next = async {
        loop {
            if let Ok(Some(taken)) = queue.next().await {
                return taken;
            }
        }
    };
    timeout(LONG * 2, next).await.expect("there is one in time")
}

#[tokio::test]
async fn each_name_is_given_to_one_that_asks_for_its_hook() {
    let mut nats = Nats::new().await;
    let ((a, _a), (b, _b)) = (member(&nats.url(), "a").await, member(&nats.url(), "b").await);
    assert!(a.hooks_with_jobs().await.is_empty(), "there is no stream yet");
    named(&a, vec![new(1, "0"), new(2, "0")]).await;
    named(&a, vec![new(1, "0"), new(3, "0")]).await;
    assert_eq!(b.hooks_with_jobs().await, [HOOK]);
    let (mut of_a, mut of_b) = (a.job_queue(HOOK), b.job_queue(HOOK));
    let (one, two) = (next(&mut of_b).await, next(&mut of_a).await);
    assert_eq!((&*one.name.machine, &*one.name.life, one.name.job), ("a", a.settings().life.as_str(), 1));
    assert_eq!((two.name.job, two.name.key.as_deref()), (2, Some("key")));
    // What is given back comes again, and what has come twice in one round does not.
    two.back(Duration::ZERO).await;
    let mut jobs = [next(&mut of_b).await, next(&mut of_b).await].map(|taken| taken.name.job);
    jobs.sort_unstable();
    assert_eq!(jobs, [2, 3]);
    one.hold().await;
    one.done().await;
    // Of another hook nothing is given.
    let mut other = b.job_queue("content.other");
    assert!(timeout(Duration::from_millis(300), other.next()).await.is_err());
    // A server that has lost everything has what is named again.
    nats.kill();
    nats.lose_everything();
    nats.start().await;
    for one in [&a, &b] {
        stands(one, |health| health.link.is_together()).await;
    }
    named(&a, vec![new(1, "0")]).await;
    assert_eq!(next(&mut of_b).await.name.job, 1);
}
