//! A home, a project and a daemon of their own for each attack, and the hook command as agent programs start it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lineside::json::{Value, json};
use tempfile::TempDir;

/// The policy: a command with `rm` in it is refused.
pub(crate) const GUARD: &str = "hooks:\n  - name: no-rm\n    on: before_tool\n    command: [\"/bin/sh\", \"-c\", \"if grep -q 'rm '; then echo '{\\\"verdict\\\": \\\"block\\\", \\\"reason\\\": \\\"not rm\\\"}'; fi\"]\n";

/// An agent program, as far as an attack has to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) host: &'static str,
    /// Its event before a tool call, and the names of the fields in which it says so.
    pub(crate) gate: &'static str,
    pub(crate) shell: &'static str,
}

/// The programs with a hook command.
pub(crate) const AGENTS: [Agent; 7] = [
    Agent { host: "claude", gate: "PreToolUse", shell: "Bash" },
    Agent { host: "codex", gate: "PreToolUse", shell: "Bash" },
    Agent { host: "copilot", gate: "preToolUse", shell: "bash" },
    Agent { host: "cursor", gate: "preToolUse", shell: "Shell" },
    Agent { host: "gemini", gate: "BeforeTool", shell: "run_shell_command" },
    Agent { host: "kimi", gate: "PreToolUse", shell: "Shell" },
    Agent { host: "qwen", gate: "PreToolUse", shell: "run_shell_command" },
];

impl Agent {
    /// The document of a call of its shell.
    pub(crate) fn document(&self, session: &str, command: &str, cwd: &Path) -> Value {
        self.document_of(session, self.shell, &json!({"command": command}), cwd)
    }

    /// The document of a call of a tool.
    pub(crate) fn document_of(&self, session: &str, tool: &str, input: &Value, cwd: &Path) -> Value {
        match self.host {
            "copilot" => {
                json!({"sessionId": session, "cwd": cwd.to_str(), "timestamp": 1, "toolName": tool,
                "toolArgs": input.to_string()})
            }
            "cursor" => {
                json!({"conversation_id": session, "cursor_version": "2.0.0", "hook_event_name": self.gate,
                "workspace_roots": [cwd.to_str()], "tool_name": tool, "tool_input": input})
            }
            _ => json!({"session_id": session, "hook_event_name": self.gate, "cwd": cwd.to_str(),
                "tool_name": tool, "tool_input": input}),
        }
    }

    /// The arguments of its entry, without places.
    pub(crate) fn entry(&self) -> Vec<&'static str> {
        match self.host {
            "copilot" => vec!["hook", self.host, "--event", self.gate],
            _ => vec!["hook", self.host],
        }
    }
}

/// What a call has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Answer {
    /// Whether the agent program runs the call.
    pub(crate) fn lets_pass(&self) -> bool {
        let refuses = ["\"deny\"", "\"block\""].iter().any(|word| self.out.contains(word));
        self.code != Some(2) && !refuses
    }
}

/// The place of an attack.
pub(crate) struct Ground {
    directory: TempDir,
}

impl Ground {
    /// A home with the policy, and an empty project.
    pub(crate) fn new() -> Self {
        let ground = Self { directory: tempfile::tempdir().unwrap() };
        for folder in ["home", "project", "run"] {
            fs::create_dir(ground.path(folder)).unwrap();
        }
        fs::set_permissions(ground.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        ground.file("home/.config/lineside/hooks.yaml", GUARD);
        ground
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A file that may be executed.
    pub(crate) fn program(&self, path: &str, text: &str) -> PathBuf {
        let path = self.file(path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("run/s")
    }

    /// The command as a person starts it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lineside"));
        command.args(arguments);
        self.of_person(command)
    }

    /// The same at a terminal: while agents run it is a person's there, whatever has started this test.
    pub(crate) fn typed(&self, arguments: &[&str]) -> Command {
        self.typed_line(&[&[env!("CARGO_BIN_EXE_lineside")], arguments].concat().join(" "))
    }

    /// The same of a line of the shell.
    pub(crate) fn typed_line(&self, line: &str) -> Command {
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", line, "/dev/null"]);
        let mut command = self.of_person(command);
        command.env("SHELL", "/bin/sh");
        command
    }

    fn of_person(&self, mut command: Command) -> Command {
        command.env_clear().env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        command.env("LINESIDE_SOCKET", self.socket()).current_dir(self.path("project"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The hook command as an agent program starts it: with the places that `install` has recorded, and an environment
    /// without any.
    ///
    /// The test is a person, and `timeout` the agent program: what stands below an agent may do less.
    pub(crate) fn hook(&self, agent: Agent) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "600", env!("CARGO_BIN_EXE_lineside")]);
        command.args(agent.entry()).arg("--home").arg(self.path("home")).arg("--socket").arg(self.socket());
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(self.path("project"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What comes of a call of the agent's shell.
    pub(crate) fn call(&self, agent: Agent, command: Command, shell: &str) -> Answer {
        self.call_with(command, &agent.document("s1", shell, &self.path("project")).to_string())
    }

    /// What comes of a call with this document.
    pub(crate) fn call_with(&self, mut command: Command, document: &str) -> Answer {
        let mut child = command.spawn().unwrap();
        // It may answer without reading.
        child.stdin.take().unwrap().write_all(document.as_bytes()).ok();
        answer(child)
    }

    /// The answer to a request over the socket, whole, with these headers beside the usual ones.
    pub(crate) fn asked(&self, path: &str, headers: &str, body: &Value) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.write_all(&request(path, headers, body)).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// The daemon of the user, which ends with what is given.
    pub(crate) fn daemon(&self, arguments: &[&str]) -> Daemon {
        let mut child = self.command(&[&["serve"], arguments].concat()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready: "), "{ready}");
        Daemon(child)
    }

    /// Ends a daemon that a call has started, with what is given.
    pub(crate) fn background(&self) -> Background<'_> {
        Background(self)
    }
}

pub(crate) fn request(path: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

pub(crate) fn answer(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Answer { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A daemon in the foreground.
pub(crate) struct Daemon(pub(crate) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A daemon that a call may have started.
pub(crate) struct Background<'a>(&'a Ground);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.0.command(&["stop"]).output().ok();
    }
}
