//! `lineside list`: every hook that is found.

use std::os::unix::ffi::OsStrExt as _;

use lineside::json::{Value, json};

use crate::stage::Stage;

fn stage() -> Stage {
    let stage = Stage::new();
    stage.hook("b", "trigger: before_tool", "exit 0");
    stage.hook("a", "trigger: before_tool\npriority: 900", "exit 0");
    stage.hook("z", "trigger: pre-session\nasync: true", "exit 0");
    stage.hook("wrong", "trigger: nowhere", "exit 0");
    stage
}

#[test]
fn hooks_stand_by_point_in_their_order() {
    let said = stage().run(&["list", "--project", "."], "");
    assert_eq!(said.code, Some(1));
    insta::assert_snapshot!(format!("{}---\n{}", said.out, said.err));
}

#[test]
fn programs_get_json() {
    let said = stage().run(&["list", "--json"], "");
    let listed: Value = lineside::json::from_str(&said.out).unwrap();
    let hooks: Vec<_> = listed["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| (&hook["point"], &hook["hook"], &hook["order"], &hook["state"]))
        .collect();
    assert_eq!(
        hooks,
        [
            (&json!("before_session"), &json!("z"), &json!(1), &json!("untrusted")),
            (&json!("before_tool"), &json!("a"), &json!(1), &json!("untrusted")),
            (&json!("before_tool"), &json!("b"), &json!(2), &json!("untrusted")),
            (&json!(null), &json!("wrong"), &json!(null), &json!("error")),
        ]
    );
}

#[test]
fn a_folder_whose_name_is_not_utf_8_is_told_of_as_text() {
    let stage = Stage::new();
    let folder = stage.path("project/.agents/hooks").join(std::ffi::OsStr::from_bytes(b"w\xffrong"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("HOOK.md"), "---\nname: wrong\ndescription: d\ntrigger: nowhere\n---\n")
        .unwrap();
    for command in ["list", "check", "explain"] {
        let said = stage.run(&[command, "--project", ".", "--json"], r#"{"point": "on_idle"}"#);
        let told: Value = lineside::json::from_str(&said.out).unwrap();
        assert!(told["diagnostics"].to_string().contains("w\u{fffd}rong"), "{said:?}");
    }
    assert!(stage.run(&["list", "--project", "."], "").err.contains("w\u{fffd}rong"));
}

#[test]
fn what_others_have_written_cannot_move_the_cursor() {
    let stage = Stage::new();
    let folder = stage.path("project/.agents/hooks").join("x\u{1b}[2J\u{202e}y\nz");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("HOOK.md"),
        "---\nname: n\u{200b}\ndescription: d\ntrigger: \"no\u{202e}\"\n---\n",
    )
    .unwrap();
    let bad = r#"{"point": "on_\u001b[2J\u202e\nidle"}"#;
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["check"],
        &["explain"],
        &["run"],
        &["run", "--dialect", "\u{1b}[2J\u{202e}"],
        &["jobs", "--journal", "\u{1b}[2J\u{202e}"],
        &["\u{1b}[2J\u{202e}"],
    ] {
        let said = stage.run(arguments, bad);
        for text in [&said.out, &said.err] {
            let raw = text.chars().find(|char| matches!(char, '\u{1b}' | '\u{202e}' | '\u{200b}'));
            assert_eq!(raw, None, "{arguments:?}: {said:?}");
        }
        assert!(said.out.len() + said.err.len() > 0);
    }
}

#[test]
fn an_error_is_in_the_exit_status_of_list_and_check_and_run_strict() {
    let stage = stage();
    let said = stage.run(&["list", "--project", "."], "");
    assert_eq!(said.code, Some(1));
    let said = stage.run(&["check", "--project", "."], "");
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("wrong/HOOK.md:4: Invalid trigger 'nowhere'"), "{said:?}");
    assert!(said.out.ends_with("\n3 hooks ready, 1 error, 0 warnings\n"), "{said:?}");
    let said = stage.run(&["run", "--project", ".", "--strict"], crate::stage::shell("ls"));
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(
        said.err.ends_with("lineside: 1 error while loading, and --strict begins with none\n"),
        "{said:?}"
    );
    std::fs::remove_dir_all(stage.path("project/.agents/hooks/wrong")).unwrap();
    for arguments in [&["list", "--project", "."][..], &["check"], &["run", "--strict"]] {
        assert_eq!(stage.run(arguments, "").code, Some(0), "{arguments:?}");
    }
}

#[test]
fn an_empty_list_says_where_it_looked() {
    let said = Stage::new().run(&["list"], "");
    assert_eq!(
        said.out,
        "no hook was found for [stage]/project (looked for native, agenthooks, chord, flyto, jcli, openclaw, \
         claude, codex, copilot, cursor, gemini, kimi)\n"
    );
}

/// A project and a home with hooks of all formats at one point.
fn mixed() -> Stage {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool\npriority: 900", "cat >/dev/null; echo guard >> order");
    stage.hook("usual", "trigger: before_tool", "cat >/dev/null; echo usual >> order");
    let chord = |name: &str| {
        format!("hooks:\n  on_tool_call:\n    - {{name: {name}, shell: \"echo {name} >> order\"}}\n")
    };
    stage.file("home/.config/chord/config.yaml", &chord("chord-of-user"));
    stage.file("project/.chord/config.yaml", &chord("chord-of-project"));
    let flyto = json!({"hooks": {"pre_tool_use": [{"name": "flyto", "command": "echo flyto >> order"}]}});
    stage.file("project/.flyto/settings.json", &flyto.to_string());
    let jcli = "events: [pre_tool_execution]\ncommand: cat >/dev/null; echo jcli >> order\n";
    stage.file("project/.jcli/hooks/jcli/HOOK.yaml", jcli);
    let native = "hooks:\n- {name: native, on: [before_tool, on_idle], command: echo native >> order}\n\
        - {name: broken, on: before_tool, on_failure: continue, comand: x}\n";
    stage.file("project/.lineside/hooks.yaml", native);
    let manifest = "{id: \"claw\", configSchema: {type: \"object\"}}";
    let plugin = "import { appendFileSync } from \"node:fs\";\n\
        export default (api) => {\n\
        \x20 api.on(\"before_tool_call\", () => appendFileSync(\"order\", \"claw\\n\"), { priority: 500 });\n\
        };\n";
    stage.file("project/.openclaw/plugins/claw/openclaw.plugin.json", manifest);
    stage.file("project/.openclaw/plugins/claw/index.mjs", plugin);
    stage
}

#[test]
fn hooks_of_all_formats_stand_in_one_order() {
    let said = mixed().run(&["list", "--project", "."], "");
    insta::assert_snapshot!(format!("{}---\n{}", said.out, said.err));
}

#[test]
fn hooks_of_all_formats_run_in_the_order_of_the_list() {
    let stage = mixed();
    let listed: Value =
        lineside::json::from_str(&stage.run(&["list", "--json", "--project", "."], "").out).unwrap();
    let runs = |hook: &&Value| hook["point"] == "before_tool" && hook["state"] == "ready";
    let hooks = listed["hooks"].as_array().unwrap().iter().filter(runs);
    let names = hooks.map(|hook| hook["hook"].as_str().unwrap());
    let listed: Vec<_> = names.map(|name| name.split(':').next().unwrap().to_owned()).collect();
    let event = json!({
        "point": "before_tool", "session": "s", "agent": {"id": "main", "kind": "main"},
        "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}},
    });
    let said = stage.run(&["run", "--project", "."], format!("{event}\n"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let ran = std::fs::read_to_string(stage.path("project/order")).unwrap();
    assert_eq!(ran.lines().collect::<Vec<_>>(), listed);
}

/// A person trusts a project as it is now.
fn trust(stage: &Stage, project: &str) -> String {
    let shown = stage.run(&["trust", "--show", project], "").out;
    let (_, digest) = shown.rsplit_once("digest ").unwrap();
    assert_eq!(stage.run(&["trust", "--yes", digest.trim(), project], "").code, Some(0), "{shown}");
    shown
}

#[test]
fn trust_is_taken_back_of_a_folder_that_is_gone() {
    let stage = Stage::new();
    let hooks = "hooks: [{name: g, on: before_tool, command: 'exit 2'}]\n";
    stage.file("gone/.lineside/hooks.yaml", hooks);
    let gone = stage.path("gone").display().to_string();
    trust(&stage, &gone);
    std::fs::remove_dir_all(&gone).unwrap();
    assert!(stage.run(&["trust", "--list"], "").out.starts_with("[stage]/gone"));
    let said = stage.run(&["untrust", &format!("{gone}/")], "");
    assert_eq!((said.code, &*said.out), (Some(0), "no longer trusted: [stage]/gone\n"), "{}", said.err);
    assert_eq!(stage.run(&["trust", "--list"], "").out, "no project is trusted\n");
    assert_eq!(stage.run(&["untrust", &gone], "").code, Some(2), "one that was never trusted is a mistake");
}

#[test]
fn a_hook_of_which_it_is_not_certain_what_it_runs_is_so_said_before_there_is_an_event() {
    let stage = Stage::new();
    let hooks = "hooks: [{name: g, on: before_tool, command: 'sh guards/*.sh'}]\n";
    stage.file("project/.lineside/hooks.yaml", hooks);
    stage.file("project/guards/a.sh", "exit 2\n");
    let shown = trust(&stage, ".");
    assert!(shown.contains("hook \"g\" would not be run: it is not certain what it runs"), "{shown}");
    assert!(shown.contains("`trusts`"), "{shown}");
    let checked = stage.run(&["check"], "");
    let said = checked.out.clone() + &checked.err;
    assert!(said.contains("hook \"g\" is not run") && said.contains("`trusts`"), "{said}");
    assert_eq!(checked.code, Some(1), "{said}");
    let listed = stage.run(&["list"], "").out;
    assert!(listed.contains("not run"), "{listed}");
}
