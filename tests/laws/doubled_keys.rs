//! Law 3: an answer with a key that stands there twice is never more lenient than it is for a reader who takes
//! the first of them, or for one who takes the last, and never an approval unless it is one for both. In every format
//! whose hooks print JSON.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lineside::core::invocation::{Captured, Ended, Exit, Leaked};
use lineside::core::worker::WorkerEnded;
use lineside::core::{AnyEvent, Strength};
use lineside::dialects::{Handler, Places, Returned, Trust, find};
use lineside::prelude::*;
use proptest::prelude::*;

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

struct Format {
    name: String,
    handler: Arc<dyn Handler>,
    event: AnyEvent,
    in_worker: bool,
}

static ALL: LazyLock<Vec<Format>> = LazyLock::new(|| FORMATS.iter().map(Format::load).collect());

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
        Self { name, handler: Arc::clone(&hook.handler), event, in_worker: *in_worker }
    }

    /// The verdict of what a hook prints; `None` for a failure.
    fn read(&self, printed: &str) -> Option<Verdict> {
        let captured = |text: &str| Captured { bytes: text.as_bytes().to_vec(), dropped: 0 };
        let returned = if self.in_worker {
            Returned::Worker(WorkerEnded::Answered(printed.to_owned()))
        } else {
            Returned::Command(Ended {
                exit: Exit::Code(0),
                stdout: captured(printed),
                stderr: captured(""),
                took: Duration::ZERO,
                leaked: Leaked::Nothing,
            })
        };
        self.handler.read(&self.event, &returned).ok().map(|answer| answer.verdict)
    }
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

/// A field of an answer: its key, as it may be written as well, and its value.
#[derive(Debug, Clone)]
struct Field {
    key: &'static str,
    escaped: bool,
    value: String,
}

impl Field {
    fn text(&self) -> String {
        let key = match self.key.split_at(1) {
            (first, rest) if self.escaped => format!("\\u{:04x}{rest}", u32::from(first.as_bytes()[0])),
            _ => self.key.to_owned(),
        };
        format!("\"{key}\":{}", self.value)
    }
}

/// A field whose value is none of an object within the answer.
fn plain(keys: &'static [&'static str]) -> impl Strategy<Value = Field> {
    let values = vec![
        "\"continue\"",
        "\"allow\"",
        "\"approve\"",
        "\"ask\"",
        "\"deny\"",
        "\"block\"",
        "\"stop\"",
        "\"skip\"",
        "\"abort\"",
        "\"\"",
        "true",
        "false",
        "null",
        "1",
        "{}",
    ];
    (prop::sample::select(keys), any::<bool>(), prop::sample::select(values))
        .prop_map(|(key, escaped, value)| Field { key, escaped, value: value.to_owned() })
}

/// The keys that decide in one format or another.
const KEYS: &[&str] = &[
    "verdict",
    "decision",
    "action",
    "abort",
    "continue",
    "stop",
    "reason",
    "permission",
    "permissionDecision",
];

/// What agent programs read within `hookSpecificOutput`; some take no refusal without its reason.
fn said_within(key: &str, value: &str) -> String {
    format!("{{\"hookEventName\":\"PreToolUse\",\"{key}\":\"{value}\",\"permissionDecisionReason\":\"r\"}}")
}

fn field() -> impl Strategy<Value = Field> {
    let within = prop::sample::select(vec!["allow", "ask", "deny"]).prop_map(|decision| Field {
        key: "hookSpecificOutput",
        escaped: false,
        value: said_within("permissionDecision", decision),
    });
    prop_oneof![4 => plain(KEYS), 1 => within]
}

fn object<'a>(fields: impl IntoIterator<Item = &'a Field>) -> String {
    format!("{{{}}}", fields.into_iter().map(Field::text).collect::<Vec<_>>().join(","))
}

/// As a reader takes them who takes the first of each key.
fn firsts<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Vec<&'a Field> {
    let mut taken: Vec<&Field> = Vec::new();
    for field in fields {
        if !taken.iter().any(|other| other.key == field.key) {
            taken.push(field);
        }
    }
    taken
}

fn check(format: &Format, fields: &[Field]) {
    let printed = object(fields);
    let Some(verdict) = format.read(&printed) else { return };
    let readers =
        [object(firsts(fields)), object(firsts(fields.iter().rev()))].map(|one| (format.read(&one), one));
    for (other, one) in readers {
        let Some(other) = other else { continue };
        let (name, strength) = (&format.name, verdict.strength());
        // An approval that is not taken for one leaves the question to others, and that is the stricter reading.
        assert!(
            strength >= other.strength() || other.strength() == Strength::Allow,
            "{name}: {printed} is {verdict:?}, and {one} is {other:?}"
        );
        assert!(
            strength != Strength::Allow || other.strength() == Strength::Allow,
            "{name}: {printed}, {one}"
        );
    }
}

#[test]
fn every_format_tells_a_grant_from_a_refusal() {
    for format in &*ALL {
        let within = |key, value| format!("{{\"hookSpecificOutput\":{}}}", said_within(key, value));
        let grants_and_refusals: std::collections::BTreeSet<Strength> = KEYS
            .iter()
            .flat_map(|key| ["allow", "deny", "block", "stop"].map(|value| (key, value)))
            .flat_map(|(key, value)| {
                [
                    format!("{{\"{key}\":\"{value}\"}}"),
                    format!("{{\"{key}\":\"{value}\",\"reason\":\"r\"}}"),
                    within(key, value),
                ]
            })
            .chain(["{}".to_owned()])
            .filter_map(|printed| Some(format.read(&printed)?.strength()))
            .collect();
        assert!(grants_and_refusals.len() > 1, "{}: {grants_and_refusals:?}", format.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_doubled_key_is_never_read_as_an_approval(fields in prop::collection::vec(field(), 2..6)) {
        // Most of them have a key twice.
        let mut doubled = fields.clone();
        doubled.push(Field { value: "\"allow\"".to_owned(), ..fields[0].clone() });
        for format in &*ALL {
            check(format, &fields);
            check(format, &doubled);
        }
    }
}
