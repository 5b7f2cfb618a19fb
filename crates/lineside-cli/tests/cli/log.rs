//! `lineside why`, `log` and `stats`: what is in the decision log, with a daemon and without.

use std::fs;

use lineside::json::{Value, json};
use regex::Regex;

use crate::daemon::Daemon;
use crate::stage::{Said, Stage};

const HOOKS: &str = "hooks:
  - name: plain
    on: before_tool
    priority: 5
    amends: true
    match: {tool: Shell, argument: {command: '^git '}}
    command: \"cat >/dev/null; echo '{\\\"amend\\\":{\\\"tool_input\\\":{\\\"command\\\":\\\"git status --short\\\"}},\\\"context\\\":\\\"Colours are off.\\\"}'\"
  - name: no-deletions
    on: before_tool
    match: {tool: Shell, argument: {command: 'rm -rf'}}
    command: \"cat >/dev/null; echo '{\\\"verdict\\\":\\\"block\\\",\\\"reason\\\":\\\"delete a named folder instead, so that a person can see what goes\\\"}'\"
  - name: audit
    on: before_tool
    command: exit 3
    on_failure: continue
  - name: writes
    on: before_tool
    match: {tool: WriteFile, path: '*.rs'}
    command: ['true']
";

/// A project whose events have been run, with a log in it.
fn logged() -> Stage {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let event = |session: &str, more: Value, payload: Value| {
        let mut event = json!({"point": "before_tool", "session": session, "payload": payload});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{event}\n")
    };
    let shell = |command: &str| json!({"tool_name": "Shell", "tool_input": {"command": command}});
    let below =
        json!({"parent_session": "main", "agent": {"id": "tester", "kind": "subagent", "type": "tester"}});
    let events = [
        event("main", json!({"host": "claude-code"}), shell("git status")),
        event(
            "sub",
            below,
            shell("rm -rf build node_modules target and many more of the folders that are here"),
        ),
        event(
            "other",
            json!({"host": "codex"}),
            json!({"tool_name": "ReadFile", "tool_input": {"path": "a,\"b\""}}),
        ),
    ];
    // One run after another, so that they stand in this order.
    for events in [&events[..2], &events[2..]] {
        let said = stage.run(&["run", "--quiet", "--project", ".", "--log", "log.sqlite"], events.concat());
        assert!(said.code == Some(0), "{said:?}");
    }
    stage
}

/// What is different each time stands as `N`.
fn timeless(said: &Said) -> String {
    assert_eq!(said.code, Some(0), "{said:?}");
    let id = Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b").unwrap();
    let time = Regex::new(r"\d{4}-\d\d-\d\d([T ][\d:.]+Z)?|\b\d\d:\d\d:\d\d\b").unwrap();
    let took = Regex::new(r" *\d+(\.\d)? ms|why [0-9a-f]{12}\b").unwrap();
    let text = id.replace_all(&said.out, "ID");
    let text = time.replace_all(&text, "TIME");
    took.replace_all(&text, " N").lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_refusal_an_amendment_and_an_event_that_passed_are_pages() {
    let stage = logged();
    let page = |words: &[&str]| timeless(&stage.run(&[&["why", "--log", "log.sqlite"], words].concat(), ""));
    insta::assert_snapshot!(page(&["--refused"]));
    assert_eq!(page(&[]), page(&["--refused"]), "without an id it is the last refusal");
    insta::assert_snapshot!(page(&["--last", "session:main"]));
    insta::assert_snapshot!(page(&["--last", "host:codex"]));
}

#[test]
fn the_lines_of_the_log_stand_by_time_and_by_tree() {
    let stage = logged();
    insta::assert_snapshot!(timeless(&stage.run(&["log", "--log", "log.sqlite"], "")));
    insta::assert_snapshot!(timeless(&stage.run(&["log", "--log", "log.sqlite", "--tree"], "")));
}

#[test]
fn what_is_found_is_one_form_for_programs_and_one_for_tables() {
    let stage = logged();
    let said = stage.run(&["log", "--log", "log.sqlite", "--json", "tool:Shell", "verdict:refused"], "");
    let found: Value = lineside::json::from_str(&said.out).unwrap();
    assert_eq!((&found["session"], &found["by"]), (&json!("sub"), &json!("no-deletions")));
    let id = found["id"].as_str().unwrap();
    let why = stage.run(&["why", "--log", "log.sqlite", "--json", id], "");
    let why: Value = lineside::json::from_str(&why.out).unwrap();
    let hooks: Vec<_> = why["hooks"].as_array().unwrap().iter().map(|hook| hook["hook"].clone()).collect();
    assert_eq!(hooks, ["plain", "no-deletions", "audit", "writes"]);
    // A text that the shell has taken the quotes off is one text.
    let said = stage.run(&["log", "--log", "log.sqlite", "--csv", "many more"], "");
    assert!(said.out.starts_with("id,time,session,tree,") && said.out.lines().count() == 2, "{said:?}");
    assert!(said.err.is_empty(), "{said:?}");
    let calls = "{\"point\": \"on_idle\", \"session\": \"idle\"}\n".repeat(51);
    assert_eq!(stage.run(&["run", "--quiet", "--log", "log.sqlite"], calls).code, Some(0));
    let said = stage.run(&["log", "--log", "log.sqlite", "--csv", "session:idle"], "");
    let note = "note: these are the latest 50; --limit N has more\n";
    assert!(said.out.lines().count() == 51 && said.err == note, "{said:?}");
    let said = stage.run(&["log", "--log", "log.sqlite", "--csv", "host:codex"], "");
    assert!(said.out.contains(r#"""path"":""a,\""b\""""}"#), "{said:?}");
    let said = stage.run(&["log", "--log", "log.sqlite", "tool:Nothing"], "");
    assert!(said.out.is_empty() && said.err.starts_with("nothing was found; `lineside log`"), "{said:?}");
}

#[test]
fn counts_stand_by_hook_and_by_session() {
    let stage = logged();
    let said = stage.run(&["stats", "--log", "log.sqlite"], "");
    assert!(said.out.starts_with("3 events, 1 refused\n"), "{said:?}");
    let row =
        |name: &str| said.out.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(row("audit").contains("2 exit") && row("no-deletions").contains('1'), "{said:?}");
    assert!(row("other").contains("codex"), "{said:?}");
    let said = stage.run(&["stats", "--log", "log.sqlite", "--json", "session:sub"], "");
    let stats: Value = lineside::json::from_str(&said.out).unwrap();
    assert_eq!((&stats["events"], &stats["hooks"][0]["verdicts"]["block"]), (&json!(1), &json!(1)));
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let stage = logged();
    let said = stage.run(&["log", "--log", "log.sqlite", "verdikt:block"], "");
    assert!(said.code == Some(2) && said.err.contains("did you mean `verdict`?"), "{said:?}");
    let said = stage.run(&["why", "--log", "log.sqlite", "0123456789"], "");
    assert!(said.code == Some(1) && said.err.contains("no event `0123456789` is in the log"), "{said:?}");
    let said = stage.run(&["why", "--last"], "");
    assert!(said.code == Some(2) && said.err.contains("there is no decision log"), "{said:?}");
    stage.file("project/text", "no database");
    let said = stage.run(&["log", "--log", "text"], "");
    assert!(said.code == Some(2) && said.err.contains("cannot show what was decided"), "{said:?}");
}

#[test]
fn the_daemon_writes_down_what_it_decides_and_it_is_read_when_the_daemon_is_gone() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let daemon = Daemon::start(&stage);
    let event = r#"{"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": "rm -rf x"}}}"#;
    assert_eq!(stage.run(&["run", "--daemon", "--quiet"], event).code, Some(0));
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    daemon.ended();
    let said = stage.run(&["why", "--refused", "--json"], "");
    let why: Value = lineside::json::from_str(&said.out).unwrap();
    assert_eq!((&why["by"], &why["generation"]), (&json!("no-deletions"), &json!(1)), "{said:?}");
    assert_eq!(why["hooks"].as_array().unwrap().len(), 4);
}

#[test]
fn a_log_that_is_damaged_or_cannot_be_written_is_shown_by_status_and_doctor_and_decisions_go_on() {
    let stage = Stage::new();
    let log = "home/.local/state/lineside/log.sqlite";
    stage.file(log, "no database");
    fs::set_permissions(
        stage.path("home/.local/state/lineside"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let daemon = Daemon::start(&stage);
    let event =
        r#"{"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}}"#;
    assert_eq!(stage.run(&["run", "--daemon", "--quiet"], event).code, Some(0));
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    daemon.ended();
    assert_eq!(fs::read_to_string(stage.path(&format!("{log}.damaged"))).unwrap(), "no database");
    assert_eq!(stage.run(&["why", "--last", "tool:Shell"], "").code, Some(0));
    fs::remove_file(stage.path(log)).unwrap();
    fs::create_dir(stage.path(log)).unwrap();
    let _daemon = Daemon::start(&stage);
    assert_eq!(stage.run(&["run", "--daemon", "--quiet"], event).code, Some(0));
    let said = stage.run(&["status"], "");
    assert!(said.code == Some(1) && said.out.contains("log.sqlite is not written"), "{said:?}");
    let said = stage.run(&["doctor"], "");
    assert!(said.out.contains("log.sqlite is not written"), "{said:?}");
}

#[test]
fn a_user_who_wants_no_log_has_none() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/config.yaml", "log: off\n");
    let daemon = Daemon::start(&stage);
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    daemon.ended();
    assert!(!stage.path("home/.local/state/lineside/log.sqlite").exists());
}

#[test]
fn a_change_that_its_program_does_not_take_is_said_by_why() {
    let stage = Stage::new();
    let hooks = "hooks:
  - {name: redact, on: after_tool, amend: {tool_output: {redact: 'sk-[a-z]+', with: '[key]'}}}
";
    stage.file("project/.lineside/hooks.yaml", hooks);
    let event = |host: &str| {
        let payload =
            json!({"tool_name": "Shell", "tool_input": {"command": "env"}, "tool_output": "sk-secret"});
        format!("{}\n", json!({"point": "after_tool", "session": host, "host": host, "payload": payload}))
    };
    let said = stage
        .run(&["run", "--quiet", "--project", ".", "--log", "log.sqlite"], event("qwen") + &event("claude"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let why = |session: &str, more: &[&str]| {
        let words = [&["why", "--log", "log.sqlite"], more, &["--last", session]].concat();
        stage.run(&words, "").out
    };
    let text = "Qwen Code takes no changed tool_output here, and went on with the value as it was";
    let words = |page: String| page.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = words(why("session:qwen", &[]));
    assert!(page.contains("tool_output was changed by redact") && page.contains(text), "{page}");
    let object: Value = lineside::json::from_str(&why("session:qwen", &["--json"])).unwrap();
    assert_eq!(object["not_taken"], json!([{"field": "tool_output", "text": text}]));
    let page = words(why("session:claude", &[]));
    assert!(page.contains("tool_output was changed by redact") && !page.contains("takes no"), "{page}");
}

#[test]
fn a_prompt_of_a_session_that_was_refused_leads_to_that_refusal() {
    let stage = Stage::new();
    let refuses = "hooks: [{name: closed, on: before_session, verdict: block, reason: not today}]\n";
    stage.file("home/.config/lineside/hooks.yaml", refuses);
    let _daemon = crate::daemon::Daemon::start(&stage);
    let call = |event: &str, more: &Value| {
        let mut document =
            json!({"session_id": "s1", "hook_event_name": event, "cwd": stage.path("project")});
        for (name, value) in more.as_object().unwrap().iter() {
            document[&**name] = value.clone();
        }
        stage.run(&["hook", "claude"], document.to_string())
    };
    call("SessionStart", &json!({"source": "startup"}));
    call("UserPromptSubmit", &json!({"prompt": "go on"}));
    let last = |query: &[&str]| stage.run(&[&["why", "--json", "--last"], query].concat(), "");
    let begun = last(&["point:before_session"]).json()[0]["id"].as_str().unwrap().to_owned();
    let prompt = last(&["point:before_prompt"]).json()[0].clone();
    assert_eq!(
        (&prompt["verdict"], &prompt["session_refused"]),
        (&json!("block"), &json!(begun)),
        "{prompt}"
    );
    let page = stage.run(&["why", prompt["id"].as_str().unwrap()], "");
    assert!(
        page.out.ends_with(&format!("its session was refused when it began: `lineside why {begun}`\n")),
        "{page:?}"
    );
}
