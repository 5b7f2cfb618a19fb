//! `lineside test`: what its report says of cases that pass, fail, cannot be run, and are none.

use lineside::json::{Value, json};

use crate::stage::{Stage, timeless};

fn case(id: &str, steps: &Value) -> Value {
    json!({
        "id": id,
        "title": format!("the case {id}"),
        "from": "a page",
        "files": {
            "project/.agents/hooks/deny/HOOK.md": "---\nname: deny\ndescription: d\ntrigger: before_tool\n---\n",
            "project/.agents/hooks/deny/scripts/run.sh": {"text": "#!/bin/sh\ncat > seen.json\necho no >&2\nexit 2\n", "mode": "755"},
        },
        "steps": steps,
    })
}

fn publish(expect: &Value) -> Value {
    json!({"publish": {"point": "before_tool", "payload": {"tool_name": "x", "tool_input": {}}}, "expect": expect})
}

fn suite(stage: &Stage, name: &str, dialect: &str, cases: &Value) {
    stage.file(
        &format!("project/{name}.cases.json"),
        &json!({"dialect": dialect, "cases": cases}).to_string(),
    );
}

fn all_kinds() -> Stage {
    let stage = Stage::new();
    let passes = publish(&json!({"verdict": "block", "reason": "no", "ran": ["deny"], "failed": {},
        "files": {"project/seen.json": {"contains": "before_tool"}}}));
    let fails = publish(&json!({"verdict": "continue", "reason": "because", "ran": [], "notices": ["x"],
        "files": {"project/seen.json": {"absent": true}}}));
    suite(
        &stage,
        "deep/one",
        "agenthooks",
        &json!([
            case("passes", &json!([passes])),
            case(
                "fails",
                &json!([{"load": true, "expect": {"hooks": ["deny"], "diagnostics": []}}, fails, passes])
            ),
            case("breaks", &json!([{"publish": {"point": "before_toll"}}])),
            case("host", &json!([{"host": {"name": "claude", "stdin": {}}, "expect": {"exit": 0}}])),
        ]),
    );
    suite(&stage, "other", "telepathy", &json!([case("a", &json!([])), case("b", &json!([]))]));
    suite(
        &stage,
        "wrong",
        "agenthooks",
        &json!([
            case("typo", &json!([publish(&json!({"verdikt": "block"}))])),
            case("nonsense", &json!([{"advance_ms": 1, "expect": {"verdict": "block"}}])),
        ]),
    );
    stage
}

#[test]
fn the_report_says_what_was_expected_and_what_there_was() {
    let said = all_kinds().run(&["test", "."], "");
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""));
    insta::assert_snapshot!(timeless(&said.out));
}

#[test]
fn programs_get_json() {
    let said = all_kinds().run(&["test", ".", "--json"], "");
    assert_eq!(said.code, Some(1));
    let report: Value = lineside::json::from_str(&said.out).unwrap();
    assert_eq!((&report["passed"], &report["failed"], &report["skipped"]), (&json!(1), &json!(4), &json!(2)));
    let statuses = |index: usize| -> Vec<&Value> {
        report["suites"][index]["cases"].as_array().unwrap().iter().map(|case| &case["status"]).collect()
    };
    assert_eq!(statuses(0), ["passed", "failed", "failed", "failed"]);
    let failure = &report["suites"][0]["cases"][1]["failures"][0];
    assert_eq!(
        failure,
        &json!({"step": 2, "act": "publish before_tool", "what": "verdict", "expected": "continue", "got": "block: \"no\""})
    );
    assert_eq!(
        (&report["suites"][1]["status"], &report["suites"][2]["status"]),
        (&json!("skipped"), &json!("failed"))
    );
}

#[test]
fn where_no_case_runs_that_is_no_success() {
    let stage = Stage::new();
    let case = case("c", &json!([]));
    let suite = json!({"dialect": "agenthoks", "cases": [case]});
    stage.file("project/s.cases.json", &suite.to_string());
    let said = stage.run(&["test", "s.cases.json"], "");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("no case ran") && said.out.contains("agenthoks"), "{said:?}");
}

#[test]
fn a_case_file_runs_only_where_it_or_its_folder_is_named() {
    let stage = Stage::new();
    let folder = stage.path("project");
    let touches = "---\nname: t\ndescription: d\ntrigger: before_tool\n---\n";
    let script = format!("#!/bin/sh\ntouch {}/started\n", folder.display());
    let case = json!({"id": "c", "title": "c", "steps": [publish(&json!({"ran": ["t"]}))], "files": {
        "project/.agents/hooks/t/HOOK.md": touches,
        "project/.agents/hooks/t/scripts/run.sh": {"text": script, "mode": "755"},
    }});
    suite(&stage, "deep/one", "agenthooks", &json!([case]));
    for more in [&["test"][..], &["test", "--case", "c"]] {
        let said = stage.run(more, "");
        assert_eq!((said.code, said.out.trim()), (Some(2), "./deep/one.cases.json"), "{said:?}");
        assert!(said.err.contains("nothing has run") && said.err.contains("`lineside test .`"), "{said:?}");
        assert!(!folder.join("started").exists(), "{more:?}");
    }
    assert_eq!(stage.run(&["test", "."], "").code, Some(0));
    assert!(folder.join("started").exists());
}

#[test]
fn a_filter_leaves_the_others_out() {
    let stage = all_kinds();
    let said = stage.run(&["test", "deep", "--filter", "passes"], "");
    assert_eq!((said.code, said.out.lines().last()), (Some(0), Some("1 passed, 0 failed")));
    let said = stage.run(&["test", "deep", "--filter", "nobody"], "");
    assert_eq!(said.code, Some(2));
    assert_eq!(said.err, "lineside: no case has `nobody` in its id or title\n");
    let said = stage.run(&["test", "deep/one.cases.json", "nowhere"], "");
    assert_eq!(said.code, Some(2));
}

#[test]
fn cases_are_chosen_by_their_ids() {
    let stage = all_kinds();
    let said = stage.run(&["test", "deep", "--case", "passes", "--case", "host"], "");
    assert_eq!((said.code, said.out.lines().last()), (Some(1), Some("1 passed, 1 failed")), "{}", said.out);
    let said = stage.run(&["test", "deep", "--case", "passe"], "");
    assert_eq!((said.code, said.err.as_str()), (Some(2), "lineside: no case has the id `passe`\n"));
}

#[test]
fn a_case_in_yaml_may_try_the_hooks_that_are_in_place() {
    let stage = Stage::new();
    stage.hook("deny", "trigger: before_tool", "echo in place >&2\nexit 2");
    let cases = r#"
dialect: agenthooks
cases:
  - id: in-place
    title: the hook that lies there refuses, and one that the case writes as well
    files:
      project/.agents/hooks/deny: { copy: ../.agents/hooks/deny }
      project/.agents/hooks/late/HOOK.md: |
        ---
        name: late
        description: d
        trigger: after_tool
        ---
      project/.agents/hooks/late/scripts/run.sh:
        mode: 755
        text: |
          #!/bin/sh
          echo late >&2
          exit 2
    steps:
      - publish: { point: before_tool, payload: { tool_name: x, tool_input: {} } }
        expect: { verdict: block, reason: in place, ran: [deny] }
      - publish: { point: after_tool, payload: { tool_name: x, tool_input: {}, tool_output: y } }
        expect: { ran: [late], failed: {} }
"#;
    stage.file("project/checks/own.cases.yaml", cases);
    let said = stage.run(&["test", "checks"], "");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    stage.file("project/checks/own.cases.yaml", &cases.replace("copy: ../", "copy: ./"));
    let said = stage.run(&["test", "checks"], "");
    assert!(said.code == Some(1) && said.out.contains("cannot copy checks/./.agents"), "{}", said.out);
    stage.file("project/checks/own.cases.yaml", "dialect: agenthooks\ncases:\n - id: [");
    let said = stage.run(&["test", "checks"], "");
    assert!(said.code == Some(1) && said.out.contains("line 3"), "{}", said.out);
}

#[test]
fn a_case_sees_nothing_of_its_surroundings() {
    let stage = Stage::new();
    let script = "#!/bin/sh\ncat >/dev/null\nprintf '%s|%s|%s|%s' \"$HOME\" \"$XDG_CONFIG_HOME\" \"$XDG_DATA_HOME$LINESIDE_X\" \"$OWN\" > env.txt\n";
    let case = json!({"id": "env", "title": "env", "env": {"OWN": "$CASE/own"}, "files": {
            "home/.config/agents/hooks/a/HOOK.md": "---\nname: a\ndescription: d\ntrigger: before_tool\n---\n",
            "home/.config/agents/hooks/a/scripts/run.sh": {"text": script, "mode": "755"},
        }, "steps": [publish(&json!({
            "files": {"project/env.txt": {"text": "$CASE/home|$CASE/home/.config||$CASE/own"}}}))]});
    suite(&stage, "env", "agenthooks", &json!([case]));
    let child = stage
        .command(&["test", "env.cases.json"])
        .envs([("XDG_DATA_HOME", "/x"), ("LINESIDE_X", "/y"), ("XDG_CONFIG_HOME", "/z")])
        .spawn()
        .unwrap();
    let said = stage.said(child);
    assert_eq!(said.code, Some(0), "{}", said.out);
}

#[test]
fn background_work_belongs_to_the_step_that_waits_for_it() {
    let stage = Stage::new();
    let case = json!({"id": "bg", "title": "bg", "files": {
            "project/.agents/hooks/a/HOOK.md": "---\nname: a\ndescription: d\ntrigger: before_tool\nasync: true\n---\n",
            "project/.agents/hooks/a/scripts/run.sh": {"text": "#!/bin/sh\nexit 1\n", "mode": "755"},
        }, "steps": [
            publish(&json!({"verdict": "continue", "ran": ["a"], "failed": {}})),
            {"advance_ms": 0, "expect": {}},
            publish(&json!({"failed": {}})),
            {"close": {"session": "s1"}, "expect": {"failed": {"a": "exit"}}}]});
    suite(&stage, "bg", "agenthooks", &json!([case]));
    let said = stage.run(&["test", "bg.cases.json"], "");
    assert_eq!(said.code, Some(0), "{}", said.out);
}

/// What a case can see of background hooks is the same when they are jobs in a journal. Only formats whose programs are
/// on every machine that builds this.
fn with_a_journal(suite: &str) {
    let suites = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let cases = suites.join(format!("{suite}.cases.yaml"));
    // Most of their time is spent waiting.
    let said = Stage::new().run(&["test", cases.to_str().unwrap(), "--journal", "--jobs", "8"], "");
    // On a busy machine it says in between how far it is.
    let is_progress = |line: &&str| line.starts_with(suite) && line.ends_with(", 0 failed");
    let other: Vec<&str> = said.err.lines().filter(|line| !is_progress(line)).collect();
    assert_eq!((said.code, &other[..]), (Some(0), &[][..]), "{}", said.out);
    assert!(said.out.trim_end().ends_with(" passed, 0 failed"), "{}", said.out);
}

#[test]
fn a_journal_changes_nothing_that_a_case_of_chord_can_see() {
    with_a_journal("chord");
}

#[test]
fn a_journal_changes_nothing_that_a_case_of_agent_hooks_can_see() {
    with_a_journal("agenthooks");
}

#[test]
fn a_journal_changes_nothing_that_a_case_of_flyto_can_see() {
    with_a_journal("flyto");
}

#[test]
fn a_case_that_bounds_its_time_runs_alone() {
    let stage = Stage::new();
    let shared = stage.path("project/running");
    std::fs::create_dir(&shared).unwrap();
    // One that is not timed stays until a timed one has come, or for a second.
    let stays = "touch $0.here; n=0; while [ $n -lt 20 ] && [ ! -e ../SEEN ]; do n=$((n+1)); sleep 0.05; done; rm $0.here";
    let looks = "touch SHARED/SEEN; for one in SHARED/*.here; do [ -e $one ] && exit 2; done; exit 0";
    let case = |id: &str, line: &str, more: &Value| {
        let line = line.replace("$0", &format!("SHARED/{id}")).replace("../SEEN", "SHARED/SEEN");
        let line = line.replace("SHARED", shared.to_str().unwrap());
        let mut expect = json!({"verdict": "continue", "failed": {}});
        more.as_object().unwrap().iter().for_each(|(name, value)| expect[name] = value.clone());
        let mut case = case(id, &json!([publish(&expect)]));
        let script = json!({"text": format!("#!/bin/sh\n{line}\n"), "mode": "755"});
        case["files"]["project/.agents/hooks/deny/scripts/run.sh"] = script;
        case
    };
    let plain = |id: &str| case(id, stays, &json!({}));
    let timed = |id: &str| case(id, looks, &json!({"within_ms": 60_000}));
    let cases = json!([plain("a"), timed("b"), plain("c"), timed("d")]);
    suite(&stage, "timed", "agenthooks", &cases);
    let said = stage.run(&["test", "timed.cases.json", "--jobs", "4"], "");
    assert_eq!(said.code, Some(0), "{}", said.out);
}
