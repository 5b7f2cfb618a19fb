//! Automations of `hooks.yaml`, through the command.

use lineside::json::{Value, json};

use crate::stage::{IDLE, Stage};

fn batch(path: &str) -> String {
    let payload = json!({"tool_calls": [], "changed_files": [{"path": path}]});
    format!("{}\n", json!({"point": "after_tool_batch", "payload": payload}))
}

const MODEL: &str = "{\"point\": \"before_model\", \"payload\": {\"model\": \"m\", \"messages\": []}}\n";

const LINT: &str = "\
hooks:
- name: lint
  on: after_tool_batch
  match: {path: 'src/**'}
  command: 'echo 2 problems; grep -o \"\\\"events\\\":[0-9]*\"; exit 1'
  automate:
    debounce: {quiet: 600000, at_most: 600000}
    concurrency: lint:{project_root}
    join: before_next_model
    cancelled_by: {on: on_prompt}
";

#[test]
fn a_burst_is_one_job_and_the_next_model_call_has_what_it_found() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", LINT);
    let path = stage.path("kept");
    let kept = path.to_str().unwrap();
    let events = [&*batch("src/a"), &batch("docs/b"), &batch("src/c"), &batch("src/d"), MODEL];
    let said = stage.run(&["run", "--project", ".", "--journal", kept], events.concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let lines = said.json();
    assert_eq!(
        lines[0]["accepted"],
        json!([{"hook": "lint", "as": "held", "job": 1, "durability": "disk"}]),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1]["accepted"], Value::Null, "{}", lines[1]);
    let delivered = &lines[4]["delivered"];
    assert_eq!(
        (delivered[0]["hook"].as_str(), delivered[0]["text"].as_str()),
        (Some("lint"), Some("2 problems\n\"events\":3")),
        "{}",
        lines[4]
    );
    let jobs = stage.run(&["jobs", "--journal", kept, "--json"], "").json();
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!(job["automation"], "lint");
    assert_eq!((&job["state"], &job["key"]), (&json!("done"), &json!("lint:[stage]/project")));
    assert_eq!(job["events"].as_array().unwrap().len(), 3);
    let page = stage.run(&["jobs", "--journal", kept, "--automation", "lint"], "").out;
    assert!(page.contains("2 problems"), "{page}");
}

#[test]
fn what_a_killed_run_had_begun_is_tried_again_by_the_next_one() {
    let stage = Stage::new();
    let path = stage.path("kept");
    let arguments = ["run", "--project", ".", "--journal", path.to_str().unwrap()];
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks:\n- name: tidy\n  on: on_idle\n  command: |\n    if [ ! -e second ]; then echo > began; exec sleep 30; fi\n    grep -o '\"attempt\":[0-9]*' >> ran\n  automate:\n    retry: {attempts: 2, constant: 0}\n",
    );
    stage.run_killed(&arguments, IDLE);
    let said = stage.run(&arguments, "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "\"attempt\":2\n");
    let said = stage.run(&arguments, "");
    assert!(!said.err.contains("earlier run"), "{}", said.err);
}

#[test]
fn the_settings_are_listed_and_explained() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", LINT);
    let settings = "lint at after_tool_batch: debounce {quiet: 600000, at_most: 600000}, concurrency \
                    lint:{project_root}, join before_next_model";
    let listed = stage.run(&["list", "--project", "."], "");
    assert!(listed.out.contains(settings), "{}", listed.out);
    assert!(listed.out.contains("cancelled_by"), "{}", listed.out);
    let explained = stage.run(&["explain", "--project", "."], batch("src/a"));
    assert!(explained.out.contains(settings), "{}", explained.out);
    let listed: Value =
        lineside::json::from_str(&stage.run(&["list", "--project", ".", "--json"], "").out).unwrap();
    let hooks = listed["hooks"].as_array().unwrap();
    let automate = |point: &str| &hooks.iter().find(|hook| hook["point"] == point).unwrap()["automate"];
    let lint = automate("after_tool_batch");
    assert_eq!(lint["debounce"], json!({"quiet": 600_000, "at_most": 600_000}));
    assert_eq!(
        (&lint["on_busy"], &lint["timeout"], &lint["rate"]),
        (&json!("queue"), &json!(120_000), &Value::Null)
    );
    assert_eq!(automate("on_prompt"), &Value::Null);
}

#[test]
fn a_wrong_setting_is_an_error_with_its_line() {
    let stage = Stage::new();
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks:\n- name: lint\n  on: on_idle\n  command: x\n  automate:\n    debounce:\n      quiet: 0\n",
    );
    let said = stage.run(&["list", "--project", "."], "");
    assert_eq!(said.code, Some(1));
    assert!(
        said.err
            .contains("hooks.yaml:7: hook \"lint\": `debounce.quiet` is zero; it has to be more than that"),
        "{}",
        said.err
    );
}
