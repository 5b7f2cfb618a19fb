//! `lineside mcp`: what an agent may ask and propose, over the protocol as a client speaks it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lineside::json::{Value, from_str, json};

use crate::daemon::Daemon;
use crate::hook::given;
use crate::stage::Stage;

/// The arguments with which the page has an agent program start it.
fn words() -> Vec<String> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let settings: Value =
        from_str(page.split("```json\n").nth(1).unwrap().split_once("```").unwrap().0).unwrap();
    let server = &settings["mcpServers"]["lineside"];
    assert_eq!(server["command"], "lineside");
    server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(stage: &Stage) -> Self {
        let mut child = stage.command(&words()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, last: 0 };
        let begun = client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        );
        assert_eq!(begun["result"]["serverInfo"]["name"], "lineside");
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = from_str(&line).unwrap();
        assert_eq!(answer["id"], json!(self.last), "{answer}");
        answer
    }

    /// The text of an answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text, result["isError"] == json!(true))
    }

    fn told(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }

    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{text}");
        text
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const GUARD: &str = "hooks:
  - name: no-rm
    on: before_tool
    match: {runs: rm}
    verdict: block
    reason: not rm
";

/// An agent that is refused, and asks why when it is written to.
const ASKS_WHY: &str = "
import subprocess, sys
line, home, call = sys.argv[1:]
run = lambda *words, **more: subprocess.run(words, capture_output=True, text=True, **more).stdout
run(line, 'hook', 'claude', '--home', home, input=call)
print('refused', flush=True)
sys.stdin.readline()
print(run(line, 'why'))
";

#[test]
fn an_agent_that_asks_why_hears_of_its_own_refusal() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let _daemon = Daemon::start(&stage);
    let call = |session: &str, folder: &str, command: &str| {
        json!({"hook_event_name": "PreToolUse", "session_id": session, "cwd": stage.path(folder), "tool_name": "Bash",
            "tool_input": {"command": command}})
        .to_string()
    };
    let usual = stage.command(&["why"]);
    let mut agent = Command::new("python3");
    agent.args(["-c", ASKS_WHY, env!("CARGO_BIN_EXE_lineside")]).arg(stage.path("home"));
    agent.arg(call("s1", "project", "rm own"));
    agent.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    agent.current_dir(stage.path("home")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut agent = agent.spawn().unwrap();
    let (mut asks, mut told) = (agent.stdin.take().unwrap(), BufReader::new(agent.stdout.take().unwrap()));
    told.read_line(&mut String::new()).unwrap();
    given(&stage, stage.command(&["hook", "claude"]), call("s2", "home", "rm other").as_bytes());
    asks.write_all(b"\n").unwrap();
    let mut page = String::new();
    told.read_to_string(&mut page).unwrap();
    agent.wait().unwrap();
    assert!(page.contains("rm own") && !page.contains("rm other"), "{page}");
    assert!(!page.contains("another"), "it is its own: {page}");
    // Where it is not known who asks, it is the project that counts; a person asks about all.
    let page = Client::start(&stage).told("why", &json!({}));
    assert!(page.contains("rm own") && !page.contains("rm other"), "{page}");
    assert!(page.starts_with("It is not known which session asks"), "{page}");
    assert!(stage.run(&["why"], "").out.contains("rm other"));
}

#[test]
fn an_agent_asks_about_the_hooks_that_it_is_under() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", GUARD);
    let _daemon = Daemon::start(&stage);
    let mut client = Client::start(&stage);
    let tools = client.ask("tools/list", &json!({}));
    let tools: Vec<_> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(
        tools,
        ["list_hooks", "explain_command", "explain_event", "why", "tail", "validate", "propose_hook"]
    );
    assert!(client.told("list_hooks", &json!({})).contains("no-rm"));
    // A question is not refused as the command that it is about.
    let question = json!({"line": "sudo rm x"});
    let asks = json!({"hook_event_name": "PreToolUse", "session_id": "s0", "tool_name": "mcp__lineside__explain_command",
        "tool_input": question});
    let passed = given(&stage, stage.command(&["hook", "claude"]), asks.to_string().as_bytes());
    assert_eq!((passed.code, &*passed.out), (Some(0), ""), "{passed:?}");
    let explained = client.told("explain_command", &question);
    assert!(
        explained.contains("runs rm, by sudo") && explained.contains("1 of 1 hook would run"),
        "{explained}"
    );
    let event =
        json!({"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}});
    let explained = client.told("explain_event", &json!({"event": event}));
    assert!(explained.contains("nothing would run"), "{explained}");
    let call = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": stage.path("project"),
        "tool_name": "Bash", "tool_input": {"command": "rm x"}});
    let said = given(&stage, stage.command(&["hook", "claude"]), call.to_string().as_bytes());
    assert_eq!(said.code, Some(0), "{said:?}");
    let lines = client.told("tail", &json!({"query": "session:s1"}));
    let id = lines.rsplit("for `why`:\n  ").next().unwrap().split(' ').next().unwrap();
    for asked in [
        json!({"id": id}),
        json!({}),
        json!({"query": "session:s1"}),
        json!({"query": "rm", "refused": true}),
    ] {
        let page = client.told("why", &asked);
        assert!(page.contains("not rm (rm)") && page.contains(id), "{asked}: {page}");
    }
    let unknown = client.refused("why", &json!({"id": "ffffffff"}));
    assert!(unknown.contains("no event `ffffffff` is in the log"), "{unknown}");
}

#[test]
fn what_it_proposes_is_a_draft_and_nothing_is_in_force() {
    let stage = Stage::new();
    let _daemon = Daemon::start(&stage);
    let mut client = Client::start(&stage);
    let wrong = client.told("validate", &json!({"text": "hooks:\n  - name: x\n    on: before_tol\n"}));
    assert!(
        wrong.starts_with("error: hooks.yaml:3:") && wrong.contains("did you mean `before_tool`?"),
        "{wrong}"
    );
    let proposed = json!({"name": "no-rm", "text": GUARD, "reason": "deletions\u{1b}[2J are for people"});
    let told = client.told("propose_hook", &proposed);
    assert!(told.contains("Nothing of it is in force"), "{told}");
    let kept: Vec<_> =
        std::fs::read_dir(stage.path("home/.local/state/lineside/drafts")).unwrap().flatten().collect();
    let text = std::fs::read_to_string(kept[0].path()).unwrap();
    assert!(
        kept.len() == 1 && text.ends_with(GUARD) && text.contains("# deletions [2J are for people\n"),
        "{text}"
    );
    assert!(client.told("list_hooks", &json!({})).contains("no hook"));
    let explained = client.told("explain_command", &json!({"line": "rm x"}));
    assert!(!explained.contains("not rm"), "{explained}");
    for (wrong, why) in [
        (json!({"name": "no-rm", "text": GUARD, "reason": "again"}), "already"),
        (json!({"name": "../x", "text": GUARD, "reason": "out"}), "is no name"),
        (json!({"name": "x", "text": "hooks: [", "reason": "no file"}), "error:"),
        (json!({"name": "x", "text": "", "reason": "nothing"}), "no hook"),
        (json!({"name": "x", "text": GUARD}), "needs `reason`"),
        (json!({"name": 1, "text": GUARD, "reason": "x"}), "to be of the type string"),
        (json!({"name": "x", "text": GUARD, "reason": "x", "enabled": true}), "takes no `enabled`"),
        (
            json!({"name": "x", "text": GUARD.to_owned() + &"# x\n".repeat(17_000), "reason": "x"}),
            "at most 65536",
        ),
    ] {
        let said = client.refused("propose_hook", &wrong);
        assert!(said.contains(why), "{why}: {said}");
    }
    for number in 1..64 {
        client.told(
            "propose_hook",
            &json!({"name": format!("draft-{number}"), "text": GUARD, "reason": "many"}),
        );
    }
    let full = client.refused("propose_hook", &json!({"name": "one-more", "text": GUARD, "reason": "many"}));
    assert!(full.contains("64 drafts wait"), "{full}");
    let none = client.ask("tools/call", &json!({"name": "approve", "arguments": {}}));
    assert!(none["error"]["message"].as_str().unwrap().contains("no tool `approve`"), "{none}");
}

#[test]
fn without_a_daemon_each_question_says_so() {
    let stage = Stage::new();
    let mut client = Client::start(&stage);
    for tool in ["list_hooks", "tail", "why"] {
        let said = client.refused(tool, &json!({}));
        assert!(said.contains("daemon"), "{tool}: {said}");
    }
    assert!(client.told("validate", &json!({"text": GUARD})).contains("no-rm"));
}
