//! Paths by their addresses, and a reason where none is known.

use std::sync::Arc;

use lineside_core::json::json;
use lineside_guards::{Account, Acts, WhenUnclear, Wording};

use super::{acts, call, check, shell};

#[test]
fn the_address_of_a_file_is_its_path() {
    let filter = acts(json!({"writes": "**/prod conf", "unclear": "skip"}));
    for (uri, expected) in [
        ("file:///p/prod%20conf", true),
        ("FILE://localhost/p/prod conf", true),
        ("file:/p/prod%20conf?x", true),
        (" \u{1}file:///p/prod%20conf\n", true),
        ("fi\tle:\r\n///p/prod%20conf", true),
        ("file:\\\\\\p\\prod conf", true),
        ("View-Source:file:///p/prod%20conf", true),
        ("view-source: fi\nle:/p/prod%20conf", true),
        ("view-source:https://x/p/prod%20conf", false),
        ("a file:///p/prod%20conf", false),
        ("file:///p/other", false),
        ("https://x/prod%20conf", false),
    ] {
        check(&filter, &call("mcp__files__put", json!({"uri": uri, "content": "x"})), expected);
        check(&filter, &call("mcp__files__put", json!({"uris": [uri], "text": "x"})), expected);
        check(&filter, &call("mcp__files__get", json!({"uri": uri})), false);
    }
}

#[test]
fn a_reason_names_no_path_where_none_is_known() {
    let filter = acts(json!({"writes": {"path": "/p/kept/**", "unclear": "skip"}}));
    let text = format!("true {}", "x ".repeat(5000));
    let event = shell(&text);
    let reason = Wording::read("{path} is kept", &[]).unwrap();
    let found = filter.find(&event).unwrap();
    assert_eq!(reason.render(&event, Some(&found)), "a path that is not known is kept");
}

#[test]
fn a_search_by_a_glob_of_secrets_and_files_in_a_list_are_touched() {
    let secrets = acts(json!({"reads": {"secret": true}, "unclear": "skip"}));
    for (input, expected) in [
        (json!({"pattern": "KEY", "glob": ".env*", "output_mode": "content"}), true),
        (json!({"pattern": "KEY", "glob": "**/.env", "path": "/p/a'b", "output_mode": "content"}), true),
        (json!({"pattern": "KEY", "glob": ".env*", "output_mode": "files_with_matches"}), false),
        (json!({"pattern": "KEY", "glob": ".env*", "output_mode": "count"}), false),
        (json!({"pattern": "KEY", "glob": ".env*"}), false),
        (json!({"pattern": "KEY", "glob": "*.rs"}), false),
        (json!({"pattern": "KEY", "glob": "!.env"}), false),
    ] {
        check(&secrets, &call("Grep", input), expected);
    }
    for (tool, input, expected) in [
        ("grep_search", json!({"pattern": "KEY", "glob": ".env*"}), true),
        ("search_file_content", json!({"pattern": "KEY", "include": ".env*"}), true),
        ("Write", json!({"file_path": "/p/a", "content": "x", "include": ".env"}), false),
        ("mcp__x__put", json!({"path": "/p/a", "content": "x", "include": ".env"}), false),
    ] {
        check(&secrets, &call(tool, input), expected);
    }
    let writes = acts(json!({"writes": "**/.claude/settings.json", "unclear": "skip"}));
    let files = json!({"files": [{"path": "a", "content": ""}, {"path": "/p/.claude/settings.json", "content": "{}"}]});
    check(&writes, &call("mcp__x__put", files), true);
    let files = json!({"files": [{"path": "/p/.claude/settings.json"}]});
    check(&writes, &call("mcp__x__get", files), false);
}

#[test]
fn what_is_relative_lies_in_the_project_of_the_filter_wherever_an_agent_has_begun() {
    let written = json!({"deletes": "migrations/**", "unclear": "skip"});
    let of = |project: &str| {
        let account = Arc::new(Account::at("/home/dev").within(project));
        Acts::read(written.as_object().unwrap(), WhenUnclear::Match, &account).unwrap().unwrap()
    };
    // The event is of an agent in `/p/sub` with `/p` as its project.
    for (project, command, expected) in [
        ("/", "rm /migrations/1.sql", true),
        ("/p", "rm ../migrations/1.sql", true),
        ("/p/sub", "rm migrations/1.sql", true),
        ("/p/sub", "rm ../migrations/1.sql", false),
        ("/p", "rm migrations/1.sql", false),
    ] {
        check(&of(project), &shell(command), expected);
    }
}
