//! Each filter against events, and each wrong one.

use lineside_core::AnyEvent;
use lineside_core::json::json;

use super::super::samples::{event, hook, shell, sound};

/// Whether a hook with this `match` runs for the event.
fn runs(text: &str, event: &AnyEvent) -> bool {
    let on = event.point().name;
    let hook = sound(&format!("on: {on}\ncommand: x\nmatch: {text}"));
    hook.definition.matcher.as_ref().is_none_or(|matcher| matcher.matches(event))
}

#[test]
fn each_filter_looks_at_what_it_is_for() {
    let edit = event(
        "before_tool",
        json!({"tool_name": "Edit", "tool_input": {"file_path": "/repo/src/a.rs", "at": {"line": 12}, "none": null}}),
    );
    for (text, expected) in [
        ("{}", true),
        ("{tool: StrReplaceFile}", true),
        ("{tool: Grep}", false),
        ("{tool: [Shell, 'E*']}", true),
        ("{path: 'src/**'}", true),
        ("{path: ['docs/**', '/repo/src/*.rs']}", true),
        ("{path: 'src/*.py'}", false),
        ("{argument: {file_path: 'a\\.rs$'}}", true),
        ("{argument: {file_path: '^a'}}", false),
        ("{argument: {at.line: '^12$'}}", true),
        ("{argument: {at: line.:12}}", true),
        ("{argument: {file_path: rs, at.line: '3'}}", false),
        ("{argument: {none: '.*'}}", false),
        ("{argument: {missing: '.*'}}", false),
        ("{argument: {file_path: rs}, tool: 'S*l'}", false),
        ("{agent: main}", true),
        ("{agent: ['review*', 'm*n']}", true),
        ("{agent: reviewer}", false),
        ("{agent_kind: main}", true),
        ("{agent_kind: [subagent]}", false),
        ("{model: '*'}", false),
        ("{project: /repo}", true),
        ("{project: ['/home/*', '/re*']}", true),
        ("{project: /elsewhere}", false),
        ("{text: 'src/[a-z]\\.rs'}", true),
        ("{text: nothing of it}", false),
        ("{text: rs, tool: StrReplaceFile, path: '**/*.rs', agent: main, project: /repo}", true),
    ] {
        assert_eq!(runs(text, &edit), expected, "{text}");
    }
}

#[test]
fn of_a_batch_one_call_has_the_tool_and_the_arguments() {
    let call = |tool: &str, command: &str| json!({"tool_name": tool, "tool_input": {"command": command}});
    let calls = [call("Shell", "ls"), call("Read", "git push"), json!({"tool_name": "Wait"})];
    let batch = event("after_tool_batch", json!({"tool_calls": calls, "changed_files": []}));
    assert!(runs("{tool: Shell, argument: {command: ls}}", &batch));
    assert!(!runs("{tool: Shell, argument: {command: push}}", &batch));
    assert!(runs("{argument: {command: push}}", &batch));
    assert!(!runs("{tool: Wait, argument: {command: ls}}", &batch));
}

#[test]
fn every_wrong_filter_is_told_with_its_line() {
    for (text, expected) in [
        ("match: {tols: a}", "5: hook \"h\": unknown key `match.tols`, did you mean `tool`?"),
        (
            "match:\n  runs: rm -rf",
            "6: hook \"h\": `match.runs` is `rm -rf`, which matches nothing: a program is one word, write {program: rm, flags: \
             [-rf]}",
        ),
        ("match: {command: rm}", "5: hook \"h\": unknown key `match.command`, did you mean `runs`?"),
        (
            "match: {runs: rm, unclear: ignore}",
            "5: hook \"h\": `match.unclear` is \"ignore\", not match or skip",
        ),
        ("match: {xyzzy: a}", "5: hook \"h\": unknown key `match.xyzzy`"),
        (
            "match: {unclear: skip}",
            "5: hook \"h\": there is `match.unclear` and no filter that it is about, such as `runs` or `deletes`",
        ),
        ("match: {runz: rm, unclear: skip}", "5: hook \"h\": unknown key `match.runz`, did you mean `runs`?"),
        (
            "match:\n  path: []",
            "6: hook \"h\": `match.path` is an empty list, not a glob of paths, or a list of them",
        ),
        (
            "match:\n  tool: a\n  path: 'a['",
            "7: hook \"h\": `match.path`: the path pattern `a[` is not a glob: unclosed character class; missing ']'",
        ),
        (
            "match:\n  agent_kind:\n  - main\n  - robot",
            "8: hook \"h\": `match.agent_kind` is \"robot\", not main or subagent",
        ),
        ("match: {text: [a]}", "5: hook \"h\": `match.text` is a list, not a regular expression"),
        (
            "match:\n  text: '('",
            "6: hook \"h\": `match.text`: the text pattern `(` is not a regular expression: unclosed group",
        ),
        (
            "match:\n  argument:\n    a: x\n    command: '*'",
            "8: hook \"h\": `match.argument.command`: the argument pattern `*` is not a regular expression: repetition \
             operator missing expression",
        ),
        (
            "match: {argument: {}}",
            "5: hook \"h\": `match.argument` is a mapping, not a mapping from keys of the tool's input to regular \
             expressions",
        ),
        (
            "match: {argument: {a..b: x}}",
            "5: hook \"h\": `match.argument` is \"a..b\", not a mapping from keys of the tool's input to regular \
             expressions",
        ),
        ("match: {argument: {a: [x]}}", "5: hook \"h\": `match.argument.a` is a list, not a text"),
        (
            "match: {text: '(a{1000}){1000}'}",
            "5: hook \"h\": `match.text`: the text pattern `(a{1000}){1000}` is not a regular expression: Compiled regex \
             exceeds size limit of 1048576 bytes.",
        ),
    ] {
        let (definition, told) = hook(&format!("on: before_tool\ncommand: x\n{text}"));
        assert_eq!(told, [expected], "{text}");
        assert!(definition.is_none(), "{text}");
    }
}

#[test]
fn a_pattern_that_is_meant_to_exclude_or_to_begin_at_the_home_is_named_because_it_matches_nothing() {
    for (filter, pattern, why) in [
        ("path", "!src/**", "a pattern cannot exclude, name what is meant"),
        ("tool", "!mcp__*", "a pattern cannot exclude, name what is meant"),
        ("project", "~/work/*", "the home is not put in its place, write the whole path"),
        ("project", "work/*", "the root of a project is an absolute path"),
    ] {
        let (definition, told) =
            hook(&format!("on: before_tool\ncommand: x\nmatch: {{{filter}: '{pattern}'}}"));
        let expected =
            format!("5: hook \"h\": `match.{filter}` is `{pattern}`, which matches nothing: {why}");
        assert_eq!(told, [expected]);
        assert!(definition.is_some());
    }
}

#[test]
fn a_glob_over_what_a_call_does_that_is_written_as_a_regular_expression_is_named() {
    let regex = |place: &str, text: &str, why: &str| {
        format!(
            "5: hook \"h\": `match.{place}` is `{text}`, which is compared as a glob and not as a regular expression: {why}"
        )
    };
    let whole = "it is compared with the whole anyway";
    for (filter, place, text, why) in [
        ("runs: 'rm.*'", "runs", "rm.*", "what begins so is `rm*`"),
        ("runs: ['ls', '^rm']", "runs", "^rm", whole),
        ("any: [{runs: {program: 'rm$'}}]", "any.runs.program", "rm$", whole),
        (
            "runs: {program: 'rm|unlink'}",
            "runs.program",
            "rm|unlink",
            "several names are a list, such as [rm, unlink]",
        ),
        (r"writes: {path: '\bsecret'}", "writes.path", r"\bsecret", whole),
        (r"deletes: '^src/.*$'", "deletes", "^src/.*$", whole),
    ] {
        let (definition, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{{filter}}}"));
        assert_eq!(told, [regex(place, text, why)], "{filter}");
        assert!(definition.is_some(), "{filter}");
    }
    for sound in [
        "runs: 'rm*'",
        "runs: {program: git, subcommand: 'push|fetch', operand: ['^main', 'x.*'], text: '^git .*$'}",
        "reads: ['**/.env.*', '**/.*']",
    ] {
        assert_eq!(hook(&format!("on: before_tool\ncommand: x\nmatch: {{{sound}}}")).1, [""; 0], "{sound}");
    }
}

#[test]
fn a_tool_that_no_program_has_and_that_is_nearly_one_is_doubted() {
    let regex = |tool: &str| {
        format!(
            "5: hook \"h\": `match.tool` is `{tool}`, which is compared as a name or a glob and not as a regular \
             expression: several names are a list, such as [Shell, WriteFile]"
        )
    };
    let near = |tool: &str, near: &str| {
        format!(
            "5: hook \"h\": `match.tool` is `{tool}`, which is no tool of an agent program that is known here, did you \
             mean `{near}`?"
        )
    };
    for (tool, expected) in [
        ("Bash|Edit", regex("Bash|Edit")),
        ("^Bash", regex("^Bash")),
        ("Bash$", regex("Bash$")),
        ("mcp__.*", regex("mcp__.*")),
        ("SHELL", near("SHELL", "Shell")),
        ("Shel", near("Shel", "Shell")),
        ("writefile", near("writefile", "WriteFile")),
        ("WriteFiles", near("WriteFiles", "WriteFile")),
    ] {
        let (definition, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{tool: '{tool}'}}"));
        assert_eq!(told, [expected], "{tool}");
        assert!(definition.is_some(), "{tool}");
    }
    for tool in ["Shell", "Grep", "Rad", "mcp__*", "[BW]*", "Write*", "my.tool", "deploy_to_production", "*"]
    {
        let (_, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{tool: '{tool}'}}"));
        assert_eq!(told, [""; 0], "{tool}");
    }
    for (tool, everywhere) in
        [("Bash", "Shell"), ("shell", "Shell"), ("edit", "StrReplaceFile"), ("Write", "WriteFile")]
    {
        let (definition, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{tool: {tool}}}"));
        let expected = format!(
            "5: hook \"h\": `match.tool` is `{tool}`, the name of that tool in some agent programs; `{everywhere}` means it in \
             all of them"
        );
        assert_eq!(told, [expected]);
        assert!(definition.is_some());
        let (_, told) =
            hook(&format!("on: before_tool\ncommand: x\nmatch: {{tool: [{tool}, {everywhere}]}}"));
        assert_eq!(told, [""; 0], "{tool}");
    }
    // What other filters are compared with is not doubted.
    let (_, told) = hook("on: before_tool\ncommand: x\nmatch: {argument: {command: 'a|b'}}");
    assert_eq!(told, [""; 0]);
}

#[test]
fn globs_that_would_take_minutes_to_prepare_are_refused() {
    let (definition, told) =
        hook(&format!("on: before_tool\ncommand: x\nmatch:\n  path: '{}'", "**/*a".repeat(2000)));
    assert_eq!(
        told,
        [
            "6: hook \"h\": `match.path`: the path globs have more than 8192 bytes together, which is the most there may be"
        ]
    );
    assert!(definition.is_none());
}

#[test]
fn a_filter_that_can_match_nothing_at_a_point_is_told() {
    let (definition, told) =
        hook("on: [before_tool, before_stop]\ncommand: x\nmatch: {tool: a, path: b, text: c}");
    let nothing = "looks at what no event of before_stop has: nothing ever matches there";
    assert_eq!(
        told,
        [format!("5: hook \"h\": `match.tool` {nothing}"), format!("5: hook \"h\": `match.path` {nothing}")]
    );
    let definition = definition.unwrap();
    assert!(definition.can_match(shell().point()));
    assert!(!definition.can_match(lineside_points::find("before_stop").unwrap()));
}

#[test]
fn a_filter_that_can_match_nothing_at_any_point_is_an_error() {
    for (on, filter, key) in [
        ("before_prompt", "runs: git", "runs"),
        ("[before_prompt, before_stop]", "deletes: 'a/**'", "deletes"),
        ("before_stop", "tool: Shell", "tool"),
        ("before_stop", "argument: {command: x}", "argument"),
        ("before_prompt", "path: '*.rs'", "path"),
    ] {
        let (definition, told) = hook(&format!("on: {on}\nverdict: block\nmatch: {{{filter}}}"));
        let points = on.trim_matches(['[', ']']);
        let expected = format!(
            "5: hook \"h\": `match.{key}` looks at what no event of {points} has: the hook would never run"
        );
        assert!(definition.is_none() && told == [expected.clone()], "{expected}: {told:?}");
    }
}

#[test]
fn a_project_that_no_session_has_is_named() {
    for (project, is_named) in [("app", true), ("./app", true), ("/srv/app", false), ("'**/app'", false)] {
        let (_, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{project: {project}}}"));
        assert_eq!(
            told.iter().any(|told| told.contains("`match.project` is")),
            is_named,
            "{project}: {told:?}"
        );
    }
}

#[test]
fn an_argument_that_no_program_gives_its_tool_is_named_with_the_nearest() {
    for (filters, told) in [
        ("tool: Shell, argument: {comand: x}", "`Shell`, did you mean `command`?"),
        ("tool: [Write, Edit], argument: {file_pathh: x}", "`Write`, `Edit`, did you mean `file_path`?"),
        ("tool: Bash, argument: {zzzzzz: x}", "`Bash`: nothing ever matches"),
        ("tool: Shell, argument: {old_string: x}", "`Shell`: nothing ever matches"),
    ] {
        let (definition, found) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{{filters}}}"));
        assert!(definition.is_some(), "{found:?}");
        let found: Vec<_> = found.into_iter().filter(|told| told.contains("`match.argument.")).collect();
        assert!(found.len() == 1 && found[0].ends_with(told), "{found:?}");
    }
    for filters in [
        "tool: Shell, argument: {command: x, timeout.seconds: y}",
        "tool: [Write, Edit], argument: {content: x}",
        "tool: [Shell, mcp__git], argument: {ref: x}",
        "tool: 'mcp__*', argument: {anything: x}",
        "argument: {anything: x}",
        "project: [/srv/*, '**/lib']",
    ] {
        let (_, told) = hook(&format!("on: before_tool\ncommand: x\nmatch: {{{filters}}}"));
        assert!(!told.iter().any(|told| told.contains("`match.argument.")), "{filters}: {told:?}");
        assert!(!told.iter().any(|told| told.contains("`match.project`")), "{filters}: {told:?}");
    }
}
