//! The first five minutes: a first file, a new hook in each form, completions and the manual.

use std::fs;
use std::process::{Command, Stdio};

use lineside::json::Value;

use crate::stage::{Stage, shell};

fn verdict(stage: &Stage, command: &str) -> Value {
    stage.run(&["run"], shell(command)).json()[0]["verdict"].clone()
}

#[test]
fn init_writes_a_policy_that_holds_and_leaves_one_that_is_there() {
    let stage = Stage::new();
    let said = stage.run(&["init"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("~/.config/lineside/hooks.yaml  created") && said.out.contains("lineside check"),
        "{said:?}"
    );
    assert_eq!(verdict(&stage, "rm -rf build"), "block");
    assert_eq!(verdict(&stage, "ls"), "continue");
    for everyday in ["source venv/bin/activate && make", "${PYTHON:-python3} -m pytest"] {
        assert_eq!(verdict(&stage, everyday), "continue", "{everyday}");
    }
    // What a policy names instead is nothing that the file refuses.
    for policy in lineside::dialects::native::policies() {
        let instead = policy.alternative().unwrap();
        assert_ne!(verdict(&stage, instead), "block", "{}: {instead}", policy.name);
    }
    let said = stage.run(&["check"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    let file = stage.path("home/.config/lineside/hooks.yaml");
    let first = fs::read_to_string(&file).unwrap();
    // The log, with the signs away, has what is refused too.
    let (head, log) = first.split_once("  # - name: log").unwrap();
    fs::write(&file, format!("{head}  - name: log{}", log.replace("\n  # ", "\n  "))).unwrap();
    assert_eq!(verdict(&stage, "rm -rf build"), "block");
    assert!(fs::read_to_string(stage.path("home/agents.jsonl")).unwrap().contains("rm -rf build"));
    fs::write(&file, &first).unwrap();
    let schema = first.lines().next().unwrap().split_once("$schema=").unwrap().1;
    let schema = fs::read_to_string(file.with_file_name(schema)).unwrap();
    assert_eq!(stage.run(&["schema"], "").out, schema);
    assert!(stage.run(&["schema", "config"], "").out.contains("\"Daemon\""));
    fs::write(&file, "hooks: []\n").unwrap();
    let said = stage.run(&["init", "--json"], "");
    assert_eq!(said.json()[0]["created"], false, "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hooks: []\n");
    for host in ["claude", "codex"] {
        crate::install::program(&stage, host, "echo 1.0.0");
    }
    let said = crate::install::run(&stage, &["init"], &[]);
    assert!(said.out.contains("next:\n  lineside install all\n  lineside check\n"), "{said:?}");
    let said = stage.run(&["init", "--project"], "");
    assert!(
        stage.path("project/.lineside/hooks.yaml").exists() && said.out.contains("  lineside trust\n"),
        "{said:?}"
    );
}

#[test]
fn a_new_hook_of_each_form_is_loaded_and_lets_everything_pass() {
    for of_project in [false, true] {
        let stage = Stage::new();
        let mut added = Vec::new();
        for form in ["command", "worker", "folder"] {
            let name = format!("my-{form}");
            let mut arguments = vec!["new", "hook", &name, "--form", form];
            arguments.extend(of_project.then_some("--project"));
            let said = stage.run(&arguments, "");
            assert_eq!(said.code, Some(0), "{said:?}");
            let said = stage.run(&arguments, "");
            assert_eq!(said.code, Some(2), "a second time: {said:?}");
            added.push(name);
        }
        let said = stage.run(&["list", "--json", "--project", "."], "");
        let hooks = said.json()[0]["hooks"].clone();
        let ready = hooks.as_array().unwrap().iter().filter(|hook| hook["state"] == "ready");
        let mut names: Vec<_> = ready.map(|hook| hook["hook"].as_str().unwrap().to_owned()).collect();
        names.sort();
        added.sort();
        assert_eq!(names, added, "{said:?}");
        let said = stage.run(&["run", "--project", "."], shell("ls"));
        assert_eq!(said.json()[0]["verdict"], "continue", "{said:?}");
        assert!(
            said.json()[0]["failed"].is_null() || said.json()[0]["failed"] == lineside::json::json!([]),
            "{said:?}"
        );
    }
    let stage = Stage::new();
    assert_eq!(stage.run(&["new", "hook", "post", "--form", "post"], "").code, Some(0));
    assert_eq!(stage.run(&["list", "--json"], "").json()[0]["hooks"][0]["hook"], "post");
    // Nothing listens there yet.
    assert_eq!(verdict(&stage, "ls"), "continue");
    assert_eq!(stage.run(&["new", "hook", "a/b"], "").code, Some(2));
    let said = stage.run(&["new", "hook", "x", "--on", "before_tol"], "");
    assert!(said.code == Some(2) && said.err.contains("before_tool"), "{said:?}");
}

#[test]
fn a_hook_of_the_user_names_its_script_whole_also_from_a_folder_above_it() {
    let stage = Stage::new();
    let file =
        stage.file("home/.config/lineside/hooks.yaml", "hooks:\n  - {name: a, on: on_idle, command: cat}\n");
    for (form, folder) in
        [("worker", "home"), ("command", "home"), ("command", "home/.config"), ("worker", "")]
    {
        let name = format!("{form}-{}", folder.len());
        let mut command = stage.command(&["new", "hook", &name, "--form", form]);
        let said = stage.said(command.current_dir(stage.path(folder)).spawn().unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("./.config") && !text.contains("\"./"), "{text}");
    let said = stage.run(&["check"], "");
    assert!(said.out.ends_with("5 hooks ready, 0 errors, 0 warnings\n"), "{said:?}");
}

#[test]
fn a_hook_is_added_to_what_a_file_says_or_the_file_stays_as_it_is() {
    let stage = Stage::new();
    let path = "home/.config/lineside/hooks.yaml";
    let add = || stage.run(&["new", "hook", "more"], "");
    for (before, is_added) in [
        ("", true),
        ("# a remark\nhooks:\n  - {name: a, on: on_idle, command: x}\n", true),
        ("hooks: [{name: a, on: on_idle, command: x}]\n", false),
        ("hooks:\n- {name: a, on: on_idle, command: x}\n", false),
        ("hooks: []\n", false),
    ] {
        let file = stage.file(path, before);
        fs::remove_dir_all(file.with_file_name("hooks")).ok();
        let said = add();
        assert_eq!(said.code == Some(0), is_added, "{before}: {said:?}");
        let now = fs::read_to_string(&file).unwrap();
        assert!(now.starts_with(before.trim_end()) && (now != before) == is_added, "{before}: {now}");
        if !is_added {
            assert!(!file.with_file_name("hooks").exists(), "no script is left behind: {said:?}");
            // What is printed can be put between the brackets, once there is a program.
            let script = stage.file("home/.config/lineside/hooks/more.sh", "#!/bin/sh\n");
            fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            assert!(said.out.starts_with("{name: more, on: before_tool, command: ["), "{said:?}");
            let item = said
                .out
                .trim_end()
                .replace("[stage]", stage.path("").to_str().unwrap().trim_end_matches('/'));
            stage.file(path, &format!("hooks: [{item}]\n"));
            let said = stage.run(&["check"], "");
            assert!(said.out.ends_with("1 hook ready, 0 errors, 0 warnings\n"), "{said:?}");
        }
    }
    for (text, form) in
        [("hooks: [{name: more, on: on_idle, command: x}]\n", "command"), ("use: more\n", "post")]
    {
        stage.file(path, &text.replace("use: more", "hooks: []\nuse: git-safety"));
        let name = if form == "post" { "git-safety" } else { "more" };
        let said = stage.run(&["new", "hook", name, "--form", form], "");
        assert!(said.code == Some(2) && said.out.is_empty(), "{said:?}");
        assert!(said.err.contains(&format!("is called `{name}` already; choose another name")), "{said:?}");
    }
}

#[test]
fn shells_complete_every_command_and_the_manual_has_a_page_for_each() {
    let stage = Stage::new();
    let words = ["install", "doctor", "trust", "completions", "init"];
    for name in ["bash", "zsh", "fish"] {
        let said = stage.run(&["completions", name], "");
        assert!(said.code == Some(0) && words.iter().all(|word| said.out.contains(word)), "{name}");
        // A shell that is here reads it.
        let file = stage.file(name, &said.out);
        let read = Command::new(name).arg("-n").arg(&file).stderr(Stdio::null()).status();
        assert!(read.map_or(true, |read| read.success()), "{name}");
    }
    assert_eq!(stage.run(&["man", "pages"], "").code, Some(0));
    for word in words {
        let page = fs::read_to_string(stage.path(&format!("project/pages/lineside-{word}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(word), "{page}");
    }
    assert!(stage.path("project/pages/lineside.1").exists());
    assert!(stage.run(&["man"], "").out.contains(".TH lineside"));
}
