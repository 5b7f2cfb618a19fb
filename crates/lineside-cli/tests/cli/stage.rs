//! A project and a home of their own for each test, and the command run in them.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use lineside::json::Value;
use tempfile::TempDir;

pub(crate) struct Stage {
    directory: TempDir,
}

/// What the command has said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["project", "home"] {
            fs::create_dir(stage.path(directory)).unwrap();
        }
        stage
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    /// Writes a file.
    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A hook of the project in the Agent Hooks format, its front matter beyond name and description, and its script.
    pub(crate) fn hook(&self, name: &str, front_matter: &str, script: &str) {
        let folder = format!("project/.agents/hooks/{name}");
        let text = format!("---\nname: {name}\ndescription: d\n{front_matter}\n---\n");
        self.file(&format!("{folder}/HOOK.md"), &text);
        let script = self.file(&format!("{folder}/scripts/run.sh"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The command, in the project.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let is_hook = arguments.iter().take(3).any(|argument| argument.as_ref() == "hook")
            && arguments.first().is_some_and(|first| first.as_ref() != "new");
        // The test is a person, and `timeout` the agent program: what stands below an agent may do less.
        let mut command = Command::new(if is_hook { "timeout" } else { env!("CARGO_BIN_EXE_lineside") });
        if is_hook {
            command.args(["--foreground", "600", env!("CARGO_BIN_EXE_lineside")]);
        }
        command.args(arguments);
        if is_hook {
            // As the entry of an agent program names it: of the environment it takes none.
            command.arg("--home").arg(self.path("home"));
        }
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .current_dir(self.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it on an event of a session, and kills it when its hook has written to the pipe `project/began`. Leaves
    /// `project/second` for the hook of the next run.
    pub(crate) fn run_killed(&self, arguments: &[&str], event: &str) {
        let began = self.path("project/began");
        assert!(Command::new("mkfifo").arg(&began).status().unwrap().success());
        let mut first = self.command(arguments).spawn().unwrap();
        let mut events = first.stdin.take().unwrap();
        events.write_all(event.as_bytes()).unwrap();
        fs::read(&began).unwrap();
        first.kill().unwrap();
        drop(self.said(first));
        self.file("project/second", "");
    }

    /// Runs it on this input.
    pub(crate) fn run(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Said {
        let mut child = self.command(arguments).spawn().unwrap();
        match child.stdin.take().unwrap().write_all(input.as_ref()) {
            // A command that reads nothing may have ended before.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        self.said(child)
    }

    /// What a child has said when it has ended.
    pub(crate) fn said(&self, child: Child) -> Said {
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap().replace(self.path("").to_str().unwrap(), "[stage]/")
        };
        // What another test has killed is ended by whichever command starts next, and said by it.
        let is_own = |line: &&str| !line.ends_with(" of an earlier run that was killed: ended\n");
        let err = text(output.stderr).split_inclusive('\n').filter(is_own).collect();
        Said { code: output.status.code(), out: text(output.stdout), err }
    }
}

/// How many things the doctor finds wrong where nothing else is: the program under test is built as every other one, and
/// loads shared libraries, which one of entries must not.
pub(crate) const WRONG: i32 = if cfg!(all(target_os = "linux", target_env = "gnu")) { 1 } else { 0 };

impl Said {
    /// Its output, one JSON value a line.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| lineside::json::from_str(line).unwrap()).collect()
    }

    /// A field of each line of its output.
    pub(crate) fn field(&self, name: &str) -> Vec<Value> {
        self.json().iter().map(|line| line[name].clone()).collect()
    }
}

/// Times are different each time.
pub(crate) fn timeless(text: &str) -> String {
    let time = regex::Regex::new(r"\d+(\.\d+)? s\b").unwrap();
    time.replace_all(text, "[time]").into_owned()
}

/// An event at which a tool is about to run.
pub(crate) fn shell(command: &str) -> String {
    let event = lineside::json::json!({"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": command}}});
    format!("{event}\n")
}

/// An event of a session of its own.
pub(crate) const IDLE: &str = "{\"point\": \"on_idle\", \"session\": \"s7\", \"payload\": {}}\n";
