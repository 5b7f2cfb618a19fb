//! A small agent program, for tests with real processes.
//!
//! | arguments | what it does |
//! |---|---|
//! | `guard ID TEXT` | opens session ID or takes it over, refuses deletions in it and below with TEXT, says `guarding`, and runs each line of its input under the session, until that ends |
//! | `start ID PROGRAM …` | opens session ID, and runs a program under it |
//! | `again ID COMMAND` | publishes in session ID, which is open, and prints nothing |
//! | `host ID` | is an agent program with hook commands: says `agent`, and does what each line of its input says: `run LINE` runs a line of the shell, anything else is a command that its hook is asked about first, and it prints the answer |
//! | `hook ID COMMAND` | is the hook command of that: asks whether a shell may run COMMAND in session ID, and prints the answer; of a subagent when ID is `SESSION/SUBAGENT`; it says that it works in `HOOK_CWD` where that is set, and tells of the event `HOOK_EVENT` instead |
//! | `end ID` | is the hook command that says that the session has ended |
//! | `close ID` | takes session ID over and ends it; says `closed` or `refused` |
//! | `publish ID COMMAND` | opens session ID, publishes that a shell is about to run COMMAND, and prints the decision |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test program")]

use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};

use lineside::Client;
use lineside::prelude::*;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["guard", id, text] => guard(id, text.to_owned()).await,
        ["start", id, program, ref rest @ ..] => start(id, program, rest).await,
        ["publish", id, command] => publish(id, command).await,
        ["host", id] => host(id),
        ["hook", id, command] => hook(id, command),
        ["end", id] => ask(&json!({"hook_event_name": "SessionEnd", "session_id": id, "reason": "exit"})),
        ["close", id] => close(id).await,
        ["again", id, command] => again(id, command).await,
        _ => panic!("{arguments:?}"),
    }
}

async fn guard(id: &str, text: String) -> ExitCode {
    let client = Client::from_environment().unwrap();
    let session = client.session(id).resume().open().await.unwrap();
    let gate = session.intercept::<BeforeTool>("no-rm").gate(move |call, _| {
        let deletes = call.command().is_some_and(|command| command.contains("rm"));
        std::future::ready(if deletes { Verdict::block(text.clone()) } else { Verdict::Continue })
    });
    gate.await.unwrap();
    println!("guarding");
    let lines = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            let mut command = session.command("sh");
            command.args(["-c", &line.unwrap()]).stdin(std::process::Stdio::null());
            assert!(command.status().unwrap().success());
            std::io::stdout().flush().unwrap();
        }
    });
    lines.await.unwrap();
    ExitCode::SUCCESS
}

async fn start(id: &str, program: &str, rest: &[&str]) -> ExitCode {
    let client = Client::from_environment().unwrap();
    let session = client.session(id).open().await.unwrap();
    let mut command = session.command(program);
    let status = tokio::task::spawn_blocking({
        command.args(rest);
        move || command.status()
    });
    let code = status.await.unwrap().unwrap().code().unwrap();
    session.close().await.unwrap();
    ExitCode::from(u8::try_from(code).unwrap())
}

async fn publish(id: &str, command: &str) -> ExitCode {
    let client = Client::from_environment().unwrap();
    let session = client.session(id).agent(Agent::subagent("reviewer")).open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    let look: lineside::json::Value = client.get(&format!("/v1/sessions/{id}")).await.unwrap();
    let told = json!({
        "verdict": decision.verdict().strength(),
        "reason": decision.reason().map(lineside::core::Reason::as_str),
        "failed": decision.json().get("failed"),
        "root": look["root"], "parent": look["parent"], "depth": look["depth"],
    });
    println!("{told}");
    session.close().await.unwrap();
    ExitCode::SUCCESS
}

/// The hook is asked from a shell, as entries do it.
fn host(id: &str) -> ExitCode {
    let shell = |line: String| {
        let status = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).status();
        assert!(status.unwrap().success());
    };
    println!("agent");
    let own = std::env::current_exe().unwrap();
    for line in std::io::stdin().lock().lines().map(Result::unwrap) {
        match line.strip_prefix("run ") {
            Some(line) => shell(line.to_owned()),
            None => shell(format!("{} hook {id} '{line}' || exit 2", own.display())),
        }
    }
    ExitCode::SUCCESS
}

fn hook(id: &str, command: &str) -> ExitCode {
    let (id, subagent) = id.split_once('/').map_or((id, None), |(id, subagent)| (id, Some(subagent)));
    let event = std::env::var("HOOK_EVENT").unwrap_or_else(|_| "PreToolUse".to_owned());
    let mut body = json!({"hook_event_name": event, "session_id": id, "tool_name": "Bash",
        "tool_input": {"command": command}});
    if let Some(subagent) = subagent {
        body["agent_id"] = subagent.into();
        body["agent_type"] = "reviewer".into();
    }
    if let Ok(cwd) = std::env::var("HOOK_CWD") {
        body["cwd"] = cwd.into();
    }
    ask(&body)
}

/// Prints the status and the answer to a call.
fn ask(body: &lineside::json::Value) -> ExitCode {
    let body = body.to_string();
    let grant = std::env::var("LINESIDE_GRANT").map(|grant| format!("lineside-grant: {grant}\r\n"));
    let mut stream = UnixStream::connect(std::env::var_os("LINESIDE_SOCKET").unwrap()).unwrap();
    write!(
        stream,
        "POST /v1/hosts/claude HTTP/1.1\r\nhost: lineside\r\nlineside-protocol: 1\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{}\r\n{body}",
        body.len(),
        grant.unwrap_or_default()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    println!("{} {}", head.split(' ').nth(1).unwrap(), body.trim_end());
    ExitCode::SUCCESS
}

async fn close(id: &str) -> ExitCode {
    let client = Client::from_environment().unwrap();
    // What may not even go on with it asks for the end alone.
    let closed = match client.session(id).resume().open().await {
        Ok(session) => session.close().await.is_ok(),
        Err(_) => client.delete::<lineside::json::Map>(&format!("/v1/sessions/{id}")).await.is_ok(),
    };
    println!("{}", if closed { "closed" } else { "refused" });
    ExitCode::SUCCESS
}

async fn again(id: &str, command: &str) -> ExitCode {
    let session = Client::from_environment().unwrap().session(id).resume().open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    ExitCode::from(u8::from(decision.is_refused()))
}
