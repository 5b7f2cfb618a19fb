//! Hooks that lineside's own file declares, from the file to the decision: a real process, the real kit, a real server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use lineside::Assembly;
use lineside::assembly::State;
use lineside::core::{FailureKind, Outcome, SkipReason};
use lineside::dialects::{self, Places, Trust};
use lineside::prelude::*;

const SECRET: &str = "correct-horse-battery-staple";

const GUARD: &str = "#!/usr/bin/env python3
import os
from lineside_hook import hook, serve

@hook
def check(event, call):
    if call.hook == 'amend':
        return {'amend': {'tool_input': {'command': 'ls -a'}}, 'notice': f'amended by {os.getpid()}'}
    if 'rm -rf /' in event['payload']['tool_input']['command']:
        return {'verdict': 'block', 'reason': f'refuses to delete /, says {os.getpid()}'}

serve()
";

struct Project(tempfile::TempDir);

impl Project {
    fn with(hooks: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.file(".lineside/hooks.yaml", hooks);
        project
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// A bus without hooks, and where those of the project are.
    fn assembled(&self, trust: Trust) -> (Assembly, Places) {
        let assembly = Assembly::new(Bus::new()).only([dialects::find("native").unwrap()]);
        let places = Places {
            environment: BTreeMap::from([("HOOK_TOKEN".to_owned(), SECRET.to_owned())]),
            project_root: Some(self.root().to_owned()),
            cwd: self.root().to_owned(),
            trust,
        };
        (assembly, places)
    }

    /// A session with the hooks of the project, and their end.
    async fn run(&self, trust: Trust, test: impl AsyncFnOnce(&Session, &lineside::LoadReport)) {
        let (assembly, places) = self.assembled(trust);
        let report = assembly.load(&places).await.unwrap();
        assert_eq!(report.diagnostics.len(), 0, "{:?}", report.diagnostics);
        let root = self.root().to_str().unwrap();
        let session = assembly.bus().session("s").project_root(root).open().await.unwrap();
        test(&session, &report).await;
        assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
    }
}

fn shell(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({ "command": command }))
}

fn reason(decision: &Decision<BeforeTool>) -> String {
    match decision.verdict() {
        Verdict::Block(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Answers so many requests with these bodies; gives what was asked.
fn server(bodies: &'static [&'static str]) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/guard", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let answer = |body: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            loop {
                let mut chunk = [0; 4096];
                let read = stream.read(&mut chunk).unwrap();
                request.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, sent)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().unwrap())
                });
                if read == 0 || length.is_some_and(|length| sent.len() >= length) {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                        body.len()
                    );
                    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
                    return text;
                }
            }
        };
        bodies.iter().map(answer).collect()
    });
    (url, asked)
}

#[tokio::test]
async fn python_that_a_users_guard_hands_over_as_text_imports_no_module_of_the_project() {
    let (home, project) = (tempfile::tempdir().unwrap(), Project(tempfile::tempdir().unwrap()));
    project.file("json.py", "import sys\nsys.exit(0)\n");
    let guard = |how: &str| {
        format!(
            "- {{name: {how}, on: before_tool, command: {}}}\n",
            match how {
                "text" => "[python3, -c, 'import json, sys; sys.exit(2)']",
                _ => "\"printf 'import json, sys; sys.exit(2)' | python3 -\"",
            }
        )
    };
    for how in ["text", "input"] {
        let file = home.path().join(".config/lineside/hooks.yaml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("hooks:\n{}", guard(how))).unwrap();
        let (assembly, mut places) = project.assembled(Trust::Withheld);
        places.environment.insert("HOME".to_owned(), home.path().to_str().unwrap().to_owned());
        assembly.load(&places).await.unwrap();
        let root = project.root().to_str().unwrap();
        let session = assembly.bus().session("s").project_root(root).cwd(root).open().await.unwrap();
        let decision = session.publish(shell("ls")).await.unwrap();
        assert!(matches!(decision.verdict(), Verdict::Block(_)), "{how}: {:?}", decision.verdict());
        assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
    }
}

#[tokio::test]
async fn a_command_of_the_file_judges_and_its_failure_refuses() {
    let project = Project::with(
        "hooks:\n- name: guard\n  on: before_tool\n  match: {tool: Shell}\n  command: [./guard.sh]\n  env: {LEVEL: 3}\n",
    );
    let script = "#!/bin/sh\nread -r event\ncase $event in\n*'rm -rf'*) echo \"not at level $LEVEL\" >&2; exit 2;;\n*break*) exit 7;;\nesac\n";
    project.file("guard.sh", script);
    project
        .run(Trust::Granted, async |session, _| {
            assert!(!session.publish(shell("ls")).await.unwrap().is_refused());
            assert_eq!(reason(&session.publish(shell("rm -rf /")).await.unwrap()), "not at level 3");
            let broken = reason(&session.publish(shell("break")).await.unwrap());
            assert_eq!(broken, "hook \"guard\" failed: exit status 7");
            let other = BeforeTool::new("Read", json!({"command": "rm -rf"}));
            assert!(!session.publish(other).await.unwrap().is_refused());
        })
        .await;
}

#[tokio::test]
async fn two_hooks_share_a_worker_written_with_the_kit() {
    let worker = "worker: {program: [python3, guard.py]}";
    let project = Project::with(&format!(
        "hooks:\n- {{name: guard, on: before_tool, priority: 5, {worker}}}\n- {{name: amend, on: before_tool, amends: true, {worker}}}\n"
    ));
    project.file("guard.py", GUARD);
    let kit = lineside::KITS.iter().find(|kit| kit.text.contains("def serve")).unwrap();
    project.file(kit.file, kit.text);
    project
        .run(Trust::Granted, async |session, _| {
            let amended = session.publish(shell("ls")).await.unwrap();
            assert!(!amended.is_refused(), "{:?}", amended.verdict());
            assert_eq!(amended.payload().tool_input["command"], "ls -a");
            let notice = &amended.notices()[0].what.text;
            let refused = reason(&session.publish(shell("rm -rf /")).await.unwrap());
            assert_eq!(
                refused.rsplit_once(' ').unwrap().1,
                notice.rsplit_once(' ').unwrap().1,
                "one process"
            );
        })
        .await;
}

#[tokio::test]
async fn a_post_has_its_secret_and_no_failure_tells_it() {
    let (url, asked) = server(&[
        "{\"verdict\": \"block\", \"reason\": \"not today\"}",
        "{\"verdict\": \"correct-horse-battery-staple\"}",
        "{}",
    ]);
    let project = Project::with(&format!(
        "hooks:\n- name: guard\n  on: before_tool\n  post:\n    url: {url}\n    headers: {{X-Key: 'key ${{HOOK_TOKEN}}'}}\n    secrets: [HOOK_TOKEN]\n"
    ));
    project
        .run(Trust::Granted, async |session, _| {
            assert_eq!(reason(&session.publish(shell("ls")).await.unwrap()), "not today");
            let broken = session.publish(shell("ls")).await.unwrap();
            let receipt = broken.receipt().unwrap();
            let Outcome::Failed { failure, .. } = &receipt.runs[0].outcome else { panic!("{receipt:?}") };
            assert_eq!(failure.kind, FailureKind::Output);
            assert!(!format!("{receipt:?} {failure:?} {}", reason(&broken)).contains(SECRET), "{receipt:?}");
            assert!(!session.publish(shell("ls")).await.unwrap().is_refused());
        })
        .await;
    for request in asked.join().unwrap() {
        assert!(request.to_lowercase().contains(&format!("x-key: key {SECRET}\r\n")), "{request}");
        let body: lineside::json::Value =
            lineside::json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(
            (&body["point"], &body["payload"]["tool_input"]["command"]),
            (&json!("before_tool"), &json!("ls"))
        );
    }
}

#[tokio::test]
async fn hooks_of_a_project_that_nobody_trusts_are_listed_and_not_started() {
    let project = Project::with(
        "hooks:\n- {name: touch, on: [before_tool, on_idle], command: touch started; exit 2}\n- {name: warm, on: before_tool, worker: {program: [touch, started], start: ahead}}\n",
    );
    project
        .run(Trust::Withheld, async |session, report| {
            let states: Vec<_> = report.hooks.iter().map(|found| (found.point, found.state)).collect();
            let off = State::Off(SkipReason::Untrusted);
            assert_eq!(states, [("before_tool", off), ("on_idle", off), ("before_tool", off)]);
            assert!(!session.publish(shell("ls")).await.unwrap().is_refused());
            drop(session.publish(OnIdle::new()).await.unwrap());
        })
        .await;
    assert!(!project.root().join("started").exists());
}

#[tokio::test]
async fn nobody_waits_for_a_hook_that_is_told() {
    let project = Project::with(
        "hooks:\n- {name: told, on: on_idle, command: touch told}\n- {name: async, on: before_tool, async: true, command: touch heard; exit 2}\n",
    );
    project
        .run(Trust::Granted, async |session, _| {
            drop(session.publish(OnIdle::new()).await.unwrap());
            assert!(!session.publish(shell("ls")).await.unwrap().is_refused());
        })
        .await;
    // The drain waits for both.
    assert!(project.root().join("told").exists() && project.root().join("heard").exists());
}

/// `CARGO_PKG_NAME` stands for the keys in the environment of an agent: it is set wherever this test runs.
#[tokio::test]
async fn hooks_of_a_project_do_not_see_the_whole_environment() {
    let blocks = "{\"verdict\": \"block\", \"reason\": \"sees it\"}";
    let command =
        format!("command: \"[ -z \\\"$CARGO_PKG_NAME\\\" ] || echo '{}'\"", blocks.replace('"', "\\\""));
    let script = "from lineside_hook import hook, serve\nimport os\n\n@hook\ndef check(event):\n    if 'CARGO_PKG_NAME' in os.environ:\n        return {'verdict': 'block', 'reason': 'sees it'}\n\nserve()\n";
    for run in [command.as_str(), "worker: {program: [python3, guard.py]}"] {
        for (environment, sees) in [
            ("", false),
            ("environment: minimal", false),
            ("environment: [CARGO_PKG_NAME]", true),
            ("environment: inherit", true),
        ] {
            let project = Project::with(&format!(
                "hooks:\n- name: guard\n  on: before_tool\n  {run}\n  {environment}\n"
            ));
            project.file("guard.py", script);
            let kit = lineside::KITS.iter().find(|kit| kit.text.contains("def serve")).unwrap();
            project.file(kit.file, kit.text);
            project
                .run(Trust::Granted, async |session, _| {
                    let decision = session.publish(shell("ls")).await.unwrap();
                    let expected = if sees { Verdict::block("sees it") } else { Verdict::Continue };
                    assert_eq!(*decision.verdict(), expected, "{run}, {environment}");
                })
                .await;
        }
    }
}

/// A hook of each format that leaves a file when it sees a variable of ours.
const SEES: &[(&str, &str)] = &[
    (".agents/hooks/g/HOOK.md", "---\nname: g\ndescription: d\ntrigger: before_tool\n---\n"),
    (".agents/hooks/w/HOOK.md", "---\nname: w\ndescription: d\ntrigger: before_tool\nmode: worker\n---\n"),
    (".chord/config.yaml", "hooks:\n  on_tool_call:\n  - {name: g, command: [$ROOT/sees]}\n"),
    (".flyto/settings.json", "{\"hooks\": {\"pre_tool_use\": [{\"command\": \"$ROOT/sees\"}]}}"),
    (".jcli/hooks/g/HOOK.yaml", "events: [pre_tool_execution]\ncommand: $ROOT/sees\n"),
    (
        ".claude/settings.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"$ROOT/sees\"}]}]}}",
    ),
    (
        ".codex/hooks.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"$ROOT/sees\"}]}]}}",
    ),
    (
        ".github/hooks/g.json",
        "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"type\": \"command\", \"bash\": \"$ROOT/sees\"}]}}",
    ),
    (".cursor/hooks.json", "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"$ROOT/sees\"}]}}"),
    (
        ".gemini/settings.json",
        "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"$ROOT/sees\"}]}]}}",
    ),
    (".kimi/config.toml", "[[hooks]]\nevent = 'PreToolUse'\ncommand = '$ROOT/sees'\n"),
    (
        ".openclaw/plugins/p/index.mjs",
        "import { writeFileSync } from 'node:fs';\nexport default { id: 'p', register(api) { api.on('before_tool_call', () => {\n  if (process.env.CARGO_PKG_NAME) writeFileSync('$ROOT/saw', '');\n}); } };\n",
    ),
];

#[tokio::test]
async fn the_environment_of_the_users_file_holds_for_the_hooks_of_every_format() {
    let sees = "#!/bin/sh\n[ -z \"$CARGO_PKG_NAME\" ] || touch \"$ROOT/saw\"\n";
    let worker =
        "#!/bin/sh\n[ -z \"$CARGO_PKG_NAME\" ] || touch \"$ROOT/saw\"\nexec python3 \"$ROOT/worker.py\"\n";
    for (file, text) in SEES {
        for (environment, expected) in [
            ("", true),
            ("environment: inherit", true),
            ("environment: [CARGO_PKG_NAME]", true),
            ("environment: minimal", false),
            ("environment: none", false),
            ("environment: minimal\nhooks: [", false),
        ] {
            let room = tempfile::tempdir().unwrap();
            let root = room.path().to_str().unwrap();
            let write = |name: &str, text: &str| {
                let path = room.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text.replace("$ROOT", root)).unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(path, mode).unwrap();
            };
            write(file, text);
            write("sees", sees);
            write(".agents/hooks/g/scripts/run", sees);
            write(".agents/hooks/w/scripts/run", worker);
            write(
                "worker.py",
                "from lineside_hook import hook, serve\n\n@hook\ndef check(event):\n    pass\n\nserve()\n",
            );
            let kit = lineside::KITS.iter().find(|kit| kit.text.contains("def serve")).unwrap();
            write(kit.file, kit.text);
            write(
                ".openclaw/plugins/p/openclaw.plugin.json",
                "{\"id\": \"p\", \"configSchema\": {\"type\": \"object\"}}",
            );
            write(
                ".openclaw/plugins/p/package.json",
                "{\"name\": \"p\", \"version\": \"1.0.0\", \"type\": \"module\", \"openclaw\": {\"extensions\": [\"./index.mjs\"]}}",
            );
            if !file.starts_with(".openclaw") {
                std::fs::remove_dir_all(room.path().join(".openclaw")).unwrap();
            }
            write(".config/lineside/hooks.yaml", environment);
            let places = Places {
                environment: [
                    ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                    ("HOME".to_owned(), root.to_owned()),
                ]
                .into(),
                project_root: Some(room.path().to_owned()),
                cwd: room.path().to_owned(),
                trust: Trust::Granted,
            };
            let assembly = Assembly::new(Bus::new());
            assembly.load(&places).await.unwrap();
            let session = assembly.bus().session("s1").project_root(root).open().await.unwrap();
            drop(session.publish(shell("ls")).await.unwrap());
            drop(assembly.drain(Duration::from_secs(10)).await);
            assert_eq!(room.path().join("saw").exists(), expected, "{file}, {environment}");
        }
    }
}

/// Says that it begins, waits until it may go on, and refuses every call by its name.
const SLOW: &str = "#!/usr/bin/env python3
import json, sys
sys.stdin.readline()
NAME = 'old'
if NAME == 'old':
    open('begun', 'w').close()
    open('go').close()
def say(**frame):
    print(json.dumps(frame), flush=True)
say(type='hello', protocol=2, concurrency=1)
for line in sys.stdin:
    frame = json.loads(line)
    if frame['type'] == 'call':
        say(type='answer', id=frame['id'], answer={'verdict': 'block', 'reason': NAME})
    elif frame['type'] == 'shutdown':
        break
";

#[tokio::test]
async fn a_reload_refuses_no_call_that_waits_for_the_start_of_its_worker() {
    let project = Project::with(
        "hooks:\n- {name: guard, on: before_tool, on_failure: continue, worker: {program: [./guard.py]}}\n",
    );
    project.file("guard.py", SLOW);
    let paths = ["begun", "go"].map(|name| project.root().join(name));
    assert!(std::process::Command::new("mkfifo").args(&paths).status().unwrap().success());
    let [begun, go] = paths;
    let (assembly, places) = project.assembled(Trust::Granted);
    assembly.load(&places).await.unwrap();
    let session = assembly.bus().session("s").open().await.unwrap();
    let call = async || reason(&session.publish(shell("ls")).await.unwrap());
    let reload = async {
        tokio::task::spawn_blocking(|| fs::File::open(begun)).await.unwrap().unwrap();
        project.file("guard.py", &SLOW.replace("NAME = 'old'", "NAME = 'new'"));
        assembly.load(&places).await.unwrap();
        assert_eq!(call().await, "new", "the successor has the calls of the new hooks");
        tokio::task::spawn_blocking(|| fs::OpenOptions::new().write(true).open(go)).await.unwrap().unwrap();
    };
    let (one, two, three, ()) = tokio::join!(biased; call(), call(), call(), reload);
    assert_eq!([one, two, three], ["old"; 3], "each was accepted before the reload");
    assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
}
