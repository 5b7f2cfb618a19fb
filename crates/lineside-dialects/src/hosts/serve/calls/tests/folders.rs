//! A call is judged for the folder that it runs in.

use std::time::Instant;

use lineside_core::json::json;

use super::{
    Arriving, Calls, Host, arrive, decide, digest_of_folder, digest_of_text, gate, is_decided, named, new,
};

/// The same in a folder that its document names.
fn within(folder: &str, arriving: Arriving) -> Arriving {
    Arriving { folder: Some(digest_of_folder(folder)), names_folder: true, ..arriving }
}

fn other_event(arriving: Arriving) -> Arriving {
    Arriving { entry: (arriving.entry.0, digest_of_text("other"), false), ..arriving }
}

#[test]
fn a_call_in_another_folder_is_one_of_its_own_with_an_id_and_without() {
    let now = Instant::now();
    for call in [None, Some(digest_of_text("call_0"))] {
        let rm = |entry| Arriving { call, ..gate(entry, json!({"command": "rm -rf etc"})) };
        for (judged, arriving, is_same) in [
            (within("/tmp/a", rm(Host::Claude)), within("/tmp/a", rm(Host::Cursor)), true),
            (within("/tmp/a", rm(Host::Claude)), within("/", rm(Host::Cursor)), false),
            // The root of the workspace is the folder of who names none.
            (rm(Host::Claude), within("/w", rm(Host::Cursor)), true),
            (rm(Host::Claude), within("/", rm(Host::Cursor)), false),
            (within("/w", rm(Host::Claude)), rm(Host::Cursor), true),
            // One event of a program names it, and the other does not.
            (rm(Host::Cursor), within("/sub", other_event(rm(Host::Cursor))), true),
            (within("/w", rm(Host::Cursor)), within("/sub", other_event(rm(Host::Cursor))), false),
            (within("/w", rm(Host::Claude)), within("/", rm(Host::Cursor)), false),
        ] {
            let mut calls = Calls::default();
            let id = new(arrive(&mut calls, judged, now));
            decide(&mut calls, id);
            assert_eq!(is_decided(&arrive(&mut calls, arriving, now)), is_same);
        }
    }
    // Through one entry an id alone says it.
    let mut calls = Calls::default();
    let id = new(arrive(&mut calls, within("/w", named(Host::Kimi, "a")), now));
    decide(&mut calls, id);
    new(arrive(&mut calls, within("/", named(Host::Kimi, "a")), now));
}
