//! The types of other languages are current.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../examples/payloads.rs"]
mod payloads;

#[test]
fn the_committed_types_of_other_languages_are_current() {
    for (path, text) in payloads::files() {
        let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let committed = std::fs::read_to_string(committed).unwrap_or_default();
        assert!(committed == text, "{path}: run cargo run -p lineside-points --example payloads -- write");
    }
}
