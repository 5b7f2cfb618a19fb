//! What an object says.

use lineside_core::invocation::Captured;
use lineside_core::json::json;
use lineside_core::{Append, Role};
use proptest::prelude::*;

use super::{Action, Reply, read};
use crate::jcli::events;
use crate::jcli::samples::captured;

fn read_at(event: &str, stdout: &str) -> Result<Reply, String> {
    read(&captured(stdout), events::find(event).unwrap()).map_err(|error| error.to_string())
}

fn check(stdout: &str, expected: Reply) {
    assert_eq!(read_at("pre_tool_execution", stdout), Ok(expected), "{stdout}");
}

fn unreadable(stdout: &str, part: &str) {
    let error = read_at("pre_tool_execution", stdout).unwrap_err();
    assert!(error.contains(part), "{stdout}: {error}");
}

fn halt(action: Action) -> Reply {
    Reply { action: Some(action), ..Reply::default() }
}

#[test]
fn nothing_and_an_empty_object_say_nothing() {
    // JC-29
    for nothing in ["", " \n\t", "{}", "\u{feff} { }\r\n"] {
        check(nothing, Reply::default());
    }
}

#[test]
fn anything_but_one_object_is_unreadable() {
    // JC-29
    for other in ["[]", "5", "null", "\"x\"", "[{\"action\": \"stop\"}]"] {
        unreadable(other, "a JSON value that is not an object");
    }
    for broken in
        ["done", "{\"action\": \"stop\"} ok", "ok {\"action\": \"stop\"}", "{} {}", "{\"a\":", "{a: 1}"]
    {
        unreadable(broken, "not a JSON object");
    }
    let cut = Captured { bytes: b"{\"action\": \"stop\"}".to_vec(), dropped: 1 };
    let error = read(&cut, events::find("stop").unwrap()).unwrap_err().to_string();
    assert_eq!(error, "longer than the limit of 18 bytes");
}

#[test]
fn each_field_has_its_type() {
    // JC-30
    check(
        "{\"user_input\": \"\", \"assistant_output\": \"a\", \"system_prompt\": \"s\", \"tool_result\": \"r\",
          \"tool_error\": \"e\", \"tool_arguments\": \"{\\\"n\\\": 1.50}\",
          \"messages\": [{\"role\": \"tool\", \"tool_call_id\": 1}],
          \"inject_messages\": [{\"role\": \"user\", \"content\": \"i\"}, {\"role\": \"system\", \"content\": \"\"},
                                {\"role\": \"assistant\", \"content\": null}, {\"role\": \"tool\", \"content\": \"t\"}],
          \"retry_feedback\": \"f\", \"additional_context\": \"c\", \"system_message\": \"m\", \"abort\": false}",
        Reply {
            amends: vec![
                ("user_input", json!("")),
                ("assistant_output", json!("a")),
                ("system_prompt", json!("s")),
                ("tool_result", json!("r")),
                ("tool_error", json!("e")),
                ("tool_arguments", lineside_core::json::from_str("{\"n\": 1.50}").unwrap()),
                ("messages", json!([{"role": "tool", "tool_call_id": 1}])),
            ],
            inject: Some(vec![
                Append::new(Role::User, "i"),
                Append::new(Role::Tool, "t"),
            ]),
            context: Some("c".to_owned()),
            feedback: Some("f".to_owned()),
            notice: Some("m".to_owned()),
            action: None,
        },
    );
    // Empty is as good as absent for what is said, null for everything, and what is unknown is ignored.
    check(
        "{\"retry_feedback\": \"\", \"additional_context\": \"\", \"system_message\": \"\", \"action\": null,
          \"abort\": null, \"messages\": null, \"user_input\": null, \"decision\": \"deny\"}",
        Reply::default(),
    );
    for (stdout, part) in [
        ("{\"user_input\": 5}", "`user_input` is not a string"),
        ("{\"tool_error\": {}}", "`tool_error` is not a string"),
        ("{\"system_message\": []}", "`system_message` is not a string"),
        ("{\"tool_arguments\": {}}", "`tool_arguments` is not a string"),
        ("{\"tool_arguments\": \"[]\"}", "`tool_arguments` is not the text of a JSON object"),
        ("{\"tool_arguments\": \"ls\"}", "`tool_arguments`: "),
        ("{\"tool_arguments\": \"{\\\"a\\\": 1, \\\"a\\\": 2}\"}", "duplicate key"),
        ("{\"messages\": {}}", "`messages` is not a list of messages"),
        ("{\"messages\": [\"x\"]}", "`messages` is not a list of messages"),
        ("{\"messages\": [{\"content\": \"x\"}]}", "`messages` is not a list of messages"),
        ("{\"inject_messages\": [{\"role\": \"bot\", \"content\": \"x\"}]}", "`inject_messages` is not"),
        ("{\"inject_messages\": [{\"role\": \"user\", \"content\": [\"x\"]}]}", "`inject_messages` is not"),
        ("{\"action\": \"block\"}", "`action` is \"block\", not stop or skip"),
        ("{\"action\": true}", "`action` is true"),
        ("{\"abort\": \"true\"}", "`abort` is not a boolean"),
        ("{\"user_input\": \"a\", \"user_input\": \"b\"}", "`user_input` occurs twice"),
    ] {
        unreadable(stdout, part);
    }
}

#[test]
fn abort_is_a_stop_unless_there_is_an_action() {
    // JC-30
    check("{\"abort\": true}", halt(Action::Stop));
    check("{\"abort\": true, \"action\": null}", halt(Action::Stop));
    check("{\"abort\": true, \"action\": \"skip\"}", halt(Action::Skip));
    // The reader who takes the null of the two finds no action.
    check("{\"action\": null, \"abort\": true, \"action\": \"skip\"}", halt(Action::Stop));
    unreadable("{\"abort\": true, \"action\": \"block\"}", "`action`");
}

#[test]
fn nothing_beside_a_halt_undoes_it() {
    // JC-31
    check("{\"action\": \"skip\", \"tool_arguments\": {}, \"system_message\": 3}", halt(Action::Skip));
    check("{\"abort\": true, \"messages\": 5}", halt(Action::Stop));
    check("{\"action\": \"skip\", \"action\": \"stop\", \"action\": 5}", halt(Action::Stop));
    check(
        "{\"action\": \"stop\", \"system_message\": \"m\", \"system_message\": 5}",
        Reply { notice: Some("m".to_owned()), ..halt(Action::Stop) },
    );
    // An action that the event does not allow is no halt.
    for stdout in ["{\"action\": \"skip\", \"user_input\": 5}", "{\"abort\": true, \"user_input\": 5}"] {
        assert!(read_at("post_tool_execution", stdout).is_err(), "{stdout}");
    }
    assert_eq!(read_at("post_tool_execution", "{\"abort\": true}"), Ok(halt(Action::Stop)));
}

proptest! {
    #[test]
    fn no_field_beside_a_halt_undoes_it_wherever_it_stands(
        name in "user_input|messages|tool_arguments|abort|other|inject_messages|retry_feedback",
        value in "5|null|\\{\\}|\\[1\\]|\"x\"|true",
        before in any::<bool>(),
    ) {
        let (halt, other) = ("\"action\": \"stop\"".to_owned(), format!("\"{name}\": {value}"));
        let fields = if before { [other, halt] } else { [halt, other] };
        let reply = read_at("pre_tool_execution", &format!("{{{}}}", fields.join(", ")));
        prop_assert_eq!(reply.map(|reply| reply.action), Ok(Some(Action::Stop)));
    }

    #[test]
    fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _read = read(&captured(bytes), events::find("stop").unwrap());
    }
}
