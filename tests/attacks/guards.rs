//! An agent that would take off its own guards: whatever stands below a session is refused that, by every command and by the
//! API, with the daemon alive, dead or new; a person is not.

use std::fs;
use std::process::{Command, Stdio};

use lineside::json::json;

use crate::ground::{AGENTS, Answer, Ground, answer};

/// The commands that take guards off, or agree to what a repository brings along.
const COMMANDS: [&str; 20] = [
    "off",
    "stop",
    "reload",
    "trust",
    "trust --yes 0",
    "untrust",
    "install claude --untried",
    "uninstall claude",
    "serve --project .",
    "serve --detached --project=.",
    "init",
    "new hook mine",
    "import claude --plugin .",
    "jobs drop 1 --daemon",
    "serve",
    "serve --detached --dialect codex",
    "serve --detached --config /tmp",
    "serve --detached --home /tmp --socket $LINESIDE_SOCKET",
    "serve --as-detached --untrusted",
    "serve --http 127.0.0.1:0",
];

/// Ways in which a process sheds what its environment or its parent says.
const SHED: [&str; 4] =
    ["", "env -i HOME=$HOME PATH=$PATH LINESIDE_SOCKET=$LINESIDE_SOCKET", "setsid -w", "nohup"];

/// Sets apart what makes a terminal of its own.
const TERMINAL: &str =
    "env -i HOME=$HOME PATH=$PATH LINESIDE_SOCKET=$LINESIDE_SOCKET SHELL=/bin/sh setsid -f";

/// Asks the daemon for a path by a request of one's own, which may have a body.
pub(crate) const ASKS: &str = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
    body = sys.argv[3].encode() if sys.argv[3:] else b'{}'; \
    s.sendall(sys.argv[2].encode() + b' HTTP/1.1\\r\\nhost: l\\r\\ncontent-type: application/json\\r\\n\
connection: close\\r\\ncontent-length: %d\\r\\n\\r\\n' % len(body) + body); print(s.recv(4096).decode())";

impl Ground {
    /// Runs lines of a shell as an agent program that has called its hook twice.
    fn agent(&self, lines: &str) -> Answer {
        self.agent_with(Command::new("env"), &[], lines)
    }

    /// The same, with this program and these arguments before it.
    fn agent_with(&self, command: Command, before: &[&str], lines: &str) -> Answer {
        answer(self.agent_of("s1", command, before, lines).spawn().unwrap())
    }

    /// The same in a session of this id, to be started.
    pub(crate) fn agent_of(
        &self,
        session: &str,
        mut command: Command,
        before: &[&str],
        lines: &str,
    ) -> Command {
        let document = AGENTS[1].document(session, "ls", &self.path("project"));
        let document = self.file(&format!("document-{session}"), &document.to_string());
        let own = env!("CARGO_BIN_EXE_lineside");
        let hook = format!(
            "{own} hook codex --home {} --socket {} < {}",
            self.path("home").display(),
            self.socket().display(),
            document.display()
        );
        // `timeout` is the program of the agent: no shell, and above all of this.
        command.args(before).args(["timeout", "--foreground", "600", "sh", "-c"]);
        command.arg(format!("{hook}; {hook}; {lines}")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        command.env("LINESIDE_SOCKET", self.socket()).current_dir(self.path("project"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// That nothing was taken off.
    fn assert_guarded(&self, what: &str, answer: &Answer) {
        let state = self.path("home/.local/state/lineside");
        assert!(!state.join("off").exists() && !self.path("run/off").exists(), "{what}: {answer:?}");
        assert!(!state.join("trusted-projects").exists(), "{what}: {answer:?}");
        assert!(!self.path("home/.claude").exists(), "{what}: {answer:?}");
    }
}

fn tried(command: &str, how: &str) -> String {
    let own = env!("CARGO_BIN_EXE_lineside");
    format!("{how} {own} {command} </dev/null; echo \"exit $?\"")
}

#[test]
fn an_agent_cannot_take_off_its_own_guards_by_any_command() {
    let ground = Ground::new();
    ground.file("project/.lineside/hooks.yaml", "hooks: [{name: g, on: before_tool, command: 'exit 0'}]\n");
    let _daemon = ground.background();
    for command in COMMANDS {
        for how in SHED {
            let what = format!("{how} {command}");
            let told = ground.agent(&tried(command, how));
            assert!(told.err.contains("a person does it"), "{what}: {told:?}");
            assert!(told.out.ends_with("exit 2\n"), "{what}: {told:?}");
            ground.assert_guarded(&what, &told);
        }
    }
    let said = answer(ground.command(&["off"]).spawn().unwrap());
    assert_eq!(said.code, Some(0), "a person does: {said:?}");
}

#[test]
fn an_agent_that_has_ended_its_session_or_its_daemon_takes_off_nothing_either() {
    let ground = Ground::new();
    let _daemon = ground.background();
    let ended = json!({"session_id": "s1", "hook_event_name": "SessionEnd", "cwd": ground.path("project"), "reason": "exit"});
    let ended = ground.file("ended", &ended.to_string());
    let own = env!("CARGO_BIN_EXE_lineside");
    let end = format!(
        "{own} hook codex --home {} --socket {} < {}",
        ground.path("home").display(),
        ground.socket().display(),
        ended.display()
    );
    let pid = format!("{own} status --json | sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/'");
    let kill = format!("kill -9 $({pid}); while {own} status >/dev/null; do :; done");
    let begin = format!("{own} serve --detached");
    let elsewhere =
        format!("--state {} --socket {}", ground.path("else").display(), ground.socket().display());
    // The switch may stand beside the socket: by another path to it, or by another socket in its folder.
    let run = ground.path("run");
    let beside = |socket: &str| format!("off --state /proc/none --socket {}/{socket}", run.display());
    for (before, command) in [
        (end.clone(), "off".to_owned()),
        (kill.clone(), "off".to_owned()),
        (format!("{kill}; {begin}"), "stop".to_owned()),
        (kill.clone(), format!("off {elsewhere}")),
        (kill.clone(), beside("../run/s")),
        (kill, beside("other")),
        (end, format!("stop {elsewhere}")),
    ] {
        let told = ground.agent(&format!("{before}; {}", tried(&command, "")));
        assert!(
            told.err.contains("a person does it") && told.out.ends_with("exit 2\n"),
            "{before}: {told:?}"
        );
        ground.assert_guarded(&before, &told);
    }
}

#[test]
fn what_an_agent_has_left_behind_takes_off_nothing_while_agents_run() {
    let ground = Ground::new();
    let _daemon = ground.background();
    let own = env!("CARGO_BIN_EXE_lineside");
    for command in ["off", "stop", "trust --yes 0", "untrust", "approvals allow 0", "dashboard --print"] {
        for how in ["", "nohup", "setsid -w env CLAUDECODE=1", "setsid -f", TERMINAL] {
            let said = ground.path("said");
            fs::remove_file(&said).ok();
            // It goes on when its parent has ended, and waits for nothing else.
            let waits =
                "p=$PPID; while [ $p != 1 ] && [ \"$(cut -d' ' -f4 /proc/$$/stat)\" = $p ]; do :; done";
            let done = "echo \"exit $?\"; mv out said";
            let typed = match how {
                "setsid -f" => format!("{how} sh -c '{own} {command} </dev/null; {done}'"),
                TERMINAL => {
                    format!("{how} sh -c 'script -qec \"{own} {command}\" /dev/null </dev/null; {done}'")
                }
                _ => format!("{how} {own} {command} </dev/null; {done}"),
            };
            let left = ground.file("left", &format!("{waits}; {typed}\n"));
            let run = ground.path("");
            let lines = format!(
                "cd {}; ( sh {} >out 2>&1 & ); {} while [ ! -e said ]; do :; done; cat said",
                run.display(),
                left.display(),
                // It makes as if it had come from another one.
                if how == TERMINAL { "prlimit --pid $PPID --msgqueue=22197:22197;" } else { "" }
            );
            let told = ground.agent_with(Command::new("setsid"), &["-w"], &lines);
            let what = format!("{how} {command}");
            assert!(told.out.contains("a person does it"), "{what}: {told:?}");
            assert!(told.out.ends_with("exit 2\n"), "{what}: {told:?}");
            ground.assert_guarded(&what, &told);
        }
    }
}

#[test]
fn an_agent_that_has_killed_its_daemon_begins_no_other_one_and_its_next_call_begins_the_same() {
    let ground = Ground::new();
    ground.file("home/.config/lineside/hooks.yaml", "use: [no-destructive-shell]\n");
    ground.file("other/lineside/hooks.yaml", "hooks: []\n");
    let _daemon = ground.background();
    let own = env!("CARGO_BIN_EXE_lineside");
    let pid = format!("{own} status --json | sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/'");
    let kill = format!("kill -9 $({pid}); while {own} status >/dev/null; do :; done");
    let (other, home) = (ground.path("other"), ground.path("home"));
    let (other, home, socket) = (other.display(), home.display(), ground.socket());
    let socket = socket.display();
    for begins in [
        format!("{own} serve --detached --config {other}"),
        format!("{own} serve --detached --home {other} --socket {socket}"),
        format!("{own} serve --detached --home {home} --config {other} --socket {socket}"),
        format!("XDG_CONFIG_HOME={other} {own} serve --detached"),
        format!(
            "XDG_CONFIG_HOME={other} {own} serve --detached --socket {socket} --state {home}/.local/state/lineside"
        ),
        // Another home has another state folder, in which no agent is written down.
        format!("HOME={other} {own} serve --detached --socket {socket}"),
        format!("HOME={other} LINESIDE_SOCKET={socket} {own} serve --detached"),
        format!("{own} serve --detached --state {other} --home {home} --socket {socket}"),
        format!("{own} serve --detached --home {home} --socket {socket} --dialect codex"),
        // The one that a call begins has the environment of a login, which this has not.
        format!("BASH_ENV={other}/x {own} serve --as-detached --home {home} --socket {socket}"),
    ] {
        let told = ground.agent(&format!("{kill}; {begins} </dev/null; echo \"exit $?\""));
        assert!(
            told.err.contains("a person does it") && told.out.ends_with("exit 2\n"),
            "{begins}: {told:?}"
        );
        let after = ground.call(AGENTS[1], ground.hook(AGENTS[1]), "rm -rf /");
        assert!(!after.lets_pass(), "{begins}: {after:?}");
    }
    // What the agent has in its environment does not go into the daemon that it may begin.
    let begins = format!("BASH_ENV={other}/x {own} serve --detached --home {home} --socket {socket}");
    let told = ground.agent(&format!("{kill}; {begins} && tr '\\0' '\\n' < /proc/$({pid})/environ"));
    assert!(told.out.contains("LANG=C.UTF-8") && !told.out.contains("BASH_ENV"), "{told:?}");
    let document = AGENTS[1].document("s1", "rm -rf /", &ground.path("project"));
    let document = ground.file("next", &document.to_string());
    let hook = format!("{own} hook codex --home {home} --socket {socket} < {}", document.display());
    let told = ground.agent(&format!("{kill}; {hook}; tr '\\0' '\\n' < /proc/$({pid})/environ"));
    assert!(told.out.contains("deny") && told.out.contains("LANG=C.UTF-8"), "{told:?}");
}

#[test]
fn an_agent_cannot_take_off_its_own_guards_by_the_api() {
    let ground = Ground::new();
    let _daemon = ground.daemon(&["--http", "127.0.0.1:0"]);
    let asks = ground.file("asks.py", ASKS);
    let ask = |path: &str| {
        ground.agent(&format!("exec python3 {} {} {path}", asks.display(), ground.socket().display()))
    };
    for path in ["'POST /v1/stop'", "'POST /v1/reload'", "'DELETE /v1/jobs/1'"] {
        let told = ask(path);
        assert!(told.out.contains("403") && told.out.contains("a person does it"), "{path}: {told:?}");
        // What it has left behind ends no session either, and what sees other processes than others asks for nothing.
        for (asked, how) in
            [("'DELETE /v1/sessions/s1'", "env -i setsid"), (path, "env -i setsid unshare --fork --pid")]
        {
            let left =
                format!("{how} /usr/bin/python3 {} {} {asked}", asks.display(), ground.socket().display());
            let told = ground.agent(&format!(
                "( {left} >left 2>&1; mv left said ) & while [ ! -e said ]; do :; done; cat said; rm said"
            ));
            // A user who may not make namespaces asks from none.
            let is_refused =
                told.out.contains(" 403 ") || how.contains("unshare") && told.out.contains("not permitted");
            assert!(is_refused, "{how} {asked}: {told:?}");
        }
        // One that does not wait for its answer is not known.
        let gone = format!(
            "python3 -c \"$(sed 's/; print.*//' {})\" {} {path}",
            asks.display(),
            ground.socket().display()
        );
        ground.agent(&gone);
    }
    let alive = ground.asked("/v1/reload", "", &json!({}));
    assert!(alive.contains(" 200 "), "a person does: {alive}");
}

#[test]
fn over_http_the_process_that_asks_is_not_known_and_takes_off_nothing() {
    let ground = Ground::new();
    let mut daemon = ground.command(&["serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
    let mut ready = String::new();
    let mut out = std::io::BufReader::new(daemon.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut ready).unwrap();
    let address = ready.split("http://").nth(1).and_then(|rest| rest.split([' ', ',', '\n']).next());
    let address = address.unwrap_or_else(|| panic!("{ready}")).trim_end_matches('/').to_owned();
    let token = fs::read_to_string(ground.path("home/.local/state/lineside/http-token")).unwrap();
    let asked = |path: &str| {
        let mut curl = Command::new("python3");
        let code = "import sys, urllib.request, urllib.error\nr = urllib.request.Request(sys.argv[1], data=b'{}', headers={'Content-Type': 'application/json', 'Authorization': 'Bearer ' + sys.argv[2]})\ntry: print(urllib.request.urlopen(r).status)\nexcept urllib.error.HTTPError as e: print(e.code, e.read().decode())\n";
        curl.args(["-c", code, &format!("http://{address}{path}"), token.trim()]);
        String::from_utf8(curl.output().unwrap().stdout).unwrap()
    };
    for path in ["/v1/stop", "/v1/reload"] {
        let told = asked(path);
        assert!(told.starts_with("403") && told.contains("over the socket"), "{path}: {told}");
    }
    // Nor does it speak for an agent that is there: the session stays open.
    let end = json!({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "exit"}).to_string();
    let code = "import sys, urllib.request\nr = urllib.request.Request(sys.argv[1], data=sys.argv[3].encode(), headers={'Content-Type': 'application/json', 'Lineside-Protocol': '1', 'Authorization': 'Bearer ' + sys.argv[2]})\nprint(urllib.request.urlopen(r).read().decode())\n";
    let (code, end) = (ground.file("ends.py", code), ground.file("end", &end));
    let told = ground.agent(&format!(
        "python3 {} http://{address}/v1/hosts/codex {} \"$(cat {})\"; {} sessions --json",
        code.display(),
        token.trim(),
        end.display(),
        env!("CARGO_BIN_EXE_lineside")
    ));
    assert!(told.out.contains("\"s1\""), "{told:?}");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

/// Spellings of what a standard policy refuses.
const REFUSED: [&str; 12] = [
    "git push -f",
    "git push --forc origin main",
    "git -C sub push origin +main",
    "g''it push --force",
    "$'\\x67it' push -f",
    "bash -c 'git push -uf origin main'",
    "sudo -u dev sh -c \"git push --mirror\"",
    "echo 'git push -f' | sh",
    "eval \"git push -f\"",
    "X=push; git $X -f",
    "true && (env A=1 git push -f &)",
    "cat <<E | bash\ngit push -f\nE",
];

/// What only looks like it.
const HARMLESS: [&str; 11] = [
    "git push",
    "git push --force-with-lease",
    "git push -n -f",
    "git commit -m 'git push -f'",
    "echo git push -f",
    "grep -r 'git push --force' docs",
    "# git push -f",
    "cat <<'E'\ngit push -f\nE",
    "git log -f --oneline",
    "printf '%s' \"git push -f\"",
    "ls",
];

#[test]
fn standard_policies_hold_behind_every_program_without_a_process() {
    let ground = Ground::new();
    let settings = "use: [standard]\nhooks: []\n";
    ground.file("home/.config/lineside/hooks.yaml", settings);
    let _daemon = ground.daemon(&[]);
    for agent in AGENTS {
        for command in REFUSED {
            let told = ground.call(agent, ground.hook(agent), command);
            assert!(!told.lets_pass(), "{}: {command}: {told:?}", agent.host);
            assert!(told.out.contains("git") || told.err.contains("git"), "{}: {told:?}", agent.host);
        }
        for command in HARMLESS {
            let told = ground.call(agent, ground.hook(agent), command);
            assert!(told.lets_pass(), "{}: {command}: {told:?}", agent.host);
        }
    }
    let events = |commands: &[&str]| {
        let event = |command: &&str| {
            let payload = json!({"tool_name": "Shell", "tool_input": {"command": command}});
            json!({"point": "before_tool", "payload": payload}).to_string() + "\n"
        };
        commands.iter().map(event).collect::<String>()
    };
    for (commands, verdict) in
        [(&REFUSED[..], "\"verdict\":\"block\""), (&HARMLESS[..], "\"verdict\":\"continue\"")]
    {
        let told = ground.call_with(ground.command(&["run"]), &events(commands));
        assert_eq!(told.out.matches(verdict).count(), commands.len(), "{told:?}");
    }
}

#[test]
fn what_a_hook_starts_is_no_person_whatever_it_sheds() {
    let ground = Ground::new();
    let asks = ground.file("asks.py", ASKS);
    // As the tests of a project are, which an agent writes.
    let script = ground.program(
        "project/test.sh",
        &format!(
            "#!/bin/sh\ncd {project}\nfor asks in off stop reload; do\n\
             env -i HOME={home} PATH=$PATH LINESIDE_SOCKET={socket} {own} $asks\ndone > told 2>&1\n\
             for asks in 'POST /v1/reload' 'POST /v1/stop' 'DELETE /v1/sessions/s1'; do\n\
             env -i PATH=$PATH python3 {asks} {socket} \"$asks\"\ndone > asked 2>&1\n",
            project = ground.path("project").display(),
            home = ground.path("home").display(),
            socket = ground.socket().display(),
            own = env!("CARGO_BIN_EXE_lineside"),
            asks = asks.display(),
        ),
    );
    let hooks = ground.path("home/.config/lineside/hooks.yaml");
    let text = fs::read_to_string(&hooks).unwrap();
    let tests = format!("  - {{name: tests, on: before_tool, command: [{}]}}\n", script.display());
    fs::write(&hooks, text + &tests).unwrap();
    let _daemon = ground.daemon(&[]);
    let told = ground.call(AGENTS[1], ground.hook(AGENTS[1]), "ls");
    let read = |name: &str| fs::read_to_string(ground.path("project").join(name)).unwrap_or_default();
    let said = read("told");
    assert_eq!(said.matches("a hook has started this").count(), 3, "{told:?}: {said}");
    let asked = read("asked");
    assert_eq!(asked.matches(" 403 ").count(), 3, "{asked}");
    let status = answer(ground.command(&["status", "--json"]).spawn().unwrap());
    assert!(status.code == Some(0) && status.out.contains("\"off\":false"), "{status:?}");
}
