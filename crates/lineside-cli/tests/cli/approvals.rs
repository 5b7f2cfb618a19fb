//! `lineside approvals`: the page of the book, with what a person sees.

use std::io::{BufRead as _, BufReader, Write as _};

use lineside::json::{Value, from_str, json};
use regex::Regex;

use crate::daemon::Daemon;
use crate::stage::Stage;

/// The blocks of the page that this test is named for, in their order.
fn blocks() -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/approvals.md");
    let page = std::fs::read_to_string(path).unwrap();
    let own = "<!-- snippet: test the_page_of_approvals_shows_what_a_person_sees -->\n```text\n";
    let block = |rest: &str| rest.split_once("```").unwrap().0.to_owned();
    page.split(own).skip(1).map(block).collect()
}

/// What is different each time stands as a word.
fn timeless(stage: &Stage, text: &str) -> String {
    let mut text = text.replace(stage.path("project").to_str().unwrap(), "/home/me/project");
    for (pattern, word) in [
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b", "EVENT"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        (r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "TIME"),
        (r"(waits for|: allow once).*", "…"),
        (r"process \d+", "process N"),
        (r"\b[0-9a-f]{8}\b", "ID"),
        (r" +(\d+ min )?\d+ m?s left", "  LEFT left"),
        (r" *\d+(\.\d+)? (m?s|min)\b( \d+ s\b)?", " SPAN"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, word).into_owned();
    }
    // Columns are as wide as what stands in them.
    text = Regex::new(r"(\S) {2,}").unwrap().replace_all(&text, "$1  ").into_owned();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_page_of_approvals_shows_what_a_person_sees() {
    let stage = Stage::new();
    let page = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/approvals.md"),
    );
    let page = page.unwrap();
    let yaml = |begin: &str| {
        page.split("```yaml\n").find(|block| block.starts_with(begin)).unwrap().split_once("```").unwrap().0
    };
    stage.file("project/.lineside/hooks.yaml", yaml("hooks:"));
    stage.file("home/.config/lineside/config.yaml", yaml("approvals:"));
    let daemon = Daemon::start(&stage);
    let mut watch = stage.command(&["approvals", "watch", "--json"]).spawn().unwrap();
    let mut seen = BufReader::new(watch.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        seen.read_line(&mut line).unwrap();
        from_str::<Value>(&line).unwrap()
    };
    let none = stage.run(&["approvals"], "");
    assert_eq!((none.code, none.out.as_str()), (Some(0), "no question waits\n"), "{none:?}");
    let push = |branch: &str, id: &str| {
        let mut call = stage.command(&["hook", "codex", "--within", "605"]).spawn().unwrap();
        let document = json!({"session_id": "s1", "hook_event_name": "PreToolUse", "cwd": stage.path("project"),
            "tool_name": "Bash", "tool_input": {"command": format!("git push origin {branch}")}, "tool_use_id": id});
        call.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
        call
    };
    let call = push("main", "call-1");
    let id = next()["id"].as_str().unwrap().to_owned();
    let shown = stage.command(&["approvals"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let allowed = stage.run(&["approvals", "allow", &id[..6]], "");
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let passed = stage.said(call);
    assert_eq!((passed.code, passed.out.as_str()), (Some(0), ""), "{passed:?}");
    assert_eq!(next()["approval"]["verdict"], json!("allow"));
    // The log is written behind the decision.
    let why = || stage.command(&["why", "--last"]).output().unwrap();
    let why = std::iter::from_fn(|| Some(why())).find(|why| why.status.success()).unwrap();
    let why = String::from_utf8(why.stdout).unwrap();
    let blocks = blocks();
    let told = [&shown, &allowed.out, &why];
    assert_eq!(blocks.len(), told.len());
    for (block, told) in blocks.iter().zip(told) {
        assert_eq!(timeless(&stage, block), timeless(&stage, told), "the page shows this:\n{told}");
    }
    // The command of the page that has a pattern, for one call, and then without a question for another one.
    let line = page.lines().find(|line| line.starts_with("lineside approvals") && line.contains("--pattern"));
    let pattern = line.unwrap().split('\'').nth(1).unwrap();
    let call = push("one", "call-2");
    let asked = next()["id"].as_str().unwrap().to_owned();
    let allowed = stage.run(&["approvals", "allow", &asked, "--pattern", pattern, "--yes"], "");
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    for call in [call, push("two", "call-3")] {
        let passed = stage.said(call);
        assert_eq!((passed.code, passed.out.as_str()), (Some(0), ""), "{passed:?}");
    }
    let over = stage.run(&["approvals", "deny", &id], "");
    assert_eq!(over.code, Some(1));
    assert!(over.err.contains("it was answered"), "{over:?}");
    assert_eq!(stage.run(&["approvals", "allow"], "").code, Some(2));
    // A replay asks no person: the same hooks have decided the same, and others something else.
    let logged = || Some(stage.run(&["log", "--json"], ""));
    let logged = std::iter::from_fn(logged).find(|log| log.out.lines().count() == 3).unwrap();
    stage.file("project/events.jsonl", &logged.out);
    stage.file("project/stricter.yaml", &yaml("hooks:").replace("verdict: ask", "verdict: block"));
    for of in [&[][..], &["events.jsonl"]] {
        let same = stage.run(&[&["replay", "--against", ".", "--json"], of].concat(), "");
        assert!(same.code == Some(0) && same.out.contains("\"replayed\":3"), "{same:?}");
        let other = stage.run(&[&["replay", "--against", "stricter.yaml", "--json"], of].concat(), "");
        assert!(other.code == Some(1) && other.out.contains("\"differ\":3"), "{other:?}");
        assert_eq!(other.json()[0]["then"]["verdict"], json!("ask"), "{other:?}");
    }
    // A person who watches sees what the next daemon asks, too.
    daemon.kill();
    let _daemon = Daemon::start(&stage);
    let call = push("three; true", "call-4");
    let asked = std::iter::from_fn(|| Some(next())).find(|seen| {
        let about = seen["about"].as_str();
        about.is_some_and(|about| about.ends_with("true"))
    });
    let id = asked.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(stage.run(&["approvals", "deny", &id], "").code, Some(0));
    assert!(stage.said(call).out.contains("deny"));
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_call_that_its_program_could_only_refuse_is_refused_in_the_log() {
    let stage = Stage::new();
    let hooks = "hooks:
  - {name: no-push, on: before_tool, match: {runs: {program: git, subcommand: push}}, verdict: ask, reason: a push needs a person}
  - {name: rw, on: before_tool, match: {argument: {command: ^echo hi$}}, amend: {tool_input.command: echo ho}}
";
    stage.file("home/.config/lineside/hooks.yaml", hooks);
    let _daemon = Daemon::start(&stage);
    let call = |host: &str, command: &str| {
        let document = json!({"session_id": host, "hook_event_name": "PreToolUse", "cwd": stage.path("project"),
            "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command, "tool_call_id": command});
        let told = stage.run(&["hook", host], document.to_string());
        told.out + &told.err
    };
    let refused = [("codex", "git push", "no-push"), ("kimi", "echo hi", "rw")];
    for (host, command, by) in refused {
        let told = call(host, command);
        assert!(told.contains("cannot ask for it here") || told.contains("repeat the call"), "{told}");
        let query = ["log", "verdict:refused", &format!("host:{host}"), "--json"];
        let logged = || Some(stage.run(&query, ""));
        let logged = std::iter::from_fn(logged).take(200).find(|log| !log.out.is_empty()).unwrap().json();
        assert_eq!((&logged[0]["by"], &logged[0]["verdict"]), (&json!(by), &json!("block")));
        let why = stage.run(&["why", "--refused", &format!("host:{host}")], "").out;
        let said = if by == "rw" { "cannot change it here" } else { "cannot ask for it" };
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(why.contains(said) && why.contains("✗ block"), "{why}");
        let stats = stage.run(&["stats", &format!("host:{host}")], "").out;
        assert!(stats.contains("1 refused"), "{stats}");
    }
    // What was changed where the program takes it is no refusal.
    assert!(call("codex", "echo hi").contains("echo ho"));
    let logged = || Some(stage.run(&["log", "point:before_tool", "--json"], ""));
    let logged = std::iter::from_fn(logged).take(200).find(|log| log.out.lines().count() == 3).unwrap();
    assert_eq!(stage.run(&["log", "verdict:refused", "--json"], "").out.lines().count(), 2, "{logged:?}");
    stage.file("project/events.jsonl", &logged.out);
    for of in [&[][..], &["events.jsonl"]] {
        let same = stage.run(&[&["replay", "--json"], of].concat(), "");
        assert!(same.code == Some(0) && same.out.contains("\"differ\":0"), "{same:?}");
    }
}

#[test]
fn entries_allow_for_the_time_that_a_question_waits() {
    let stage = Stage::new();
    let installed = |host: &str, file: &str| {
        stage.run(&["install", host, "--untried"], "");
        std::fs::read_to_string(stage.path(file)).unwrap()
    };
    let before = installed("codex", "home/.codex/hooks.json");
    assert!(before.contains("\"timeout\":60") && !before.contains("--within"), "{before}");
    stage.file("home/.config/lineside/config.yaml", "approvals: {wait: 20min}\n");
    let codex = installed("codex", "home/.codex/hooks.json");
    assert!(codex.contains("--within 1205") && codex.contains("\"timeout\":1205"), "{codex}");
    assert!(codex.contains("\"timeout\":3}"), "the end of a session is no question: {codex}");
    let kimi = installed("kimi", "home/.kimi/config.toml");
    assert!(kimi.contains("--within 600") && kimi.contains("timeout = 600"), "it refuses more: {kimi}");
    let gemini = installed("gemini", "home/.gemini/settings.json");
    assert!(gemini.contains("\"timeout\":1205000"), "{gemini}");
    let copilot = installed("copilot", "home/.copilot/hooks/lineside.json");
    let gate = copilot.split("preToolUse").nth(2).unwrap().split('}').next().unwrap();
    assert!(gate.contains("\"timeoutSec\":60"), "it asks its user there: {copilot}");
}
