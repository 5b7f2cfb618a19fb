//! What a hook may use up.

use std::num::{NonZeroU32, NonZeroU64};

use lineside_core::invocation::{CoreDumps, Ending, Exit, Leaked, Resources};
use lineside_exec::Containment;

use crate::room::{Room, containments, millis};

const GIBIBYTE: Option<NonZeroU64> = NonZeroU64::new(1 << 30);

fn limits(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line[name.len()..].split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn p06_a_hook_cannot_take_more_than_its_bounds() {
    let room = Room::enter();
    let line = format!("while ! [ -e {} ]; do sleep 0.01; done; cat /proc/self/limits", room.text("go"));
    let mut hook = room.command(&["/bin/sh", "-c", &line]);
    let resources = Resources {
        memory: GIBIBYTE,
        processes: NonZeroU32::new(5000),
        files: NonZeroU32::new(50),
        ..Resources::default()
    };
    hook.limits.resources = resources;
    let ended = room.run_held(&Containment::new(), &hook);
    let text = ended.stdout.trimmed_text();
    assert_eq!(limits(&text, "Max address space"), "1073741824 1073741824");
    assert_eq!(limits(&text, "Max processes"), "5000 5000");
    assert_eq!(limits(&text, "Max open files"), "50 50");
    assert_eq!(limits(&text, "Max core file size"), "0 0");
    room.leave();
}

#[test]
fn p06_too_large_an_allocation_ends_the_hook_and_nothing_else() {
    let room = Room::enter();
    let mut hook = room.hook(["await", &room.text("go"), "allocate", "32768", "say", "decision"]);
    hook.limits.resources.memory = GIBIBYTE;
    let ended = room.run_held(&Containment::new(), &hook);
    assert_eq!(ended.exit, Exit::Signal(6), "{}", ended.stderr.trimmed_text());
    assert_eq!(ended.stdout.bytes, b"");
    room.leave();
}

#[test]
fn p06_a_hook_opens_no_more_files_than_it_may() {
    let room = Room::enter();
    let mut hook = room.hook(["await", &room.text("go"), "open", "1000000"]);
    hook.limits.resources.files = NonZeroU32::new(64);
    let ended = room.run_held(&Containment::new(), &hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(ended.stdout.trimmed_text().parse::<u32>().unwrap() < 64);
    room.leave();
}

#[test]
fn p06_a_fork_bomb_ends_with_its_hook() {
    let room = Room::enter();
    for containment in containments() {
        let mut hook = room.hook(["bomb", "6", "sleep"]);
        hook.limits.timeout = millis(500);
        hook.limits.ending = Ending::Kill;
        let ended = room.run_in(&containment, &hook);
        assert_eq!(ended.exit, Exit::TimedOut { after: millis(500) });
        assert_ne!(ended.leaked, Leaked::Escaped);
        assert_eq!(room.processes(), [""; 0]);
    }
    room.leave();
}

#[test]
fn p10_a_hook_that_crashes_leaves_no_core_dump() {
    let room = Room::enter();
    let ours = rustix::process::getrlimit(rustix::process::Resource::Core);
    let wait = format!("while ! [ -e {} ]; do sleep 0.01; done", room.text("go"));
    let line = format!("{wait}; cat /proc/self/limits; ulimit -S -c 0; kill -SEGV $$");
    let mut hook = room.command(&["/bin/sh", "-c", &line]);
    let ended = room.run_held(&Containment::new(), &hook);
    assert_eq!(ended.exit, Exit::Signal(11));
    assert_eq!(limits(&ended.stdout.trimmed_text(), "Max core file size"), "0 0");
    // They are available on request.
    hook.limits.resources.core_dumps = CoreDumps::Inherited;
    let ended = room.run_held(&Containment::new(), &hook);
    let most = ours.maximum.map_or("unlimited".to_owned(), |most| most.to_string());
    assert!(limits(&ended.stdout.trimmed_text(), "Max core file size").ends_with(&most));
    room.leave();
}
