//! A limit of calls that are under way at once, over two sessions of one project, and what limits have counted over a load.
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

#[tokio::test]
async fn a_limit_goes_on_when_its_file_is_loaded_again_and_begins_anew_where_it_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".lineside/hooks.yaml");
    fs::create_dir(folder.path().join(".lineside")).unwrap();
    let assembly = Assembly::new(Bus::new()).only([dialects::find("native").unwrap()]);
    let places = Places {
        environment: BTreeMap::new(),
        project_root: Some(folder.path().to_owned()),
        cwd: folder.path().to_owned(),
        trust: Trust::Granted,
    };
    let load = async |limit: &str, after: &str| {
        let few =
            format!("- {{name: few, on: before_tool, limit: {limit}, verdict: block, reason: too many}}");
        fs::write(&file, format!("hooks:\n{few}\n{after}")).unwrap();
        assembly.load(&places).await.unwrap();
    };
    let few = "{at_most: 2, per: 1h}";
    load(few, "").await;
    let root = folder.path().to_str().unwrap();
    let session = assembly.bus().session("s").project_root(root).open().await.unwrap();
    let is_refused = async || refused(&session, shell("ls", "c")).await.is_some();
    assert!(!is_refused().await);
    for after in ["- {name: other, on: on_idle, command: ['true']}\n", "", "# nothing\n"] {
        load(few, after).await;
    }
    assert!(!is_refused().await, "the second one");
    assert!(is_refused().await, "the third one");
    load("{at_most: 1, per: 1h}", "").await;
    assert!(!is_refused().await, "another limit");
    assert!(is_refused().await);
    load("{at_once: 1}", "").await;
    assert!(!is_refused().await, "of calls at once");
    load("{at_once: 1}", "").await;
    assert!(is_refused().await, "that is under way still");
}
