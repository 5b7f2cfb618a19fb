//! The policies that the pages show, as their readers would try them.

use lineside::json::{Value, json};

use crate::stage::Stage;

/// The YAML of a page that declares hooks.
fn policy(page: &str) -> &str {
    let snippets = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    snippets.into_iter().find(|snippet| snippet.starts_with("hooks:")).expect("the page has a policy")
}

#[test]
fn the_policies_of_the_pages_do_what_they_say() {
    let readme = policy(include_str!("../../../../README.md"));
    let install = policy(include_str!("../../../../docs/install.md"));
    for (policy, hooks) in [(readme, 1), (install, 3)] {
        let stage = Stage::new();
        stage.file("home/.config/lineside/hooks.yaml", policy);
        let said = stage.run(&["check"], "");
        assert_eq!(said.out, format!("{} ready, 0 errors, 0 warnings\n", count(hooks)), "{said:?}");
        for (command, verdict) in [("rm -rf build", "block"), ("rm  -fr /", "block"), ("ls", "continue")] {
            let said = stage.run(&["run"], tool_call("before_tool", "Bash", &json!({"command": command})));
            assert_eq!(said.field("verdict"), [json!(verdict)], "{command}: {said:?}");
        }
        let reason = stage
            .run(&["run"], tool_call("before_tool", "run_shell_command", &json!({"command": "rm -rf x"})));
        assert_eq!(reason.field("reason"), [json!("rm -rf is refused; name what is to go")], "{reason:?}");
        let logged = std::fs::read_to_string(stage.path("home/agents.jsonl")).unwrap_or_default();
        assert_eq!(
            logged.lines().filter(|line| line.contains("\"ls\"")).count(),
            usize::from(hooks == 3),
            "{logged}"
        );
        let edited = tool_call("after_tool", "Write", &json!({"file_path": "a.rs"}));
        let explained = stage.run(&["explain", "--json"], edited).json();
        let runs = |hook: &&Value| hook["runs"] == json!(true);
        let names =
            explained[0]["hooks"].as_array().into_iter().flatten().filter(runs).map(|hook| &hook["hook"]);
        assert_eq!(names.collect::<Vec<_>>(), if hooks == 3 { vec!["log", "tests"] } else { vec![] });
    }
}

fn count(hooks: usize) -> String {
    format!("{hooks} hook{}", if hooks == 1 { "" } else { "s" })
}

fn tool_call(point: &str, tool: &str, input: &Value) -> String {
    let mut payload = json!({"tool_name": tool, "tool_input": input});
    if point == "after_tool" {
        payload["tool_output"] = json!("");
    }
    json!({"point": point, "payload": payload}).to_string()
}
