//! Clients that leave in the middle of something.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use lineside::json::{Value, json};

use crate::ground::{GUARD, Ground, request};

/// How many background hooks there are: a load of them takes longer than a client needs to leave.
const MANY: usize = 60;

/// A guard, and background hooks that hear what was written.
fn with_automations() -> String {
    let automation = |number| {
        format!(
            "  - {{name: lint{number}, on: after_tool, command: \"true\", automate: {{debounce: {{quiet: 600000, at_most: 600000}}}}}}\n"
        )
    };
    let automations: String = (0..MANY).map(automation).collect();
    format!("{GUARD}{automations}")
}

fn asked(ground: &Ground, path: &str, body: &Value) -> Value {
    let text = ground.asked(path, "", body);
    let body = text.split_once("\r\n\r\n").unwrap().1;
    // What comes in pieces is one object all the same.
    let object = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    lineside::json::from_str(object).unwrap()
}

#[test]
fn a_reload_whose_client_has_gone_leaves_every_hook_in_force() {
    let ground = Ground::new();
    let hooks = "home/.config/lineside/hooks.yaml";
    let text = with_automations();
    ground.file(hooks, &text);
    let _daemon = ground.daemon(&[]);
    asked(&ground, "/v1/sessions", &json!({"id": "s1"}));
    let after = json!({"point": "after_tool", "session": "s1",
        "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_output": "x"}});
    let held = |found: &Value| {
        let accepted = found["accepted"].as_array().unwrap_or_else(|| panic!("{found}"));
        accepted.iter().filter(|entry| entry["as"] == json!("held")).count()
    };
    assert_eq!(held(&asked(&ground, "/v1/events", &after)), MANY);
    for round in 0..25 {
        // Whole at each moment: the load of the round before may still be about to read it.
        let next = ground.file("home/.config/lineside/next", &format!("# {round}\n{text}"));
        std::fs::rename(next, ground.path(hooks)).unwrap();
        // From at once to somewhat later than the whole takes.
        let mut stream = UnixStream::connect(ground.socket()).unwrap();
        stream.write_all(&request("/v1/reload", "", &json!({}))).unwrap();
        (0..round * 500).for_each(|_| std::thread::yield_now());
        drop(stream);
        let found = asked(&ground, "/v1/events", &after);
        assert_eq!(held(&found), MANY, "round {round}");
        let before = json!({"point": "before_tool", "session": "s1",
            "payload": {"tool_name": "Shell", "tool_input": {"command": "rm x"}}});
        assert_eq!(asked(&ground, "/v1/events", &before)["verdict"], json!("block"), "round {round}");
    }
}
