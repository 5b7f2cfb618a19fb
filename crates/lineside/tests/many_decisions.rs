//! What a query finds among many decisions is what looking at each of them finds, by whichever index it is looked for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lineside::core::Timestamp;
use lineside::log::{Decision, Follower, Log, Look, Options, Query};
use lineside::prelude::*;

/// More than a few blocks of rows whose texts are indexed.
const EVENTS: usize = 5_000;

/// What an event is about, and its session.
fn event(number: usize) -> (usize, BeforeTool) {
    let tool = match number {
        7 | 2_500 => "Rare",
        _ if number.is_multiple_of(3) => "ReadFile",
        _ => "Shell",
    };
    let text = match number {
        11 | 4_990 => "a \"Xylophone\" \\ of ours".to_owned(),
        // As long as a payload that is kept once for all events that have it.
        12 | 13 => "marimba ".repeat(200),
        _ => format!("cargo test page_{number}"),
    };
    (number % 50, BeforeTool::new(tool, json!({ "command": text })))
}

/// Whether a decision is one of those that a query asks for.
type Fits = fn(&Decision) -> bool;

fn has(decision: &Decision, text: &str) -> bool {
    decision.payload.to_lowercase().contains(text)
        || decision.reason.iter().any(|reason| reason.contains(text))
}

#[tokio::test]
async fn what_a_query_finds_among_many_is_what_looking_at_each_of_them_finds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let bus = Bus::new();
    let mut follower = Follower::new(&bus, Log::open(&path, Options::default()).unwrap());
    let guard = async |call: Event<BeforeTool>, _| match call.command().as_deref() {
        Some(command) if command.ends_with("77") => Verdict::block("seventy-seven is not wanted"),
        Some(command) if command.ends_with("e_5") => Verdict::ask("is five wanted?"),
        _ => Verdict::Continue,
    };
    bus.intercept::<BeforeTool>("guard").gate(guard).unwrap();
    let rare = bus.intercept::<BeforeTool>("rare").matching(tool("Rare")).on_failure(OnFailure::Continue);
    rare.try_gate(async |_, _| Err::<Verdict, _>("broken")).unwrap();
    let mut sessions = Vec::new();
    for number in 0..50 {
        let project = format!("/projects/{}", if number == 0 { "rare" } else { "usual" });
        sessions.push(bus.session(format!("s{number}")).project_root(&*project).open().await.unwrap());
    }
    for number in 0..EVENTS {
        let (session, call) = event(number);
        drop(sessions[session].publish(call).await.unwrap());
        if number.is_multiple_of(500) {
            follower.end();
        }
    }
    follower.end();
    let look = Look::open(&path).unwrap();
    let all = look.decisions(&Query::default(), usize::MAX).unwrap();
    assert_eq!(all.len(), EVENTS);
    let queries: [(&str, Fits); 24] = [
        ("tool:Rare", |it| it.tool.as_deref() == Some("Rare")),
        ("tool:Shell", |it| it.tool.as_deref() == Some("Shell")),
        ("tool:*R*", |it| it.tool.as_deref() != Some("Shell")),
        ("session:s7", |it| it.session == "s7"),
        ("session:s*", |_| true),
        ("project:rare", |it| it.session == "s0"),
        ("project:usual tool:Rare", |it| it.session != "s0" && it.tool.as_deref() == Some("Rare")),
        ("verdict:refused", |it| it.verdict.is_final()),
        ("verdict:refused,ask", |it| it.verdict.is_final() || it.reason.is_some()),
        ("verdict:ask tool:Rare", |_| false),
        ("hook:rare", |it| it.tool.as_deref() == Some("Rare")),
        ("hook:guard failed:any", |it| it.failures > 0),
        ("failed:timeout", |_| false),
        ("xylophone", |it| has(it, "xylophone")),
        ("MARIMBA", |it| has(it, "marimba")),
        ("\"page_49\"", |it| has(it, "page_49")),
        ("5", |it| has(it, "5")),
        ("\"SEVENTY-seven is\"", |it| has(it, "seventy-seven is")),
        ("page_4 xylophone", |_| false),
        ("since:2000-01-01 tool:Rare", |it| it.tool.as_deref() == Some("Rare")),
        ("since:2000-01-01 until:2000-01-02", |_| false),
        ("until:2000-01-01 xylophone", |_| false),
        ("took:>0ms session:s7", |it| it.session == "s7" && !it.took.is_zero()),
        ("took:>100s", |_| false),
    ];
    for (text, fits) in queries {
        let query = Query::parse(text, Timestamp::UNIX_EPOCH).unwrap();
        let wanted: Vec<i64> =
            all.iter().filter(|decision| fits(decision)).map(|decision| decision.row).collect();
        let found = |most| -> Vec<i64> {
            look.decisions(&query, most).unwrap().iter().map(|decision| decision.row).collect()
        };
        assert_eq!(found(usize::MAX), wanted, "{text}");
        for most in [1, 2, 50] {
            assert_eq!(found(most), wanted[wanted.len().saturating_sub(most)..], "{text}, the last {most}");
        }
        let first = look.recorded(&query, 20, 50).unwrap();
        let first: Vec<i64> = first.iter().map(|recorded| recorded.decision.row).collect();
        let after: Vec<i64> = wanted.iter().copied().filter(|row| *row > 20).take(50).collect();
        assert_eq!(first, after, "{text}, the first");
        assert_eq!(look.stats(&query, 1, 1).unwrap().events, wanted.len() as u64, "{text}, counted");
    }
    // The end of an id names its event, in a block that is indexed and behind the last of these.
    for decision in [&all[0], &all[1_500], &all[EVENTS - 1]] {
        let id = decision.id.to_string();
        for digits in [12, 8] {
            let found = look.why(&id[id.len() - digits..]).unwrap();
            let rows: Vec<i64> = found.iter().map(|why| why.decision.row).collect();
            assert_eq!(rows, [decision.row], "the last {digits} of {id}");
        }
        assert!(!look.why(&id[id.len() - 4..]).unwrap().is_empty());
    }
    // A quote is escaped in the payload, and not in what is asked.
    let quoted = Query::parse("\\", Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(look.decisions(&quoted, 50).unwrap().len(), 2);
}
