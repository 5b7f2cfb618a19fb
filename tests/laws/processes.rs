//! Law 7, with real processes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lineside::Assembly;
use lineside::core::{FailureKind, Outcome};
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;

use crate::{outcome, ran, shell};

/// An Agent Hooks folder in a project of its own.
fn project(front: &str, script: &str) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let scripts = project.path().join(".agents/hooks/h/scripts");
    std::fs::create_dir_all(&scripts).unwrap();
    let hook = format!("---\nname: h\ndescription: d\ntrigger: before_tool\n{front}\n---\n");
    std::fs::write(scripts.parent().unwrap().join("HOOK.md"), hook).unwrap();
    std::fs::write(scripts.join("run.sh"), script).unwrap();
    std::fs::set_permissions(scripts.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

async fn loaded(project: &Path) -> (Assembly, Session) {
    let assembly = Assembly::new(Bus::new());
    let places = Places {
        environment: std::collections::BTreeMap::new(),
        project_root: Some(project.to_owned()),
        cwd: project.to_owned(),
        trust: Trust::Granted,
    };
    assert_eq!(assembly.load(&places).await.unwrap().hooks.len(), 1);
    let root = project.to_str().unwrap();
    let session = assembly.bus().session("s").project_root(root).open().await.unwrap();
    (assembly, session)
}

/// The processes of this machine whose command line names the project.
pub(crate) fn processes_of(project: &Path) -> Vec<String> {
    let needle = project.to_str().unwrap();
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(needle) {
            found.push(line);
        }
    }
    found
}

#[tokio::test]
async fn no_process_outlives_its_hook() {
    // The script and a child that ignores the polite signal; both carry the project's path in their command line.
    let script =
        "#!/bin/sh\ntrap '' TERM\nsh -c 'trap \"\" TERM; sleep 600; : '\"$AGENT_HOOK_DIR\" &\nsleep 600\n";
    let project = project("timeout: 300", script);
    let (assembly, session) = loaded(project.path()).await;
    let decision = session.publish(shell("ls")).await.unwrap();
    let Outcome::Failed { failure, .. } = outcome(&decision, "h") else { panic!("it had no time to answer") };
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(assembly.drain(secs(5)).await.is_clean());
    assert_eq!(processes_of(project.path()), [""; 0]);
}

#[tokio::test]
async fn p01_a_publisher_that_gives_up_ends_the_process() {
    let project =
        project("timeout: 60000", "#!/bin/sh\necho started > \"$AGENT_HOOK_DIR/fifo\"\nsleep 600\n");
    let fifo = project.path().join(".agents/hooks/h/fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (assembly, session) = loaded(project.path()).await;
    // Reading from the pipe ends when the hook has written to it.
    let started = tokio::task::spawn_blocking(move || std::fs::read(fifo).unwrap());
    tokio::select! {
        _ = session.publish(shell("ls")) => panic!("the hook never answers"),
        said = started => assert_eq!(said.unwrap(), b"started\n"),
    }
    assert!(assembly.drain(secs(5)).await.is_clean());
    assert_eq!(processes_of(project.path()), [""; 0]);
}

#[tokio::test]
async fn a_foreign_hook_blocks_amends_and_is_inherited() {
    let script = "#!/bin/sh\nread -r event\ncase $event in *danger*) echo 'not that' >&2; exit 2;; esac\n\
                  printf '%s' '{\"modified_input\": {\"command\": \"ls -l\"}, \"additional_context\": \"noted\"}'\n";
    let project = project("priority: 9", script);
    let (_assembly, session) = loaded(project.path()).await;
    let child = session.subagent("child").open().await.unwrap();
    assert_eq!(child.publish(shell("danger")).await.unwrap().verdict(), &Verdict::block("not that"));
    let decision = child.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.payload().command().as_deref(), Some("ls -l"));
    assert_eq!(child.collect().ready().accept()[0].text, "noted");
}

#[tokio::test]
async fn d05_a_foreign_guard_judges_what_a_native_hook_has_changed_since() {
    let script = "#!/bin/sh\nread -r event\ncase $event in *danger*) echo 'not that' >&2; exit 2;; esac\n";
    let project = project("priority: 999", script);
    let (_assembly, session) = loaded(project.path()).await;
    session
        .intercept::<BeforeTool>("rewrites")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "danger"}))))
        .unwrap();
    let decision = session.publish(shell("ls")).await.unwrap();
    assert_eq!(ran(&decision), ["h", "rewrites", "h"]);
    assert_eq!(decision.verdict(), &Verdict::block("not that"));
}

#[tokio::test]
async fn d06_two_hooks_that_undo_each_other_end_in_an_error_that_names_both() {
    let script = "#!/bin/sh\nread -r event\nprintf '%s' '{\"modified_input\": {\"command\": \"mine\"}}'\n";
    let project = project("priority: 999\non_failure: block", script);
    let (_assembly, session) = loaded(project.path()).await;
    session
        .intercept::<BeforeTool>("undoes")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls"}))))
        .unwrap();
    let decision = session.publish(shell("ls")).await.unwrap();
    let reason = decision.reason().unwrap().as_str();
    assert_eq!(
        reason,
        "hook \"h\" failed: amendment refused: hook \"undoes\" amended after it, and it amends once more"
    );
    assert_eq!(decision.payload().command().as_deref(), Some("ls"), "no partial rewrite is used");
}
