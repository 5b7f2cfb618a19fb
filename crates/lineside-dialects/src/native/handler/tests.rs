//! What is started with what.

use lineside_core::FailureKind;

use super::super::samples::{shell, sound};
use super::*;

/// The event as the page of points has it, payload within envelope.
fn is_the_event(text: &str) {
    let event: lineside_core::json::Value = lineside_core::json::from_str(text).unwrap();
    assert_eq!(event["point"], "before_tool");
    assert_eq!(event["session"], "s1");
    assert_eq!(
        event["payload"],
        lineside_core::json::json!({"tool_name": "Shell", "tool_input": {"command": "ls"}})
    );
    assert!(!text.contains('\n'));
}

#[test]
fn a_command_gets_the_event_on_standard_input() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().to_str().unwrap();
    let hook =
        sound(&format!("on: before_tool\ncommand: [./g, a]\ntimeout: 700\ndir: {dir}\nenv: {{LEVEL: 1}}"));
    let Call::Command(invocation) = hook.prepare(&shell()).unwrap() else { panic!() };
    is_the_event(std::str::from_utf8(&invocation.stdin).unwrap());
    assert_eq!(invocation.program.argv, ["./g", "a"]);
    assert_eq!(invocation.limits.timeout, Duration::from_millis(700));
    assert_eq!(invocation.working_directory.as_deref(), Some(root.path()));
    assert_eq!(invocation.environment.set, [("LEVEL".into(), "1".into())]);
}

#[test]
fn a_directory_is_one_of_the_project() {
    let hook = sound("on: before_tool\ncommand: x\ndir: no/such");
    let failure = hook.prepare(&shell()).unwrap_err();
    assert_eq!((failure.kind, failure.started), (FailureKind::Spawn, false));
    assert_eq!(failure.detail, "cannot start: the working directory /repo/no/such is missing");
    let room = &sound("on: before_tool\ncommand: x").definition;
    let Run::Command(_, room) = &room.run else { panic!() };
    assert_eq!(room.directory(Path::new("/repo")), Path::new("/repo"));
}

#[test]
fn hooks_that_name_the_same_worker_share_it_until_its_script_changes() {
    let root = tempfile::tempdir().unwrap();
    let script = root.path().join("guard.py");
    std::fs::write(&script, "a").unwrap();
    let lines = "on: before_tool\nworker: {program: [python3, guard.py], start: ahead, idle: 5000}";
    let hook = |more: &str| sound(&format!("{lines}\n{more}"));
    let worker = |more: &str| hook(more).worker(root.path()).unwrap();
    let first = worker("");
    assert_eq!(first, worker("priority: 3\ntimeout: 900"));
    assert_ne!(first, worker("env: {A: b}"));
    assert_eq!(first.bounds.idle, Some(Duration::from_secs(5)));
    std::fs::write(&script, "ab").unwrap();
    assert_ne!(first, worker(""));
    assert!(sound("on: before_tool\ncommand: x").worker(root.path()).is_none());

    let dir = root.path().to_str().unwrap();
    let hook = hook(&format!("dir: {dir}\ntimeout: 900"));
    let Call::Warm(started, call) = hook.prepare(&shell()).unwrap() else { panic!() };
    assert_eq!(Some(*started), hook.worker(root.path()));
    is_the_event(&call.event);
    assert_eq!((call.hook.as_str(), call.timeout), ("h", Duration::from_millis(900)));
}

#[test]
fn however_an_event_spells_its_directory_it_is_the_same_worker() {
    let root = tempfile::tempdir().unwrap();
    let name = root.path().file_name().unwrap().to_str().unwrap();
    std::os::unix::fs::symlink(root.path(), root.path().join("link")).unwrap();
    let hook = sound("on: before_tool\nworker: {program: [python3, guard.py]}");
    let first = hook.worker(root.path());
    for spelling in [".".to_owned(), "link/link".to_owned(), format!("../{name}//./")] {
        assert_eq!(hook.worker(&root.path().join(&spelling)), first, "{spelling}");
    }
}

#[test]
fn a_post_has_the_event_as_its_body() {
    let hook = sound(
        "on: before_tool\npost: {url: 'http://h/x', headers: {A: '${TOKEN}'}, secrets: [TOKEN]}\ntimeout: 900",
    );
    let Call::Post(post) = hook.prepare(&shell()).unwrap() else { panic!() };
    is_the_event(std::str::from_utf8(&post.body).unwrap());
    assert_eq!((post.url.as_str(), post.timeout), ("http://h/x", Duration::from_millis(900)));
    let names: Vec<_> = post.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(names, [("X-Lineside-Event", "00000000-0000-0000-0000-000000000000"), ("A", "hunter2")]);
}
