//! What stands between the layers of hooks until they come with the trust store: a trusted project that gets in the way
//! of a guard of the user is reported, and a file of the user that others may write is none of the user.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lineside::LoadReport;
use lineside::core::Severity;
use lineside::dialects::Trust;
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
async fn a_project_switches_off_no_guard_of_the_user_unseen() {
    for (of_user, guard, of_project, switch) in SWITCHED_OFF {
        let home = project(&[(of_user, guard)]);
        let project = project(&[(of_project, switch)]);
        let (decision, report) = judged_at(project.path(), home.path(), Trust::Withheld).await;
        assert!(decision.is_refused(), "{of_project}: {decision:?}");
        assert_eq!(report.diagnostics.len(), 0, "{of_project}: {:?}", report.diagnostics);

        let (decision, report) = judged_at(project.path(), home.path(), Trust::Granted).await;
        assert!(!decision.is_refused(), "{of_project}");
        let [finding] = &report.diagnostics[..] else { panic!("{of_project}: {:?}", report.diagnostics) };
        assert_eq!(**finding.origin.as_ref().unwrap().file, *project.path().join(of_project));
        assert!(finding.text.contains("switches off the hook"), "{finding}");
        assert!(finding.text.contains(home.path().join(of_user).to_str().unwrap()), "{finding}");
    }
}
