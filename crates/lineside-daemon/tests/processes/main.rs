//! Inheritance across real processes: one program starts another through a shell, which starts a third.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use lineside::Signal;
use lineside::bus::signal::Watched;
use lineside::dialects::{Places, Trust};
use lineside::json::Value;
use lineside::prelude::*;
use lineside_daemon::settings::Limits;
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::runtime::Runtime;

mod ancestry;
mod crowds;
mod ends;
mod ownership;
mod projects;

const AGENT: &str = env!("CARGO_BIN_EXE_lineside-agent");

/// A daemon without hooks of files, and its folders.
struct House {
    folder: TempDir,
    settings: Settings,
    server: Server,
    /// On whose threads it runs, while a test waits for processes.
    runtime: Runtime,
}

impl House {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().to_path_buf();
        let places = Places {
            environment: BTreeMap::new(),
            project_root: None,
            cwd: cwd.clone(),
            trust: Trust::Withheld,
        };
        let settings = Settings::new(cwd.join("run/lineside.sock"), cwd.join("state"), places).limits(limits);
        let server = runtime.block_on(Server::start(settings.clone())).unwrap();
        Self { folder, settings, server, runtime }
    }

    /// With another daemon.
    fn again(self) -> Self {
        let Self { folder, settings, server, runtime } = self;
        runtime.block_on(server.end());
        let server = runtime.block_on(Server::start(settings.clone())).unwrap();
        Self { folder, settings, server, runtime }
    }

    fn ends(self) {
        self.runtime.block_on(self.server.end());
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/lineside.sock")
    }

    /// The program with these arguments, as a user starts it.
    fn agent(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(AGENT);
        command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("LINESIDE_SOCKET", self.socket()).stdout(Stdio::piped());
        command
    }

    /// An owner that guards the session `s1`.
    fn owner(&self, text: &str) -> Owner {
        self.owner_of("s1", text)
    }

    /// An owner that guards a session.
    fn owner_of(&self, session: &str, text: &str) -> Owner {
        let mut child = self.agent(&["guard", session, text]).stdin(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "guarding\n");
        Owner { child, out }
    }
}

/// A program with a closure.
struct Owner {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Owner {
    /// Runs a line of the shell under its session, and reads the decision that it prints.
    fn runs(&mut self, line: &str) -> Value {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut told = String::new();
        self.out.read_line(&mut told).unwrap();
        lineside::json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"))
    }

    /// Lets it come to its end.
    fn ends(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A shell, a second program under a session of its own, a shell, and a third as a subagent of that.
fn chain(command: &str) -> String {
    format!("{AGENT} start s2 sh -c '{AGENT} publish s3 \"{command}\"'")
}

#[test]
fn law_13_hooks_are_inherited_across_processes() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    let told = owner.runs(&chain("rm -rf /"));
    assert_eq!((&told["verdict"], &told["reason"]), (&json!("block"), &json!("not below me")), "{told}");
    assert_eq!(
        (&told["root"], &told["parent"], &told["depth"]),
        (&json!("s1"), &json!("s2"), &json!(2)),
        "{told}"
    );
    let told = owner.runs(&chain("ls"));
    assert_eq!(told["verdict"], json!("continue"), "{told}");
    owner.ends();
    house.ends();
}

#[test]
fn law_03_an_owner_that_was_killed_has_failed_and_is_asked_again_when_it_is_back() {
    let house = House::new();
    let session = lineside::Client::new(house.socket()).session("s1");
    let session = house.runtime.block_on(session.open()).unwrap();
    let publish = |id: &str, command: &str| {
        let mut agent = house.agent(&["publish", id, command]);
        agent.envs(session.environment().iter());
        let output = agent.output().unwrap();
        lineside::json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let owner = house.owner("first");
    assert_eq!(publish("a", "rm")["reason"], json!("first"));
    assert_eq!(publish("b", "ls")["verdict"], json!("continue"));
    owner.kill();
    // Its end is known by its connection: nothing is waited for, and nothing is asked.
    let told = publish("c", "ls");
    assert_eq!((&told["verdict"], &told["failed"][0]["kind"]), (&json!("block"), &json!("closed")), "{told}");
    let _again = house.owner("second");
    assert_eq!(publish("d", "rm")["reason"], json!("second"));
    assert_eq!(publish("e", "ls")["verdict"], json!("continue"));
    house.ends();
}

#[test]
fn what_a_process_opens_without_a_grant_is_under_nothing_of_the_session() {
    let house = House::new();
    let mut owner = house.owner("no");
    let line = format!("unset LINESIDE_GRANT; {AGENT} publish s2 rm");
    let told = owner.runs(&line);
    assert_eq!((&told["verdict"], &told["depth"]), (&json!("continue"), &json!(0)), "{told}");
    owner.ends();
    house.ends();
}

#[test]
fn n06_a_publisher_that_is_killed_before_its_answer_leaves_its_event_undecided() {
    let house = House::new();
    let (asked, asks) = std::sync::mpsc::sync_channel(1);
    let mut signals = house.server.bus().signals();
    let session = house.runtime.block_on(house.server.bus().session("s").open()).unwrap();
    let gate = session.intercept::<BeforeTool>("never answers").gate(move |_, _| {
        asked.send(()).unwrap();
        std::future::pending::<Verdict>()
    });
    gate.unwrap();
    for seq in 1..=3 {
        let mut publisher = house.agent(&["again", "s", "ls"]).spawn().unwrap();
        asks.recv().unwrap();
        publisher.kill().unwrap();
        publisher.wait().unwrap();
        let abandoned = async {
            loop {
                if let Some(Watched::Signal(Signal::Abandoned { seq, .. })) = signals.next().await {
                    return seq;
                }
            }
        };
        let abandoned = async { tokio::time::timeout(Duration::from_secs(60), abandoned).await };
        assert_eq!(house.runtime.block_on(abandoned).expect("its hook goes on"), seq);
    }
    house.ends();
}
