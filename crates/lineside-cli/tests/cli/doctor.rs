//! `lineside doctor` about entries: whose program they start, and how long they wait.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::install::{program, run};
use crate::stage::{Stage, WRONG};

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

#[test]
fn the_doctor_finds_nothing_wrong_where_nothing_is_but_a_program_that_loads_libraries() {
    let stage = Stage::new();
    let said = run(&stage, &["doctor"], &[]);
    assert_eq!(said.code, Some(WRONG), "{said:?}");
    let is_all = said.out.ends_with(if WRONG == 0 { "\nnothing is wrong\n" } else { "\n1 thing wrong\n" });
    assert!(is_all, "{said:?}");
    let remedy = "\n      -> in the sources of lineside: cargo xtask install";
    assert_eq!(said.out.contains(remedy), WRONG == 1, "{said:?}");
    assert!(said.out.contains("\n– agents    none was found on PATH"), "{said:?}");
    program(&stage, "claude", "echo '2.1.330 (Claude Code)'");
    let said = run(&stage, &["doctor"], &[]);
    assert!(said.out.contains("\n– claude    not installed; lineside install claude\n"), "{said:?}");
    let last = "nothing is wrong, but no agent program starts lineside yet";
    assert_eq!((said.code, said.out.contains(last)), (Some(WRONG), WRONG == 0), "{said:?}");
    let runtime = stage.path("runtime");
    fs::create_dir_all(runtime.join("lineside")).unwrap();
    fs::set_permissions(runtime.join("lineside"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(&stage, &["off"], &[]).code, Some(0));
    let said = run(&stage, &["doctor"], &[("XDG_RUNTIME_DIR", runtime.to_str().unwrap())]);
    let last = format!("{} things wrong", 2 + WRONG);
    assert_eq!((said.code, said.out.lines().last()), (Some(1), Some(&*last)), "{said:?}");
    assert!(
        said.out.contains("-> lineside on\n") && said.out.contains("-> chmod 700 [stage]/runtime/lineside\n"),
        "{said:?}"
    );
}

#[test]
fn of_two_programs_under_one_name_the_doctor_names_the_file_that_has_no_entry() {
    let stage = Stage::new();
    program(&stage, "kimi", "echo 2.1.0");
    stage.file("home/.kimi-code/config.toml", "");
    assert_eq!(run(&stage, &["install", "kimi", "--untried"], &[]).code, Some(0));
    let without = "~/.kimi/config.toml has no entry";
    let said = run(&stage, &["doctor"], &[]).out;
    assert!(said.contains("installed in ~/.kimi-code/config.toml") && !said.contains(without), "{said}");
    stage.file("home/.kimi/config.toml", "");
    let said = run(&stage, &["doctor"], &[]).out;
    assert!(said.contains(without) && said.contains("-> lineside install kimi\n"), "{said}");
    assert_eq!(run(&stage, &["install", "kimi", "--untried"], &[]).code, Some(0));
    assert!(!run(&stage, &["doctor"], &[]).out.contains(without));
    let said = run(&stage, &["hosts"], &[]).out;
    assert!(!said.contains("user, user"), "{said}");
}

#[test]
fn a_program_of_this_shell_that_a_daemon_does_not_find_is_named_with_the_remedy() {
    let stage = Stage::new();
    program(&stage, "mytool", "exit 0");
    let hook = "hooks: [{name: mine, on: before_tool, command: [mytool]}]\n";
    stage.file("home/.config/lineside/hooks.yaml", hook);
    let folder = stage.path("bin").display().to_string();
    let missed =
        "in a daemon that a call starts, and not in this shell: hook \"mine\": cannot find program `mytool`";
    for (arguments, code) in [(["check"], 0), (["doctor"], 1)] {
        let said = run(&stage, &arguments, &[]);
        assert!(said.out.contains(missed) && said.out.contains("`daemon: {path: [FOLDER]}`"), "{said:?}");
        assert_eq!(said.code, Some(code), "{said:?}");
    }
    stage.file("home/.config/lineside/config.yaml", &format!("daemon: {{path: [{folder:?}]}}\n"));
    for arguments in [["check"], ["doctor"]] {
        let said = run(&stage, &arguments, &[]);
        assert!(!said.out.contains("in a daemon that a call starts"), "{said:?}");
    }
    // Where the shell lacks it as well that is said once.
    stage.file("home/.config/lineside/hooks.yaml", &hook.replace("mytool", "no-such-tool"));
    let said = run(&stage, &["check"], &[]);
    assert!(said.out.contains("`no-such-tool`") && said.out.matches("cannot find").count() == 1, "{said:?}");
}

#[test]
fn an_observer_whose_program_is_not_there_is_a_warning_of_check() {
    let stage = Stage::new();
    program(&stage, "follow", "cat");
    let check = |words: &str| {
        let observe = format!("observe: [{{name: detector, worker: {words}}}]\n");
        stage.file("home/.config/lineside/config.yaml", &observe);
        run(&stage, &["check"], &[]).out
    };
    let said = check("[/opt/detector, --follow]");
    assert!(
        said.contains("config.yaml:1: observer \"detector\": cannot find program `/opt/detector`"),
        "{said}"
    );
    assert!(check("[follow]").ends_with("0 warnings\n"));
}
