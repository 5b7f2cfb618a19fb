//! `lineside tap`: what happens, as it happens, over the ends of daemons.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use lineside::json::{Value, from_str, json};

use crate::daemon::Daemon;
use crate::hook::{given, tool};
use crate::stage::Stage;

struct Tap {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    err: BufReader<std::process::ChildStderr>,
}

impl Tap {
    fn start(stage: &Stage, arguments: &[&str]) -> Self {
        let mut child = stage.command(&[&["tap"], arguments].concat()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        let mut tap = Self { child, out, err };
        let begun = tap.told();
        assert!(begun.starts_with("hears"), "{begun}");
        tap
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn json(&mut self) -> Value {
        from_str(&self.line()).unwrap()
    }

    fn told(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn call(stage: &Stage, session: &str, command: &str) {
    let said = given(stage, stage.command(&["hook", "claude"]), tool(session, command).as_bytes());
    assert_eq!(said.code, Some(0), "{said:?}");
}

const GUARD: &str = "hooks:
  - name: no-rm
    on: before_tool
    match: {runs: rm}
    verdict: block
    reason: not rm
";

#[test]
fn what_happens_is_shown_as_it_happens_and_goes_on_with_the_next_daemon() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["tap"], "").code, Some(3), "without a daemon");
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let daemon = Daemon::start(&stage);
    let mut tap = Tap::start(&stage, &["--json", "session:s1"]);
    call(&stage, "s1", "ls");
    assert_eq!(tap.json()["kind"], json!("session_opened"));
    let decided = tap.json();
    assert_eq!((&decided["kind"], &decided["verdict"]), (&json!("decided"), &json!("continue")));
    // In the form of the log.
    let logged = stage.run(&["log", "--json"], "").json();
    assert_eq!((&decided["id"], &decided["payload"]), (&logged[0]["id"], &logged[0]["payload"]));
    call(&stage, "s2", "ls");
    daemon.kill();
    assert!(tap.told().contains("has ended"));
    let _daemon = Daemon::start(&stage);
    assert!(tap.told().contains("another daemon"));
    call(&stage, "s1", "rm x");
    let decided = std::iter::from_fn(|| Some(tap.json())).find(|found| found["kind"] == "decided").unwrap();
    assert_eq!((&decided["session"], &decided["verdict"]), (&json!("s1"), &json!("block")));
}

#[test]
fn that_hooks_were_switched_off_and_on_is_news() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let _daemon = Daemon::start(&stage);
    call(&stage, "s1", "before");
    let mut tap = Tap::start(&stage, &["--json"]);
    for (word, detail) in [("off", "hooks are off"), ("on", "hooks are on again")] {
        assert_eq!(stage.run(&[word], "").code, Some(0));
        let news = tap.json();
        let is_told = news["detail"].as_str().is_some_and(|text| text.contains(detail));
        assert!(news["kind"] == json!("announced") && is_told, "{news}");
        // What tells of hooks as if they held says it too.
        for command in ["check", "list"] {
            let err = stage.run(&[command], "").err;
            assert_eq!(err.contains("hooks are off, so that every event passes"), word == "off", "{err}");
        }
    }
    call(&stage, "s1", "after");
    let page = stage.run(&["log"], "").out;
    let places =
        ["before", "hooks are off: every", "hooks are on again", "after"].map(|text| page.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{page}");
    assert!(!stage.run(&["log", "--json"], "").out.contains("hooks are"));
}

#[test]
fn lines_are_for_people_and_hide_no_control_characters() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let _daemon = Daemon::start(&stage);
    let mut tap = Tap::start(&stage, &["verdict:refused"]);
    call(&stage, "s1", "ls");
    call(&stage, "s\u{1b}[2J1", "rm \u{1b}]0;x\u{7} \u{202e}y");
    assert!(tap.line().starts_with("── "), "the day");
    let line = tap.line();
    assert!(line.contains("before_tool      Bash rm \\u{1b}]0;x\\u{7} \\u{20"), "{line}");
    let line = tap.line();
    assert!(line.trim_start().starts_with("block        no-rm: not rm (rm)"), "{line}");
    let wrong = stage.run(&["tap", "verdikt:block"], "");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("did you mean `verdict`?"), "{wrong:?}");
}

#[test]
fn everything_is_written_down_by_three_lines() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watching.md");
    let page = std::fs::read_to_string(page).unwrap();
    let settings = page.split("```yaml\n").nth(1).unwrap().split_once("```").unwrap().0;
    assert_eq!(settings.lines().count(), 3);
    stage.file("home/.config/lineside/config.yaml", settings);
    let daemon = Daemon::start(&stage);
    call(&stage, "s1", "ls");
    call(&stage, "s1", "rm x");
    stage.run(&["stop"], "");
    daemon.ended();
    let audit = std::fs::read_to_string(stage.path("home/lineside/audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| from_str(line).unwrap()).collect();
    let verdicts: Vec<_> = lines.iter().filter_map(|line| line["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["continue", "block"], "{audit}");
}
