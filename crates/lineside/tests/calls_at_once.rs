//! A limit of calls that are under way at once, over two sessions of one project.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;

use lineside::Assembly;
use lineside::dialects::{self, Places, Trust};
use lineside::prelude::*;

const HOOKS: &str = "hooks:
  - name: builds
    on: before_tool
    match: {runs: cargo}
    verdict: block
    reason: two builds run
    limit: {at_once: 2, key: '{project_root}'}
  - {name: no-rm, on: before_tool, match: {runs: rm}, verdict: block, reason: not here}
";

fn shell(command: &str, id: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({ "command": command })).tool_call_id(id)
}

/// Why the call is refused; nothing where it is not.
async fn refused(session: &Session, call: BeforeTool) -> Option<String> {
    let decision = session.publish(call).await.unwrap();
    match decision.verdict() {
        Verdict::Block(reason) => Some(reason.to_string()),
        _ => None,
    }
}

#[tokio::test]
async fn a_call_is_under_way_until_it_ends_or_its_session_does() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".lineside")).unwrap();
    fs::write(folder.path().join(".lineside/hooks.yaml"), HOOKS).unwrap();
    let assembly = Assembly::new(Bus::new()).only([dialects::find("native").unwrap()]);
    let places = Places {
        environment: BTreeMap::new(),
        project_root: Some(folder.path().to_owned()),
        cwd: folder.path().to_owned(),
        trust: Trust::Granted,
    };
    let report = assembly.load(&places).await.unwrap();
    assert_eq!(report.diagnostics.len(), 0, "{:?}", report.diagnostics);
    let open = async |id| {
        let root = folder.path().to_str().unwrap();
        assembly.bus().session(id).project_root(root).open().await.unwrap()
    };
    let (one, other) = (open("one").await, open("other").await);
    let begins = async |session: &Session, id: &str| match refused(session, shell("cargo build", id)).await {
        None => true,
        Some(reason) => {
            assert_eq!(reason, "two builds run (cargo)");
            false
        }
    };
    // What another hook refuses does not begin.
    for id in ["a", "b"] {
        let both = refused(&one, shell("cargo clean; rm x", id)).await;
        assert_eq!(both.as_deref(), Some("not here (rm)"));
    }
    assert!(begins(&one, "c").await && begins(&other, "d").await);
    assert!(!begins(&one, "e").await && !begins(&other, "e").await);
    let after = |id: &str| AfterTool::new("Shell", json!("")).tool_call_id(id);
    drop(one.publish(after("x")).await.unwrap());
    assert!(!begins(&one, "e").await, "another call has ended");
    drop(other.publish(after("d")).await.unwrap());
    assert!(begins(&one, "e").await && !begins(&other, "f").await);
    drop(one.publish(AfterToolError::new("Shell", json!("")).tool_call_id("c")).await.unwrap());
    assert!(begins(&other, "f").await && !begins(&one, "g").await);
    // No end of its call is heard.
    other.close().await;
    assert!(begins(&one, "g").await && !begins(&one, "h").await);
}
