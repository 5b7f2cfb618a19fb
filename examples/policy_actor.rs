//! A policy with a memory: an actor that gives each session a budget of shell commands.
//!
//! A closure that judges is asked by many publishers at once and would need a lock around its state. An actor owns its
//! state and handles one question at a time. To the bus both are gates in the same order: the actor is asked, and its
//! reply travels back through a oneshot channel.
//!
//! Ten agents share one policy here and call at the same time. None gets more than its budget, however their calls
//! interleave; and when the actor is gone, its gate blocks, because failing is not allowing.
//!
//! ```sh
//! cargo run --example policy_actor
//! ```

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;

use lineside::core::SessionId;
use lineside::kameo::Actor;
use lineside::kameo::actor::{ActorRef, Spawn as _};
use lineside::kameo::message::{Context, Message};
use lineside::prelude::*;
use tokio::task::JoinSet;

const AGENTS: usize = 10;
const CALLS: usize = 30;
const BUDGET: u32 = 12;

/// The state: how many commands each session has run.
struct ShellBudget {
    limit: u32,
    used: HashMap<SessionId, u32>,
}

impl Actor for ShellBudget {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(budget: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(budget)
    }
}

/// As a gate: the message is the event, the reply is the verdict.
impl Message<Intercept<BeforeTool>> for ShellBudget {
    type Reply = Result<Verdict, Infallible>;

    async fn handle(
        &mut self,
        call: Intercept<BeforeTool>,
        _: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        let source = &call.event.envelope().source;
        let used = self.used.entry(source.session.clone()).or_default();
        if *used == self.limit {
            return Ok(Verdict::block(format!("{} has used its {} commands", source.agent.id, self.limit)));
        }
        *used += 1;
        Ok(Verdict::Continue)
    }
}

/// The same actor as an observer: a new prompt is a new budget.
impl Message<Heard<BeforePrompt>> for ShellBudget {
    type Reply = ();

    async fn handle(&mut self, prompt: Heard<BeforePrompt>, _: &mut Context<Self, ()>) {
        self.used.remove(&prompt.event().envelope().source.session);
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let bus = Bus::new();
    let policy = ShellBudget::spawn(ShellBudget { limit: BUDGET, used: HashMap::new() });
    bus.intercept::<BeforeTool>("shell-budget").matching(tool("Shell")).actor(policy.clone())?;
    bus.observe::<BeforePrompt>("shell-budget").actor(policy.clone())?;

    let root = bus.session("root").open().await?;
    let mut agents = JoinSet::new();
    for number in 0..AGENTS {
        let name = format!("worker-{number}");
        let session = root.subagent(name.as_str()).agent(Agent::subagent(name)).open().await?;
        agents.spawn(async move { spend(&session).await.map(|ran| (session, ran)) });
    }
    let mut total = 0;
    while let Some(spent) = agents.join_next().await {
        let (session, ran) = spent??;
        assert_eq!(ran, BUDGET, "{} ran {ran}", session.id());
        total += ran;
    }
    println!(
        "{AGENTS} agents, {CALLS} calls each, budget {BUDGET}: {total} ran, {} were refused",
        AGENTS * CALLS - total as usize
    );

    let session = bus.find("worker-0").ok_or("worker-0 is still open")?;
    let refused = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    println!("why: {}", refused.reason().ok_or("a refusal has a reason")?);
    assert!(refused.is_refused());
    let other = session.publish(BeforeTool::new("ReadFile", json!({"path": "a"}))).await?;
    assert!(!other.is_refused(), "its matcher leaves other tools alone");

    // Without its actor the gate cannot answer. A native gate then blocks, and says so.
    policy.stop_gracefully().await?;
    policy.wait_for_shutdown().await;
    let orphaned = root.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    println!("without the actor: {}", orphaned.reason().ok_or("a refusal has a reason")?);
    assert!(orphaned.is_refused());
    assert_eq!(bus.failures(), 1);
    assert!(bus.drain(secs(1)).await.is_clean());
    Ok(())
}

/// Calls the shell until the calls are used up; gives how many were let through.
async fn spend(session: &Session) -> Result<u32, lineside::bus::PublishError> {
    let mut ran = 0;
    for number in 0..CALLS {
        let call = BeforeTool::new("Shell", json!({"command": format!("step {number}")}));
        ran += u32::from(!session.publish(call).await?.is_refused());
    }
    Ok(ran)
}
