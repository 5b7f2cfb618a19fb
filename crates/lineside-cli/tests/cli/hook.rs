//! `lineside hook` with a real daemon, and without one: every call is a process, and so is the daemon.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lineside::hosts::{HOSTS, Host, HostCall};
use lineside::json::{Value, json};
use lineside::prelude::{BeforeTool, Verdict};

use crate::daemon::Daemon;
use crate::stage::{Said, Stage};

/// The text that closes a gate without a daemon.
const UNREACHABLE: &str = "the runtime cannot be reached";
/// The text that closes a gate for a document that cannot be read.
const UNREADABLE: &str = "the hook input could not be read";

pub(crate) fn tool(session: &str, command: &str) -> String {
    let input = json!({"command": command});
    json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash", "tool_input": input})
        .to_string()
}

/// A stage whose user has a hook that refuses what has `rm` in it.
pub(crate) fn guarded() -> Stage {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    stage.file("project/.lineside/hooks.yaml", GUARD);
    stage
}

const GUARD: &str = "hooks:\n  - name: no-rm\n    on: before_tool\n    command: [\"sh\", \"-c\", \"if grep -q rm; then echo '{\\\"verdict\\\": \\\"block\\\", \\\"reason\\\": \\\"not rm\\\"}'; fi\"]\n";

/// Ends the daemon that a call has started.
pub(crate) struct Background<'a>(pub(crate) &'a Stage);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.0.run(&["stop"], "");
    }
}

pub(crate) fn status(stage: &Stage) -> Value {
    stage.run(&["status", "--json"], "").json().first().cloned().unwrap_or_default()
}

pub(crate) fn given(stage: &Stage, mut command: Command, input: &[u8]) -> Said {
    let mut child = command.spawn().unwrap();
    // It may have answered without reading all of it.
    child.stdin.take().unwrap().write_all(input).ok();
    stage.said(child)
}

#[test]
fn a_call_is_decided_by_the_daemon_in_the_words_of_its_host() {
    // HO-17
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let said = stage.run(&["hook", "claude"], tool("c1", "rm x"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let answer = &said.json()[0]["hookSpecificOutput"];
    assert_eq!(
        (&answer["permissionDecision"], &answer["permissionDecisionReason"]),
        (&json!("deny"), &json!("not rm"))
    );
    let said = stage.run(&["hook", "kimi"], tool("k1", "rm x"));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(2), "", "not rm\n"));
    let said = stage.run(&["hook", "claude"], tool("c1", "ls"));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    let said = stage.run(&["--color", "never", "hook", "cursor", "--event", "preToolUse"], "{}");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "{\"permission\":\"allow\"}\n"));
    // CX-3: the document of the setting `notify` is an argument, and nothing is answered.
    let done = json!({"type": "agent-turn-complete", "thread-id": "t1", "last-assistant-message": "done"});
    for (document, sessions) in [(done.to_string(), 4), ("{".to_owned(), 4)] {
        let said = stage.run(&["hook", "codex", "--notify", &document], "not read");
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
        let seen = &status(&stage)["sessions"];
        assert_eq!(seen, &json!(sessions), "sessions of hosts are sessions of the daemon");
    }
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    drop(daemon);
}

#[test]
fn law_13_an_agent_program_is_under_the_hooks_of_the_session_that_started_it() {
    let stage = Stage::new();
    let daemon = Daemon::start(&stage);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let socket = stage.path("home/.local/state/lineside/lineside.sock");
    let parent = runtime.block_on(lineside::Client::new(&socket).session("p").open()).unwrap();
    let gate = parent.intercept::<BeforeTool>("no-rm").gate(|call, _| {
        let deletes = call.command().is_some_and(|command| command.contains("rm"));
        std::future::ready(if deletes { Verdict::block("not below me") } else { Verdict::Continue })
    });
    runtime.block_on(gate).unwrap();
    let below = |command: &str| {
        let mut host = stage.command(&["hook", "claude"]);
        host.envs(parent.environment().iter());
        given(&stage, host, tool("c1", command).as_bytes())
    };
    let said = below("rm x");
    assert!(said.out.contains("\"deny\"") && said.out.contains("not below me"), "{said:?}");
    let said = below("ls");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    drop(daemon);
}

#[test]
fn a_call_without_a_daemon_starts_one_and_only_one_that_keeps_nothing_of_the_host() {
    // HO-35, HO-66
    let stage = guarded();
    let _background = Background(&stage);
    let project = stage.path("project");
    let variables = [
        ("ANTHROPIC_API_KEY", "secret"),
        ("CLAUDE_PROJECT_DIR", project.to_str().unwrap()),
        ("MY_TOKEN", "secret"),
        ("SSH_AUTH_SOCK", "/s"),
        ("XDG_CONFIG_HOME", "/nowhere"),
        ("LD_LIBRARY_PATH", "/nowhere"),
        ("LINESIDE_GRANT", ""),
    ];
    // The host has a descriptor open that its hooks inherit, as a pipe that it reads to its end.
    let begin = |_| {
        let mut shell = Command::new("sh");
        let host = stage.command(&["hook", "claude"]);
        shell.args(["-c", "exec \"$@\" 7>&2 9>&2", "sh"]).arg(host.get_program()).args(host.get_args());
        shell.env_clear().envs(host.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.envs(variables).current_dir(stage.path("project"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        child.stdin.take().unwrap().write_all(tool("c1", "ls").as_bytes()).unwrap();
        child
    };
    let calls: Vec<Child> = (0..4).map(begin).collect();
    let mut notices = 0;
    for child in calls {
        // Reading to the end of its pipes shows that nothing holds them.
        let said = stage.said(child);
        let is_notice =
            said.out.contains("no person has trusted them") && said.out.contains("lineside trust");
        notices += usize::from(is_notice);
        assert_eq!((said.code, said.out.is_empty() || is_notice, said.err.as_str()), (Some(0), true, ""));
    }
    // Arrivals of one call have one answer.
    assert!([1, 4].contains(&notices), "{notices}");
    let found = status(&stage);
    assert_eq!((&found["status"], &found["sessions"]), (&json!("ok"), &json!(1)), "{found}");
    let pid = found["pid"].as_u64().unwrap();
    let open: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .collect();
    assert_eq!(open.iter().filter(|path| *path == "/dev/null").count(), 3, "{open:?}");
    assert!(!open.iter().any(|path| path.starts_with("pipe:")), "{open:?}");
    let environment = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    let pairs: Vec<(&str, &str)> = environment.split('\0').filter_map(|pair| pair.split_once('=')).collect();
    let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    let known = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER", "XDG_RUNTIME_DIR"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    let (home, path) = (stage.path("home"), stage.path("home/.cargo/bin"));
    assert!(pairs.contains(&("HOME", home.to_str().unwrap())), "{pairs:?}");
    let of_daemon = pairs.iter().find(|(name, _)| *name == "PATH").unwrap().1;
    assert!(
        of_daemon.starts_with("/usr/local/sbin:") && of_daemon.ends_with(path.to_str().unwrap()),
        "{of_daemon}"
    );
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), std::path::Path::new("/"));
    // Session and group are its own: field 5 and 6 of the line, behind the name in brackets.
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = line.rsplit_once(") ").unwrap().1.split(' ').collect();
    let session: u64 = fields[3].parse().unwrap();
    assert_eq!((session, fields[1]), (pid, "1"), "{line}");
}

#[test]
fn d11_without_a_daemon_that_can_be_started_gates_are_closed_at_once_and_the_rest_is_open() {
    let stage = Stage::new();
    let _background = Background(&stage);
    stage.file("home/.local/state/lineside", "a file where the folder should be");
    let began = Instant::now();
    let said = stage.run(&["hook", "claude"], tool("c1", "ls"));
    assert!(said.code == Some(0) && said.out.contains(UNREACHABLE), "{said:?}");
    let stop = json!({"hook_event_name": "Stop", "session_id": "c1"}).to_string();
    let said = stage.run(&["hook", "claude"], stop);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    let other = ["hook", "codex", "--socket", "/proc/none/none.sock"];
    let said = stage.run(&other, tool("c1", "ls"));
    assert!(said.code == Some(0) && said.out.contains(UNREACHABLE), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_daemon_that_closes_the_connection_or_lets_others_in_is_not_believed() {
    let stage = Stage::new();
    let folder = stage.path("run");
    std::fs::create_dir(&folder).unwrap();
    let socket = folder.join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let answer = "HTTP/1.1 200 OK\r\nlineside-protocol: 1\r\nlineside-exit: 0\r\nlineside-stdout-bytes: 0\r\ncontent-length: 0\r\n\r\n";
    let serve = |mut stream: UnixStream, answer: &str| {
        let mut bytes = [0; 4096];
        assert!(stream.read(&mut bytes).unwrap() > 0);
        stream.write_all(answer.as_bytes()).unwrap();
    };
    let ask = || stage.command(&["hook", "claude", "--socket", socket.to_str().unwrap()]).spawn().unwrap();
    let told = |mut child: Child| {
        child.stdin.take().unwrap().write_all(tool("c1", "ls").as_bytes()).unwrap();
        child
    };
    for (mode, answer, is_closed) in [(0o700, "", true), (0o700, answer, false), (0o750, answer, true)] {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let child = told(ask());
        if mode == 0o700 {
            serve(listener.accept().unwrap().0, answer);
        }
        let said = stage.said(child);
        assert_eq!(said.out.contains("so this was denied"), is_closed, "{mode:o} {said:?}");
    }
}

#[test]
fn law_19_hooks_that_are_off_are_off_without_a_daemon() {
    let stage = guarded();
    let _background = Background(&stage);
    assert_eq!(stage.run(&["off"], "").code, Some(0));
    let said = stage.run(&["hook", "claude"], tool("c1", "rm x"));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    let passes = "{\"permission\":\"allow\"}\n";
    assert_eq!(stage.run(&["hook", "cursor", "--event", "preToolUse"], "x").out, passes);
    assert_eq!(status(&stage)["status"], json!("no daemon"), "none was started");
}

#[test]
fn a_document_that_is_none_closes_the_gate_that_the_entry_names() {
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let said = stage.run(&["hook", "copilot", "--event", "preToolUse"], "garbage");
    assert!(said.code == Some(0) && said.out.contains(UNREADABLE), "{said:?}");
    let said = stage.run(&["hook", "copilot", "--event", "agentStop"], "[]");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    let said = stage.run(&["hook", "claude"], "");
    assert!(said.code == Some(2) && said.err.contains(UNREADABLE) && said.out.is_empty(), "{said:?}");
    let said = stage.run(&["hook", "vim"], "");
    assert!(said.code == Some(2) && said.err.contains("there is no host \"vim\""), "{said:?}");
    drop(daemon);
}

#[test]
fn a_document_of_64_mib_is_decided_and_one_byte_more_is_refused() {
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let document = |length: usize| {
        let empty = tool("c1", "rm ");
        tool("c1", &format!("rm {}", "x".repeat(length - empty.len())))
    };
    let said = stage.run(&["hook", "claude"], document(64 << 20));
    assert!(said.code == Some(0) && said.out.contains("\"deny\"") && said.out.contains("not rm"), "{said:?}");
    let said = stage.run(&["hook", "claude"], document((64 << 20) + 1));
    assert!(
        said.code == Some(0) && said.out.contains("\"deny\"") && said.out.contains(UNREADABLE),
        "{said:?}"
    );
    // What is not read to its end has named its event.
    let said = stage.run(&["hook", "claude"], document((64 << 20) + 2));
    assert!(
        said.code == Some(0) && said.out.contains("\"deny\"") && said.out.contains(UNREADABLE),
        "{said:?}"
    );
    drop(daemon);
}

#[test]
fn a_host_that_closes_its_side_early_harms_nothing() {
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let mut child = stage.command(&["hook", "kimi"]).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    child.stdin.take().unwrap().write_all(tool("k1", "rm x").as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "the exit status is a word as well");
    let mut child = stage.command(&["hook", "claude"]).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    child.stdin.take().unwrap().write_all(tool("c1", "rm x").as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "the only word that is left");
    assert_eq!(status(&stage)["status"], json!("ok"));
    drop(daemon);
}

#[test]
fn a_call_whose_process_is_killed_is_given_up_by_the_daemon() {
    let stage = Stage::new();
    let (began, ended) = (stage.path("project/began"), stage.path("project/ended"));
    for pipe in [&began, &ended] {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let script = "trap 'echo > ended; exit' TERM; echo > began; sleep 600 & wait";
    let hook = json!({"hooks": [{"name": "slow", "on": "before_tool", "command": ["sh", "-c", script]}]});
    stage.file("project/.lineside/hooks.yaml", &hook.to_string());
    let daemon = Daemon::start(&stage);
    // The command itself, and no program around it, is what is killed.
    let mut child = Command::new(env!("CARGO_BIN_EXE_lineside"));
    child.args(["hook", "claude", "--home"]).arg(stage.path("home")).current_dir(stage.path("project"));
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(tool("c1", "ls").as_bytes()).unwrap();
    std::fs::read(&began).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::read(&ended).unwrap();
    drop(daemon);
}

#[test]
fn what_a_hook_of_the_daemon_leaves_behind_holds_no_pipe_of_the_host() {
    // HO-65, HO-66
    let stage = Stage::new();
    let leaves = "sleep 600 & echo '{\"verdict\": \"block\", \"reason\": \"no\"}'";
    let hook = json!({"hooks": [{"name": "leaves", "on": "before_tool", "command": ["sh", "-c", leaves]}]});
    stage.file("project/.lineside/hooks.yaml", &hook.to_string());
    let daemon = Daemon::start(&stage);
    // The pipes come to their end, or this would not.
    let said = stage.run(&["hook", "claude"], tool("c1", "ls"));
    assert!(said.out.contains("\"deny\""), "{said:?}");
    drop(daemon);
}

#[test]
fn a_daemon_that_is_started_by_hand_in_the_background_answers_when_the_command_returns() {
    let stage = Stage::new();
    let _background = Background(&stage);
    let starts: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| stage.run(&["serve", "--detached"], ""))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for said in &starts {
        assert!(said.code == Some(0) && said.out.starts_with("ready: "), "{said:?}");
    }
    assert_eq!(status(&stage)["status"], json!("ok"));
}

#[test]
fn the_request_of_the_page_of_hosts_is_answered() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.starts_with("curl ")).unwrap();
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let mut shell = Command::new("sh");
    shell.args(["-ec", block]).env("SOCKET", stage.path("home/.local/state/lineside/lineside.sock"));
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("\r\nlineside-exit: 0"), "{text}");
    assert!(head.contains(&format!("\r\nlineside-stdout-bytes: {}", body.len())), "{text}");
    assert!(body.contains("\"deny\"") && body.contains("not rm"), "{text}");
    drop(daemon);
}

#[test]
fn the_words_without_a_daemon_are_those_of_the_daemon() {
    let events: Vec<&str> = EVENTS.split_whitespace().collect();
    let bodies = [
        "\"session_id\":\"s\",\"prompt\":\"hi\"",
        "\"sessionId\":\"s\",\"prompt\":\"\"",
        "\"cursor_version\":\"1\"",
        "\"source\":\"policy_settings\"",
        "\"session_id\":\"s\",\"timestamp\":\"2026-11-29T08:34:52.455Z\"",
        "\"timestamp\":\"t\",\"transcript_path\":\"/t\"",
        "\"timestamp\":\"t\",\"transcript_path\":\"/t\",\"stop_reason\":\"end_turn\"",
    ];
    let mut compared = 0;
    for host in HOSTS {
        for event in &events {
            let named = |body: &str| format!("{{\"hook_event_name\":\"{event}\",{body}}}");
            let documents = bodies.iter().flat_map(|body| [named(body), format!("{{{body}}}")]);
            let broken = ["[".to_owned(), format!("{{\"hook_event_name\":\"{event}\"")];
            for document in documents.chain(broken) {
                for entry in [None, Some(*event)] {
                    compare(host, entry, &document);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 14_000, "{compared}");
}

/// The names of the events of all hosts, some that are close to them, and one that there is not.
const EVENTS: &str = "SessionStart SessionEnd UserPromptSubmit UserPromptExpansion PreToolUse PostToolUse PostToolUseFailure \
    PostToolBatch PermissionRequest PermissionDenied PermissionResult SubagentStart SubagentStop Stop StopFailure PreCompact \
    PostCompact Notification TaskCreated TaskCompleted TaskStarted TeammateIdle ConfigChange WorktreeCreate WorktreeRemove \
    PreModelSwitch PostModelSwitch Elicitation ElicitationResult MessageDisplay Setup InstructionsLoaded CwdChanged FileChanged \
    Interrupt ErrorOccurred UserPromptTransformed sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse \
    postToolUse postToolUseFailure permissionRequest agentStop subagentStart subagentStop preCompact errorOccurred notification \
    beforeSubmitPrompt beforeShellExecution beforeMCPExecution beforeReadFile beforeTabFileRead afterShellExecution \
    afterMCPExecution afterFileEdit afterTabFileEdit afterAgentResponse afterAgentThought stop workspaceOpen BeforeAgent \
    AfterAgent BeforeModel AfterModel BeforeToolSelection BeforeTool AfterTool PreCompress BeforeShellExecution Nothing";

fn compare(host: Host, event: Option<&str>, document: &str) {
    let stdin = document.as_bytes();
    let of_daemon = HostCall { host, event: event.map(str::to_owned), stdin: stdin.to_vec() };
    let host_of_shim = lineside_shim::Host::named(host.name()).unwrap();
    let call = lineside_shim::Call { host: host_of_shim, event, stdin, grant: None };
    let closed = lineside_shim::closed(&call, lineside_shim::Closed::Unreachable);
    let silent = lineside_shim::silent(&call);
    let own = [lineside::hosts::unreachable(of_daemon.clone()), lineside::hosts::silent(of_daemon)];
    for (shim, daemon) in [closed, silent].into_iter().zip(own) {
        let shim =
            (String::from_utf8(shim.stdout).unwrap(), String::from_utf8(shim.stderr).unwrap(), shim.exit);
        assert_eq!(shim, (daemon.stdout, daemon.stderr, daemon.exit), "{host} {event:?} {document}");
    }
}

/// Variables that hosts set for the programs that they start, with values that would say something.
const MARKS: &str = "CLAUDE_PROJECT_DIR CLAUDECODE CODEX_HOME COPILOT_CLI CURSOR_PROJECT_DIR CURSOR_VERSION GEMINI_CWD \
    GEMINI_PROJECT_DIR GEMINI_SESSION_ID KIMI_HOME QWEN_PROJECT_DIR";

#[test]
fn the_variables_of_hosts_change_no_answer() {
    let stage = guarded();
    let ask = |entry: Host, event: &str, variables: &[(&str, &str)]| {
        let document = json!({"hook_event_name": event, "session_id": "s", "conversation_id": "s", "prompt": "hi",
            "cwd": stage.path("project"), "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}});
        let mut command = stage.command(&["hook", entry.name()]);
        command.envs(variables.iter().copied());
        let said = given(&stage, command, document.to_string().as_bytes());
        (said.code, said.out, said.err)
    };
    let marks: Vec<_> = MARKS.split_whitespace().map(|name| (name, "/proc/self/cwd")).collect();
    let daemon = Daemon::start(&stage);
    assert!(ask(Host::Gemini, "BeforeTool", &marks).1.contains("not rm"));
    for entry in HOSTS {
        for event in
            ["PreToolUse", "preToolUse", "BeforeTool", "PermissionRequest", "UserPromptSubmit", "Stop"]
        {
            assert_eq!(ask(entry, event, &marks), ask(entry, event, &[]), "{entry} {event}");
        }
    }
    drop(daemon);
}
