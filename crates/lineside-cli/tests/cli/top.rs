//! `lineside top`: in a terminal, and where there is none.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use crate::daemon::Daemon;
use crate::hook::{given, tool};
use crate::stage::Stage;

/// The command in a terminal of its own.
struct Terminal {
    child: Child,
    seen: String,
}

impl Terminal {
    fn start(stage: &Stage) -> Self {
        let line = format!("stty rows 24 cols 100; exec {} top", env!("CARGO_BIN_EXE_lineside"));
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]).env_clear().env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", stage.path("home"));
        command.current_dir(stage.path("project")).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), seen: String::new() }
    }

    /// Reads until a text was on the screen.
    fn shows(&mut self, text: &str) {
        let out = self.child.stdout.as_mut().unwrap();
        let mut bytes = [0; 4096];
        while !self.seen.contains(text) {
            let read = out.read(&mut bytes).unwrap();
            assert!(read > 0, "no {text}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    fn types(&mut self, keys: &str) {
        self.seen.clear();
        let keyboard = self.child.stdin.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }

    /// Its exit status, when the terminal is as it was.
    fn gives_back(mut self) -> Option<i32> {
        self.child.stdout.as_mut().unwrap().read_to_string(&mut self.seen).unwrap();
        assert!(self.seen.contains("\u{1b}[?1049l"), "the screen from before is back: {}", self.seen);
        assert!(self.seen.contains("\u{1b}[?25h"), "the cursor is shown: {}", self.seen);
        self.child.wait().unwrap().code()
    }
}

fn call(stage: &Stage, session: &str, command: &str) {
    let said = given(stage, stage.command(&["hook", "claude"]), tool(session, command).as_bytes());
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn top_needs_a_terminal_and_says_what_needs_none() {
    let said = Stage::new().run(&["top"], "");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("`lineside tap`") && said.err.contains("`lineside status`"), "{said:?}");
}

#[test]
fn a_terminal_shows_the_agents_and_is_given_back() {
    let stage = Stage::new();
    stage.file("home/.config/lineside/hooks.yaml", "use: [standard]\n");
    let _daemon = Daemon::start(&stage);
    call(&stage, "s-before", "ls");
    let mut terminal = Terminal::start(&stage);
    // What was before it was started, and what comes.
    terminal.shows("s-before");
    call(&stage, "s-later", "ls");
    terminal.shows("s-later");
    terminal.types("\r");
    terminal.shows("before_tool");
    terminal.types("q");
    assert_eq!(terminal.gives_back(), Some(0));
}

#[test]
fn a_terminal_is_given_back_when_it_is_ended() {
    let stage = Stage::new();
    let _daemon = Daemon::start(&stage);
    let mut terminal = Terminal::start(&stage);
    terminal.shows("No agent is open");
    let own = Command::new("pgrep").args(["-P", &terminal.child.id().to_string()]).output().unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    assert!(Command::new("kill").args(["-TERM", own.trim()]).status().unwrap().success());
    assert_eq!(terminal.gives_back(), Some(143));
}
