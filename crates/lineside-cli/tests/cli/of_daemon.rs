//! `list`, `explain` and `jobs` of the running daemon: what they print without it, they print of it.

use lineside::Client;
use lineside::json::{Value, json};
use lineside::prelude::*;

use crate::daemon::Daemon;
use crate::stage::{Stage, shell};

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
    for arguments in [&["list", "--daemon"][..], &["explain", "--daemon"], &["jobs", "--daemon"]] {
        let said = stage.run(arguments, shell("ls"));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("no daemon answers at") && said.err.contains("lineside serve"), "{said:?}");
    }
}

#[tokio::test]
async fn jobs_of_the_daemon_are_listed_shown_taken_up_again_and_dropped() {
    let stage = stage();
    let _daemon = Daemon::start(&stage);
    let client = Client::new(stage.path("home/.local/state/lineside/lineside.sock"));
    let session = client.session("s").open().await.unwrap();
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
    let said = stage.run(&["jobs", "--daemon", "--json"], "");
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
}
