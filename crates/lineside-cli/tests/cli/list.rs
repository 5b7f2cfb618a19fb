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
    assert_eq!(said.out, "no hook was found for [stage]/project (looked for agenthooks)\n");
}
