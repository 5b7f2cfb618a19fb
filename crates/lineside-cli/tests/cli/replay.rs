//! `lineside replay`: recorded events to other hooks, and what would be decided differently.

use std::fs;

use lineside::json::{Value, json};

use crate::stage::{Said, Stage, shell};

/// A guard in shadow and one that amends, both of which say that they do nothing but answer.
const HOOKS: &str = "hooks:
  - name: no-push
    on: before_tool
    mode: shadow
    pure: true
    match: {tool: Shell, argument: {command: '^git push'}}
    command: \"cat >/dev/null; echo '{\\\"verdict\\\":\\\"block\\\",\\\"reason\\\":\\\"open a pull request\\\"}'\"
  - name: quiet
    on: before_tool
    pure: true
    amends: true
    match: {tool: Shell, argument: {command: '^make'}}
    command: \"cat >/dev/null; echo '{\\\"amend\\\":{\\\"tool_input\\\":{\\\"command\\\":\\\"true\\\"}}}'\"
";

const EVENTS: [&str; 6] = ["git push", "ls", "git push -f", "make all", "git push origin x", "git status"];

fn recorded() -> Stage {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let long = shell(&"x".repeat(20_000));
    let secret = shell("git push https://u:hunter2hunter2@example.org/x");
    let events = EVENTS.map(shell).concat() + &long + &secret;
    let said = stage.run(&["run", "--project", ".", "--log", "log.sqlite", "--quiet"], events);
    assert_eq!(said.code, Some(0), "{said:?}");
    stage
}

fn replay(stage: &Stage, words: &[&str]) -> Said {
    stage.run(&[&["replay", "--log", "log.sqlite"], words].concat(), "")
}

/// A person trusts the project as it is now.
fn trust(stage: &Stage) {
    let shown = stage.run(&["trust", "--show"], "").out;
    let (_, digest) = shown.rsplit_once("digest ").unwrap();
    let said = stage.run(&["trust", "--yes", digest.trim()], "");
    assert_eq!(said.code, Some(0), "{said:?}");
}

fn sum(said: &Said) -> Value {
    said.json().pop().unwrap()
}

#[test]
fn what_a_shadow_would_have_refused_is_what_a_replay_refuses() {
    let stage = recorded();
    let stats = stage.run(&["stats", "--log", "log.sqlite", "--json"], "");
    let stats: Value = lineside::json::from_str(&stats.out).unwrap();
    let hooks = stats["hooks"].as_array().unwrap();
    let would =
        &hooks.iter().find(|hook| hook["hook"] == json!("no-push")).unwrap()["shadow"]["verdicts"]["block"];
    assert_eq!(would, &json!(4));
    stage.file("project/enforced.yaml", &HOOKS.replace("mode: shadow", "mode: enforced"));
    let said = replay(&stage, &["--against", "enforced.yaml", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let sum = sum(&said);
    assert_eq!(&sum["refused"]["no-push"], would);
    assert_eq!(
        (&sum["differ"], &sum["replayed"], &sum["uncertain"]),
        (&json!(4), &json!(7), &json!(0)),
        "{sum}"
    );
    assert_eq!(sum["left_out"], json!({"too long to be kept whole": 1}));
    assert_eq!(sum["redacted"], json!(1));
    let first = &said.json()[0];
    assert_eq!((&first["then"]["verdict"], &first["now"]["verdict"]), (&json!("continue"), &json!("block")));

    let said = replay(&stage, &["--against", "enforced.yaml", "git push"]);
    for told in [
        "git push -f",
        "then  continue",
        "now   block, by no-push: open a pull request",
        "4 decided differently",
    ] {
        assert!(said.out.contains(told), "{told}: {said:?}");
    }
}

#[test]
fn a_file_that_does_not_load_is_named_as_it_was_and_nothing_is_replayed_to_it() {
    let stage = recorded();
    stage.file("project/stricter.yaml", "hooks:\n  - {name: no-echo, on: before_tol, verdict: block}\n");
    for more in [&[][..], &["--live"]] {
        let said = replay(&stage, &[&["--against", "stricter.yaml"], more].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("stricter.yaml:2") && !said.err.contains("lineside-replay-"), "{said:?}");
        assert!(said.err.contains("nothing was replayed: stricter.yaml has 1 error"), "{said:?}");
    }
}

#[test]
fn the_same_hooks_decide_the_same_also_of_what_they_have_amended() {
    let stage = recorded();
    let said = replay(&stage, &["--against", ".", "--json"]);
    assert_eq!((said.code, &sum(&said)["differ"]), (Some(0), &json!(0)), "{said:?}");
    // What the log prints is read as well; there a payload is as hooks have left it.
    let log = stage.run(&["log", "--log", "log.sqlite", "--json", "git"], "");
    stage.file("project/events.jsonl", &log.out);
    stage.file("project/enforced.yaml", &HOOKS.replace("mode: shadow", "mode: enforced"));
    let said = stage.run(&["replay", "events.jsonl", "--against", "enforced.yaml", "--json"], "");
    assert_eq!(sum(&said)["refused"], json!({"no-push": 4}), "{said:?}");
    stage.file("project/events.jsonl", "{\"point\": \"before_tool\"\n");
    let said = stage.run(&["replay", "events.jsonl"], "");
    assert!(said.code == Some(2) && said.err.contains("events.jsonl:1"), "{said:?}");
}

#[test]
fn a_hook_that_may_do_more_than_answer_runs_in_a_copy_alone() {
    let stage = recorded();
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks:\n  - name: writes\n    on: before_tool\n    match: {argument: {command: '^ls$'}}\n    command: \"cat >/dev/null; echo x > made; echo '{\\\"verdict\\\":\\\"block\\\",\\\"reason\\\":\\\"'$(readlink /proc/self/ns/net)' '$(pwd)'\\\"}'\"\n",
    );
    let said = replay(&stage, &["--against", ".", "--json"]);
    let counted = sum(&said);
    assert_eq!((&counted["uncertain"], &counted["not_run"]), (&json!(1), &json!({"writes": 1})), "{said:?}");
    assert_eq!(counted["refused"], json!({}));
    let said = replay(&stage, &["--against", "."]);
    assert!(said.out.contains("writes 1 times") && said.out.contains("--live"), "{said:?}");

    let said = replay(&stage, &["--against", ".", "--live", "--json", "ls"]);
    assert_eq!(sum(&said)["refused"], json!({"writes": 1}), "{said:?}");
    let reason = said.json()[0]["now"]["reason"].as_str().unwrap().to_owned();
    let (network, folder) = reason.split_once(' ').unwrap();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let shares = said.err.contains("no namespace without a network");
    assert_eq!(network == own.to_str().unwrap(), shares, "{said:?}");
    assert!(folder.contains("lineside-replay-") && folder.ends_with("/project"), "{folder}");
    assert!(!stage.path("project/made").exists(), "the project was left alone");
}

#[test]
fn an_automation_that_is_not_run_keeps_no_agent_working() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let edited = json!({"tool_name": "WriteFile", "tool_input": {"file_path": "a.rs"}, "tool_output": ""});
    let events = [("after_tool", edited), ("before_stop", json!({"stop_active": false}))]
        .map(|(point, payload)| json!({"point": point, "payload": payload}).to_string() + "\n");
    let said = stage.run(&["run", "--project", ".", "--log", "log.sqlite", "--quiet"], events.concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let tests = "hooks:\n  - name: tests\n    on: after_tool\n    command: \"touch ran; exit 1\"\n    automate: {join: before_next_model}\n";
    stage.file("project/.lineside/hooks.yaml", tests);
    let said = replay(&stage, &["--against", ".", "--json"]);
    let counted = sum(&said);
    assert_eq!(
        (said.code, &counted["differ"], &counted["refused"]),
        (Some(0), &json!(0), &json!({})),
        "{said:?}"
    );
    assert_eq!((&counted["uncertain"], &counted["not_run"]), (&json!(1), &json!({"tests": 1})), "{said:?}");
    assert!(!stage.path("project/ran").exists());
    // Another gate's word at the same event stands.
    let gate = "  - {name: stays, on: before_stop, verdict: block, reason: not yet}\n";
    stage.file("project/.lineside/hooks.yaml", &(tests.to_owned() + gate));
    let counted = sum(&replay(&stage, &["--against", ".", "--json"]));
    assert_eq!((&counted["refused"], &counted["differ"]), (&json!({"stays": 1}), &json!(1)), "{counted}");
}

#[test]
fn a_replay_says_whose_hooks_judge_and_how_many_events_are_of_other_projects() {
    let stage = recorded();
    fs::create_dir_all(stage.path("elsewhere")).unwrap();
    let said = replay(&stage, &["--against", "."]);
    let head = "hooks of the user and of [stage]/project (named)\n";
    assert!(said.out.starts_with(head) && !said.out.contains("of other projects"), "{said:?}");
    let elsewhere = stage.path("elsewhere").display().to_string();
    let said = replay(&stage, &["--against", &elsewhere]);
    assert!(said.out.contains("7 of other projects, judged without the hooks of those"), "{said:?}");
    stage.file("project/enforced.yaml", HOOKS);
    let said = replay(&stage, &["--against", "enforced.yaml"]);
    assert!(said.out.starts_with("hooks of enforced.yaml alone\n"), "{said:?}");
}

#[test]
fn what_the_hooks_of_the_user_have_decided_becomes_a_case_with_their_file() {
    let stage = Stage::new();
    let policy = "hooks:\n  - {name: no-push, on: before_tool, match: {runs: {program: git, subcommand: push}}, verdict: block, reason: no}\n";
    stage.file("home/.config/lineside/hooks.yaml", policy);
    let events = ["git push", "ls"].map(shell).concat();
    let said = stage.run(&["run", "--log", "log.sqlite", "--quiet"], events);
    assert_eq!(said.code, Some(0), "{said:?}");
    let record =
        |file: &str| stage.run(&["test", "--record", "point:before_tool", "--log", "log.sqlite", file], "");
    let said = record("own.cases.yaml");
    assert!(said.code == Some(0) && said.err.contains("2 cases written to own.cases.yaml"), "{said:?}");
    let copied = "1 case with the hooks of [stage]/home/.config/lineside/hooks.yaml";
    assert!(said.err.contains(copied), "{said:?}");
    let said = stage.run(&["test", "own.cases.yaml"], "");
    assert!(said.code == Some(0) && said.out.contains("2 passed, 0 failed"), "{said:?}");
    stage.file("home/.config/lineside/hooks.yaml", "hooks: []\n");
    let said = record("other.cases.yaml");
    assert!(
        said.err.contains("1 decision left out: decided differently by the hooks.yaml of the user"),
        "{said:?}"
    );
}

#[test]
fn logged_decisions_become_a_case_file_that_passes() {
    let stage = recorded();
    stage.file("project/.lineside/hooks.yaml", &HOOKS.replace("mode: shadow", "mode: enforced"));
    let events = EVENTS.map(shell).concat() + &shell("git push https://u:hunter2hunter2@example.org/x");
    let said = stage.run(&["run", "--project", ".", "--log", "second.sqlite", "--quiet"], events);
    assert_eq!(said.code, Some(0), "{said:?}");
    let record =
        |query: &str, log: &str, file: &str| stage.run(&["test", "--record", query, "--log", log, file], "");
    trust(&stage);
    let said = record("point:before_tool", "second.sqlite", "guards.cases.yaml");
    assert!(said.code == Some(0) && said.err.contains("7 cases written to guards.cases.yaml"), "{said:?}");
    let text = fs::read_to_string(stage.path("project/guards.cases.yaml")).unwrap();
    assert!(text.starts_with("dialect: native\ncases:\n") && !text.contains("hunter2"), "{text}");
    assert!(text.contains("verdict: block") && text.contains("reason: \"open a pull request\""), "{text}");
    let said = stage.run(&["test", "guards.cases.yaml"], "");
    assert!(said.code == Some(0) && said.out.contains("7 passed, 0 failed"), "{said:?}");
    // They hold the hooks to what was decided.
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let said = stage.run(&["test", "guards.cases.yaml"], "");
    assert!(said.code == Some(1) && said.out.contains("3 passed, 4 failed"), "{said:?}");
    // What is decided otherwise today is no case.
    trust(&stage);
    let said = record("verdict:block", "second.sqlite", "other.cases.yaml");
    assert!(
        said.code == Some(1) && said.err.contains("4 decisions left out: decided differently"),
        "{said:?}"
    );
    assert!(!stage.path("project/other.cases.yaml").exists());
    let said = record("verdict:block", "second.sqlite", "guards.cases.yaml");
    assert!(said.code == Some(2) && said.err.contains("is there already"), "{said:?}");
}

/// A project without trust, with a hook that leaves a file behind when it runs, and an event in it.
fn strange() -> Stage {
    let stage = Stage::new();
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, match: {tool: Shell}, verdict: block, reason: no}]\n",
    );
    let said = stage.run(&["run", "--project", ".", "--log", "log.sqlite", "--quiet"], shell("git push"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let ran = stage.path("ran").display().to_string();
    let hook = format!("  - {{name: evil, on: before_tool, pure: true, command: [touch, {ran}]}}\n");
    stage.file("project/.lineside/hooks.yaml", &format!("hooks:\n{hook}"));
    stage
}

#[test]
fn no_hook_of_a_project_that_nobody_has_trusted_runs_for_what_is_in_the_log() {
    let stage = strange();
    let said =
        stage.run(&["test", "--record", "point:before_tool", "--log", "log.sqlite", "x.cases.yaml"], "");
    assert!(said.code == Some(1) && said.err.contains("not trusted"), "{said:?}");
    for words in [&["replay", "--log", "log.sqlite"][..], &["replay", "--log", "log.sqlite", "--live"]] {
        let said = stage.run(words, "");
        assert!(said.err.contains("1 hook of the project is not trusted"), "{words:?}: {said:?}");
    }
    assert!(!stage.path("ran").exists());
    // A person who names it agrees to that.
    let said = stage.run(&["replay", "--log", "log.sqlite", "--live", "--against", "."], "");
    assert!(stage.path("ran").exists(), "{said:?}");
}

#[test]
fn a_live_replay_waits_for_no_pipe_and_takes_any_words() {
    let stage = recorded();
    let made = std::process::Command::new("mkfifo").arg(stage.path("project/pipe")).status().unwrap();
    assert!(made.success());
    let said = replay(&stage, &["--against", ".", "--live", "--json", "--", "ls"]);
    assert_eq!((said.code, &sum(&said)["replayed"]), (Some(0), &json!(1)), "{said:?}");
}
