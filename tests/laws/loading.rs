//! Law 16.

use std::path::Path;

use lineside::bus::Installed;
use lineside::bus::interceptor::Interceptor;
use lineside::bus::register::RegisterHookError;
use lineside::core::hook::Hook;
use lineside::core::{AnyEvent, Failure, Outcome, Part, Response, Severity, SkipReason};
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use lineside::{Assembly, State};

use crate::session;

struct Silent;

impl Interceptor for Silent {
    fn intercept(
        &self,
        _: AnyEvent,
        _: Cx,
    ) -> lineside::bus::interceptor::BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::ready(Ok(Response::default())))
    }
}

#[tokio::test]
async fn no_silent_no_op() {
    // An interceptor at a fact does not compile; one that comes from a file is refused and shown the way.
    let (bus, root) = session().await;
    let point = lineside::points::find("on_idle").unwrap();
    let hook = Hook::native("never", Part::Gate);
    let refused = bus.install("a file", vec![Installed { point, hook, run: std::sync::Arc::new(Silent) }]);
    assert!(matches!(refused, Err(RegisterHookError::NoAuthority { point: "on_idle", .. })));
    // A matcher that cannot match is refused when it is registered.
    let refused =
        root.intercept::<BeforeTool>("bad").matching(text("(")).gate(async |_, _| Verdict::Continue);
    assert!(matches!(refused, Err(RegisterHookError::Matcher(_))));
    // An unknown point names the nearest.
    let unknown = lineside::points::find("before_tools").unwrap_err();
    assert_eq!(unknown.nearest, Some("before_tool"));
}

#[tokio::test]
async fn a_hook_file_that_can_never_run_is_reported_with_file_and_line() {
    let project = tempfile::tempdir().unwrap();
    let write = |name: &str, front: &str| {
        let folder = project.path().join(".agents/hooks").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("HOOK.md"), format!("---\n{front}\n---\n")).unwrap();
    };
    write("typo", "name: typo\ndescription: d\ntrigger: before_tools");
    write("regex", "name: regex\ndescription: d\ntrigger: before_tool\nmatcher:\n  tool: '('");
    write("missing", "name: missing\ndescription: d\ntrigger: before_tool");
    let report = Assembly::new(Bus::new()).load(&places(project.path(), Trust::Granted)).await.unwrap();
    let names: Vec<_> = report.hooks.iter().map(|found| (&*found.hook.name, found.state)).collect();
    assert_eq!(names, [("missing", State::ProgramMissing)]);
    let found = |severity, line: u32, part: &str| {
        report.diagnostics.iter().any(|finding| {
            finding.severity == severity
                && finding.origin.as_ref().is_some_and(|origin| origin.line == line)
                && finding.text.contains(part)
        })
    };
    assert!(found(Severity::Error, 4, "Did you mean 'before_tool'?"), "{:?}", report.diagnostics);
    assert!(found(Severity::Error, 6, "Invalid regex in matcher.tool"), "{:?}", report.diagnostics);
    assert!(
        report.diagnostics.iter().any(|finding| finding.text.contains("No entry point found")),
        "{:?}",
        report.diagnostics
    );
}

pub(crate) fn places(project: &Path, trust: Trust) -> Places {
    let path = std::env::var("PATH").unwrap_or_default();
    Places {
        environment: [("PATH".to_owned(), path), ("HOME".to_owned(), "/nonexistent".to_owned())].into(),
        project_root: Some(project.to_owned()),
        cwd: project.to_owned(),
        trust,
    }
}

/// A project with these files.
pub(crate) fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = project.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    project
}

/// What a call of a tool comes to under the hooks of a project, and what was found there.
pub(crate) async fn judged(
    project: &Path,
    trust: Trust,
) -> (lineside::Decision<BeforeTool>, lineside::LoadReport) {
    judged_at(project, Path::new("/nonexistent"), trust).await
}

/// The same, with this home.
pub(crate) async fn judged_at(
    project: &Path,
    home: &Path,
    trust: Trust,
) -> (lineside::Decision<BeforeTool>, lineside::LoadReport) {
    let assembly = Assembly::new(Bus::new());
    let mut places = places(project, trust);
    places.environment.insert("HOME".to_owned(), home.display().to_string());
    let report = assembly.load(&places).await.unwrap();
    let session = assembly.bus().session("s1").open().await.unwrap();
    let call = BeforeTool::new("Shell", json!({"command": "rm -rf /"}));
    let decision = session.publish(call).await.unwrap();
    drop(assembly.drain(std::time::Duration::from_secs(5)).await);
    (decision, report)
}

pub(crate) const NATIVE: &str = ".lineside/hooks.yaml";
pub(crate) const CHORD: &str = ".chord/config.yaml";
pub(crate) const FLYTO: &str = ".flyto/settings.json";
pub(crate) const JCLI: &str = ".jcli/hooks/g/HOOK.yaml";
pub(crate) const CLAUDE: &str = ".claude/settings.json";
pub(crate) const CURSOR: &str = ".cursor/hooks.json";
const CODEX: &str = ".codex/hooks.json";
const COPILOT: &str = ".github/hooks/g.json";
const GEMINI: &str = ".gemini/settings.json";
const KIMI: &str = ".kimi/config.toml";
pub(crate) const AGENT: &str = ".agents/hooks/g/HOOK.md";

/// Files with a hook whose program is not there, and the line that declares it.
const MISSING_PROGRAMS: &[(&str, &str, u32)] = &[
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: [no-such-guard]}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: [./no-such-guard]}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: no-such-guard --strict}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, command: ./no-such-guard | cat}\n", 2),
    (NATIVE, "hooks:\n- {name: g, on: before_tool, worker: {program: [/no/such/guard]}}\n", 2),
    (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, command: [no-such-guard]}\n", 3),
    (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, shell: ./no-such-guard}\n", 3),
    (FLYTO, "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"./no-such-guard\"}]}}", 1),
    (JCLI, "events: [pre_tool_execution]\ncommand: no-such-guard\n", 1),
    (AGENT, "---\nname: g\ndescription: d\ntrigger: before_tool\n---\n", 1),
    (
        CLAUDE,
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [\n{\"type\": \"command\", \"command\": \"./no-such-guard\"}]}]}}",
        2,
    ),
    (CURSOR, "{\"version\": 1, \"hooks\": {\"preToolUse\": [\n{\"command\": \"no-such-guard\"}]}}", 2),
];

#[tokio::test]
async fn a_program_that_is_not_there_is_reported_when_its_hook_is_loaded() {
    for (file, text, line) in MISSING_PROGRAMS {
        let project = project(&[(file, text)]);
        let load =
            async |trust| Assembly::new(Bus::new()).load(&places(project.path(), trust)).await.unwrap();
        let report = load(Trust::Granted).await;
        let states: Vec<_> = report.hooks.iter().map(|found| found.state).collect();
        assert_eq!(states, [State::ProgramMissing], "{text}");
        let [finding] = &report.diagnostics[..] else { panic!("{text}: {:?}", report.diagnostics) };
        let origin = finding.origin.as_ref().unwrap();
        assert_eq!((&*origin.file, origin.line), (&project.path().join(file), *line), "{text}");
        // What never runs is not looked for.
        let report = load(Trust::Withheld).await;
        assert_eq!(report.hooks[0].state, State::Off(SkipReason::Untrusted), "{text}");
        assert!(report.diagnostics.iter().all(|finding| !finding.text.contains("no-such")), "{text}");
    }
}

#[tokio::test]
async fn a_key_of_an_answer_that_is_nearly_one_is_remarked() {
    let says = "echo '{\"decison\":\"deny\", \"acton\":\"block\", \"other\":1}'";
    let json = says.replace('"', "\\\"");
    let groups = |event: &str| {
        format!(
            "{{\"hooks\": {{\"{event}\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{json}\"}}]}}]}}}}"
        )
    };
    for (file, text, decides) in [
        (CHORD, format!("hooks:\n  on_tool_call:\n  - name: g\n    shell: {says}\n"), "action"),
        (FLYTO, format!("{{\"hooks\": {{\"pre_tool_use\": [{{\"command\": \"{json}\"}}]}}}}"), "decision"),
        (JCLI, format!("events: [pre_tool_execution]\ncommand: {says}\n"), "action"),
        (AGENT, "---\nname: g\ndescription: d\ntrigger: before_tool\n---\n".to_owned(), "decision"),
        (".openclaw/plugins/p/index.mjs", PLUGIN.to_owned(), "block"),
        (CLAUDE, groups("PreToolUse"), "decision"),
        (".gemini/settings.json", groups("BeforeTool"), "decision"),
        (
            ".github/hooks/g.json",
            format!(
                "{{\"version\": 1, \"hooks\": {{\"preToolUse\": [{{\"type\": \"command\", \"bash\": \"{json}\"}}]}}}}"
            ),
            "decision",
        ),
        (
            CURSOR,
            format!("{{\"version\": 1, \"hooks\": {{\"preToolUse\": [{{\"command\": \"{json}\"}}]}}}}"),
            "permission",
        ),
        (
            ".kimi/config.toml",
            format!("[[hooks]]\nevent = 'PreToolUse'\ncommand = \"{json}\"\n"),
            "permissionDecision",
        ),
    ] {
        let script = format!("#!/bin/sh\n{says}\n");
        let mut files = vec![(file, &*text), (".agents/hooks/g/scripts/run", &*script)];
        if file.starts_with(".openclaw") {
            files.extend(MANIFESTS);
        }
        let project = project(&files);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(project.path().join(".agents/hooks/g/scripts/run"), mode).unwrap();
        // The home is the project, for the format whose file only a user has.
        let (decision, _) = judged_at(project.path(), project.path(), Trust::Granted).await;
        let remarks: Vec<_> =
            decision.receipt().unwrap().remarks.iter().map(|remark| &*remark.what).collect();
        let meant = format!("unknown key `decison` in its answer, did you mean `{decides}`?");
        assert!(remarks.contains(&&*meant), "{file}: {remarks:?}");
        assert!(!remarks.iter().any(|remark| remark.contains("`other`")), "{file}: {remarks:?}");
    }
    // Where unknown keys are refused, the hook has failed.
    let native = format!("hooks:\n- name: g\n  on: before_tool\n  command: {says}\n");
    let (decision, _) = judged(project(&[(NATIVE, &native)]).path(), Trust::Granted).await;
    let reason = decision.verdict().reason().unwrap().to_string();
    assert!(reason.contains("unknown key `decison`, did you mean `verdict`?"), "{reason}");
}

/// A plugin of OpenClaw whose handler answers with a key that is none of the format's.
const PLUGIN: &str = "export default { id: 'p', register(api) { \
                      api.on('before_tool_call', () => ({ decison: 'deny', other: 1 })); } };";
const MANIFESTS: [(&str, &str); 2] = [
    (".openclaw/plugins/p/openclaw.plugin.json", "{\"id\": \"p\", \"configSchema\": {\"type\": \"object\"}}"),
    (
        ".openclaw/plugins/p/package.json",
        "{\"name\": \"p\", \"version\": \"1.0.0\", \"type\": \"module\", \"openclaw\": {\"extensions\": [\"./index.mjs\"]}}",
    ),
];

#[tokio::test]
async fn a_hook_of_the_user_never_runs_a_file_of_a_project() {
    for (file, text, is_guard) in [
        (
            ".config/lineside/hooks.yaml",
            "hooks:\n- {name: g, on: before_tool, command: [./guard.sh]}\n",
            true,
        ),
        (
            ".config/lineside/hooks.yaml",
            "hooks:\n- {name: g, on: before_tool, command: ./guard.sh -x}\n",
            true,
        ),
        (
            ".config/chord/config.yaml",
            "hooks:\n  on_tool_call:\n  - {name: g, command: [./guard.sh]}\n",
            false,
        ),
        (
            ".config/chord/config.yaml",
            "hooks:\n  on_tool_call:\n  - {name: g, shell: tools/guard.sh; true, on_failure: block}\n",
            true,
        ),
        (".flyto/settings.json", "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"./guard.sh\"}]}}", false),
        (
            ".flyto/plugins/p/hooks.json",
            "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"./guard.sh\"}]}}",
            false,
        ),
        (".jdata/agent/hooks/g/HOOK.yaml", "events: [pre_tool_execution]\ncommand: ./guard.sh\n", false),
        (
            CLAUDE,
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./guard.sh\"}]}]}}",
            false,
        ),
        (
            ".codex/hooks.json",
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./guard.sh\"}]}]}}",
            false,
        ),
        (
            ".copilot/hooks/h.json",
            "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"type\": \"command\", \"bash\": \"./guard.sh\"}]}}",
            false,
        ),
        (
            ".gemini/settings.json",
            "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./guard.sh\"}]}]}}",
            false,
        ),
        (".kimi/config.toml", "[[hooks]]\nevent = 'PreToolUse'\ncommand = './guard.sh'\n", false),
    ] {
        let home = project(&[(file, text)]);
        let project =
            project(&[("guard.sh", "#!/bin/sh\ntouch ran\n"), ("tools/guard.sh", "#!/bin/sh\ntouch ran\n")]);
        for script in ["guard.sh", "tools/guard.sh"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(project.path().join(script), mode).unwrap();
        }
        let mut places = places(project.path(), Trust::Withheld);
        places.environment.insert("HOME".to_owned(), home.path().display().to_string());
        let assembly = Assembly::new(Bus::new());
        let report = assembly.load(&places).await.unwrap();
        let session =
            assembly.bus().session("s1").project_root(project.path().to_str().unwrap()).open().await.unwrap();
        let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
        drop(assembly.drain(std::time::Duration::from_secs(5)).await);
        assert!(!project.path().join("ran").exists(), "{text}");
        assert_eq!(decision.verdict().reason().is_some(), is_guard, "{text}: {decision:?}");
        let [finding] = &report.diagnostics[..] else { panic!("{text}: {:?}", report.diagnostics) };
        assert!(
            finding.severity == Severity::Error && finding.text.contains("guard.sh`, which"),
            "{finding}"
        );
    }
}

#[tokio::test]
async fn a_plugin_that_does_not_load_stands_closed_where_failures_block() {
    let plugin = (".openclaw/plugins/p/openclaw.plugin.json", "{\"id\": \"p\"}");
    let closing = "{\"failClosed\": [\"before_tool_call\"]}";
    for (config, about) in [
        (closing, "openclaw.plugin.json"),
        ("{\"failClosed\": [\"before_tool_cal\"]}", "openclaw.plugin.json"),
        ("{\"failClosed\": \"before_tool_call\"}", "openclaw.plugin.json"),
        ("{\"failClosed\": [\"before_tool_call\"]", "lineside.json"),
    ] {
        let project = project(&[plugin, (".openclaw/lineside.json", config)]);
        let (decision, _) = judged(project.path(), Trust::Granted).await;
        let Verdict::Block(reason) = decision.verdict() else { panic!("{config}: {decision:?}") };
        assert!(reason.to_string().contains(about), "{config}: {reason}");
        let (decision, _) = judged(project.path(), Trust::Withheld).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{config}");
    }
    for config in ["{}", "{", "{\"failClosed\": [\"message_sending\"]}"] {
        let project = project(&[plugin, (".openclaw/lineside.json", config)]);
        let (decision, _) = judged(project.path(), Trust::Granted).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{config}");
    }
    // Of these not even an id is known.
    let manifest = ".openclaw/plugins/guard/openclaw.plugin.json";
    let path = "{\"failClosed\": [\"before_tool_call\"], \"load\": {\"paths\": [\"guard\"]}}";
    for (config, manifest, why) in [
        (closing, Some((manifest, "{\"id\": \"guard\",")), "failed to parse plugin manifest"),
        (closing, Some((manifest, "{\"configSchema\": {}}")), "plugin manifest requires id"),
        (closing, Some((".openclaw/plugins/guard/index.js", "")), "plugin manifest not found"),
        (path, None, "plugin path not found"),
    ] {
        let files = [Some((".openclaw/lineside.json", config)), manifest];
        let project = project(&files.into_iter().flatten().collect::<Vec<_>>());
        let (decision, _) = judged(project.path(), Trust::Granted).await;
        let Verdict::Block(reason) = decision.verdict() else { panic!("{why}: {decision:?}") };
        let reason = reason.to_string();
        assert!(reason.starts_with("hook \"guard\" cannot run: ") && reason.contains(why), "{reason}");
        let (decision, _) = judged(project.path(), Trust::Withheld).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{why}");
    }
}

#[tokio::test]
async fn a_hook_that_does_not_load_and_guards_nothing_is_remarked_in_the_receipts() {
    for (file, text) in [
        (NATIVE, "hooks:\n- {name: g, on: before_tool, comand: x, on_failure: continue}\n"),
        (CHORD, "hooks:\n  on_tool_call:\n  - {name: g, comand: x}\n"),
        (CHORD, "hooks: [\n"),
        (FLYTO, "{\"hooks\": {\"PreToolUse\": [{\"command\": \"x\"}]}}"),
        (FLYTO, "{\"hooks\": {"),
        (JCLI, "events: [pre_tool_execution]\n"),
        (AGENT, "---\nname: g\ndescription: d\ntrigger: before_tool\ntimeout: 5s\n---\n"),
        (CLAUDE, "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"comand\": \"x\"}]}]}}"),
        (CODEX, "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"comand\": \"x\"}]}]}}"),
        (COPILOT, "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"comand\": \"x\"}]}}"),
        (CURSOR, "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"comand\": \"x\"}]}}"),
        (GEMINI, "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"comand\": \"x\"}]}]}}"),
        (KIMI, "[[hooks]]\nevent = \"PreToolUse\"\ncomand = \"x\"\n"),
    ] {
        let project = project(&[(file, text)]);
        // Kimi has its hooks in the user's folder alone.
        let home = if file == KIMI { project.path() } else { Path::new("/nonexistent") };
        let (decision, report) = judged_at(project.path(), home, Trust::Granted).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{text}");
        let receipt = decision.receipt().unwrap();
        let [run] = &receipt.runs[..] else { panic!("{text}: {receipt:?}") };
        assert_eq!(run.outcome, Outcome::Skipped(SkipReason::NotLoaded), "{text}");
        let remark = &receipt.remarks[0].what;
        assert!(remark.starts_with("was not loaded: "), "{text}: {remark}");
        assert!(remark.contains(project.path().join(file).to_str().unwrap()), "{text}: {remark}");
        assert!(report.hooks.is_empty() && !report.inert.is_empty(), "{text}");
    }
}
