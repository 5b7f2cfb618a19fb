//! What a hook sees around it.

use std::collections::BTreeMap;

use lineside_core::invocation::{Ended, Inherit};

use crate::room::{Room, not_started};

fn seen(ended: &Ended) -> BTreeMap<String, String> {
    let text = String::from_utf8(ended.stdout.bytes.clone()).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_hook_inherits_everything_but_what_is_removed() {
    let room = Room::enter();
    let mut hook = room.hook(["show-all"]);
    hook.environment.remove = vec!["CARGO_MANIFEST_DIR".into()];
    hook.environment.set.push(("PATH".into(), "/opt".into()));
    let seen = seen(&room.run(&hook));
    assert_eq!(seen.get("CARGO_PKG_NAME").map(String::as_str), Some("lineside-exec"));
    assert_eq!(seen.get("CARGO_MANIFEST_DIR"), None);
    assert_eq!(seen.get("PATH").map(String::as_str), Some("/opt"));
    room.leave();
}

#[test]
fn a_hook_inherits_only_what_is_listed() {
    let room = Room::enter();
    let mut hook = room.hook(["show-all"]);
    hook.environment.inherit =
        Inherit::Only(["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "NOT_SET_ANYWHERE"].map(Into::into).to_vec());
    hook.environment.remove = vec!["CARGO_MANIFEST_DIR".into()];
    hook.environment.set.extend([("A".into(), "1".into()), ("A".into(), "2".into())]);
    let seen = seen(&room.run(&hook));
    let names: Vec<_> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, ["A", "CARGO_PKG_NAME", "LINESIDE_RUN", "LINESIDE_TEST_ROOM"]);
    assert_eq!(seen["A"], "2");
    room.leave();
}

#[test]
fn a_program_is_looked_up_in_the_path_of_the_hook() {
    let room = Room::enter();
    room.file("only-here", "#!/bin/sh\necho found $0 $1\n", 0o755);
    let mut hook = room.command(&["only-here", "it"]);
    assert_eq!(
        not_started(room.run(&hook)),
        "cannot find program `only-here` in the PATH of hooks (that of a daemon has more with `daemon: {path: [FOLDER]}` in config.yaml)"
    );
    hook.environment.set.push(("PATH".into(), room.text("").into()));
    let ended = room.run(&hook);
    assert_eq!(ended.stdout.trimmed_text(), format!("found {} it", room.text("only-here")));
    hook.environment.set.push(("PATH".into(), "/nowhere:".into()));
    hook.working_directory = Some(room.path(""));
    let ended = room.run(&hook);
    assert_eq!(ended.stdout.trimmed_text(), "found ./only-here it");
    room.leave();
}

#[test]
fn the_working_directory_is_the_hooks() {
    let room = Room::enter();
    room.file("local.sh", "#!/bin/sh\npwd -P\n", 0o755);
    let mut hook = room.command(&["./local.sh"]);
    hook.working_directory = Some(room.path(""));
    let ended = room.run(&hook);
    let real = room.path("").canonicalize().unwrap();
    assert_eq!(ended.stdout.trimmed_text(), real.to_str().unwrap());
    room.leave();
}

#[test]
fn a_hook_gets_no_descriptor_of_ours_and_no_blocked_signal() {
    let room = Room::enter();
    let ours = std::fs::File::open(room.file("ours", "", 0o600)).unwrap();
    // The test runner may have left descriptors of its own open; they are ignored.
    let descriptors = room.run(&room.command(&["/bin/ls", "-l", "/proc/self/fd"]));
    drop(ours);
    let descriptors = descriptors.stdout.trimmed_text();
    assert!(descriptors.contains("0 -> /dev/null"), "{descriptors}");
    for kind in ["ours", "eventpoll", "pidfd"] {
        assert!(!descriptors.contains(kind), "{descriptors}");
    }
    let status = room.run(&room.command(&["/bin/cat", "/proc/self/status"]));
    let status = status.stdout.trimmed_text();
    let mask = |name| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap()
    };
    assert_eq!(mask("SigBlk:"), 0);
    assert_eq!(mask("SigIgn:") & (1 << 12), 0, "SIGPIPE is at its default");
    room.leave();
}
