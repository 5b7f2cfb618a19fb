//! One program has a hook, another one starts below it, and the hook holds there.
//!
//! The first holds a daemon and a session with a closure, and starts a shell; the shell starts the second, which knows
//! nothing of the first but what it has inherited. Both are this file.
//!
//! `cargo run -p lineside-daemon --example two_programs`

use std::error::Error;
use std::path::Path;

use lineside::Client;
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use lineside_daemon::{Server, Settings};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        None => first().await,
        Some(name) => second(name).await,
    }
}

/// The agent program that a person has started.
async fn first() -> Result<()> {
    // A user's daemon is started by `lineside serve`; this one has folders of its own, and no hooks of files.
    let folder = tempfile::tempdir()?;
    let server = Server::start(settings(folder.path())).await?;

    let client = Client::new(folder.path().join("run/lineside.sock"));
    let session = client.session("first").agent(Agent::main("main")).open().await?;
    let deletes_all = runs("rm").flag("-r|-R|--recursive").operand("/");
    let gate = session.intercept::<BeforeTool>("no-rm-rf").priority(900).matching(deletes_all);
    gate.gate(async |_call, _cx| Verdict::block("refuses to delete /")).await?;

    // The variables of the session go to the shell, and from there to whatever it starts.
    let mut shell = session.command("sh");
    shell.args(["-c", "\"$0\" reviewer", &std::env::current_exe()?.to_string_lossy()]);
    let status = tokio::task::spawn_blocking(move || shell.status()).await??;
    assert!(status.success());

    session.close().await?;
    drop((session, client));
    server.end().await;
    Ok(())
}

/// An agent program that the first one has started, somewhere down the line.
async fn second(name: &str) -> Result<()> {
    let client = Client::from_environment()?;
    let session = client.session(name).agent(Agent::subagent("reviewer")).open().await?;
    for command in ["ls", "rm -rf /"] {
        let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await?;
        let author = decision.author().unwrap_or("nobody");
        match decision.reason().filter(|_| decision.is_refused()) {
            Some(reason) => println!("{command}: refused by {author}, which {}", reason.as_str()),
            None => println!("{command}: goes ahead"),
        }
        assert_eq!(decision.is_refused(), command != "ls");
    }
    session.close().await?;
    Ok(())
}

fn settings(folder: &Path) -> Settings {
    let cwd = folder.to_path_buf();
    let places = Places { environment: Default::default(), project_root: None, cwd, trust: Trust::Withheld };
    Settings::new(folder.join("run/lineside.sock"), folder.join("state"), places)
}
