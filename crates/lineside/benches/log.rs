//! What the decision log makes of many receipts: how fast it writes, how fast it finds, how large it is.
//!
//! Receipts are those of fifty sessions in eight projects, each with three hooks that ran and one that did not.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside::core::Receipt;
use lineside::log::{Log, Look, Options, Query, Record};
use lineside::prelude::*;

const ROUND: u32 = 100_000;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 1 } else { 10 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("log.sqlite");
    let log = Log::open(&path, Options::default().waiting(1 << 20, 4 << 30)).unwrap();
    let mut writing = Duration::ZERO;
    let mut last = String::new();
    let bus = Bus::new();
    for round in 0..rounds {
        let receipts = runtime.block_on(receipts(&bus, round));
        last = receipts.last().unwrap().event.envelope().id.to_string();
        let began = Instant::now();
        for receipt in receipts {
            log.offer(Record::Decided(receipt));
        }
        log.flush();
        writing += began.elapsed();
    }
    let count = f64::from(ROUND) * f64::from(rounds);
    let state = log.state();
    drop(log);
    println!("FIGURE log/write {:.0} receipts_per_second >=20000", count / writing.as_secs_f64());
    println!("FIGURE log/lost {} receipts <=0", state.lost);
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!(
        "FIGURE log/receipt {:.0} bytes <=400",
        f64::from(u32::try_from(bytes / 1024).unwrap()) * 1024.0 / count
    );
    let look = Look::open(&path).unwrap();
    let took = |what: &dyn Fn()| {
        let mut times: Vec<Duration> = (0..5)
            .map(|_| {
                let began = Instant::now();
                what();
                began.elapsed()
            })
            .collect();
        times.sort();
        times[2].as_secs_f64() * 1e3
    };
    for (name, query) in [
        ("all", ""),
        ("session", "session:session-7"),
        ("hook", "hook:secrets verdict:block"),
        ("refused", "verdict:refused"),
        ("tool", "tool:Shell project:project-3"),
        ("text", "\"page_99\" since:1h"),
    ] {
        let query = Query::parse(query, bus.wall_clock()).unwrap();
        println!(
            "FIGURE log/last50/{name} {:.2} ms <=100",
            took(&|| drop(look.decisions(&query, 50).unwrap()))
        );
    }
    println!("FIGURE log/why {:.2} ms <=10", took(&|| drop(look.why(&last).unwrap())));
}

async fn receipts(bus: &Bus, round: u32) -> Vec<Arc<Receipt>> {
    if round == 0 {
        let guard = async |event: Event<BeforeTool>, _| {
            let command = event.tool_input["command"].as_str().unwrap_or_default().ends_with("99");
            if command { Verdict::block("not 99") } else { Verdict::Continue }
        };
        for name in ["format", "audit"] {
            bus.intercept::<BeforeTool>(name).priority(1).gate(async |_, _| Verdict::Continue).unwrap();
        }
        bus.intercept::<BeforeTool>("secrets").gate(guard).unwrap();
        let writes = bus.intercept::<BeforeTool>("writes").matching(tool("WriteFile"));
        writes.gate(async |_, _| Verdict::Continue).unwrap();
    }
    let mut receipts = Vec::new();
    let mut sessions = Vec::new();
    for number in 0..50 {
        let project = format!("/home/user/projects/project-{}", number % 8);
        let id = format!("session-{number}-{round}");
        sessions.push(bus.session(id).host("claude-code").project_root(project).open().await.unwrap());
    }
    for number in 0..ROUND {
        let command = format!("cargo test --package site --lib pages::page_{number}");
        let call = BeforeTool::new("Shell", json!({ "command": command }))
            .tool_call_id(format!("toolu_01{number:020}"));
        let decision = sessions[number as usize % sessions.len()].publish(call).await.unwrap();
        receipts.push(Arc::new(decision.receipt().unwrap().clone()));
    }
    receipts
}
