//! Each key, right and wrong, with the words and the line of the finding.

use std::time::Duration;

use super::super::samples::{hook, read, sound};
use super::*;

/// One more line, the fifth of the file, below a sound head.
fn told(line: &str, expected: &[&str]) -> Option<Definition> {
    let (definition, told) = hook(&format!("on: before_tool\ncommand: x\n{line}"));
    assert_eq!(told, expected, "{line}");
    definition
}

#[test]
fn a_hook_says_nothing_and_has_the_defaults() {
    let hook = sound("on: before_tool\ncommand: x").definition;
    assert_eq!((hook.priority, hook.timeout, hook.on_failure), (0, Duration::from_secs(60), None));
    assert!(hook.matcher.is_none() && !hook.is_async && !hook.amends);
    assert!(told("priority: ~\ntimeout:\nmatch: null", &[]).is_some());
}

#[test]
fn an_automation_is_not_in_shadow() {
    let (_, told) = hook("on: after_tool\ncommand: x\nmode: shadow\nautomate: {}");
    assert!(
        told.len() == 1 && told[0].starts_with("5: hook \"h\": an automation is not in shadow"),
        "{told:?}"
    );
}

#[test]
fn a_time_by_which_seconds_are_most_likely_meant_is_named() {
    let named = "5: hook \"h\": `timeout` is 5, which are milliseconds: 5 seconds are 5000";
    assert!(told("timeout: 5", &[named]).is_some());
    assert!(told("timeout: 100", &[]).is_some());
}

#[test]
fn every_wrong_value_is_told_with_what_would_be_right() {
    for (line, expected) in [
        (
            "priority: high",
            "5: hook \"h\": `priority` is \"high\", not an integer from -2147483648 to 2147483647",
        ),
        (
            "priority: 2147483648",
            "5: hook \"h\": `priority` is 2147483648, not an integer from -2147483648 to 2147483647",
        ),
        ("timeout: 0", "5: hook \"h\": `timeout` is 0, not a whole number of milliseconds from 1 to 600000"),
        (
            "timeout: 600001",
            "5: hook \"h\": `timeout` is 600001, not a whole number of milliseconds from 1 to 600000",
        ),
        (
            "timeout: 5s",
            "5: hook \"h\": `timeout` is \"5s\", not a whole number of milliseconds from 1 to 600000",
        ),
        ("on_failure: open", "5: hook \"h\": `on_failure` is \"open\", not block or continue"),
        ("async: yes", "5: hook \"h\": `async` is \"yes\", not true or false"),
        ("amends: 1", "5: hook \"h\": `amends` is 1, not true or false"),
        (
            "match: Shell",
            "5: hook \"h\": `match` is \"Shell\", not a mapping with some of tool, argument, path, agent, agent_kind, model, project, text, runs, reads, writes, deletes, does, sets, cannot_tell, any, all, not, except, unclear",
        ),
        (
            "match: {tool: []}",
            "5: hook \"h\": `match.tool` is an empty list, not the name of a tool, a glob, or a list of them",
        ),
        (
            "match: {tool: ''}",
            "5: hook \"h\": `match.tool` is \"\", not the name of a tool, a glob, or a list of them",
        ),
        ("match: {tool: [[a]]}", "5: hook \"h\": `match.tool[]` is a list, not a text"),
        ("dir: ''", "5: hook \"h\": `dir` is \"\", not a path"),
        ("env: [A]", "5: hook \"h\": `env` is a list, not a mapping from names of variables to texts"),
        ("env: {A=B: c}", "5: hook \"h\": `env` is \"A=B\", not a mapping from names of variables to texts"),
        ("env: {A: [b]}", "5: hook \"h\": `env.A` is a list, not a text"),
    ] {
        assert!(told(line, &[expected]).is_none(), "{line}");
    }
}

#[test]
fn names_and_points_are_needed() {
    for (text, expected) in [
        (
            "hooks:\n- on: on_idle\n  command: x",
            "2: hook \"hooks[0]\": there is no `name`, which every hook needs",
        ),
        (
            "hooks:\n- name: ' '\n  on: on_idle\n  command: x",
            "2: hook \"hooks[0]\": `name` is \" \", not a text of one line that is not blank",
        ),
        (
            "hooks:\n- name: 5\n  on: on_idle\n  command: x",
            "2: hook \"hooks[0]\": `name` is 5, not a text of one line that is not blank",
        ),
        ("hooks:\n- name: a\n  command: x", "2: hook \"a\": there is no `on`, which every hook needs"),
        (
            "hooks:\n- name: a\n  command: x\n  on: befor_tool",
            "4: hook \"a\": `on` has no point `befor_tool`, did you mean `before_tool`?",
        ),
        (
            "hooks:\n- name: a\n  command: x\n  on:\n  - on_idle\n  - tool",
            "6: hook \"a\": `on` has no point `tool`, did you mean `after_tool`?",
        ),
        (
            "hooks:\n- name: a\n  command: x\n  on: [on_idle, on_idle]",
            "4: hook \"a\": `on` names `on_idle` twice",
        ),
        (
            "hooks:\n- name: a\n  command: x\n  on: []",
            "4: hook \"a\": `on` is an empty list, not a point or a list of points",
        ),
        ("hooks:\n- before_tool", "2: hook \"hooks[0]\": the entry is \"before_tool\", not a mapping"),
    ] {
        let (entries, told) = read(text);
        assert_eq!(told, [expected]);
        assert!(entries[0].definition.is_none());
    }
}

#[test]
fn a_name_counts_once_and_a_key_too() {
    let (entries, told) = read(
        "hooks:\n- {name: a, on: on_idle, command: x}\n- {name: a, on: on_idle, command: x}\n- name: b\n  on: on_idle\n  command: x\n  command: y\n- {name: c, on: on_idle, command: x}\n",
    );
    assert_eq!(
        told,
        [
            "3: hook \"a\": a hook of this name stands on line 2 already",
            "7: hook \"b\": key `command` occurs twice in a mapping",
        ]
    );
    let sound: Vec<_> = entries.iter().map(|entry| entry.definition.is_some()).collect();
    assert_eq!(sound, [true, false, false, true]);
    let (_, told) = read("use: [no-force-push]\nhooks:\n- {name: no-force-push, on: on_idle, command: x}\n");
    assert_eq!(
        told,
        [
            "3: hook \"no-force-push\": a policy that is used on line 1 has a hook of this name; give this one another name"
        ]
    );
}

#[test]
fn unknown_keys_are_told_and_cost_nothing() {
    let shadow = "5: hook \"h\": unknown key `shadow`, did you mean `mode: shadow`?";
    assert!(told("shadow: true", &[shadow]).is_some());
    assert!(told("when: a", &["5: hook \"h\": unknown key `when`, did you mean `match`?"]).is_some());
    assert!(told("timeuot: 5", &["5: hook \"h\": unknown key `timeuot`, did you mean `timeout`?"]).is_some());
    assert!(told("xyzzy: 5", &["5: hook \"h\": unknown key `xyzzy`"]).is_some());
    let (entries, told) = read("hook: []\nhooks:\n- {name: a, on: on_idle, command: x}\n");
    assert_eq!(told, ["1: unknown key `hook`, did you mean `hooks`?"]);
    assert_eq!(entries.len(), 1);
}

#[test]
fn what_has_no_effect_is_told() {
    for (lines, expected) in [
        (
            "on: on_idle\ncommand: x\non_failure: block",
            "5: hook \"h\": `on_failure` has no effect: nothing can be refused there",
        ),
        (
            "on: before_tool\ncommand: x\nasync: true\non_failure: block",
            "6: hook \"h\": `on_failure` has no effect: the hook is not waited for",
        ),
        (
            "on: before_tool\ncommand: x\nasync: true\namends: true",
            "6: hook \"h\": `amends` has no effect: the hook is not waited for",
        ),
    ] {
        let (definition, told) = hook(lines);
        assert_eq!(told, [expected]);
        assert!(definition.is_some());
    }
    let (definition, told) = hook("on: [before_stop, on_idle]\ncommand: x\namends: true");
    assert_eq!(told, ["5: hook \"h\": `amends` is true, but nothing can be amended at before_stop, on_idle"]);
    assert!(definition.is_none());
    assert_eq!(hook("on: [before_tool, on_idle]\ncommand: x\non_failure: block").1, [""; 0]);
}

#[test]
fn a_star_stands_for_the_points_that_begin_so() {
    let points = |on: &str| {
        let (mut entries, told) = read(&format!("hooks:\n- name: h\n  on: {on}\n  command: x\n"));
        (entries.pop().unwrap().points, told)
    };
    assert_eq!((points("'*'").0.len(), points("'*'").1), (CATALOGUE.len(), Vec::new()));
    let before = points("before_*").0;
    assert!(before.len() > 5 && before.iter().all(|point| point.name.starts_with("before_")));
    assert_eq!(points("[before_tool, before_*]").0.len(), before.len(), "each once");
    let (_, told) = points("befor_*");
    assert!(told.len() == 1 && told[0].contains("`on` has no point `befor_*`"), "{told:?}");
}
