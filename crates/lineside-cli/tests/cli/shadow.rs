//! A hook in shadow: it changes nothing, what it would have done is in the log, and a person has it count.

use std::fs;

use lineside::json::{Value, json};

use crate::stage::{Said, Stage, shell};

/// A guard, an amender and a hook that fails, all in shadow, and a gate that counts.
const HOOKS: &str = "hooks:
  - name: no-push
    on: before_tool
    mode: shadow   # until next week
    priority: 9
    match: {tool: Shell, argument: {command: '^git push'}}
    command: \"cat >/dev/null; echo '{\\\"verdict\\\":\\\"block\\\",\\\"reason\\\":\\\"open a pull request\\\",\\\"context\\\":\\\"Never push.\\\"}'\"
  - name: dry
    on: before_tool
    mode: shadow
    priority: 5
    amends: true
    command: \"cat >/dev/null; echo '{\\\"amend\\\":{\\\"tool_input\\\":{\\\"command\\\":\\\"true\\\"}}}'\"
  - name: fails
    on: before_tool
    mode: shadow
    command: exit 3
  - name: counts
    on: before_tool
    command: \"cat >/dev/null; echo '{}'\"
";

fn logged() -> (Stage, Said) {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let events = shell("git push origin main") + &shell("ls");
    let said = stage.run(&["run", "--project", ".", "--log", "log.sqlite", "--receipts"], events);
    assert_eq!(said.code, Some(0), "{said:?}");
    (stage, said)
}

fn of(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    lineside::json::from_str(&said.out).unwrap()
}

#[test]
fn what_is_in_shadow_changes_nothing_and_is_in_the_log() {
    let (stage, said) = logged();
    for receipt in said.json() {
        let text = receipt.to_string();
        assert_eq!(receipt["verdict"], json!("continue"), "{text}");
        assert!(!text.contains("Never push") && !text.contains("pull request"), "{text}");
    }
    let with_log =
        |words: &[&str]| stage.run(&[&["--color", "never"], words, &["--log", "log.sqlite"]].concat(), "");
    let found = with_log(&["log", "--json", "shadow:block", "hook:no-push"]);
    let found = of(&found);
    assert_eq!(found["payload"]["tool_input"]["command"], json!("git push origin main"));
    // Those that fail count as a block, as they would.
    assert_eq!(with_log(&["log", "--json", "shadow:refused"]).out.lines().count(), 2);
    assert_eq!(with_log(&["log", "--json", "shadow:amended"]).out.lines().count(), 2);
    assert_eq!(with_log(&["log", "--json", "shadow:ask"]).out, "");
    let said = with_log(&["log", "shadow:blok"]);
    assert!(said.code == Some(2) && said.err.contains("did you mean `block`?"), "{said:?}");

    let why = of(&with_log(&["why", "--json", found["id"].as_str().unwrap()]));
    let hooks = why["hooks"].as_array().unwrap();
    let hook = |name: &str| hooks.iter().find(|hook| hook["hook"] == json!(name)).unwrap();
    assert_eq!((&hook("no-push")["mode"], &hook("no-push")["verdict"]), (&json!("shadow"), &json!("block")));
    assert_eq!(hook("no-push")["detail"], json!("open a pull request"));
    assert_eq!((&hook("fails")["failed"], &hook("fails")["verdict"]), (&json!("exit"), &json!("block")));
    assert_eq!(hook("counts")["mode"], json!("enforced"));
    let page = with_log(&["why", found["id"].as_str().unwrap()]).out;
    for told in [
        "✓ continue  before_tool",
        "◌  no-push",
        "in shadow: would block: open a pull request",
        "in shadow: failed (exit), would block",
        "tool_input would have been changed by the shadow dry",
        "would have gone to the agent's context, by no-push: Never push.",
    ] {
        assert!(page.contains(told), "{told}\n{page}");
    }

    let stats = of(&with_log(&["stats", "--json"]));
    let of_hook = |name: &str| {
        let hook =
            stats["hooks"].as_array().unwrap().iter().find(|hook| hook["hook"] == json!(name)).unwrap();
        let mut shadow = hook["shadow"].as_object().unwrap().clone();
        let times =
            ["p50_us", "p99_us"].map(|time| shadow.remove(time).is_some_and(|time| time.as_u64().is_some()));
        assert_eq!(times, [true; 2], "{hook}");
        Value::Object(shadow)
    };
    assert_eq!(of_hook("no-push"), json!({"runs": 1, "verdicts": {"block": 1}, "amended": 0}));
    assert_eq!(of_hook("dry"), json!({"runs": 2, "verdicts": {"continue": 2}, "amended": 2}));
    assert_eq!(of_hook("counts"), json!({"runs": 0, "verdicts": {}, "amended": 0}));
    let page = with_log(&["stats", "--shadow"]).out;
    assert!(page.contains("would refuse") && !page.contains("counts"), "{page}");
}

#[test]
fn list_check_and_explain_name_it() {
    let (stage, _) = logged();
    let run = |words: &[&str]| stage.run(&[words, &["--project", "."]].concat(), "");
    let list = run(&["list"]).out;
    let row = |name: &str| list.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row("no-push").contains("shadow") && !row("counts").contains("shadow"), "{list}");
    assert!(run(&["check"]).out.contains("4 hooks ready, 3 of them in shadow"));
    let said = stage.run(&["explain", "--project", "."], shell("git push"));
    assert!(said.out.contains("runs in shadow"), "{said:?}");
}

#[test]
fn a_person_has_it_count_and_no_other_byte_is_changed() {
    let (stage, _) = logged();
    let enforce = |words: &[&str]| {
        stage.run(&[&["enforce", "--project", ".", "--log", "log.sqlite"], words].concat(), "enforce\n")
    };
    let file = stage.path("project/.lineside/hooks.yaml");
    // What comes from a pipe is no consent.
    let said = enforce(&["no-push"]);
    assert!(said.code == Some(2) && said.err.contains("--yes"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), HOOKS);
    for told in [
        "would refuse",
        "git push origin main",
        "hooks.yaml:4",
        "-     mode: shadow   # until next week",
        "+     mode: enforced   # until next week",
    ] {
        assert!(said.out.contains(told), "{told}: {said:?}");
    }
    let said = enforce(&["no-push", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let now = fs::read_to_string(&file).unwrap();
    assert_eq!(now, HOOKS.replacen("mode: shadow ", "mode: enforced ", 1));
    let said = stage.run(&["run", "--project", "."], shell("git push origin main"));
    assert!(said.code == Some(0) && said.out.contains("open a pull request"), "{said:?}");
    let said = enforce(&["no-push", "--yes"]);
    assert!(said.code == Some(2) && said.err.contains("is not in shadow"), "{said:?}");
    let said = enforce(&["no-pusch", "--yes"]);
    assert!(said.code == Some(2) && said.err.contains("did you mean \"no-push\"?"), "{said:?}");
}

#[test]
fn an_agent_takes_no_hook_out_of_shadow() {
    let (stage, _) = logged();
    let mut command = stage.command(&["enforce", "no-push", "--project", ".", "--yes"]);
    let child = command.env("LINESIDE_GRANT", "s").spawn().unwrap();
    let said = stage.said(child);
    assert!(said.code == Some(2) && said.err.contains("below an agent"), "{said:?}");
    assert_eq!(fs::read_to_string(stage.path("project/.lineside/hooks.yaml")).unwrap(), HOOKS);
}

#[test]
fn a_whole_file_is_in_shadow_and_a_broken_hook_in_it_refuses_nothing() {
    let stage = Stage::new();
    stage.file(
        "project/.lineside/hooks.yaml",
        "mode: shadow\nhooks:\n  - name: a\n    on: before_tool\n    command: exit 2\n  - name: broken\n    on: before_tool\n    timeout: soon\n    command: x\n",
    );
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert!(said.json()[0]["verdict"] == json!("continue"), "{said:?}");
    stage.file(
        "project/.lineside/hooks.yaml",
        "mode: shadwo\nhooks:\n  - {name: a, on: before_tool, command: exit 2}\n",
    );
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert!(said.json()[0]["verdict"] == json!("block"), "what is not understood stays closed: {said:?}");
    assert!(said.err.contains("`mode` is") && said.err.contains("enforced or shadow"), "{said:?}");
}
