//! A swarm over three machines: one hook on the root, registered while they run, refuses on each of them.

use std::sync::Arc;

use lineside::prelude::*;
use tokio::sync::Barrier;

use crate::machine::{Machine, guard, reason};
use crate::nats::Nats;

/// How many agents there are on each machine.
const AGENTS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_hook_on_the_root_refuses_every_dangerous_call_on_every_machine() {
    let nats = Nats::new().await;
    let machines = [
        Machine::new(&nats.url(), "a").await,
        Machine::new(&nats.url(), "b").await,
        Machine::new(&nats.url(), "c").await,
    ];
    let root = machines[0].client().session("root").open().await.unwrap();
    let barrier = Arc::new(Barrier::new(machines.len() * AGENTS + 1));
    let mut agents = Vec::new();
    for (number, machine) in machines.iter().enumerate() {
        for agent in 0..AGENTS {
            let (below, barrier) = (machine.below(&root), Arc::clone(&barrier));
            agents.push(tokio::spawn(async move {
                let session = below.session(format!("agent-{number}-{agent}"));
                let session = session.agent(Agent::subagent("worker")).open().await.unwrap();
                assert_eq!(reason(&session, "rm -rf /").await, None, "no hook is there yet");
                barrier.wait().await;
                // The hook is registered here, while all of them run.
                barrier.wait().await;
                for _ in 0..5 {
                    assert_eq!(reason(&session, "rm -rf /").await.as_deref(), Some("no rm"));
                    assert_eq!(reason(&session, "ls").await, None);
                }
            }));
        }
    }
    barrier.wait().await;
    guard(&root, "no-rm", "rm").await;
    barrier.wait().await;
    for agent in agents {
        agent.await.unwrap();
    }
}
