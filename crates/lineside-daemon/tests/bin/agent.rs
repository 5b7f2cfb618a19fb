//! A small agent program, for tests with real processes.
//!
//! | arguments | what it does |
//! |---|---|
//! | `guard ID TEXT` | opens session ID or takes it over, refuses deletions in it and below with TEXT, says `guarding`, and runs each line of its input under the session, until that ends |
//! | `start ID PROGRAM …` | opens session ID, and runs a program under it |
//! | `again ID COMMAND` | publishes in session ID, which is open, and prints nothing |
//! | `publish ID COMMAND` | opens session ID, publishes that a shell is about to run COMMAND, and prints the decision |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test program")]

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

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

async fn again(id: &str, command: &str) -> ExitCode {
    let session = Client::from_environment().unwrap().session(id).resume().open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    ExitCode::from(u8::from(decision.is_refused()))
}
