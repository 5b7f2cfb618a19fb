//! Law 14: a lower layer only tightens. A trusted project that gets in the way of a guard of the user changes nothing of
//! that and is reported, and a file of the user that others may write is none of the user.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use lineside::LoadReport;
use lineside::core::Severity;
use lineside::dialects::{Managed, Places, Trust};
use lineside::points::BeforeTool;
use lineside::prelude::*;
use lineside::{Assembly, State};

use crate::loading::{CLAUDE, judged_at, places, project};

const NATIVE: &str = ".lineside/hooks.yaml";
const USERS_NATIVE: &str = ".config/lineside/hooks.yaml";

fn native(name: &str, priority: i32) -> String {
    format!("hooks:\n- {{name: {name}, on: before_tool, command: 'true', priority: {priority}}}\n")
}

fn agent(name: &str, priority: i32) -> String {
    format!("---\nname: {name}\ndescription: d\ntrigger: before_tool\npriority: {priority}\n---\n")
}

/// What is loaded of these files of the user and of the project.
async fn loaded(users: &[(&str, &str)], projects: &[(&str, &str)]) -> (LoadReport, tempfile::TempDir) {
    let (home, root) = (project(users), project(projects));
    let mut places = places(root.path(), Trust::Granted);
    places.environment.insert("HOME".to_owned(), home.path().display().to_string());
    (Assembly::new(Bus::new()).load(&places).await.unwrap(), root)
}

fn told<'a>(report: &'a LoadReport, part: &str) -> Vec<&'a str> {
    report.diagnostics.iter().map(|finding| &*finding.text).filter(|text| text.contains(part)).collect()
}

const REFUSES: &str = "command: ['printf', '{\"verdict\": \"block\", \"reason\": \"no\"}']";
const ALLOWS: &str = "command: ['printf', '{\"verdict\": \"allow\"}']";
const FAILS: &str = "command: ['false'], on_failure: continue";

/// What comes of a call under the hooks of these layers, each with these fields of its hook `g`; nothing where there is no
/// such file. First as a daemon has it, then read together. And what was found.
async fn decided(layers: [&str; 3]) -> ([bool; 2], LoadReport) {
    let text = |fields: &str| match fields {
        "" => "hooks: []".to_owned(),
        fields => format!("hooks:\n- {{name: g, {fields}}}\n"),
    };
    let [machine, user, of_project] = layers.map(text);
    let etc = project(&[("hooks.yaml", &machine)]);
    let home = project(&[(USERS_NATIVE, &user)]);
    let root = project(&[(NATIVE, &of_project)]);
    let owner = std::fs::metadata(etc.path()).unwrap().uid();
    let managed = Managed { folder: etc.path().to_owned(), owner };
    let mut places = places(root.path(), Trust::Granted);
    places.environment.insert("HOME".to_owned(), home.path().display().to_string());
    let refused = async |session: &Session| {
        let call = BeforeTool::new("Shell", json!({"command": "ls"}));
        session.publish(call).await.unwrap().is_refused()
    };

    let above = Assembly::new(Bus::new()).managed(managed.clone());
    let of_user = Places { project_root: None, cwd: "/".into(), trust: Trust::Withheld, ..places.clone() };
    above.load(&of_user).await.unwrap();
    let below = above.of_project(root.path());
    let report = below.load(&places).await.unwrap();
    let session = above.bus().session("s").scope(below.scope().unwrap()).open().await.unwrap();
    let in_daemon = refused(&session).await;
    let elsewhere = above.bus().session("elsewhere").open().await.unwrap();
    let as_before = refused(&elsewhere).await;

    let together = Assembly::new(Bus::new()).managed(managed);
    let both = together.load(&places).await.unwrap();
    let session = together.bus().session("s").open().await.unwrap();
    assert_eq!(refused(&session).await, in_daemon, "{layers:?}: {:?}", both.diagnostics);
    ([in_daemon, as_before], report)
}

#[tokio::test]
async fn a_lower_layer_only_tightens() {
    let on = |does: &str| format!("on: before_tool, {does}");
    let (refuses, allows, fails) = (on(REFUSES), on(ALLOWS), on(FAILS));
    let closes = on("command: ['false']");
    let outranks = format!("{allows}, priority: 9");
    let missing = on("command: ['no-such-program-of-anyone'], on_failure: continue");
    let required = format!("{missing}, required: true");
    for (layers, expected, is_told) in [
        // It may add.
        (["", &*allows, &*refuses], [true, false], "does not take the place"),
        (["", "", &refuses], [true, false], ""),
        // It may tighten.
        (["", &fails, "on_failure: block"], [true, false], ""),
        ([&fails, "on_failure: block", ""], [true, true], ""),
        ([&fails, "", "on_failure: block, timeout: 5"], [true, false], ""),
        // It stands in the place of none, and outranks none.
        (["", &refuses, &outranks], [true, true], "does not take the place"),
        ([&refuses, &outranks, &outranks], [true, true], "does not take the place"),
        // It loosens none, and takes none away.
        (["", &refuses, "on_failure: continue"], [true, true], "`on_failure` is refused"),
        (["", &closes, "on_failure: continue"], [true, true], "`on_failure` is refused"),
        (["", &refuses, "timeout: 600000"], [true, true], "`timeout` is refused"),
        (["", &refuses, "timeout: 500, match: {tool: None}"], [true, true], "`match` is refused"),
        (["", &refuses, "timeout: 500, async: true"], [true, true], "`async` is refused"),
        // It tightens what is not there.
        (["", "", "on_failure: block"], [false, false], "no hook \"g\" stands in a layer above"),
        // What is required has to be able to run, and a project requires nothing.
        ([&required, "", ""], [true, true], ""),
        (["", &required, ""], [true, true], ""),
        (["", &missing, ""], [false, false], ""),
        (["", "", &required], [false, false], "only a hook of the machine or of the user is required"),
        // A broken file of the machine stands closed.
        (["on: befor_tool, command: ['true']", "", ""], [true, true], ""),
    ] {
        let (refused, report) = decided(layers).await;
        assert_eq!(refused, expected, "{layers:?}: {:?}", report.diagnostics);
        let findings = told(&report, is_told);
        assert_eq!(findings.len(), report.diagnostics.len().min(1), "{layers:?}: {:?}", report.diagnostics);
        assert!(
            report.diagnostics.iter().all(|finding| finding.origin.is_some()),
            "{:?}",
            report.diagnostics
        );
        assert!(is_told.is_empty() || findings.len() == 1, "{layers:?}: {:?}", report.diagnostics);
    }
}

#[tokio::test]
async fn what_is_required_refuses_where_other_hooks_have_left_it_no_time() {
    let refused = async |required: bool| {
        let text = format!(
            "hooks:\n- {{name: g, on: before_tool, required: {required}, {ALLOWS}, on_failure: continue}}\n"
        );
        let home = project(&[(USERS_NATIVE, &text)]);
        let bus = Bus::builder().event_budget(Duration::from_millis(50)).build();
        bus.intercept::<BeforeTool>("slow")
            .priority(9)
            .on_failure(OnFailure::Continue)
            .gate(async |_, _| std::future::pending::<Verdict>().await)
            .unwrap();
        let assembly = Assembly::new(bus);
        let root = project(&[]);
        let mut places = places(root.path(), Trust::Granted);
        places.environment.insert("HOME".to_owned(), home.path().display().to_string());
        assembly.load(&places).await.unwrap();
        let session = assembly.bus().session("s").open().await.unwrap();
        let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
        decision.verdict().to_string()
    };
    let verdict = refused(true).await;
    assert!(verdict.contains("hook \"g\" is required and cannot run: the event's 0.05 s"), "{verdict}");
    assert_eq!(refused(false).await, "continue");
}

#[tokio::test]
async fn a_file_of_the_machine_that_others_may_write_stands_closed() {
    let etc = project(&[("hooks.yaml", &format!("hooks:\n- {{name: g, on: before_tool, {ALLOWS}}}\n"))]);
    let owner = std::fs::metadata(etc.path()).unwrap().uid();
    let judged = async |owner: u32| {
        let managed = Managed { folder: etc.path().to_owned(), owner };
        let assembly = Assembly::new(Bus::new()).managed(managed);
        let root = project(&[]);
        let report = assembly.load(&places(root.path(), Trust::Withheld)).await.unwrap();
        let session = assembly.bus().session("s").open().await.unwrap();
        let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
        (decision.is_refused(), report.diagnostics)
    };
    assert_eq!(judged(owner).await, (false, Vec::new()));
    for (path, mode) in [("hooks.yaml", 0o666), ("", 0o777)] {
        let path = etc.path().join(path);
        let before = std::fs::metadata(&path).unwrap().permissions();
        set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let (refused, findings) = judged(owner).await;
        assert!(refused && findings.len() == 1, "{findings:?}");
        assert!(findings[0].text.contains("all users may write it"), "{findings:?}");
        set_permissions(&path, before).unwrap();
    }
    if owner != 0 {
        let (refused, findings) = judged(owner + 1).await;
        assert!(refused && findings[0].text.contains("belongs to another user"), "{findings:?}");
    }
}

#[tokio::test]
async fn a_hook_of_a_project_that_runs_before_one_of_the_user_is_told_of() {
    let (users, projects) = (".config/agents/hooks/u/HOOK.md", ".agents/hooks/p/HOOK.md");
    for (user, of_project, is_told) in [
        ((USERS_NATIVE, native("u", 5)), (NATIVE, native("p", 6)), true),
        ((USERS_NATIVE, native("u", 5)), (NATIVE, native("p", 5)), false),
        ((users, agent("u", 500)), (projects, agent("p", 501)), true),
        ((users, agent("u", 50)), (projects, agent("p", 50)), false),
        // In another format, only what was raised.
        ((USERS_NATIVE, native("u", 5)), (projects, agent("p", 101)), true),
        ((USERS_NATIVE, native("u", 5)), (projects, agent("p", 100)), false),
        ((users, agent("u", 100)), (NATIVE, native("p", 101)), true),
        (
            (".config/chord/config.yaml", "hooks:\n  on_tool_call:\n  - {name: u, shell: 'true'}\n".into()),
            (NATIVE, native("p", 1)),
            true,
        ),
        (
            (".flyto/settings.json", "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"true\"}]}}".into()),
            (NATIVE, native("p", 1)),
            true,
        ),
        (
            (".jdata/agent/hooks/u/HOOK.yaml", "events: [pre_tool_execution]\ncommand: 'true'\n".into()),
            (NATIVE, native("p", 1)),
            true,
        ),
    ] {
        let (report, root) = loaded(&[(user.0, &user.1)], &[(of_project.0, &of_project.1)]).await;
        assert_eq!(report.hooks.len(), 2, "{:?}", report.diagnostics);
        let findings = told(&report, "runs before");
        assert_eq!(findings.len(), usize::from(is_told), "{user:?} {of_project:?}: {:?}", report.diagnostics);
        if is_told {
            let [finding] = findings[..] else { panic!() };
            assert!(finding.starts_with("hook \"p\" of the project runs before "), "{finding}");
            let finding = report.diagnostics.iter().find(|other| other.text == finding).unwrap();
            assert_eq!(finding.severity, Severity::Note);
            assert_eq!(*finding.origin.as_ref().unwrap().file, root.path().join(of_project.0));
        }
    }
}

#[tokio::test]
async fn a_hook_of_a_project_that_replaces_one_of_the_user_is_told_of() {
    let hook = agent("same", 100);
    let (report, _) =
        loaded(&[(".config/agents/hooks/u/HOOK.md", &hook)], &[(".agents/hooks/p/HOOK.md", &hook)]).await;
    assert_eq!(told(&report, "overrides user-level hook").len(), 1, "{:?}", report.diagnostics);
    // By the page of that format.
    assert_eq!(report.hooks.len(), 1, "{:?}", report.diagnostics);
    // A project switches no plugin of the user off.
    let module = "export default { register(api) { api.on('before_tool_call', () => ({block: true})); } };\n";
    let (report, _) = loaded(
        &[
            (
                ".openclaw/plugins/guard/openclaw.plugin.json",
                "{\"id\": \"guard\", \"configSchema\": {\"type\": \"object\"}}",
            ),
            (".openclaw/plugins/guard/index.mjs", module),
        ],
        &[(
            ".openclaw/lineside.json",
            "{\"deny\": [\"guard\"], \"entries\": {\"guard\": {\"enabled\": false}}}",
        )],
    )
    .await;
    assert_eq!(told(&report, "ignored in the project layer: ").len(), 2, "{:?}", report.diagnostics);
    assert_eq!(report.hooks.len(), 1, "{:?}", report.diagnostics);
}

#[tokio::test]
async fn a_file_of_the_user_that_others_may_write_stands_closed_and_one_of_a_project_is_told_of() {
    let mode = |file: &Path| set_permissions(file, Permissions::from_mode(0o666)).unwrap();
    let agent = agent("g", 100);
    for (users, projects, text) in [
        (USERS_NATIVE, NATIVE, &*native("g", 0)),
        (".config/agents/hooks/g/HOOK.md", ".agents/hooks/g/HOOK.md", &agent),
        (
            ".config/chord/config.yaml",
            ".chord/config.yaml",
            "hooks:\n  on_tool_call:\n  - {name: g, shell: 'true', on_failure: block}\n",
        ),
        (
            ".flyto/settings.json",
            ".flyto/settings.json",
            "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"true\", \"on_failure\": \"block\"}]}}",
        ),
        (
            ".jdata/agent/hooks/g/HOOK.yaml",
            ".jcli/hooks/g/HOOK.yaml",
            "events: [pre_tool_execution]\ncommand: 'true'\non_error: stop\n",
        ),
    ] {
        for of_user in [true, false] {
            let (home, root) = if of_user {
                (project(&[(users, text)]), project(&[]))
            } else {
                (project(&[]), project(&[(projects, text)]))
            };
            mode(&if of_user { home.path().join(users) } else { root.path().join(projects) });
            let mut places = places(root.path(), Trust::Granted);
            places.environment.insert("HOME".to_owned(), home.path().display().to_string());
            let report = Assembly::new(Bus::new()).load(&places).await.unwrap();
            let findings = told(&report, "all users may write it; take that away with chmod o-w");
            assert_eq!(findings.len(), 1, "{users}: {:?}", report.diagnostics);
            let at_gate: Vec<_> = report.hooks.iter().filter(|found| found.point == "before_tool").collect();
            assert!(!at_gate.is_empty(), "{users} {of_user}");
            for found in at_gate {
                assert_eq!(found.state == State::Closed, of_user, "{users}: {:?}", found.state);
            }
        }
    }
}

/// Files of a user with a guard, and files of a project that the host reads as switching it off.
const SWITCHED_OFF: &[(&str, &str, &str, &str)] = &[
    (
        CLAUDE,
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo no >&2; exit 2\"}]}]}}",
        CLAUDE,
        "{\"disableAllHooks\": true}",
    ),
    (
        CLAUDE,
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo no >&2; exit 2\"}]}]}}",
        ".claude/settings.local.json",
        "{\"disableAllHooks\": true}",
    ),
    (
        ".codex/hooks.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo no >&2; exit 2\"}]}]}}",
        ".codex/config.toml",
        "[features]\nhooks = false\n",
    ),
    (
        ".copilot/hooks/g.json",
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"type\": \"command\", \"bash\": \"echo no >&2; exit 2\"}]}}",
        ".github/copilot/settings.json",
        "{\"disableAllHooks\": true}",
    ),
    (
        ".gemini/settings.json",
        "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo no >&2; exit 2\"}]}]}}",
        ".gemini/settings.json",
        "{\"hooksConfig\": {\"enabled\": false}}",
    ),
    (
        ".gemini/settings.json",
        "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"name\": \"g\", \"command\": \"echo no >&2; exit 2\"}]}]}}",
        ".gemini/settings.json",
        "{\"hooksConfig\": {\"disabled\": [\"g\"]}}",
    ),
];

#[tokio::test]
async fn a_project_switches_off_no_guard_of_the_user() {
    for (of_user, guard, of_project, switch) in SWITCHED_OFF {
        let home = project(&[(of_user, guard)]);
        let project = project(&[(of_project, switch)]);
        let (decision, report) = judged_at(project.path(), home.path(), Trust::Withheld).await;
        assert!(decision.is_refused(), "{of_project}: {decision:?}");
        assert_eq!(report.diagnostics.len(), 0, "{of_project}: {:?}", report.diagnostics);

        let (decision, report) = judged_at(project.path(), home.path(), Trust::Granted).await;
        assert!(decision.is_refused(), "{of_project}: it runs all the same");
        let [finding] = &report.diagnostics[..] else { panic!("{of_project}: {:?}", report.diagnostics) };
        assert_eq!(**finding.origin.as_ref().unwrap().file, *project.path().join(of_project));
        assert!(finding.text.contains("would switch off the hook"), "{finding}");
        assert!(finding.text.contains(home.path().join(of_user).to_str().unwrap()), "{finding}");
    }
}
