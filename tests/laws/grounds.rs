//! Law 20, of the programs that hooks of files start: they are those of the file's own project, wherever a session works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use lineside::dialects::Trust;
use lineside::prelude::*;
use lineside::{Assembly, State};

use crate::loading::places;

const HOOK: &str = "---\nname: g\ndescription: d\ntrigger: before_tool\n---\n";

/// Hooks of projects that name what they start by a relative path, or by a variable of the project.
const RELATIVE: &[(&str, &str, &str)] = &[
    ("native", ".lineside/hooks.yaml", "hooks: [{name: g, on: before_tool, command: [./guard.sh]}]"),
    ("native", ".lineside/hooks.yaml", "hooks: [{name: g, on: before_tool, command: ./guard.sh}]"),
    ("native", ".lineside/hooks.yaml", "hooks: [{name: g, on: before_tool, command: [sh, guard.sh]}]"),
    (
        "native",
        ".lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, command: [../guard.sh], dir: sub}]",
    ),
    (
        "native",
        ".lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, worker: {program: [sh, guard.sh]}}]",
    ),
    (
        "native",
        ".lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, command: [./guard.sh], automate: {at_end: {drain: 60000}}}]",
    ),
    ("agenthooks", ".agents/hooks/g/HOOK.md", HOOK),
    ("chord", ".chord/config.yaml", "hooks: {on_tool_call: [{name: c, command: [./guard.sh]}]}"),
    ("chord", ".chord/config.yaml", "hooks: {on_tool_call: [{name: c, shell: sh guard.sh}]}"),
    ("flyto", ".flyto/settings.json", r#"{"hooks": {"pre_tool_use": [{"command": "./guard.sh"}]}}"#),
    (
        "flyto",
        ".flyto/settings.json",
        r#"{"hooks": {"pre_tool_use": [{"command": "$PROJECT_ROOT/guard.sh"}]}}"#,
    ),
    ("jcli", ".jcli/hooks/g/HOOK.yaml", "events: [pre_tool_execution]\ncommand: ./guard.sh\n"),
    ("jcli", ".jcli/hooks/g/HOOK.yaml", "events: [pre_tool_execution]\ncommand: $JCLI_CWD/guard.sh\n"),
    (
        "claude",
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}}"#,
    ),
    (
        "claude",
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/guard.sh"}]}]}}"#,
    ),
    (
        "claude",
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "${CLAUDE_PROJECT_DIR}/guard.sh", "args": []}]}]}}"#,
    ),
    (
        "codex",
        ".codex/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}}"#,
    ),
    (
        "copilot",
        ".github/hooks/g.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./guard.sh"}]}}"#,
    ),
    (
        "copilot",
        ".github/hooks/g.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "../guard.sh", "cwd": "sub"}]}}"#,
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"command": "./guard.sh"}]}}"#,
    ),
    (
        "gemini",
        ".gemini/settings.json",
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh guard.sh"}]}]}}"#,
    ),
    (
        "gemini",
        ".gemini/settings.json",
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "$GEMINI_PROJECT_DIR/guard.sh"}]}]}}"#,
    ),
];

fn file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A project with the programs that the hooks name, each of which leaves what it reads in that project.
fn project(root: &Path) {
    let script = format!("#!/bin/sh\n{{ echo ran; head -n 1; }} >> '{}'\n", root.join("heard").display());
    for path in ["guard.sh", "sub/other.sh", ".agents/hooks/g/helper.sh"] {
        file(root, path, &script);
    }
    file(root, ".agents/hooks/g/scripts/run.sh", "#!/bin/sh\nexec \"$AGENT_HOOK_WORK_DIR\"/guard.sh\n");
}

fn heard(root: &Path) -> String {
    fs::read_to_string(root.join("heard")).unwrap_or_default()
}

/// Publishes a call of a session that works in this directory.
async fn call(assembly: &Assembly, project_root: Option<&Path>, cwd: &Path) {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut session = assembly.bus().session("s").cwd(text(cwd));
    if let Some(root) = project_root {
        session = session.project_root(text(root));
    }
    let session = session.open().await.unwrap();
    assert!(session.publish(crate::shell("true")).await.is_ok());
    session.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_a_projects_file_is_one_of_that_project_wherever_a_session_works() {
    for (dialect, path, text) in RELATIVE {
        let folder = tempfile::tempdir().unwrap();
        let [trusted, stranger] = ["trusted", "stranger"].map(|name| folder.path().join(name));
        for root in [&trusted, &stranger] {
            project(root);
            file(root, path, text);
        }
        std::os::unix::fs::symlink(&stranger, trusted.join("link")).unwrap();
        let assembly = Assembly::new(Bus::new()).only(lineside::dialects::find(dialect));
        let report = assembly.load(&places(&trusted, Trust::Granted)).await.unwrap();
        assert!(
            report.hooks.iter().any(|hook| hook.state == State::Ready),
            "{text}: {:?}",
            report.diagnostics
        );
        let climbing = trusted.join("sub/../../stranger");
        for (root, cwd) in [
            (Some(&*stranger), &*stranger),
            (None, &*stranger),
            (Some(&*trusted), &*stranger),
            (Some(&*stranger), &*trusted.join("link")),
            (Some(&*climbing), &*climbing),
            (Some(&*trusted), &*trusted.join("sub")),
        ] {
            call(&assembly, root, cwd).await;
        }
        assert!(assembly.drain(Duration::from_secs(20)).await.is_clean(), "{text}");
        assert_eq!(heard(&stranger), "", "{text}: a program of the other project has run");
        let heard = heard(&trusted);
        // A worker that ends at once is given up after a few starts.
        // What a variable names is below the directory of the session, where that lies in the project.
        let least = match () {
            () if text.contains("worker") => 1,
            () if text.contains('$') => 5,
            () => 6,
        };
        assert!(heard.matches("ran\n").count() >= least, "{text}: the guard has run: {heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_missing_stays_missing_for_the_hook_that_would_start_there() {
    let folder = tempfile::tempdir().unwrap();
    let [trusted, stranger] = ["trusted", "stranger"].map(|name| folder.path().join(name));
    project(&trusted);
    let chord = "hooks: {on_tool_call: [{name: c, shell: \"sleep 0; ./guard.sh\", on_failure: block}]}";
    file(&trusted, ".chord/config.yaml", chord);
    let assembly = Assembly::new(Bus::new()).only(lineside::dialects::find("chord"));
    assembly.load(&places(&trusted, Trust::Granted)).await.unwrap();
    let root = stranger.to_string_lossy().into_owned();
    let session = assembly.bus().session("s").project_root(root.clone()).cwd(root).open().await.unwrap();
    let decision = session.publish(crate::shell("true")).await.unwrap();
    let reason = decision.reason().map(ToString::to_string).unwrap_or_default();
    assert!(
        decision.is_refused() && reason.contains("/dev/null"),
        "no process can make it meanwhile: {reason}"
    );
}

/// Hooks of the user whose interpreter would run a file of whatever project a session works in.
const OF_USERS: &[(&str, &str, &str)] = &[
    (
        "native",
        ".config/lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, command: [sh, guard.sh], on_failure: block}]",
    ),
    (
        "native",
        ".config/lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, worker: {program: [sh, guard.sh]}, on_failure: block}]",
    ),
    (
        "chord",
        ".config/chord/config.yaml",
        "hooks: {on_tool_call: [{name: c, shell: sh guard.sh, on_failure: block}]}",
    ),
    (
        "flyto",
        ".flyto/settings.json",
        r#"{"hooks": {"pre_tool_use": [{"command": "sh guard.sh", "on_failure": "block"}]}}"#,
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"command": "sh ./guard.sh", "failClosed": true}]}}"#,
    ),
    ("kimi", ".kimi/config.toml", "[[hooks]]\nevent = \"PreToolUse\"\ncommand = \"sh guard.sh\"\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_a_hook_of_the_user_names_is_none_of_the_project_of_a_session() {
    for (dialect, path, text) in OF_USERS {
        let folder = tempfile::tempdir().unwrap();
        let [home, stranger] = ["home", "stranger"].map(|name| folder.path().join(name));
        project(&stranger);
        file(&home, path, text);
        let assembly = Assembly::new(Bus::new()).only(lineside::dialects::find(dialect));
        let mut places = places(&stranger, Trust::Withheld);
        places.environment.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        let report = assembly.load(&places).await.unwrap();
        call(&assembly, Some(&stranger), &stranger).await;
        assert!(assembly.drain(Duration::from_secs(20)).await.is_clean(), "{text}");
        assert_eq!(heard(&stranger), "", "{text}: a program of the project has run");
        // Where the directory is that of the file, so is the program, which is missing there.
        let says = |part: &str| report.diagnostics.iter().any(|finding| finding.text.contains(part));
        assert!(says("guard.sh") || *dialect == "cursor", "{text}: {:?}", report.diagnostics);
    }
}
