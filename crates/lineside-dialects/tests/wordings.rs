//! Every wording of four formats: what is found about each key with each kind of value, what stands in for a hook that is
//! lost, and what comes of each answer. The snapshots hold all of it, byte for byte.

#![cfg(all(unix, feature = "agenthooks", feature = "chord", feature = "flyto", feature = "jcli"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use lineside_core::AnyEvent;
use lineside_core::envelope::Source;
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::{Map, Value, json};
use lineside_dialects::{ForeignHook, Loaded, Places, Returned, Trust, find};

use formats::{AGENTHOOKS, CHORD, FLYTO, Format, JCLI, VALUES};
use groups::Groups;

#[path = "wordings/formats.rs"]
mod formats;
#[path = "wordings/groups.rs"]
mod groups;
#[allow(dead_code, reason = "the tests of the crate use all of it")]
#[path = "../src/samples.rs"]
mod samples;

fn load(format: &Format, bytes: &[u8]) -> (Loaded, String) {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join(format.file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, bytes).unwrap();
    if format.name == "agenthooks" {
        let run = file.with_file_name("scripts").join("run");
        fs::create_dir(run.parent().unwrap()).unwrap();
        fs::write(&run, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let places = Places {
        environment: [("PATH".to_owned(), "/nowhere".to_owned())].into(),
        project_root: Some(root.path().to_owned()),
        cwd: root.path().to_owned(),
        trust: Trust::Granted,
    };
    let loaded = find(format.name).unwrap().load(&places);
    let prefix = format!("{}/", root.path().display());
    let mut told = String::new();
    for finding in &loaded.diagnostics {
        let line = finding.origin.as_ref().map_or(0, |origin| origin.line);
        writeln!(told, "  {} {line}: {}", finding.severity.as_str(), finding.text).unwrap();
    }
    let mut closed: Vec<(String, Vec<String>)> = Vec::new();
    for found in loaded.hooks.iter().filter(|found| found.closed) {
        let point = found.points[0].name;
        let failure = found.handler.prepare(&event(point)).map(|_| ()).unwrap_err();
        let line = found.hook.origin.as_ref().map_or(0, |origin| origin.line);
        let what = format!("  closed {line}: {} for {:?} at ", found.hook.name, failure.refusal);
        let place = format!("{point} ({})", found.trigger);
        match closed.last_mut().filter(|(known, _)| *known == what) {
            Some((_, places)) => places.push(place),
            None => closed.push((what, vec![place])),
        }
    }
    for (what, places) in closed {
        writeln!(told, "{what}{}", places.join(", ")).unwrap();
    }
    for inert in &loaded.inert {
        let line = inert.origin.as_ref().map_or(0, |origin| origin.line);
        let missed = inert.missed.as_ref();
        let points = missed.map(|missed| missed.points.iter().map(|point| point.name).collect::<Vec<_>>());
        let remark = missed.map(|missed| missed.remark.to_string());
        let (name, trigger) = (&inert.name, &inert.trigger);
        writeln!(told, "  missing {line}: {name} for {trigger:?} at {points:?}: {remark:?}").unwrap();
    }
    (loaded, told.replace(&prefix, ""))
}

fn shown(found: &ForeignHook) -> String {
    let hook = &found.hook;
    format!(
        "{} at {} for {}: {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {}",
        hook.name,
        found.points.iter().map(|point| point.name).collect::<Vec<_>>().join(","),
        found.trigger,
        hook.part,
        hook.on_failure,
        hook.priority,
        hook.timeout,
        found.retry,
        found.debounce,
        found.key,
        hook.select.as_ref().map(|select| select.describe()),
        found.can_fire,
    )
}

/// A payload that has what any point must have, and no more than this one may.
fn event(point: &str) -> AnyEvent {
    let all = json!({
        "source": "startup", "reason": "user_exit", "prompt": "p", "model": "m", "tool_name": "T", "tool_input": {"a": 1},
        "tool_output": "o", "error": "e", "stop_active": false, "kind": "auto", "summary": "S", "message": "m",
        "task_id": "t", "messages": [{"role": "user", "content": "x"}], "system_prompt": "s", "output": "said",
        "tool_calls": [], "changed_files": [], "question": "q", "agent_type": "a", "task": "t", "path": "p", "child_session": "c1", "success": true,
    });
    let Value::Object(all) = all else { unreachable!() };
    let info = lineside_points::find(point).unwrap();
    let fields: Map = all.into_iter().filter(|(name, _)| info.field(name).is_some()).collect();
    samples::event(point, Value::Object(fields), Source::root("s1"))
}

fn keys(format: &Format, changed: &[(&str, &str)]) -> String {
    let sound = format.sound.iter().filter(|(key, _)| changed.iter().all(|(other, _)| other != key));
    let keys = sound.chain(changed).map(|(key, value)| format!("\"{key}\": {value}"));
    (format.whole)(&keys.collect::<Vec<_>>().join(",\n"))
}

fn findings(format: &Format) -> String {
    let mut groups = Groups::default();
    let mut put = |label: &str, bytes: &[u8]| {
        let (loaded, told) = load(format, bytes);
        let open = loaded.hooks.iter().filter(|found| !found.closed);
        groups.put(
            label,
            format!("{told}{}", open.map(|hook| format!("  hook {}\n", shown(hook))).collect::<String>()),
        );
    };
    for bytes in format.files {
        let label: String = String::from_utf8_lossy(bytes).chars().take(120).collect();
        put(&format!("{label:?}"), bytes);
    }
    put("larger than any", "x".repeat((16 << 20) + 1).as_bytes());
    let given = format.keys.iter().flat_map(|key| VALUES.iter().map(move |value| (*key, *value)));
    for change in given.chain(format.values.iter().copied()) {
        put(&format!("{}: {}", change.0, change.1), keys(format, &[change]).as_bytes());
    }
    for key in format.sound.iter().map(|(key, _)| *key) {
        put(
            &format!("without {key}"),
            keys(format, &[(key, "null")]).replace(&format!("\"{key}\": null"), "\"zz\": null").as_bytes(),
        );
    }
    for value in ["5", "[]", "\"text\""] {
        let all: Vec<_> = format.keys.iter().map(|key| (*key, value)).collect();
        let text = keys(format, &all);
        put(&format!("all: {value}"), text.as_bytes());
        put(&format!("all in one line: {value}"), text.replace(",\n", ", ").as_bytes());
        let guard = [("on_error", "\"stop\""), ("on_failure", "\"block\"")];
        let all = all.into_iter().filter(|(key, _)| !guard.iter().any(|(own, _)| own == key));
        let all: Vec<_> = all.chain(guard).collect();
        put(&format!("all of a guard: {value}"), keys(format, &all).as_bytes());
    }
    groups.text()
}

/// What comes of each key of an answer with each kind of value, and of some whole answers.
fn answers(format: &Format, triggers: &[(&str, &str)], names: &[&str], whole: &[&str]) -> String {
    let mut out = String::new();
    for (trigger, more) in triggers {
        let text = match format.name {
            "jcli" => format!("events: [{trigger}]\ncommand: x\n{more}\n"),
            "flyto" => format!("{{\"hooks\": {{\"{trigger}\": [{{\"command\": \"x\"{more}}}]}}}}"),
            "chord" => format!("hooks:\n  {trigger}:\n  - command: x\n    {more}\n"),
            _ => format!("---\nname: h\ndescription: d\ntrigger: {trigger}\n{more}\n---\n"),
        };
        let (loaded, told) = load(format, text.as_bytes());
        writeln!(out, "# {trigger} {more}\n{told}").unwrap();
        let found = &loaded.hooks[0];
        let event = event(found.points[0].name);
        let values = [
            "null", "true", "5", "\"\"", "\" \"", "\"text\"", "[]", "[1]", "{}", "{\"a\": 1}",
            "{\"a\": 1, \"a\": 2}",
        ];
        let given =
            names.iter().flat_map(|name| values.iter().map(move |value| format!("{{\"{name}\": {value}}}")));
        let given: Vec<String> = given.chain(whole.iter().map(|text| (*text).to_owned())).collect();
        let mut runs: Vec<(String, Ended)> = Vec::new();
        for stdout in given {
            runs.push((stdout.clone(), ended(Exit::Code(0), &stdout, 0, "")));
        }
        for code in [0, 1, 2] {
            runs.push((format!("exit {code}"), ended(Exit::Code(code), "{}", 0, " no\n")));
            runs.push((
                format!("exit {code}, cut"),
                ended(Exit::Code(code), "{\"decision\": \"deny\"}", 9, ""),
            ));
            runs.push((format!("exit {code}, cut text"), ended(Exit::Code(code), "text", 9, "no")));
        }
        runs.push(("signal".to_owned(), ended(Exit::Signal(9), "", 0, "no")));
        runs.push(("timeout".to_owned(), ended(Exit::TimedOut { after: Duration::from_secs(3) }, "", 0, "")));
        runs.push(("not started".to_owned(), ended(Exit::NotStarted { why: "gone".to_owned() }, "", 0, "")));
        runs.push(("lost".to_owned(), ended(Exit::Lost, "", 0, "")));
        let mut groups = Groups::default();
        for (label, ended) in runs {
            let read = found.handler.read(&event, &Returned::Command(ended));
            let refused = read.as_ref().err().map(|failure| found.handler.refuse(&event, failure));
            let read = format!("{read:?}");
            let refused = refused.map(|refused| format!("\n  refused: {refused:?}")).unwrap_or_default();
            groups.put(&label, format!("  {}{}\n", short(&read), short(&refused)));
        }
        out.push_str(&groups.text());
    }
    out
}

/// Without what an answer has none of.
fn short(text: &str) -> String {
    let mut text = text.to_owned();
    for nothing in [
        "verdict: Continue, ", "amendment: Amendment([]), ", "context: [], ", "notices: [], ",
        "remarks: [], ", "keep_working: None, ", "own: None, ", "ends_chain: false", "taken_as: None, ",
        "refusal: None, ",
    ] {
        text = text.replace(nothing, "");
    }
    text
}

fn ended(exit: Exit, stdout: &str, dropped: u64, stderr: &str) -> Ended {
    let captured = |text: &str, dropped| Captured { bytes: text.as_bytes().to_vec(), dropped };
    let (stdout, stderr) = (captured(stdout, dropped), captured(stderr, 0));
    Ended { exit, stdout, stderr, took: Duration::ZERO, leaked: Leaked::Nothing }
}

#[test]
fn what_jcli_finds() {
    insta::assert_snapshot!(findings(&JCLI));
}

#[test]
fn what_flyto_finds() {
    insta::assert_snapshot!(findings(&FLYTO));
}

#[test]
fn what_chord_finds() {
    insta::assert_snapshot!(findings(&CHORD));
}

#[test]
fn what_agenthooks_finds() {
    insta::assert_snapshot!(findings(&AGENTHOOKS));
}

#[test]
fn what_comes_of_an_answer_of_jcli() {
    let triggers = [
        ("pre_tool_execution", "on_error: stop"),
        ("pre_llm_request", ""),
        ("pre_send_message", ""),
        ("post_llm_response", ""),
        ("stop", ""),
        ("post_tool_execution", ""),
        ("post_tool_execution_failure", ""),
        ("pre_auto_compact", ""),
        ("session_end", ""),
    ];
    let names = [
        "user_input", "assistant_output", "system_prompt", "tool_result", "tool_error", "tool_arguments",
        "messages", "inject_messages", "additional_context", "retry_feedback", "system_message", "action",
        "abort", "other",
    ];
    let whole = [
        "",
        "text",
        "[]",
        "{} {}",
        "{\"action\": \"stop\"} x",
        "{\"action\": \"stop\"}",
        "{\"action\": \"skip\"}",
        "{\"action\": \"skip\", \"action\": \"stop\", \"action\": 5}",
        "{\"abort\": true, \"action\": \"skip\"}",
        "{\"abort\": false}",
        "{\"abort\": true, \"action\": null, \"action\": \"skip\"}",
        "{\"abort\": true, \"user_input\": 5}",
        "{\"action\": \"stop\", \"system_message\": 3, \"tool_arguments\": [], \"additional_context\": \"c\"}",
        "{\"retry_feedback\": \"f\", \"action\": \"stop\", \"system_message\": \"m\"}",
        "{\"user_input\": \"a\", \"user_input\": \"b\"}",
        "{\"tool_arguments\": \"{}\"}",
        "{\"tool_arguments\": \"{\\\"a\\\": 1.50}\"}",
        "{\"tool_arguments\": \"[1]\"}",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"inject_messages\": [{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"tool\"}]}",
        "{\"messages\": [{\"role\": \"bot\"}]}",
        "{\"messages\": [{\"role\": \"user\", \"content\": 5}]}",
        "{\"messages\": [\"x\"]}",
        "{\"system_message\": \"m\", \"additional_context\": \"c\", \"tool_result\": \"r\", \"action\": \"skip\"}",
        "{\"user_input\": \"\\ud800\"}",
    ];
    insta::assert_snapshot!(answers(&JCLI, &triggers, &names, &whole));
}

#[test]
fn what_comes_of_an_answer_of_flyto() {
    let triggers = [
        ("pre_tool_use", ""),
        ("pre_tool_use", ", \"on_failure\": \"block\""),
        ("permission_request", ""),
        ("stop", ""),
        ("post_compact", ""),
        ("pre_sampling", ""),
        ("session_start", ""),
        ("pre_compact", ", \"async\": true"),
    ];
    let whole = [
        "",
        "text",
        "[]",
        "{} {}",
        "{\"decision\": \"block\"}",
        "{\"decision\": \"deny\", \"reason\": \"r\"}",
        "{\"decision\": \"allow\"}",
        "{\"decision\": \"ask\", \"reason\": \"r\"}",
        "{\"decision\": \"stop\", \"reason\": \" \"}",
        "{\"decision\": \"block\", \"decision\": \"allow\"}",
        "{\"decision\": \"stop\", \"decision\": \"allow\"}",
        "{\"decision\": \"allow\", \"x\": {\"a\": 1, \"a\": 2}}",
        "x {\"decision\": \"deny\"}",
        "{\"decision\": \"deny\", \"a\": 1e999}",
    ];
    insta::assert_snapshot!(answers(&FLYTO, &triggers, &["decision", "reason", "other"], &whole));
}

#[test]
fn what_comes_of_an_answer_of_chord() {
    let triggers = [
        ("on_tool_call", "on_failure: block"),
        ("on_before_llm_call", ""),
        ("on_before_tool_result_append", ""),
        ("on_idle", ""),
        ("on_tool_batch_complete", ""),
        ("on_tool_batch_complete", "{result: always_append, result_format: tail, max_result_bytes: 5}"),
    ];
    let triggers = triggers.map(|(name, more)| (name, more.trim_start_matches('{').trim_end_matches('}')));
    let triggers = triggers.map(|(name, more)| (name, more.replace(", ", "\n    ")));
    let triggers: Vec<_> = triggers.iter().map(|(name, more)| (*name, more.as_str())).collect();
    let names = [
        "action", "message", "data", "status", "severity", "summary", "body", "append_context", "notify",
        "Action",
    ];
    let whole = [
        "",
        "text",
        "[]",
        "{} {}",
        "null",
        "null null",
        "5",
        "{}[]",
        "{}{}",
        "{\"action\": \"block\"}",
        "{\"action\": \"block\", \"message\": \"m\"}",
        "{\"action\": \"block\", \"action\": \"continue\"}",
        "{\"action\": \"continue\", \"message\": \"m\"}",
        "{\"action\": \"modify\"}",
        "{\"action\": \"modify\", \"data\": 5}",
        "{\"action\": \"modify\", \"data\": {\"a\": 2}}",
        "{\"action\": \"modify\", \"data\": {\"args\": {\"a\": 2}}}",
        "{\"action\": \"modify\", \"data\": {\"model\": 5}}",
        "{\"action\": \"modify\", \"data\": {\"model\": \"n\", \"messages\": [], \"tools\": 1}}",
        "{\"action\": \"modify\", \"data\": {\"output\": \"n\", \"display_result\": \"d\", \"error\": 1}}",
        "{\"action\": \"modify\", \"data\": {\"output\": 5}}",
        "{\"status\": \"failed\", \"summary\": \"s\", \"body\": \"b\\nc\", \"append_context\": true, \"notify\": true}",
        "{\"severity\": \"warn\", \"notify\": true}",
        "{\"status\": \"success\", \"body\": \"0123456789\", \"append_context\": true}",
        "{\"message\": \"\\ud800\"}",
    ];
    insta::assert_snapshot!(answers(&CHORD, &triggers, &names, &whole));
}

#[test]
fn what_comes_of_an_answer_of_agenthooks() {
    let triggers = [
        ("before_tool", ""),
        ("before_tool", "on_failure: block"),
        ("before_stop", ""),
        ("after_tool", ""),
        ("session_start", ""),
        ("session_end", ""),
        ("before_agent", ""),
        ("subagent_stop", ""),
        ("before_tool", "async: true"),
    ];
    let names = ["decision", "reason", "modified_input", "additional_context", "log", "other"];
    let whole = [
        "",
        "text",
        "[]",
        "{} {}",
        "{\"decision\": \"deny\"}",
        "{\"decision\": \"deny\", \"reason\": \"r\", \"modified_input\": [1]}",
        "{\"decision\": \"deny\", \"decision\": \"allow\"}",
        "{\"decision\": \"ask\", \"reason\": \"r\"}",
        "{\"decision\": \"allow\"}",
        "{\"decision\": \"ask\", \"decision\": \"allow\"}",
        "{\"reason\": \"a\", \"reason\": \"b\"}",
        "{\"modified_input\": {\"a\": 1.50}}",
        "{\"modified_input\": {}, \"modified_input\": {}}",
        "{\"additional_context\": \"c\", \"additional_context\": \"d\"}",
        "{\"log\": 1, \"log\": 2, \"x\": 1, \"x\": 2}",
        "x {\"decision\": \"deny\"}",
        "{\"decision\": \"\\ud800\"}",
    ];
    insta::assert_snapshot!(answers(&AGENTHOOKS, &triggers, &names, &whole));
}
