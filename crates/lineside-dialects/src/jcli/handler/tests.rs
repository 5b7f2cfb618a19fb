//! What is started, and what a failure amounts to.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::invocation::{Ending, Inherit, Invocation, Leftovers};
use lineside_core::json::{Value, json};
use lineside_core::{AnyEvent, Failure, FailureKind, Verdict};

use super::{Hook, Runtime};
use crate::handler::{Call, Handler as _, Returned};
use crate::jcli::definition::{Definition, OnError, Run};
use crate::jcli::judge::Judge;
use crate::jcli::template::Template;
use crate::jcli::{events, samples};

fn in_place(project_root: Option<&str>, cwd: Option<&str>) -> AnyEvent {
    let event = samples::event("before_tool", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    samples::of_source(&event, |source| {
        source.project_root = project_root.map(Into::into);
        source.cwd = cwd.map(Into::into);
    })
}

fn invocation(hook: &Hook, event: &AnyEvent) -> Invocation {
    match hook.prepare(event).unwrap() {
        Call::Command(invocation) => invocation,
        other => panic!("{other:?}"),
    }
}

fn variables(invocation: &Invocation) -> Vec<(&str, &str)> {
    let set = invocation.environment.set.iter();
    set.map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect()
}

fn defined(hook: Hook, change: impl FnOnce(&mut Definition)) -> Hook {
    let mut definition = (*hook.definition).clone();
    change(&mut definition);
    Hook { definition: Arc::new(definition), ..hook }
}

#[test]
fn what_is_started_is_fixed_to_the_last_variable() {
    // JC-23 to JC-27
    let hook = samples::hook("pre_tool_execution", "check.sh --all");
    let invocation = invocation(&hook, &in_place(Some("/p"), Some("/p/sub")));
    assert_eq!(invocation.program.argv, ["sh", "-c", "check.sh --all"]);
    assert_eq!(invocation.working_directory.as_deref(), Some("/p/sub".as_ref()));
    assert_eq!(invocation.environment.inherit, Inherit::All);
    assert_eq!(
        variables(&invocation),
        [
            ("JCLI_HOOK_EVENT", "pre_tool_execution"),
            ("JCLI_CWD", "/p/sub"),
            ("JCLI_HOOK_DIR", "/hooks/h"),
            ("PATH", "/hooks/h:/usr/bin:/bin"),
        ]
    );
    let limits = invocation.limits;
    assert_eq!(limits.timeout, Duration::from_secs(10));
    assert_eq!(limits.ending, Ending::Terminate { grace: Duration::from_millis(500) });
    assert_eq!(limits.leak_grace, Duration::from_millis(500));
    assert_eq!(limits.leftovers, Leftovers::Leave);
    assert_eq!((limits.stdout_bytes, limits.stderr_bytes), (10_485_760, 10_485_760));
    let stdin: Value = lineside_core::json::from_slice(&invocation.stdin).unwrap();
    assert_eq!((&stdin["event"], &stdin["cwd"]), (&json!("pre_tool_execution"), &json!("/p/sub")));
}

#[test]
fn the_working_directory_is_that_of_the_event_else_the_project_else_our_own() {
    // JC-23
    let hook = samples::hook("pre_tool_execution", "true");
    for (project_root, cwd, expected) in [
        (Some("/p"), Some("/c"), "/c"),
        (Some("/p"), None, "/p"),
        (None, None, "/runtime"),
        (None, Some("sub"), "/runtime/sub"),
    ] {
        let invocation = invocation(&hook, &in_place(project_root, cwd));
        assert_eq!(invocation.working_directory.as_deref(), Some(expected.as_ref()));
        assert_eq!(variables(&invocation)[1], ("JCLI_CWD", expected));
    }
}

#[test]
fn a_hook_without_a_folder_adds_none_to_the_path() {
    // JC-6, JC-24
    let hook = Hook { folder: None, ..samples::hook("pre_tool_execution", "true") };
    let invocation = invocation(&hook, &in_place(None, None));
    assert_eq!(variables(&invocation)[2..], [("JCLI_HOOK_DIR", "")]);
    let bare = Runtime { cwd: "/".into(), path: None, judge: None };
    let hook = Hook { runtime: Arc::new(bare), ..samples::hook("pre_tool_execution", "true") };
    let invocation = self::invocation(&hook, &in_place(None, None));
    assert_eq!(variables(&invocation)[3], ("PATH", "/hooks/h"));
}

#[test]
fn a_hook_of_both_compactions_is_started_for_the_one_at_hand() {
    // JC-14, JC-24
    let both = ["pre_micro_compact", "pre_auto_compact"].map(|name| events::find(name).unwrap());
    let hook = Hook { events: both.to_vec(), ..samples::hook("pre_auto_compact", "true") };
    for (kind, name) in
        [("micro", "pre_micro_compact"), ("auto", "pre_auto_compact"), ("manual", "pre_auto_compact")]
    {
        let event = samples::event("before_compact", json!({"kind": kind}));
        assert_eq!(variables(&invocation(&hook, &event))[0], ("JCLI_HOOK_EVENT", name));
    }
}

#[test]
fn a_prompt_goes_to_the_judge() {
    // JC-41 to JC-43
    let judge = Judge::of(&crate::Places {
        environment: [("LINESIDE_JUDGE_URL", "http://j"), ("LINESIDE_JUDGE_MODEL", "m")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        project_root: None,
        cwd: "/".into(),
        trust: crate::Trust::Granted,
    });
    let ask = |judge: Option<Judge>| {
        let hook = defined(samples::hook("pre_tool_execution", ""), |definition| {
            let prompt = Template::new("{{tool_name}} {{tool_arguments}} {{cwd}}");
            definition.run = Run::Prompt { prompt, model: None };
        });
        let runtime = Runtime { cwd: "/runtime".into(), path: None, judge };
        Hook { runtime: Arc::new(runtime), ..hook }.prepare(&in_place(None, None))
    };
    let Ok(Call::Post(post)) = ask(judge) else { panic!() };
    let body: Value = lineside_core::json::from_slice(&post.body).unwrap();
    let asked = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        asked.starts_with("Bash {\"command\":\"ls\"} /runtime\n\nAnswer with one JSON object"),
        "{asked}"
    );
    assert_eq!(post.timeout, Duration::from_secs(10));
    let unavailable = ask(None).unwrap_err();
    assert_eq!((unavailable.kind, unavailable.started), (FailureKind::Spawn, false));
    assert_eq!(unavailable.detail, "cannot start: no judge endpoint is configured");
}

#[test]
fn a_failure_is_taken_for_more_only_where_the_hook_says_so() {
    // JC-15, JC-21
    let failure = Failure::new(FailureKind::Exit, "exit status 1");
    let refused = |name: &str, on_error: OnError| {
        let hook = defined(samples::hook(name, "x"), |definition| definition.on_error = on_error);
        let payload = json!({"tool_name": "T", "tool_input": {}, "tool_output": "", "source": "startup"});
        hook.refuse(&samples::event(events::find(name).unwrap().point.name, payload), &failure)
    };
    assert_eq!(refused("pre_tool_execution", OnError::Skip), None);
    let stop = refused("pre_tool_execution", OnError::Stop).unwrap();
    assert_eq!(stop.verdict, Verdict::stop("hook \"h\" failed: exit status 1"));
    assert!(refused("post_tool_execution", OnError::Stop).unwrap().ends_chain);
    assert_eq!(refused("session_start", OnError::Stop), None);
}

#[test]
fn what_the_time_of_the_chain_forbids_has_failed_without_a_start() {
    // JC-22, JC-45
    let failure = samples::hook("stop", "true").out_of_time(Duration::from_secs(30));
    assert_eq!((failure.kind, failure.started), (FailureKind::Timeout, false));
    assert_eq!(failure.detail, "chain budget of 30 s used up");
}

#[test]
fn what_was_not_asked_for_is_not_read() {
    // JC-29
    let event = in_place(None, None);
    let failure = samples::hook("pre_tool_execution", "true").read(&event, &Returned::Nothing).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Error);
}
