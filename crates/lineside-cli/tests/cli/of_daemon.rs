//! `run`, `list`, `explain` and `jobs` of the running daemon: what they print without it, they print of it.

use std::io::{BufRead as _, BufReader, Write as _};

use lineside::Client;
use lineside::json::{Value, json};
use lineside::prelude::*;

use crate::daemon::Daemon;
use crate::stage::{Said, Stage, shell, timeless};

const HOOKS: &str = r#"
hooks:
  - name: lint
    on: after_tool_batch
    match: {path: "src/**"}
    command: "true"
    automate: {debounce: {quiet: 2000}, concurrency: "build:{project_root}"}
  - name: hopeless
    on: on_idle
    command: "kill -9 $$"
    automate: {retry: {attempts: 1, constant: 0}}
"#;

fn stage() -> Stage {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    stage.hook("guard", "trigger: before_tool\npriority: 900\non_failure: block", "touch ran.txt");
    stage.hook("only-write", "trigger: before_tool\nmatcher:\n  tool: WriteFile", "touch ran.txt");
    stage.hook("wrong", "trigger: nowhere", "exit 0");
    stage
}

/// That both print the same on standard output and on standard error, and end in the same way.
fn alike(stage: &Stage, embedded: &[&str], daemon: &[&str], input: &str) {
    let (embedded, daemon) = (stage.run(embedded, input), stage.run(daemon, input));
    assert!(!embedded.out.is_empty());
    assert_eq!(
        (embedded.code, embedded.out, embedded.err),
        (daemon.code, daemon.out, daemon.err),
        "without the daemon, and of it"
    );
}

#[test]
fn hooks_of_the_daemon_are_listed_and_explained_as_those_of_the_project() {
    let stage = stage();
    let _daemon = Daemon::start(&stage);
    alike(&stage, &["list", "--project", "."], &["list", "--daemon"], "");
    alike(&stage, &["list", "--project", ".", "--json"], &["list", "--daemon", "--json"], "");
    for event in [&*shell("ls"), r#"{"point": "on_idle"}"#, r#"{"point": "on_idl"}"#] {
        if event.contains("on_idl\"") {
            let said = stage.run(&["explain", "--daemon"], event);
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
            assert!(
                said.err.starts_with("lineside: cannot explain stdin: unknown point `on_idl`"),
                "{said:?}"
            );
            continue;
        }
        alike(&stage, &["explain", "--project", "."], &["explain", "--daemon"], event);
        alike(&stage, &["explain", "--project", ".", "--json"], &["explain", "--daemon", "--json"], event);
    }
    assert!(!stage.path("project/ran.txt").exists(), "nothing is run");
}

#[test]
fn without_a_daemon_that_is_said() {
    let stage = stage();
    for arguments in
        [&["run", "--daemon"][..], &["list", "--daemon"], &["explain", "--daemon"], &["jobs", "--daemon"]]
    {
        let said = stage.run(arguments, shell("ls"));
        // As `status`, which looks as well and has nothing to look at.
        let code = if arguments[0] == "jobs" { 3 } else { 2 };
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{said:?}");
        assert!(said.err.contains("no daemon answers at") && said.err.contains("lineside serve"), "{said:?}");
    }
}

#[tokio::test]
async fn jobs_of_the_daemon_are_listed_shown_taken_up_again_and_dropped() {
    let stage = stage();
    let _daemon = Daemon::start(&stage);
    let client = Client::new(stage.path("home/.local/state/lineside/lineside.sock"));
    let session = client.session("s").cwd(stage.path("project").display().to_string()).open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let dead = async || while client.get::<Value>("/v1/status").await.unwrap()["dead_jobs"] != json!(1) {};
    dead().await;
    let journal = stage.path("home/.local/state/lineside/journal");
    let journal = journal.to_str().unwrap();
    alike(&stage, &["jobs", "--journal", journal, "--json"], &["jobs", "--daemon", "--json"], "");
    alike(
        &stage,
        &["jobs", "show", "1", "--journal", journal, "--json"],
        &["jobs", "show", "1", "--daemon", "--json"],
        "",
    );
    let said = stage.run(&["jobs", "retry", "1", "--daemon"], "");
    let done = "job 1 is taken up again, and runs when its automation is there\n";
    assert_eq!((said.code, said.out.as_str()), (Some(0), done), "{said:?}");
    let attempts = async || {
        let job: Value = client.get("/v1/jobs/1").await.unwrap();
        job["attempts"].as_array().unwrap().len()
    };
    while attempts().await < 2 {}
    dead().await;
    let said = stage.run(&["jobs", "drop", "1", "--daemon"], "");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "job 1 is dropped; it was dead\n"), "{said:?}");
    alike(&stage, &["jobs", "--daemon"], &["jobs"], "");
    let said = stage.run(&["jobs", "--daemon", "--json"], "");
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
}

/// What a run has said, without what is different each time.
fn repeatable(said: &Said) -> (Option<i32>, Vec<Value>, String) {
    let mut decisions = said.json();
    for decision in &mut decisions {
        let Value::Object(fields) = decision else { panic!("{decision}") };
        fields.remove("id");
        for message in fields.get_mut("delivered").and_then(Value::as_array_mut).into_iter().flatten() {
            message.as_object_mut().unwrap().remove("event");
        }
    }
    (said.code, decisions, timeless(&said.err))
}

#[test]
fn events_are_decided_by_the_daemon_as_they_are_without_it() {
    let stage = Stage::new();
    stage.hook(
        "guard",
        "trigger: before_tool",
        "grep -q forbidden && { echo 'not that' >&2; exit 2; } || exit 0",
    );
    let context = r#"{"additional_context": "look twice"}"#;
    stage.hook("told", "trigger: subagent_start", &format!("cat >/dev/null\necho '{context}'"));
    stage.hook("wrong", "trigger: nowhere", "exit 0");
    stage.hook("breaks", "trigger: subagent_start\npriority: 1", "exit 1");
    let _daemon = Daemon::start(&stage);
    let event = |point: &str, session: &str, payload: Value| {
        format!("{}\n", json!({"point": point, "session": session, "payload": payload}))
    };
    let child = json!({"child_session": "c", "agent_type": "reviewer"});
    let input = [
        shell("ls"),
        shell("forbidden"),
        event("before_subagent", "s1", child),
        event("on_idle", "c", json!({})),
        "{\"point\": \"on_idl\"}\n".to_owned(),
        "garbage\n\n".to_owned(),
        "{\"point\": \"on_idle\", \"session\": \"d\", \"parent_session\": \"c\", \"sesion\": 1}\n".to_owned(),
        event("after_session", "d", json!({"reason": "exit"})),
        event("on_idle", "d", json!({})),
        "{\"point\": \"on_idle\", \"session\": \"e\", \"parent_session\": \"e\"}\n".to_owned(),
    ]
    .concat();
    let embedded = stage.run(&["run", "--project", ".", "--ordered"], &input);
    let daemon = stage.run(&["run", "--daemon", "--ordered"], &input);
    assert_eq!(embedded.code, Some(1));
    assert_eq!(embedded.field("verdict").len(), 6, "{embedded:?}");
    assert!(embedded.out.contains("look twice") && embedded.err.contains("is closed"), "{embedded:?}");
    assert_eq!(repeatable(&embedded), repeatable(&daemon), "without the daemon, and of it");
    let quiet = stage.run(&["run", "--daemon", "--quiet"], shell("ls"));
    assert_eq!((quiet.code, quiet.out.as_str()), (Some(0), ""), "{quiet:?}");
    let whole = stage.run(&["run", "--daemon", "--receipts"], shell("ls"));
    assert_eq!(whole.json()[0]["hooks"][0]["hook"], json!("guard"), "{whole:?}");
    assert_eq!(whole.json()[0]["seq"], json!(5), "the session stays open in the daemon");
}

const BACKGROUND: &str = r#"
hooks:
  - name: held
    on: before_tool
    command: "true"
    automate: {debounce: {quiet: 3600000, at_most: 7200000}}
  - name: broken
    on: before_tool
    async: true
    command: "echo no luck >&2; exit 3"
  - name: hopeless
    on: before_tool
    command: "exit 4"
    automate: {retry: {attempts: 1, constant: 0}}
"#;

/// Publishes until this much was reported of background work: the rows of the work of the first event, and what was
/// accepted of it, both as text.
fn background(stage: &Stage, arguments: &[&str], reports: usize) -> (String, Vec<String>) {
    let mut child = stage.command(arguments).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut exchange = |event: &str| {
        input.write_all(event.as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        lineside::json::from_str::<Value>(&line).unwrap()
    };
    let first = exchange(&shell("ls"));
    let (accepted, id) = (first["accepted"].to_string(), first["id"].as_str().unwrap().to_owned());
    let mut rows: Vec<String> = Vec::new();
    let mut add = |decision: &Value| {
        for row in decision["background"].as_array().into_iter().flatten() {
            rows.push(row.to_string().replace(&id, "[event]"));
        }
        rows.len() < reports
    };
    add(&first);
    while add(&exchange("{\"point\": \"on_idle\"}\n")) {}
    rows.sort();
    // What is held is not waited for.
    child.kill().unwrap();
    child.wait().unwrap();
    (accepted, rows)
}

#[test]
fn background_work_of_the_daemon_is_reported_as_that_of_a_run_of_its_own() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", BACKGROUND);
    let _daemon = Daemon::start(&stage);
    let kept = stage.path("kept");
    let embedded = ["run", "--project", ".", "--journal", kept.to_str().unwrap()];
    let (accepted, rows) = background(&stage, &embedded, 3);
    assert!(
        accepted.contains(r#""hook":"held","as":"held","job":"#) && accepted.contains("disk"),
        "{accepted}"
    );
    assert!(rows[0].contains("no luck") && rows[1].contains(r#""dead":""#), "{rows:?}");
    assert_eq!(
        background(&stage, &["run", "--daemon"], 3),
        (accepted, rows),
        "of the daemon, and without it"
    );
}

#[test]
fn two_runs_of_one_session_at_once_are_one_session_of_the_daemon() {
    let stage = Stage::new();
    let _daemon = Daemon::start(&stage);
    let input = shell("ls").repeat(50);
    let runs = [0; 4].map(|_| {
        let mut run = stage.command(&["run", "--daemon"]).spawn().unwrap();
        std::io::Write::write_all(&mut run.stdin.take().unwrap(), input.as_bytes()).unwrap();
        run
    });
    let said = runs.map(|run| stage.said(run));
    let numbers = said.iter().flat_map(|said| said.field("seq"));
    let mut numbers: Vec<u64> = numbers.map(|number| number.as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=200).collect::<Vec<_>>(), "{said:?}");
}
