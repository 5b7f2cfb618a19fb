//! What of the environment of an agent program reaches hooks (HO-72).

use std::io::Write as _;

use lineside::json::json;

use crate::hook::Background;
use crate::stage::Stage;

#[test]
fn ho_72_a_daemon_that_a_call_starts_has_no_secret_and_one_of_a_person_keeps_its_environment() {
    let stage = Stage::new();
    let _background = Background(&stage);
    let told =
        "hooks:\n  - {name: tell, on: before_tool, command: \"echo saw ${MY_TOKEN-nothing} >&2; exit 2\"}\n";
    stage.file("home/.config/lineside/hooks.yaml", told);
    let event =
        json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}});
    let call = || {
        let mut host = stage.command(&["hook", "claude"]).env("MY_TOKEN", "one").spawn().unwrap();
        host.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        stage.said(host).out
    };
    let said = call();
    assert!(said.contains("saw nothing"), "the call has started it: {said}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    let serve = stage.command(&["serve", "--detached"]).env("MY_TOKEN", "two").spawn().unwrap();
    assert_eq!(stage.said(serve).code, Some(0));
    let said = call();
    assert!(said.contains("saw two"), "a person has started it: {said}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
}
