//! `lineside doctor` about entries: whose program they start, and how long they wait.

use std::fs;

use crate::install::run;
use crate::stage::Stage;

#[test]
fn the_doctor_names_an_entry_that_leaves_the_program_to_a_path_and_a_project_that_switches_hooks_off() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lineside"), stage.path("bin/lineside")).unwrap();
    let entry = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lineside hook qwen"}]}]}}"#;
    stage.file("home/.qwen/settings.json", entry);
    stage.file("project/.qwen/settings.json", r#"{"disableAllHooks": true}"#);
    let said = run(&stage, &["doctor"], &[]).out;
    assert!(said.contains("~/.qwen/settings.json starts `lineside` by its name"), "{said}");
    assert!(said.contains(".qwen/settings.json switches the hooks of ~/.qwen/settings.json off"), "{said}");
    let said = run(&stage, &["doctor"], &[("QWEN_HOME", stage.path("elsewhere").to_str().unwrap())]).out;
    assert!(said.contains("QWEN_HOME is set, so qwen reads "), "{said}");
    run(&stage, &["install", "qwen", "--untried"], &[]);
    let said = run(&stage, &["doctor"], &[]).out;
    assert!(!said.contains("by its name"), "{said}");
}

#[test]
fn the_doctor_names_entries_that_end_before_a_question_that_may_wait_there() {
    let stage = Stage::new();
    run(&stage, &["install", "codex", "--untried"], &[]);
    let doctor = || run(&stage, &["doctor"], &[]).out;
    assert!(!doctor().contains("a question that waits there"), "{}", doctor());
    stage.file("home/.config/lineside/config.yaml", "approvals: {wait: 10min}\n");
    let said = doctor();
    assert!(said.contains("PreToolUse"), "{said}");
    assert!(
        said.contains("after 60 s, and a question that waits there needs 605 s by `approvals`"),
        "{said}"
    );
    run(&stage, &["install", "codex", "--untried"], &[]);
    assert!(!doctor().contains("a question that waits there"), "{}", doctor());
    // What the program itself waits counts as well.
    let file = stage.path("home/.codex/hooks.json");
    let hooks = fs::read_to_string(&file).unwrap();
    fs::write(&file, hooks.replace("\"timeout\":605", "\"timeout\":30")).unwrap();
    assert!(doctor().contains("after 30 s, and a question that waits there needs 605 s"), "{}", doctor());
}
