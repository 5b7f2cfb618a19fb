//! The page of the points is current.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../examples/page.rs"]
mod page;

#[test]
fn the_committed_page_of_the_points_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/points.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page::page(),
        "run: cargo run -p lineside-points --example page > docs/reference/points.md"
    );
}
