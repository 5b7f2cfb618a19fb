//! What agents leave behind, and what beside them was started by others: the former does nothing of an agent's or a person's,
//! and the latter what it may.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::ground::{Ground, answer};
use crate::guards::ASKS;

/// An agent that goes on, and does each line of a shell that it is given.
pub(crate) struct Agent {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Agent {
    /// One of which two calls have come.
    pub(crate) fn begun(ground: &Ground, session: &str, before: &[&str]) -> Self {
        let lines = "echo called; while read -r line; do eval \"$line\"; done";
        let mut command = ground.agent_of(session, Command::new("env"), before, lines);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut agent = Self { out: BufReader::new(child.stdout.take().unwrap()), child };
        while agent.says() != "called" {}
        agent
    }

    /// The next line that it prints.
    fn says(&mut self) -> String {
        let mut line = String::new();
        assert!(self.out.read_line(&mut line).unwrap() > 0, "it has ended");
        line.trim_end().to_owned()
    }

    /// What comes of a line.
    pub(crate) fn does(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}; echo; echo done").unwrap();
        let said = std::iter::from_fn(|| Some(self.says()).filter(|line| line != "done"));
        said.collect::<Vec<_>>().join("\n")
    }

    /// What comes of a line that what it has left behind does, with nothing in its environment and first in its session.
    pub(crate) fn leaves(&mut self, line: &str) -> String {
        let left = format!(
            "setsid -f env -i PATH=/usr/bin:/bin sh -c '{} >left 2>&1; mv left said'",
            line.replace('\'', "'\\''")
        );
        self.does(&format!("{left}; while [ ! -e said ]; do :; done; cat said; rm said"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Where a process can be marked, and where it cannot.
const BOUNDS: [&[&str]; 2] = [&[], &["prlimit", "--msgqueue=0:0"]];

#[test]
fn what_an_agent_has_left_behind_speaks_in_the_session_of_none_by_the_api_whether_it_is_marked_or_not() {
    for before in BOUNDS {
        let ground = Ground::new();
        let _daemon = ground.background();
        let asks = ground.file("asks.py", ASKS);
        let ask = |asked: &str| {
            format!("/usr/bin/python3 {} {} {asked}", asks.display(), ground.socket().display())
        };
        let mut own = Agent::begun(&ground, "own", before);
        let _other = Agent::begun(&ground, "other", before);
        let event = r#"{"point": "before_tool", "session": "other", "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}}"#;
        let asked = [
            format!("'POST /v1/events' '{event}'"),
            "'POST /v1/sessions/other/context/collect'".to_owned(),
            r#"'POST /v1/sessions' '{"id": "sub", "parent": "other"}'"#.to_owned(),
            r#"'POST /v1/sessions' '{"id": "other", "resume": true}'"#.to_owned(),
            "'DELETE /v1/sessions/other'".to_owned(),
            "'DELETE /v1/sessions/own'".to_owned(),
        ];
        for asked in &asked {
            let told = own.leaves(&ask(asked));
            assert!(told.contains(" 403 ") && !told.contains("Lineside-Grant"), "{before:?} {asked}: {told}");
        }
        // It has sessions of its own, as what a service starts has, and a person's programs speak in any.
        let told = own.leaves(&ask(r#"'POST /v1/sessions' '{"id": "mine"}'"#));
        assert!(told.contains(" 201 "), "{told}");
        for asked in &asked {
            let told = answer(ground.typed_line(&ask(asked)).spawn().unwrap());
            assert!(told.out.contains(" 200 ") || told.out.contains(" 201 "), "{asked}: {told:?}");
        }
    }
}

#[test]
fn an_agent_that_has_begun_while_hooks_were_off_is_known_as_one_afterwards() {
    let ground = Ground::new();
    let _daemon = ground.daemon(&[]);
    let does = |words: &str| answer(ground.typed(&[words]).spawn().unwrap());
    assert_eq!(does("off").code, Some(0));
    let mut own = Agent::begun(&ground, "own", &[]);
    assert_eq!(does("on").code, Some(0));
    let sessions = does("sessions");
    assert!(sessions.out.contains("own"), "{sessions:?}");
    let command = env!("CARGO_BIN_EXE_lineside");
    let state = ground.path("home/.local/state/lineside");
    let off = format!("{command} off --state {} --socket {}", state.display(), ground.socket().display());
    for told in [own.does(&format!("{off} 2>&1")), own.leaves(&off)] {
        assert!(told.contains("a person does it"), "{told}");
    }
    assert!(!state.join("off").exists());
}

#[test]
fn what_an_agent_has_left_behind_is_no_person_either_when_the_agent_has_ended_and_the_daemon_is_another() {
    let ground = Ground::new();
    let daemon = ground.background();
    let state = ground.path("home/.local/state/lineside");
    let command = env!("CARGO_BIN_EXE_lineside");
    let off = format!("{command} off --state {} --socket {}", state.display(), ground.socket().display());
    let at_terminal = format!("script -qec \"{off}\" /dev/null </dev/null");
    let mut agent = Agent::begun(&ground, "own", &[]);
    let folder = agent.does("pwd");
    for (at, tried) in [&off, &at_terminal].into_iter().enumerate() {
        let waits = format!("while [ ! -e go{at} ]; do :; done");
        let left = format!("{waits}; {tried} >left{at} 2>&1; mv left{at} said{at}");
        agent.does(&format!("setsid -f env -i PATH=$PATH sh -c '{left}'"));
    }
    drop(agent);
    let folder = std::path::Path::new(folder.trim());
    let told = |at: usize| {
        std::fs::write(folder.join(format!("go{at}")), "").unwrap();
        loop {
            if let Ok(told) = std::fs::read_to_string(folder.join(format!("said{at}"))) {
                return told;
            }
            std::thread::yield_now();
        }
    };
    let first = told(0);
    drop(daemon);
    let _daemon = ground.background();
    for told in [first, told(1)] {
        assert!(told.contains("a person does it"), "{told}");
    }
    assert!(!state.join("off").exists());
    assert_eq!(answer(ground.typed(&["off"]).spawn().unwrap()).code, Some(0));
}

#[test]
fn what_has_left_an_agent_before_its_first_call_is_no_person_without_a_terminal_and_in_none_where_the_agent_began_marked()
 {
    let ground = Ground::new();
    let _daemon = ground.background();
    let (state, socket) = (ground.path("home/.local/state/lineside"), ground.socket());
    let off = format!(
        "{} off --state {} --socket {}",
        env!("CARGO_BIN_EXE_lineside"),
        state.display(),
        socket.display()
    );
    let at_terminal = format!("script -qec \"{off}\" /dev/null </dev/null");
    for (marked, tried) in
        [("", &off), ("prlimit --msgqueue=816821", &off), ("prlimit --msgqueue=816821", &at_terminal)]
    {
        let waits = "while [ ! -e go ]; do :; done";
        let left = format!("{waits}; {tried} >left 2>&1; rm go; mv left said");
        let begins = format!("setsid -f env -i PATH=$PATH SHELL=/bin/sh sh -c '{left}'; exec \"$@\"");
        let before =
            [marked.split(' ').filter(|word| !word.is_empty()).collect(), vec!["sh", "-c", &begins, "sh"]];
        let mut agent = Agent::begun(&ground, "s1", &before.concat());
        let told = agent.does("touch go; while [ ! -e said ]; do :; done; cat said; rm said");
        assert!(told.contains("a person does it"), "{marked} {tried}: {told}");
        assert!(!state.join("off").exists(), "{marked} {tried}: {told}");
    }
}
