//! The decision log behind a bus: what is written of a decision, and how it is found again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::PathBuf;

use lineside::bus::JobNews;
use lineside::bus::signal::Watched;
use lineside::core::{Failure, FailureKind, Timestamp};
use lineside::log::{Follower, Log, Look, Options, Query, Why};
use lineside::prelude::*;

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    bus: Bus,
    follower: Follower,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let bus = Bus::new();
    let follower = Follower::new(&bus, Log::open(&path, Options::default()).unwrap());
    Place { _folder: folder, path, bus, follower }
}

impl Place {
    fn look(&mut self) -> Look {
        self.follower.end();
        Look::open(&self.path).unwrap()
    }

    fn query(&self, text: &str) -> Query {
        Query::parse(text, self.bus.wall_clock()).unwrap()
    }

    fn last(&mut self) -> Why {
        self.look().why_last(&Query::default()).unwrap().unwrap()
    }

    /// The commands of the events that a query finds.
    fn found(&mut self, text: &str) -> Vec<String> {
        let query = self.query(text);
        let found = self.look().decisions(&query, 50).unwrap();
        let command = |payload: &str| {
            let payload: lineside::json::Value = lineside::json::from_str(payload).unwrap();
            payload["tool_input"]["command"].as_str().unwrap_or_default().to_owned()
        };
        found.iter().map(|decision| command(&decision.payload)).collect()
    }
}

fn call(tool: &str, command: &str) -> BeforeTool {
    BeforeTool::new(tool, json!({ "command": command }))
}

fn shell(command: &str) -> BeforeTool {
    call("Shell", command)
}

#[tokio::test]
async fn every_hook_that_was_considered_stands_in_order_with_why_it_ran_or_not() {
    let mut place = place();
    let bus = &place.bus;
    let pass = async |_, _| Verdict::Continue;
    bus.intercept::<BeforeTool>("first").priority(9).gate(pass).unwrap();
    bus.intercept::<BeforeTool>("writes").priority(8).matching(tool("WriteFile")).gate(pass).unwrap();
    bus.intercept::<BeforeTool>("paths").priority(7).matching(path("*.rs")).gate(pass).unwrap();
    bus.intercept::<BeforeTool>("fails")
        .priority(6)
        .on_failure(OnFailure::Continue)
        .try_gate(async |_, _| Err::<Verdict, _>("token=abcd1234efgh"))
        .unwrap();
    bus.intercept::<BeforeTool>("guard").priority(5).gate(async |_, _| Verdict::block("not rm")).unwrap();
    bus.intercept::<BeforeTool>("after").priority(4).amend(async |_, _| Verdict::Continue).unwrap();
    let session = bus.session("s1").host("claude-code").project_root("/p/site").open().await.unwrap();
    let decision = session.publish(shell("rm -rf build")).await.unwrap();
    let id = decision.receipt().unwrap().event.envelope().id;
    let why = place.last();
    let hooks: Vec<_> = why
        .hooks
        .iter()
        .map(|hook| {
            let verdict = hook.verdict.map(Strength::as_str);
            (&*hook.hook, &*hook.what, hook.detail.as_deref(), verdict)
        })
        .collect();
    assert_eq!(
        hooks,
        [
            ("first", "answered", None, Some("continue")),
            ("writes", "filter", Some("tool=WriteFile"), None),
            ("paths", "filter", Some("path=*.rs"), None),
            ("fails", "failed", Some("token=[redacted]"), Some("continue")),
            ("guard", "answered", None, Some("block")),
            ("after", "blocked", None, None),
        ]
    );
    let found = &why.decision;
    assert_eq!((found.id, &*found.session, found.seq), (id, "s1", 1));
    assert_eq!((found.host.as_deref(), found.project.as_deref()), (Some("claude-code"), Some("/p/site")));
    assert_eq!((found.by.as_deref(), found.reason.as_deref()), (Some("guard"), Some("not rm")));
    assert_eq!((found.runs, found.failures), (3, 1));
    // By its id, its beginning, its end.
    let (look, id) = (place.look(), id.to_string());
    for part in [&id[..], &id[..18], &id[24..], &id.replace('-', "")] {
        assert_eq!(look.why(part).unwrap(), std::slice::from_ref(&why), "{part}");
    }
    assert_eq!(look.why("ffff").unwrap(), []);
}

#[tokio::test]
async fn a_change_is_kept_with_before_and_after_and_messages_with_their_hook() {
    let mut place = place();
    let amend = async |_, _| {
        Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls --color=never"})))
            .append("colours are off")
            .notify(Notice::warning("no colours"))
    };
    place.bus.intercept::<BeforeTool>("plain").amend(amend).unwrap();
    let session = place.bus.session("s1").open().await.unwrap();
    drop(session.publish(shell("ls")).await.unwrap());
    let why = place.last();
    let given: Vec<_> =
        why.given.iter().map(|given| (&*given.what, given.before.as_deref(), &*given.text)).collect();
    assert_eq!(
        given,
        [
            ("change", Some(r#"{"command":"ls"}"#), r#"{"command":"ls --color=never"}"#),
            ("context", None, "colours are off"),
            ("notice", None, "no colours"),
        ]
    );
    assert_eq!(why.decision.changes, 1);
    assert!(why.decision.payload.contains("--color=never"), "as the hooks have left it");
}

#[tokio::test]
async fn a_query_finds_by_each_of_its_keys_and_all_of_them_together() {
    let mut place = place();
    let guard = async |event: Event<BeforeTool>, _| {
        if event.tool_name == "Shell" { Verdict::block("no shell here") } else { Verdict::Continue }
    };
    place.bus.intercept::<BeforeTool>("guard").gate(guard).unwrap();
    let shy = place.bus.intercept::<BeforeTool>("shy").matching(tool("Read")).on_failure(OnFailure::Continue);
    shy.try_gate(async |_, _| Err::<Verdict, _>("broken")).unwrap();
    let main = place.bus.session("main").host("codex").project_root("/p/one").open().await.unwrap();
    let child = main.subagent("child").agent(Agent::subagent("tester")).open().await.unwrap();
    let other = place.bus.session("other").host("gemini-cli").project_root("/p/two").open().await.unwrap();
    drop(main.publish(shell("rm a")).await.unwrap());
    drop(child.publish(call("Read", "rm b")).await.unwrap());
    drop(other.publish(call("Write", "cat \"c\"")).await.unwrap());
    for (query, expected) in [
        ("", &["rm a", "rm b", "cat \"c\""] as &[_]),
        ("verdict:block", &["rm a"]),
        ("verdict:refused,ask", &["rm a"]),
        ("verdict:continue", &["rm b", "cat \"c\""]),
        ("tool:Shell", &["rm a"]),
        ("tool:[RW]*", &["rm b", "cat \"c\""]),
        ("point:before_tool", &["rm a", "rm b", "cat \"c\""]),
        ("point:after_tool", &[]),
        ("session:main", &["rm a"]),
        ("tree:main", &["rm a", "rm b"]),
        ("agent:tester", &["rm b"]),
        ("host:codex", &["rm a", "rm b"]),
        ("project:two", &["cat \"c\""]),
        ("project:/p/one,two", &["rm a", "rm b", "cat \"c\""]),
        ("hook:shy", &["rm b"]),
        ("hook:guard tool:Shell", &["rm a"]),
        ("hook:guard hook:shy", &["rm b"]),
        ("failed:any", &["rm b"]),
        ("failed:timeout", &[]),
        ("\"rm\"", &["rm a", "rm b"]),
        ("\"NO SHELL\"", &["rm a"]),
        ("since:1h", &["rm a", "rm b", "cat \"c\""]),
        ("until:1h", &[]),
        ("since:1h tree:main verdict:block", &["rm a"]),
        ("took:<1h", &["rm a", "rm b", "cat \"c\""]),
        ("took:>1h", &[]),
        ("%", &[]),
        ("session:nothing", &[]),
    ] {
        assert_eq!(place.found(query), expected, "{query}");
    }
    let (look, all) = (place.look(), Query::default());
    let last = look.decisions(&all, 2).unwrap();
    assert_eq!(last.iter().map(|one| &*one.session).collect::<Vec<_>>(), ["child", "other"], "the latest");
    assert_eq!(look.after(last[0].row, &all).unwrap(), last[1..]);
    assert_eq!(look.last().unwrap(), last[1].row);
}

#[tokio::test]
async fn many_decisions_come_to_counts_by_hook_and_by_session() {
    let mut place = place();
    let guard = async |event: Event<BeforeTool>, _| {
        if event.tool_name == "Shell" { Ok(Verdict::block("no")) } else { Err("broken") }
    };
    place.bus.intercept::<BeforeTool>("guard").on_failure(OnFailure::Continue).try_gate(guard).unwrap();
    for (session, tools) in [("a", ["Shell", "Shell", "Read"]), ("b", ["Read", "Read", "Read"])] {
        let session = place.bus.session(session).open().await.unwrap();
        for tool in tools {
            drop(session.publish(call(tool, "x")).await.unwrap());
        }
    }
    let stats = place.look().stats(&Query::default(), 8, 9).unwrap();
    assert_eq!((stats.events, stats.refused, stats.lost), (6, 2, 0));
    assert_eq!(stats.over_time.iter().sum_of(), (6, 2));
    let [guard] = &stats.hooks[..] else { panic!("{stats:?}") };
    assert_eq!((guard.calls, guard.verdicts[&Strength::Block], guard.failures["error"]), (6, 2, 4));
    assert!(guard.p99 >= guard.p50);
    let sessions: Vec<_> =
        stats.sessions.iter().map(|one| (&*one.session, one.events, one.refused)).collect();
    assert!(sessions == [("a", 3, 2), ("b", 3, 0)] || sessions == [("b", 3, 0), ("a", 3, 2)], "{sessions:?}");
    let query = place.query("session:a");
    assert_eq!(place.look().stats(&query, 8, 9).unwrap().hooks[0].calls, 3);
}

trait SumOf {
    fn sum_of(self) -> (u64, u64);
}

impl<'a, I: Iterator<Item = &'a (u64, u64)>> SumOf for I {
    fn sum_of(self) -> (u64, u64) {
        self.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

#[tokio::test]
async fn background_work_that_an_event_began_stands_with_it_and_how_it_ended() {
    let mut place = place();
    place
        .bus
        .automate::<BeforeTool>("lint")
        .run(async |_, _| Err::<Report, _>(Failure::new(FailureKind::Error, "password=hunter2 is wrong")))
        .unwrap();
    let mut signals = place.bus.signals();
    let session = place.bus.session("s1").open().await.unwrap();
    drop(session.publish(shell("ls")).await.unwrap());
    while !matches!(
        signals.next().await,
        Some(Watched::Signal(Signal::Automation { news: JobNews::Dead(_), .. }))
    ) {}
    let why = place.last();
    assert_eq!((&*why.hooks[0].hook, &*why.hooks[0].what), ("lint", "started"));
    let since: Vec<_> = why.since.iter().map(|news| (&*news.what, news.hook.as_deref())).collect();
    let lint = Some("lint");
    assert_eq!(since, [("job_queued", lint), ("job_started", lint), ("job_dead", lint)]);
    assert_eq!(why.since[2].detail.as_deref(), Some("it failed (error): password=[redacted] is wrong"));
    assert!(why.since[2].job.is_some());
}

#[tokio::test]
async fn a_usual_receipt_takes_at_most_400_bytes() {
    const EVENTS: u32 = 5_000;
    let mut place = place();
    for name in ["secrets", "format", "audit"] {
        place.bus.intercept::<BeforeTool>(name).gate(async |_, _| Verdict::Continue).unwrap();
    }
    place
        .bus
        .intercept::<BeforeTool>("writes")
        .matching(tool("WriteFile"))
        .gate(async |_, _| Verdict::Continue)
        .unwrap();
    let project = "/home/user/projects/site";
    let mut sessions = Vec::new();
    for number in 0..50 {
        let id = format!("0199c3a1-7f{number:02}-7b1c-9f00-0123456789ab");
        sessions.push(
            place
                .bus
                .session(id)
                .host("claude-code")
                .project_root(project)
                .cwd(project)
                .open()
                .await
                .unwrap(),
        );
    }
    for number in 0..EVENTS {
        let session = &sessions[number as usize % sessions.len()];
        let command = format!("cargo test --package site --lib pages::page_{number}");
        let call = shell(&command).tool_call_id(format!("toolu_01{number:020}"));
        drop(session.publish(call).await.unwrap());
        if number % 500 == 0 {
            place.follower.end();
        }
    }
    place.follower.end();
    let state = place.follower.state();
    let path = place.path.clone();
    drop(place.follower);
    assert_eq!(state.lost, 0);
    let bytes = std::fs::metadata(&path).unwrap().len() / u64::from(EVENTS);
    println!("{bytes} bytes for a receipt");
    assert!(bytes <= 400, "{bytes}");
}

#[tokio::test]
async fn the_queries_of_the_page_of_the_log_are_answered() {
    let mut place = place();
    place.bus.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
    place
        .bus
        .intercept::<BeforeTool>("idle")
        .matching(tool("Read"))
        .gate(async |_, _| Verdict::Continue)
        .unwrap();
    let session = place.bus.session("s-main").open().await.unwrap();
    drop(session.publish(shell("make")).await.unwrap());
    drop(place.look());
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/log.md")).unwrap();
    let queries = page.split_once("```sql\n").unwrap().1.split_once("```").unwrap().0;
    let store = rusqlite::Connection::open(&place.path).unwrap();
    let answer = |sql: &str| -> Vec<String> {
        let mut rows = store.prepare(sql).unwrap();
        let columns = rows.column_count();
        let text = |row: &rusqlite::Row<'_>, column: usize| match row.get_ref(column).unwrap() {
            rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        let row = rows.query_map([], |row| {
            Ok((0..columns).map(|column| text(row, column)).collect::<Vec<_>>().join(" "))
        });
        row.unwrap().map(Result::unwrap).collect()
    };
    let queries: Vec<Vec<String>> =
        queries.split(';').filter(|sql| sql.contains("SELECT")).map(answer).collect();
    assert_eq!(queries[0], ["guard 1"]);
    assert!(queries[1].len() == 1 && queries[1][0].ends_with("Z make"), "{queries:?}");
    let fates: Vec<&str> = queries[2].iter().map(|row| row.split_once(' ').unwrap().1).collect();
    assert_eq!(fates, ["guard answered 1", "idle filter 1"]);
    // Every column that the page names is there.
    for view in ["decisions", "hooks_considered", "news"] {
        let all = store.prepare(&format!("SELECT * FROM {view}")).unwrap();
        let columns: Vec<String> = all.column_names().map(|name| format!("`{name}`")).collect();
        let absent: Vec<_> = columns.iter().filter(|column| !page.contains(*column)).collect();
        assert!(absent.is_empty(), "{view}: {absent:?}");
    }
}

#[tokio::test]
async fn an_event_of_which_its_publisher_says_another_time_is_kept_and_found_by_that_of_the_bus() {
    let mut place = place();
    let session = place.bus.session("s1").open().await.unwrap();
    drop(session.event(shell("old")).time(Timestamp::UNIX_EPOCH).publish().await.unwrap());
    assert_eq!(place.found("since:1h"), ["old"]);
}

#[tokio::test]
async fn what_names_a_tool_is_short_in_the_log() {
    let mut place = place();
    let session = place.bus.session("s1").open().await.unwrap();
    assert!(!session.publish(call(&"x".repeat(1 << 20), "ls")).await.unwrap().is_refused());
    let tool = place.last().decision.tool.unwrap();
    assert!(tool.starts_with("xxx") && tool.len() < 1_000, "{}", tool.len());
    assert_eq!(place.found("tool:x*"), ["ls"]);
}

#[tokio::test]
async fn an_event_that_is_published_once_more_under_its_id_is_one_more_decision() {
    let mut place = place();
    let session = place.bus.session("s").open().await.unwrap();
    let id = lineside::core::EventId::at(place.bus.wall_clock().as_millisecond() as u64, [7; 10]);
    place.bus.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
    for command in ["one", "two"] {
        drop(session.event(shell(command)).id(id).publish().await.unwrap());
    }
    assert_eq!(place.found("verdict:block"), ["one", "two"]);
    let found = place.look().why(&id.to_string()).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].decision.payload.contains("two"), "{found:?}");
}
