//! `lineside list`: every hook that is found.

use serde_json::{Value, json};

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
    assert_eq!(said.code, Some(0));
    insta::assert_snapshot!(format!("{}---\n{}", said.out, said.err));
}

#[test]
fn programs_get_json() {
    let said = stage().run(&["list", "--json"], "");
    let listed: Value = serde_json::from_str(&said.out).unwrap();
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
fn an_empty_list_says_where_it_looked() {
    let said = Stage::new().run(&["list"], "");
    assert_eq!(
        said.out,
        "no hook was found for [stage]/project (looked for native, agenthooks, chord, flyto, jcli, openclaw)\n"
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
        - {name: broken, on: before_tool, comand: x}\n";
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
        serde_json::from_str(&stage.run(&["list", "--json", "--project", "."], "").out).unwrap();
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
