//! A thousand subagents under one set of hooks.
//!
//! The sessions form a tree, ten below the root, ten below each of these, ten below each of those, and all of them
//! publish at the same time. None of them registers anything: a session is under the hooks of its ancestors from its
//! first event on. While the swarm runs, one more hook is registered at the root. Whatever is published after that call
//! has returned is under the new hook, anywhere in the tree.
//!
//! Asserted at the end: each call that had to be refused was refused, in every subagent, by the hook that refuses it;
//! nothing else was; and all sessions have the coverage digest of the root.
//!
//! ```sh
//! cargo run --release --example swarm
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use lineside::bus::PublishError;
use lineside::prelude::*;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

const BRANCHES: usize = 10;
const DEPTH: usize = 3;
/// Rounds that each agent plays, at least, before and after the network is closed.
const ROUNDS: usize = 4;

/// What the subagents of one depth have seen.
#[derive(Default, Clone, Copy)]
struct Seen {
    agents: u64,
    decisions: u64,
    dangerous: u64,
    dangerous_refused: u64,
    fetches_after: u64,
    fetches_after_refused: u64,
    refused_wrongly: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bus = Bus::new();
    let root = bus.session("root").agent(Agent::main("main")).open().await?;
    let deletes_all = runs("rm").flag("-r|-R|--recursive").operand("/");
    root.intercept::<BeforeTool>("no-rm-rf")
        .priority(900)
        .matching(deletes_all)
        .gate(async |_call, _cx| Verdict::block("refuses to delete /"))?;
    root.intercept::<AfterTool>("short-results").amend(async |result, _cx| {
        match result.tool_output.as_str() {
            Some(output) if output.len() > 40 => Reply::amend(AfterTool::amend().tool_output(&output[..40])),
            _ => Verdict::Continue.into(),
        }
    })?;

    let began = Instant::now();
    let sessions = tree(&root).await?;
    let opened = began.elapsed();

    // All agents start; somewhere in the middle of it all the network is closed.
    let (close, closed) = watch::channel(false);
    let (warm, mut warmed_up) = mpsc::channel::<()>(sessions.len());
    let began = Instant::now();
    let mut swarm = JoinSet::new();
    for session in &sessions {
        swarm.spawn(live(session.clone(), closed.clone(), warm.clone()));
    }
    for _ in 0..sessions.len() / 2 {
        warmed_up.recv().await;
    }
    root.intercept::<BeforeTool>("no-network")
        .matching(tool("Fetch"))
        .gate(async |_call, _cx| Verdict::block("the network is closed"))?;
    close.send(true)?;

    let mut levels = [Seen::default(); DEPTH + 1];
    while let Some(ended) = swarm.join_next().await {
        let (depth, seen) = ended??;
        levels[depth].add(seen);
    }
    report(&levels, opened, began.elapsed());

    for level in &levels[1..] {
        assert_eq!(level.dangerous_refused, level.dangerous, "every dangerous call, in every subagent");
        assert_eq!(level.fetches_after_refused, level.fetches_after, "every fetch, once that was closed");
        assert_eq!(level.refused_wrongly, 0);
        assert!(level.fetches_after > 0);
    }
    assert!(sessions.iter().all(|session| session.coverage() == root.coverage()));
    println!("all {} subagents are under the hooks of the root: {}…", sessions.len(), &root.coverage()[..16]);
    assert!(bus.drain(secs(5)).await.is_clean());
    Ok(())
}

/// The tree below a session, level by level.
async fn tree(root: &Session) -> Result<Vec<Session>, Box<dyn Error>> {
    let mut all = Vec::new();
    let mut level = vec![root.clone()];
    for _ in 0..DEPTH {
        let mut next = Vec::with_capacity(level.len() * BRANCHES);
        for parent in &level {
            for number in 0..BRANCHES {
                let id = format!("{}/{number}", parent.id());
                next.push(parent.subagent(id).agent(Agent::subagent("worker")).open().await?);
            }
        }
        all.extend_from_slice(&next);
        level = next;
    }
    Ok(all)
}

/// The life of one subagent.
async fn live(
    session: Session,
    mut closed: watch::Receiver<bool>,
    warm: mpsc::Sender<()>,
) -> Result<(usize, Seen), PublishError> {
    let mut seen = Seen { agents: 1, ..Seen::default() };
    for _ in 0..ROUNDS {
        let known_closed = *closed.borrow();
        round(&session, known_closed, &mut seen).await?;
        tokio::task::yield_now().await;
    }
    warm.send(()).await.ok();
    closed.wait_for(|closed| *closed).await.ok();
    for _ in 0..ROUNDS {
        round(&session, true, &mut seen).await?;
    }
    Ok((session.source().depth as usize, seen))
}

/// Five events. Whether the network was closed is asked before the first of them.
async fn round(session: &Session, closed: bool, seen: &mut Seen) -> Result<(), PublishError> {
    let shell = |command: &str| BeforeTool::new("Shell", json!({"command": command}));
    let refused_by = |decision: &Decision<BeforeTool>, hook: &str| {
        decision.is_refused() && decision.author().is_some_and(|author| *author.name == *hook)
    };

    let model = session.publish(BeforeModel::new("script")).await?;
    let harmless = session.publish(shell("cargo test")).await?;
    seen.refused_wrongly += u64::from(model.is_refused()) + u64::from(harmless.is_refused());

    let dangerous = session.publish(shell("cd / && rm -rf /")).await?;
    seen.dangerous += 1;
    seen.dangerous_refused += u64::from(refused_by(&dangerous, "no-rm-rf"));

    let fetch = session.publish(BeforeTool::new("Fetch", json!({"url": "https://example.com"}))).await?;
    // A fetch just before the hook may go either way; one after it may not.
    seen.fetches_after += u64::from(closed);
    seen.fetches_after_refused += u64::from(closed && refused_by(&fetch, "no-network"));

    let result = session.publish(AfterTool::new("Shell", "a line of output\n".repeat(8))).await?;
    assert_eq!(result.payload().tool_output.as_str().map(str::len), Some(40), "the amender is inherited too");
    seen.decisions += 5;
    Ok(())
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.agents += other.agents;
        self.decisions += other.decisions;
        self.dangerous += other.dangerous;
        self.dangerous_refused += other.dangerous_refused;
        self.fetches_after += other.fetches_after;
        self.fetches_after_refused += other.fetches_after_refused;
        self.refused_wrongly += other.refused_wrongly;
    }
}

fn report(levels: &[Seen], opened: Duration, took: Duration) {
    println!("depth  agents  decisions  rm -rf / refused   fetch refused, once closed");
    for (depth, seen) in levels.iter().enumerate().skip(1) {
        println!(
            "{depth:>5}  {:>6}  {:>9}  {:>6} of {:<6}   {:>6} of {}",
            seen.agents,
            seen.decisions,
            seen.dangerous_refused,
            seen.dangerous,
            seen.fetches_after_refused,
            seen.fetches_after,
        );
    }
    let agents: u64 = levels.iter().map(|seen| seen.agents).sum();
    let decisions: u64 = levels.iter().map(|seen| seen.decisions).sum();
    println!("{agents} sessions opened in {:.1} ms", opened.as_secs_f64() * 1000.0);
    println!(
        "{decisions} decisions in {:.0} ms: {:.0} a second",
        took.as_secs_f64() * 1000.0,
        decisions as f64 / took.as_secs_f64()
    );
}
