//! A guard in shadow over a recorded week, and then enforced: what it would have refused is what a replay refuses, and both
//! are the truth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside::dialects::DIALECTS;
use lineside::log::{Follower, Log, Look, Options, Query};
use lineside::prelude::*;
use lineside::wire::{EventDraft, Vocabulary, publication};

const AGENTS: u64 = 50;
const REPOSITORIES: u64 = 8;

/// Numbers that look like chance and are the same each time.
fn mixed(number: u64) -> u64 {
    let mut number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// What an agent does, and whether the guard is to refuse it.
fn call(number: u64) -> (BeforeTool, bool) {
    let chance = mixed(number) % 100;
    let path = format!("src/file{}.rs", mixed(number ^ 1) % 1_000);
    match chance {
        0..=39 => (BeforeTool::new("ReadFile", json!({"path": path})), false),
        40..=64 => (BeforeTool::new("WriteFile", json!({"path": path, "content": "fn main() {}"})), false),
        65..=89 => (BeforeTool::new("Shell", json!({"command": format!("cargo test {path}")})), false),
        90..=96 => (
            BeforeTool::new("Shell", json!({"command": format!("git commit -m 'no git push of {path}'")})),
            false,
        ),
        _ => (BeforeTool::new("Shell", json!({"command": format!("git push origin {chance}")})), true),
    }
}

/// The guard that is tried out.
fn judged(call: &BeforeTool) -> Verdict {
    match call.command().as_deref() {
        Some(command) if command.starts_with("git push") => Verdict::block("open a pull request"),
        _ => Verdict::Continue,
    }
}

/// Records what the agents do, with the guard in shadow; gives how much of it is to be refused.
async fn record(file: &Path, events: u64) -> u64 {
    let bus = Bus::new();
    let mut follower = Follower::new(&bus, Log::open(file, Options::default()).unwrap());
    let tried = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&tried);
    let guard = bus.intercept::<BeforeTool>("no-push").shadow();
    guard
        .gate(move |call, _| {
            counts.fetch_add(1, Ordering::Relaxed);
            std::future::ready(judged(&call))
        })
        .unwrap();
    let mut sessions = Vec::new();
    for agent in 0..AGENTS {
        let project = format!("/repositories/{}", agent % REPOSITORIES);
        let session = bus.session(format!("agent-{agent}")).project_root(&*project).cwd(&*project);
        sessions.push(session.open().await.unwrap());
    }
    let mut truth = 0;
    for number in 0..events {
        let agent = usize::try_from(mixed(number ^ 2) % AGENTS).unwrap();
        let (call, refused) = call(number);
        truth += u64::from(refused);
        let decision = sessions[agent].publish(call).await.unwrap();
        assert_eq!(decision.verdict(), &Verdict::Continue, "a hook in shadow refuses nothing");
        if number % 512 == 511 || number + 1 == events {
            // Those that were started have their turn, and the log what is to be read before more comes.
            while tried.load(Ordering::Relaxed) <= number {
                tokio::task::yield_now().await;
            }
            follower.end();
        }
    }
    for session in sessions {
        session.close().await;
    }
    follower.end();
    let state = follower.state();
    assert_eq!((state.lost, state.trouble), (0, None));
    truth
}

/// How many of the recorded events the guard refuses when it counts.
async fn replayed(look: &Look) -> u64 {
    let bus = Bus::new();
    bus.intercept::<BeforeTool>("no-push").gate(async |call, _| judged(&call)).unwrap();
    let vocabulary = Vocabulary::new(DIALECTS);
    let (mut sessions, mut refused, mut after) = (HashMap::new(), 0, 0);
    loop {
        let found = look.recorded(&Query::default(), after, 4_096).unwrap();
        let Some(last) = found.last() else { return refused };
        after = last.decision.row;
        for recorded in found {
            let id = recorded.decision.session.clone();
            let session = match sessions.get(&id) {
                Some(session) => session,
                None => {
                    let session = bus.session(&*id).open().await.unwrap();
                    sessions.entry(id.clone()).or_insert(session)
                }
            };
            let event = json!({
                "point": recorded.decision.point, "session": id, "project_root": recorded.decision.project,
                "payload": recorded.payload,
            });
            let draft = EventDraft::read(event.as_object().unwrap().clone(), &vocabulary).unwrap();
            let receipt = publication(session, draft).publish_any().await.unwrap();
            refused += u64::from(receipt.verdict.strength().is_final());
        }
    }
}

async fn a_week(events: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlite");
    let truth = record(&file, events).await;
    assert!(truth > 0);
    let look = Look::open(&file).unwrap();
    let stats = look.stats(&Query::default(), 7, 100).unwrap();
    assert_eq!((stats.events, stats.refused, stats.sessions.len()), (events, 0, 50));
    let guard = stats.hooks.iter().find(|hook| hook.hook == "no-push").unwrap();
    let block = lineside::core::Strength::Block;
    assert_eq!((guard.shadows, guard.would.get(&block).copied()), (events, Some(truth)), "of shadow");
    assert_eq!(replayed(&look).await, truth, "of a replay");
}

/// How many events the week has: 3,000, or as many as a longer run asks for.
fn events() -> u64 {
    std::env::var("LINESIDE_WEEK").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

#[tokio::test]
async fn the_counts_of_a_shadow_over_a_week_are_the_refusals_of_a_replay() {
    a_week(events()).await;
}
