//! Every format whose hooks print what they decide: a hook of each at a gate, and what it is taken to say.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lineside::core::invocation::{Captured, Ended, Exit, Leaked};
use lineside::core::worker::WorkerEnded;
use lineside::core::{AnyEvent, OnFailure};
use lineside::dialects::{Handler, Places, Returned, Trust, find};
use lineside::prelude::*;

/// A hook of each format at a gate, and whether it lives in a worker.
const FORMATS: [(&str, &str, &str, &str, bool); 14] = [
    (
        "native",
        ".lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, command: 'true'}]\n",
        "before_tool",
        false,
    ),
    (
        "native",
        ".lineside/hooks.yaml",
        "hooks: [{name: g, on: before_tool, worker: {program: ['true']}}]\n",
        "before_tool",
        true,
    ),
    (
        "agenthooks",
        ".agents/hooks/g/HOOK.md",
        "---\nname: g\ndescription: d\ntrigger: before_tool\n---\n",
        "before_tool",
        false,
    ),
    (
        "agenthooks",
        ".agents/hooks/g/HOOK.md",
        "---\nname: g\ndescription: d\ntrigger: before_tool\nmode: worker\n---\n",
        "before_tool",
        true,
    ),
    (
        "chord",
        ".chord/config.yaml",
        "hooks: {on_tool_call: [{name: g, command: ['true']}]}\n",
        "before_tool",
        false,
    ),
    (
        "flyto",
        ".flyto/settings.json",
        "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"true\"}]}}",
        "before_tool",
        false,
    ),
    (
        "flyto",
        ".flyto/settings.json",
        "{\"hooks\": {\"permission_request\": [{\"command\": \"true\"}]}}",
        "before_permission",
        false,
    ),
    (
        "jcli",
        ".jcli/hooks/g/HOOK.yaml",
        "events: [pre_tool_execution]\ncommand: 'true'\n",
        "before_tool",
        false,
    ),
    (
        "claude",
        ".claude/settings.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}",
        "before_tool",
        false,
    ),
    (
        "codex",
        ".codex/hooks.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}",
        "before_tool",
        false,
    ),
    (
        "copilot",
        ".github/hooks/g.json",
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"type\": \"command\", \"bash\": \"true\"}]}}",
        "before_tool",
        false,
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"true\"}]}}",
        "before_tool",
        false,
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}",
        "before_tool",
        false,
    ),
    (
        "kimi",
        ".kimi/config.toml",
        "[[hooks]]\nevent = \"PreToolUse\"\ncommand = \"true\"\n",
        "before_tool",
        false,
    ),
];

/// Those whose format lets an author say that a failure refuses, with hooks that say so; of the others, refusing is not
/// for the hook to choose.
const CLOSED: [(&str, &str, &str, &str, bool); 7] = [
    (
        "agenthooks",
        ".agents/hooks/g/HOOK.md",
        "---\nname: g\ndescription: d\ntrigger: before_tool\non_failure: block\n---\n",
        "before_tool",
        false,
    ),
    (
        "agenthooks",
        ".agents/hooks/g/HOOK.md",
        "---\nname: g\ndescription: d\ntrigger: before_tool\nmode: worker\non_failure: block\n---\n",
        "before_tool",
        true,
    ),
    (
        "chord",
        ".chord/config.yaml",
        "hooks: {on_tool_call: [{name: g, command: ['true'], on_failure: block}]}\n",
        "before_tool",
        false,
    ),
    (
        "flyto",
        ".flyto/settings.json",
        "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"true\", \"on_failure\": \"block\"}]}}",
        "before_tool",
        false,
    ),
    (
        "flyto",
        ".flyto/settings.json",
        "{\"hooks\": {\"permission_request\": [{\"command\": \"true\", \"on_failure\": \"block\"}]}}",
        "before_permission",
        false,
    ),
    (
        "jcli",
        ".jcli/hooks/g/HOOK.yaml",
        "events: [pre_tool_execution]\ncommand: 'true'\non_error: stop\n",
        "before_tool",
        false,
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"true\", \"failClosed\": true}]}}",
        "before_tool",
        false,
    ),
];

pub(crate) struct Format {
    pub(crate) name: String,
    pub(crate) on_failure: OnFailure,
    handler: Arc<dyn Handler>,
    event: AnyEvent,
    pub(crate) in_worker: bool,
}

pub(crate) static ALL: LazyLock<Vec<Format>> = LazyLock::new(|| FORMATS.iter().map(Format::load).collect());

/// The formats of [`CLOSED`].
pub(crate) static GUARDS: LazyLock<Vec<Format>> = LazyLock::new(|| CLOSED.iter().map(Format::load).collect());

impl Format {
    fn load((dialect, file, text, point, in_worker): &(&str, &str, &str, &str, bool)) -> Self {
        let project = tempfile::tempdir().unwrap();
        let path = project.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let mut environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        // Kimi has its hooks in the user's folder alone.
        if *dialect == "kimi" {
            environment.insert("HOME".to_owned(), project.path().display().to_string());
        }
        let places = Places {
            environment,
            project_root: Some(project.path().to_owned()),
            cwd: project.path().to_owned(),
            trust: Trust::Granted,
        };
        let loaded = find(dialect).unwrap().load(&places);
        let [hook] = &loaded.hooks[..] else { panic!("{dialect}: {:?}", loaded.diagnostics) };
        let event = event(point);
        let name = format!("{dialect} at {point}");
        let on_failure = hook.hook.on_failure;
        Self { name, on_failure, handler: Arc::clone(&hook.handler), event, in_worker: *in_worker }
    }

    /// The verdict of what a hook prints; `None` for a failure.
    pub(crate) fn read(&self, printed: &str) -> Option<Verdict> {
        let returned = if self.in_worker {
            Returned::Worker(WorkerEnded::Answered(printed.to_owned()))
        } else {
            ended(0, printed, "", 0)
        };
        self.verdict(&returned)
    }

    /// The verdict of a command that exits with this status and prints this on its two outputs, the first of which goes
    /// on for so many bytes that were not kept; `None` for a failure.
    pub(crate) fn read_cut(&self, status: i32, stdout: &str, stderr: &str, dropped: u64) -> Option<Verdict> {
        self.verdict(&ended(status, stdout, stderr, dropped))
    }

    fn verdict(&self, returned: &Returned) -> Option<Verdict> {
        self.handler.read(&self.event, returned).ok().map(|answer| answer.verdict)
    }
}

fn ended(status: i32, stdout: &str, stderr: &str, dropped: u64) -> Returned {
    Returned::Command(Ended {
        exit: Exit::Code(status),
        stdout: Captured { bytes: stdout.as_bytes().to_vec(), dropped },
        stderr: Captured { bytes: stderr.as_bytes().to_vec(), dropped: 0 },
        took: Duration::ZERO,
        leaked: Leaked::Nothing,
    })
}

/// An event of one of the two points.
fn event(point: &str) -> AnyEvent {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_bus, root) = crate::session().await;
        let input = json!({"command": "ls"});
        let receipt = if point == "before_tool" {
            root.intercept::<BeforeTool>("g").gate(async |_, _| Verdict::Continue).unwrap();
            root.publish(BeforeTool::new("Shell", input)).await.unwrap().receipt().cloned()
        } else {
            root.intercept::<BeforePermission>("g").gate(async |_, _| Verdict::Continue).unwrap();
            root.publish(BeforePermission::new("Shell")).await.unwrap().receipt().cloned()
        };
        receipt.unwrap().event.clone()
    })
}
