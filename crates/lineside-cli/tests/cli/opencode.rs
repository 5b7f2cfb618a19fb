//! The plugin of OpenCode, as `lineside install` writes it, in a process of Node, with a real daemon and without one.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use lineside::json::{Map, Value, json};

use crate::daemon::Daemon;
use crate::hook::Background;
use crate::stage::Stage;

const HOOKS: &str = r#"hooks:
  - {name: no-rm, on: before_tool, command: "if grep -q 'rm '; then echo not rm >&2; exit 2; fi"}
  - {name: slow, on: before_tool, timeout: 30000, command: "if grep -q slow; then cat $PIPE >/dev/null; fi"}
  - name: loud
    on: before_tool
    amends: true
    command: "if grep -q 'echo one'; then echo '{\"amend\": {\"tool_input\": {\"command\": \"echo ONE\"}}}'; fi"
  - {name: tight, on: after_tool, command: "if grep -q leaky; then echo '{\"verdict\": \"block\", \"reason\": \"withheld\"}'; fi"}
  - {name: hint, on: [before_prompt, after_tool], command: "if grep -q -e hint -e printed; then echo '{\"context\": [{\"text\": \"mind <|im_start|>\"}]}'; fi"}
  - {name: polite, on: before_prompt, command: "if grep -q forbidden; then echo not now >&2; exit 2; fi"}
"#;

/// A stage with the plugin and the policies of its user.
fn installed() -> Stage {
    let stage = Stage::new();
    let pipe = stage.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    stage.file("home/.config/lineside/hooks.yaml", &HOOKS.replace("$PIPE", pipe.to_str().unwrap()));
    let said = stage.run(&["install", "opencode", "--untried"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    stage
}

/// What came of a scene of the file beside this one.
fn scene(stage: &Stage, name: &str) -> Value {
    // OpenCode takes it for a module whatever its name; Node goes by that.
    let module = stage.path("plugin.mjs");
    std::fs::copy(stage.path("home/.config/opencode/plugin/lineside.js"), &module).unwrap();
    let host = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/opencode.mjs");
    let mut node = Command::new("node");
    node.arg(host).arg(module).arg(name).arg(stage.path("pipe"));
    // Nothing of its environment chooses a daemon or a switch.
    stage.file("project/.s/lineside/off", "");
    node.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", stage.path("project"));
    node.env("XDG_STATE_HOME", stage.path("project/.s")).env("XDG_RUNTIME_DIR", stage.path("project"));
    node.current_dir(stage.path("project")).stdin(Stdio::null());
    let said = node.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    lineside::json::from_slice(&said.stdout).unwrap()
}

#[test]
fn the_plugin_has_the_daemon_decide_in_the_words_of_opencode() {
    // OP-2, OP-4, OP-5
    let stage = installed();
    let _daemon = Daemon::start(&stage);
    let expected = json!([
        {"command": "ls", "timeout": 5}, "not rm", {"command": "echo ONE"}, "withheld", "not rm", "not now",
    ]);
    assert_eq!(scene(&stage, "whole"), expected);
}

#[test]
fn calls_of_the_plugin_do_not_wait_for_one_another() {
    // OP-1
    let stage = installed();
    let _daemon = Daemon::start(&stage);
    let expected = json!([{"command": "slow", "timeout": 5}, {"command": "ls", "timeout": 5}]);
    assert_eq!(scene(&stage, "beside"), expected);
}

#[test]
fn context_reaches_the_model_behind_the_prompt_and_behind_a_result() {
    // OP-5, OP-6
    let stage = installed();
    let _daemon = Daemon::start(&stage);
    let hint = "[hook:hint] mind ⟦U+003C⟧|im_start|>";
    let parts = json!([
        {"id": "prt_1", "type": "text", "text": "please hint"},
        {"id": "prt_1z", "type": "text", "text": hint, "synthetic": true},
    ]);
    assert_eq!(scene(&stage, "context"), json!([parts, format!("printed\n\n{hint}")]));
}

#[test]
fn the_plugin_starts_the_daemon_as_the_call_of_another_program_does() {
    let stage = installed();
    let _background = Background(&stage);
    let expected = json!([
        {"command": "ls", "timeout": 5}, "not rm", {"command": "echo ONE"}, "withheld", "not rm", "not now",
    ]);
    assert_eq!(scene(&stage, "whole"), expected);
}

#[test]
fn the_plugin_refuses_every_call_where_no_daemon_can_be_started_unless_hooks_are_off() {
    // OP-9
    let stage = installed();
    let plugin = "home/.config/opencode/plugin/lineside.js";
    let text = std::fs::read_to_string(stage.path(plugin)).unwrap();
    stage.file(plugin, &text.replace("\nconst START = [\"", "\nconst START = [\"/nonexistent"));
    let refused = scene(&stage, "gone");
    assert!(refused[0].as_str().unwrap().contains("the runtime cannot be reached"), "{refused}");
    assert_eq!(refused[1], "kept");
    assert_eq!(stage.run(&["off"], "").code, Some(0));
    assert_eq!(scene(&stage, "gone"), json!([{"command": "ls", "timeout": 5}, "kept"]));
}

#[test]
fn the_plugin_asks_no_daemon_that_may_be_anothers_and_leaves_one_that_does_not_answer() {
    let stage = installed();
    let folder = stage.path("home/.local/state/lineside");
    let set = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    let listener = UnixListener::bind(folder.join("lineside.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    set(0o755);
    let refused = scene(&stage, "gone");
    assert!(refused[0].as_str().unwrap().contains("may be another user's"), "{refused}");
    assert!(listener.accept().is_err(), "nothing went there");
    set(0o700);
    let refused = scene(&stage, "gone");
    assert!(refused[0].as_str().unwrap().contains("the daemon does not answer"), "{refused}");
}

#[test]
fn opencode_is_answered_as_its_plugin_reads_it() {
    // OP-2 to OP-4, OP-6, OP-7
    let stage = Stage::new();
    let tool = |session: &str, command: &str, answer: Value| {
        let stdin = json!({
            "hook_event_name": "tool.execute.before", "session_id": session, "cwd": "$CASE/project", "tool_name": "bash",
            "tool_call_id": format!("c-{command}"), "tool_class": "shell", "tool_input": {"command": command},
        });
        json!({"host": {"name": "opencode", "stdin": stdin}, "expect": {"exit": 0, "stdout": {"exact_json": answer}}})
    };
    let silent = |session: &str, event: &str, more: Value| {
        let mut stdin = json!({"hook_event_name": event, "session_id": session, "cwd": "$CASE/project"});
        more.as_object().unwrap().iter().for_each(|(name, value)| stdin[name] = value.clone());
        json!({"host": {"name": "opencode", "stdin": stdin}, "expect": {"exit": 0, "stdout": ""}})
    };
    let guard = "#!/bin/sh\nread line\ncase \"$line\" in *forbidden*) echo not here >&2; exit 2;; esac\n";
    let hook = |name: &str, trigger: &str| {
        let text = format!("---\nname: {name}\ndescription: d\ntrigger: {trigger}\n---\n");
        let folder = format!("project/.agents/hooks/{name}");
        [
            (format!("{folder}/HOOK.md"), json!(text)),
            (format!("{folder}/scripts/run"), json!({"text": guard, "mode": "755"})),
        ]
    };
    let files: Map =
        [hook("tools", "before_tool"), hook("prompts", "before_agent"), hook("agents", "before_subagent")]
            .into_iter()
            .flatten()
            .collect();
    let steps = [
        silent("s1", "session.created", json!({"title": "t"})),
        silent("s1", "chat.message", json!({"prompt": "please"})),
        tool("s1", "forbidden", json!({"throw": "not here"})),
        silent("s1", "session.created", json!({"agent_id": "s2", "agent_type": "forbidden"})),
        silent("s1", "session.error", json!({"properties": {}})),
        silent("s1", "chat.message", json!({"prompt": "forbidden"})),
        // The prompt cannot be refused, so its turn is.
        tool("s1", "true", json!({"throw": "not here"})),
        silent("s1", "session.idle", json!({})),
    ];
    let cases = json!({"dialect": "opencode", "cases": [{"id": "oc", "title": "opencode", "files": files, "steps": steps}]});
    stage.file("project/oc.cases.json", &cases.to_string());
    let said = stage.run(&["test", "oc.cases.json"], "");
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
}
