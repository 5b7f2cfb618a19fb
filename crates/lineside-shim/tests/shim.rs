//! The installed file `lineside` as a process: what it hands to the full command, and what it does when that is missing,
//! fails or hangs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const TOOL: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{}}"#;
const UNREACHABLE: &str = "the runtime cannot be reached";

/// An installation, and a home.
struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Self {
        let installed = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "home", "other"] {
            fs::create_dir(installed.path(folder)).unwrap();
        }
        // Copied by a process that has ended, as below.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_lineside-shim")).arg(installed.path("bin/lineside"));
        assert!(copy.status().unwrap().success());
        installed
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// A program that is a script of the shell.
    fn script(&self, path: &str, script: &str) -> PathBuf {
        let path = self.path(path);
        // Written by a process that has ended, so that nothing has it open for writing when it is started.
        let mut write = Command::new("sh");
        write.args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\"", "sh", script]).arg(&path);
        assert!(write.status().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Something that listens where a daemon would.
    fn listener(&self) -> UnixListener {
        fs::create_dir(self.path("run")).unwrap();
        fs::set_permissions(self.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        UnixListener::bind(self.path("run/s")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/lineside"));
        command.args(arguments).env_clear();
        if arguments.first() == Some(&"hook") && !arguments.contains(&"--help") {
            command.arg("--home").arg(self.path("home"));
        }
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("other").display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn said(&self, mut command: Command, input: &str) -> (Option<i32>, String, String) {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn run(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        self.said(self.command(arguments), input)
    }
}

#[test]
fn everything_but_hook_is_the_full_command_beside_it() {
    let installed = Installed::new();
    let (code, _, err) = installed.run(&["status"], "");
    assert!(code == Some(2) && err.contains("install lineside again"), "{err}");
    installed.script("other/lineside", "echo elsewhere \"$@\"; exit 3");
    assert_eq!(installed.run(&["a", "b c"], ""), (Some(3), "elsewhere a b c\n".to_owned(), String::new()));
    installed.script("bin/lineside-full", "echo \"$0\" \"$@\"; cat; exit 4");
    let (code, out, _) = installed.run(&["hook", "claude", "--help"], "in");
    assert_eq!(
        (code, out.as_str()),
        (
            Some(4),
            format!("{} hook claude --help\nin", installed.path("bin/lineside-full").display()).as_str()
        )
    );
    // Started over a link, as from another folder of the PATH.
    fs::remove_file(installed.path("other/lineside")).unwrap();
    symlink(installed.path("bin/lineside"), installed.path("other/lineside")).unwrap();
    let mut command = Command::new(installed.path("other/lineside"));
    command.env_clear().env("PATH", installed.path("other")).stdin(Stdio::null());
    assert_eq!(command.output().unwrap().status.code(), Some(4));
    // It is not itself the other one.
    fs::remove_file(installed.path("bin/lineside-full")).unwrap();
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

#[test]
fn d11_a_daemon_that_cannot_be_started_closes_the_gate_at_once() {
    let installed = Installed::new();
    let began = Instant::now();
    let (code, out, err) = installed.run(&["hook", "claude"], TOOL);
    assert!(code == Some(0) && out.contains(UNREACHABLE) && err.is_empty(), "{out} {err}");
    installed.script("bin/lineside-full", "exit 1");
    let (code, out, err) = installed.run(&["hook", "claude"], TOOL);
    assert!(code == Some(0) && out.contains(UNREACHABLE) && err.is_empty(), "{out} {err}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_daemon_whose_start_hangs_closes_the_gate_after_two_seconds_and_holds_no_pipe() {
    let installed = Installed::new();
    let started = installed.path("home/started");
    let script = format!("echo \"$@\" > {}; exec sleep 20", started.display());
    installed.script("bin/lineside-full", &script);
    let began = Instant::now();
    // The end of its pipes is waited for.
    let (code, out, err) = installed.run(&["hook", "claude"], TOOL);
    let took = began.elapsed();
    assert!(code == Some(0) && out.contains(UNREACHABLE) && err.is_empty(), "{out} {err}");
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(15), "{took:?}");
    let expected = format!("serve --detached --home {}\n", installed.path("home").display());
    assert_eq!(fs::read_to_string(started).unwrap(), expected);
}

#[test]
fn a_daemon_that_lives_and_does_not_answer_is_left_one_second_before_the_host_would_go_on() {
    // HO-35, HO-58, HO-67, HO-68
    let installed = Installed::new();
    let listener = installed.listener();
    let mut command = installed.command(&["hook", "codex"]);
    command.arg("--socket").arg(installed.path("run/s"));
    let began = Instant::now();
    let ending = r#"{"hook_event_name":"SessionEnd","session_id":"s"}"#;
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| installed.said(command, ending));
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let mut request = Vec::new();
        // Until the process is gone.
        stream.read_to_end(&mut request).unwrap();
        let request = String::from_utf8(request).unwrap();
        let within = request.lines().find_map(|line| line.strip_prefix("lineside-within-ms: ")).unwrap();
        assert!((1_000..=1_800).contains(&within.parse().unwrap()), "{request}");
        said.join().unwrap()
    });
    let took = began.elapsed();
    assert_eq!(said, (Some(0), String::new(), String::new()), "the end of a session is no gate");
    assert!(took >= Duration::from_millis(1_900) && took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_daemon_without_a_sign_of_life_closes_the_gate_after_one_second_with_that_reason() {
    let installed = Installed::new();
    // Connections are accepted by the system as long as they are few, as those of a process that is stopped.
    let _listener = installed.listener();
    // More than the system takes for a process that reads nothing.
    let long = TOOL.replace("{}", &format!("{{\"command\":\"{}\"}}", "x".repeat(4 << 20)));
    for document in [TOOL, &long] {
        let mut command = installed.command(&["hook", "claude"]);
        command.arg("--socket").arg(installed.path("run/s"));
        let began = Instant::now();
        let (code, out, err) = installed.said(command, document);
        let took = began.elapsed();
        assert!(
            code == Some(0) && out.contains("the daemon does not answer") && err.is_empty(),
            "{out} {err}"
        );
        assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_refusal_that_cannot_be_written_is_said_by_the_exit_status() {
    // HO-17
    let installed = Installed::new();
    for closed in [">&-", ">/dev/full"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" hook claude --home \"$1\" {closed}")]);
        shell.arg(installed.path("bin/lineside")).arg(installed.path("home")).env_clear();
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (code, out, err) = installed.said(shell, TOOL);
        assert!(
            code == Some(2) && out.is_empty() && err.contains("the answer could not be written"),
            "{closed} {err}"
        );
    }
}

#[test]
fn a_daemon_of_another_user_is_not_asked() {
    let installed = Installed::new();
    let listener = installed.listener();
    listener.set_nonblocking(true).unwrap();
    let said = || {
        let mut command = installed.command(&["hook", "claude"]);
        command.arg("--socket").arg(installed.path("run/s"));
        installed.said(command, TOOL)
    };
    fs::set_permissions(installed.path("run"), fs::Permissions::from_mode(0o750)).unwrap();
    let (code, out, _) = said();
    assert!(code == Some(0) && out.contains("may be another user's"), "{out}");
    assert!(listener.accept().is_err(), "the folder is looked at before anything is connected to");
}

#[test]
fn a_call_starts_no_program_of_the_path() {
    let installed = Installed::new();
    let started = installed.path("home/started");
    for name in ["other/lineside", "other/lineside-full"] {
        installed.script(name, &format!("touch {}", started.display()));
    }
    let (code, out, _) = installed.run(&["hook", "claude"], TOOL);
    assert!(code == Some(0) && out.contains(UNREACHABLE), "{out}");
    assert!(!started.exists());
}

#[test]
fn hooks_that_are_off_start_nothing() {
    let installed = Installed::new();
    let started = installed.path("home/started");
    installed.script("bin/lineside-full", &format!("touch {}", started.display()));
    fs::create_dir_all(installed.path("home/.local/state/lineside")).unwrap();
    symlink("/nowhere", installed.path("home/.local/state/lineside/off")).unwrap();
    assert_eq!(installed.run(&["hook", "claude"], TOOL), (Some(0), String::new(), String::new()));
    // The second place, for when the state folder cannot be written.
    fs::remove_file(installed.path("home/.local/state/lineside/off")).unwrap();
    fs::create_dir(installed.path("run")).unwrap();
    fs::write(installed.path("run/off"), "").unwrap();
    let socket = installed.path("run/lineside.sock");
    let arguments = ["hook", "claude", "--socket", socket.to_str().unwrap()];
    assert_eq!(installed.run(&arguments, TOOL), (Some(0), String::new(), String::new()));
    assert!(!started.exists());
}
