//! Tools of no known class.

use lineside_core::json::json;

use crate::{acts, call};

#[test]
fn a_tool_that_is_not_known_is_taken_for_what_it_carries() {
    let of = |access: &str| acts(json!({access: "/p/x", "unclear": "skip"}));
    let one = json!({"path": "/p/x"});
    let written = json!({"path": "/p/x", "content": "a"});
    for (tool, input, access) in [
        ("Delete", one.clone(), "deletes"),
        ("mcp__filesystem__move_file", json!({"source": "../x", "destination": "/p/y"}), "deletes"),
        ("StrReplace", json!({"path": "/p/x", "old_string": "a", "new_string": "b"}), "writes"),
        ("mcp__filesystem__write_file", written, "writes"),
        ("StrReplace", json!({"path": "/p/x\0y", "old_string": "a", "new_string": "b"}), "writes"),
        ("mcp__filesystem__read_text", one, "reads"),
        ("mcp__shell__run", json!({"command": "rm /p/x"}), "deletes"),
        ("mcp__shell__run", json!({"command": "rm", "args": ["/p/x"]}), "deletes"),
        ("mcp__shell__batch", json!({"steps": [{"command": "ls"}, {"command": "rm /p/x"}]}), "deletes"),
        ("mcp__fs__create_directory", json!({"path": "/p/x"}), "writes"),
        ("mcp__fs__touch", json!({"path": "/p/x"}), "writes"),
        ("mcp__autosave__read_text", json!({"path": "/p/x"}), "reads"),
        ("mcp__x__save", json!({"filename": "/p/x", "body": "x"}), "writes"),
        ("mcp__serena__replace_content", json!({"relative_path": "../x", "content": "x"}), "writes"),
        ("mcp__jetbrains__replace_file_text", json!({"pathInProject": "../x", "text": "x"}), "writes"),
        ("mcp__x__put", json!({"file": "/p/x", "content": "x"}), "writes"),
        ("mcp__x__copy", json!({"from": "/q/y", "to": "/p/x"}), "writes"),
        ("mcp__x__copy", json!({"oldPath": "/q/y", "newPath": "/p/x"}), "writes"),
        ("mcp__x__copy", json!({"source_path": "/q/y", "destination_path": "/p/x"}), "writes"),
        (
            "str_replace_based_edit_tool",
            json!({"command": "insert", "path": "/p/x", "insert_line": 1, "insert_text": "x"}),
            "writes",
        ),
        ("mcp__x__show", json!({"filename": "/p/x"}), "reads"),
        ("mcp__git__apply_patch", json!({"patch": "--- a/x\n+++ /p/x\n"}), "writes"),
        ("Watch", json!({"command": "cat /p/x"}), "reads"),
        ("str_replace_based_edit_tool", json!({"command": "view", "path": "/p/x"}), "reads"),
        ("replace", json!({"command": "view", "path": "/p/x", "old_str": "a"}), "writes"),
        ("mcp__fs__mv", json!({"from": "/q", "to": "/p/x"}), "writes"),
        ("mcp__mail__send", json!({"from": "/p/x", "to": "/p/x"}), "none"),
        ("mcp__web__fetch", json!({"url": "https://example.org/p/x"}), "none"),
        ("Task", json!({"description": "delete", "prompt": "rm /p/x", "path": "/p/x"}), "none"),
    ] {
        for asked in ["deletes", "writes", "reads"] {
            // What is moved is written somewhere.
            let is_moved = asked == "writes" && tool.ends_with("move_file");
            let is_read = asked == "reads" && (tool.ends_with("copy") || tool.ends_with("__mv"));
            let is_so = asked == access || is_moved || is_read;
            let found = of(asked).find(&call(tool, input.clone()));
            assert_eq!(found.is_some(), is_so, "{asked}: {tool} {input}: {found:?}");
        }
    }
}
