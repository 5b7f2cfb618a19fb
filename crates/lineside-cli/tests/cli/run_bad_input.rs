//! `lineside run` on lines that are no events: each is reported with its place, and the others are decided.

use lineside::json::json;

use crate::stage::{Stage, shell, timeless};

#[test]
fn a_bad_line_costs_only_itself() {
    let stage = Stage::new();
    let deep = format!("{{\"point\":\"on_idle\",\"x\":{}{}}}\n", "[".repeat(99), "]".repeat(99));
    let lines: Vec<Vec<u8>> = vec![
        shell("ls").into_bytes(),
        b"not JSON\n".to_vec(),
        b"\n".to_vec(),
        b"{\"point\":\"on_idle\",\"why\":\"\xff\"}\n".to_vec(),
        b"{\"point\":\"on_idle\",\"point\":\"on_idle\"}\n".to_vec(),
        deep.into_bytes(),
        b"{\"point\":\"befor_tool\"}\n".to_vec(),
        b"{\"point\":\"before_tool\",\"payload\":{\"tool_name\":\"Shell\"}}\n".to_vec(),
        b"{\"point\":\"on_idle\",\"agent\":\"me\"}\n".to_vec(),
        b"[]\n".to_vec(),
        b"{\"point\":\"on_idle\"} {}\n".to_vec(),
        b"{\"point\":\"on_\x1b[31midle\"}\n".to_vec(),
        b"{\"point\":\"on_\\u001b[31midle\"}\n".to_vec(),
        b"{\"point\":\"on_idle\"}".to_vec(),
    ];
    stage.file("project/events.jsonl", "");
    std::fs::write(stage.path("project/events.jsonl"), lines.concat()).unwrap();
    let said = stage.run(&["run", "events.jsonl"], "");
    assert_eq!(said.code, Some(1));
    assert_eq!(said.field("seq"), [json!(1), json!(2)], "what is refused has no number");
    insta::assert_snapshot!(timeless(&said.err));
}

#[test]
fn what_has_no_name_reaches_the_hooks() {
    let stage = Stage::new();
    stage.hook("tee", "trigger: before_tool", "cat > seen.json");
    let event = r#"{"point":"pre-tool-call","colour":"red","payload":{"tool_name":"Shell","tool_input":{},"mood":1}}"#;
    let said = stage.run(&["run", "--project", ".", "-"], event);
    assert_eq!((said.code, said.field("point")), (Some(0), vec![json!("before_tool")]));
    assert_eq!(said.field("payload"), [json!({"tool_name": "Shell", "tool_input": {}})]);
    assert!(stage.path("project/seen.json").exists());
}

#[test]
fn a_mistyped_subcommand_is_told_with_the_one_that_was_meant() {
    let stage = Stage::new();
    for (wrong, meant) in [("rnu", "run"), ("no", "on"), ("stauts", "status"), ("lis", "list")] {
        let said = stage.run(&[wrong], String::new());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(&format!("exists: '{meant}'")), "{said:?}");
    }
}
