//! Law 16, of guards that do not load: they stand closed, in every format.

use lineside::State;
use lineside::core::Severity;
use lineside::dialects::Trust;
use lineside::prelude::*;

use crate::loading::{AGENT, CHORD, CLAUDE, CURSOR, FLYTO, JCLI, NATIVE, judged, project};

/// Files that hold a guard, or may have held one, and that do not load; with a line that the reason has to name.
const BROKEN_GUARDS: &[(&str, &str, u32)] = &[
    (NATIVE, "hooks:\n- {name: g, on: befor_tool, command: exit 2}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: PreToolUse, command: exit 2}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: xyzzy, command: exit 2}\n", 2),
    (NATIVE, "hooks:\n- {name: g, onn: before_tool, command: exit 2}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, comand: exit 2}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: exit 2, timeout: 5s}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: exit 2, match: {tool: \"{a\"}}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: exit 2, on_failure: blok}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: exit 2, name: g}\n", 2),
    (
        NATIVE,
        "hooks:\n- name: g\n  on: before_tool\n  post:\n    url: https://h.example\n    headers: {a: \"${UNSET_X}\"}\n    secrets: [UNSET_X]\n",
        7,
    ),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, verdict: blok}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, verdict: block, match: {runs: {programm: rm}}}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, verdict: block, command: exit 2}\n", 2),
    (NATIVE, "use: [no-forse-push]\n", 1),
    (NATIVE, "hook:\n- {name: g, on: before_tool, command: exit 2}\n", 1),
    (NATIVE, "hooks: {name: g, on: before_tool, command: exit 2}\n", 1),
    (NATIVE, "- {name: g, on: before_tool, command: exit 2}\n", 1),
    (NATIVE, "hooks:\n- name: g\n   on: before_tool\n", 3),
    (CHORD, "hooks:\n  on_tool_cal:\n  - {name: g, shell: exit 2, on_failure: block}\n", 2),
    (CHORD, "hooks:\n  PreToolUse:\n  - {name: g, shell: exit 2, on_failure: block}\n", 2),
    (CHORD, "hooks:\n  xyzzy:\n  - {name: g, shell: exit 2, on_failure: block}\n", 2),
    (CHORD, "hooks:\n  on_tool_call: {name: g, shell: exit 2, on_failure: block}\n", 2),
    (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, comand: exit 2, on_failure: block}\n", 3),
    (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, shell: exit 2, timeout: 5s, on_failure: block}\n", 3),
    (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, shell: exit 2, on_failure: blok}\n", 3),
    (CHORD, "hooks:\n  on_tool_call:\n  - name: g\n   on_failure: block\n", 4),
    (CHORD, "model: m\nhook:\n  on_tool_call:\n  - {name: g, shell: exit 2, on_failure: block}\n", 2),
    (FLYTO, "{\"Hooks\": {\"pre_tool_use\": [{\"command\": \"exit 2\", \"on_failure\": \"block\"}]}}", 1),
    (FLYTO, "{\"hooks\": {\"pre_tool_us\": [{\"command\": \"exit 2\", \"on_failure\": \"block\"}]}}", 1),
    (FLYTO, "{\"hooks\": {\"PreToolUse\": [{\"command\": \"exit 2\", \"on_failure\": \"block\"}]}}", 1),
    (FLYTO, "{\"hooks\": {\"pre_tool_use\": [{\"comand\": \"exit 2\", \"on_failure\": \"block\"}]}}", 1),
    (
        FLYTO,
        "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"c\", \"timeout\": \"5s\", \"on_failure\": \"block\"}]}}",
        1,
    ),
    (FLYTO, "{\"hooks\": {\"pre_tool_use\": {\"command\": \"exit 2\", \"on_failure\": \"block\"}}}", 1),
    (
        FLYTO,
        "{\"hooks\": {\"pre_tool_use\": [\n{\"command\": \"exit 2\", \"on_failure\": \"block\"},\n]}}",
        3,
    ),
    (
        FLYTO,
        "{\"hooks\": {\"pre_tool_use\": [\n{\"command\": \"exit 2\", \"on_failure\": \"block\"}],\n\"pre_tool_use\": []}}",
        1,
    ),
    (
        FLYTO,
        "{\"hooks\": {\"pre_tool_use\": [\n{\"command\": \"exit 2\", \"on_failure\": \"block\"}]},\n\"hooks\": {}}",
        1,
    ),
    (JCLI, "events: [pre_tool_executon]\ncommand: exit 2\non_error: stop\n", 1),
    (JCLI, "events: [stop, pre_tool_executon]\ncommand: exit 2\non_error: stop\n", 1),
    (JCLI, "events: [PreToolUse]\ncommand: exit 2\non_error: stop\n", 1),
    (JCLI, "events: [pre_tool_execution]\ncomand: exit 2\non_error: stop\n", 1),
    (JCLI, "events: [pre_tool_execution]\ncommand: exit 2\ntimeout: 5s\non_error: stop\n", 3),
    (JCLI, "events: [pre_tool_execution]\ncommand: exit 2\non_error: stopp\n", 3),
    (JCLI, "events: [pre_tool_execution]\n command: exit 2\non_error: stop\n", 2),
    (AGENT, "---\nname: g\ndescription: d\ntrigger: befor_tool\non_failure: block\n---\n", 4),
    (AGENT, "---\nname: g\ndescription: d\ntrigger: PreToolUse\non_failure: block\n---\n", 4),
    (AGENT, "---\nname: g\ndescription: d\ntrigger: before_tool\ntimeout: 5s\non_failure: block\n---\n", 5),
    (AGENT, "---\nname: g\ndescription: d\ntrigger: before_tool\non_failure: blok\n---\n", 5),
    (AGENT, "---\nname: g\ndescription: d: e\ntrigger: before_tool\non_failure: block\n---\n", 3),
    (AGENT, "---\nname: g\ntrigger: before_tool\non_failure: block\n", 1),
    (
        CLAUDE,
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [\n{\"comand\": \"exit 2\", \"onFailure\": \"block\"}]}]}}",
        2,
    ),
    (
        CLAUDE,
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [\n{\"comand\": \"exit 2\", \"onFailur\": \"blok\"}]}]}}",
        2,
    ),
    (
        CLAUDE,
        "{\"hooks\": {\n\"PreToolUs\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"c\", \"onFailure\": \"block\"}]}]}}",
        2,
    ),
    (
        CLAUDE,
        "{\"hooks\": {\n\"xyzzy\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"c\", \"onFailure\": \"block\"}]}]}}",
        2,
    ),
    (
        CLAUDE,
        "{\n\"hook\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"c\", \"onFailure\": \"block\"}]}]}}",
        2,
    ),
    (CLAUDE, "{\"hooks\": {\"PreToolUse\": [\n{\"command\": \"exit 2\", \"onFailure\": \"block\"}}", 2),
    (
        CURSOR,
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [\n{\"comand\": \"exit 2\", \"failClosed\": true}]}}",
        2,
    ),
    (
        CURSOR,
        "{\"version\": 1, \"hooks\": {\n\"preToolUs\": [{\"command\": \"exit 2\", \"failClosed\": true}]}}",
        2,
    ),
    (
        CURSOR,
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [\n{\"command\": \"exit 2\", \"failClosed\": true}]",
        2,
    ),
];

#[tokio::test]
async fn a_guard_that_does_not_load_stands_closed() {
    for (file, text, line) in BROKEN_GUARDS {
        let project = project(&[(file, text)]);
        let (decision, report) = judged(project.path(), Trust::Granted).await;
        let Verdict::Block(reason) = decision.verdict() else { panic!("{file} {text}: {decision:?}") };
        let reason = reason.to_string();
        let at = format!("repair {}:{line}", project.path().join(file).display());
        assert!(reason.contains("cannot run: ") && reason.ends_with(&at), "{text}: {reason}");
        assert!(report.diagnostics.iter().any(|finding| finding.severity == Severity::Error), "{text}");
        assert!(report.hooks.iter().any(|found| found.state == State::Closed), "{text}");
        // What an untrusted project says closes nothing.
        let (decision, _) = judged(project.path(), Trust::Withheld).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{text}");
    }
}
