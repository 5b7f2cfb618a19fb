//! An agent that would answer the questions about its own calls: by the command, by the socket, with its grant, as a process
//! that has left it; and one that asks without an end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use lineside::json::{Value, from_str, json};

use crate::ground::{AGENTS, Answer, Ground, answer};

/// A policy that asks about every push.
const ASKS: &str = "hooks:\n  - name: no-push\n    on: before_tool\n    command: [\"/bin/sh\", \"-c\", \"if grep -q 'git push'; then echo '{\\\"verdict\\\": \\\"ask\\\", \\\"reason\\\": \\\"a push needs a person\\\"}'; fi\"]\n";

/// Posts an answer from within a program: by itself, with a grant, or when its parent has ended.
const POSTS: &str = r#"
import os, socket, sys, json, time
def request(method, path, body, more=''):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(f'{method} {path} HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\nconnection: close\r\n{more}content-length: {len(body)}\r\n\r\n{body}'.encode())
    text = b''
    while part := s.recv(65536):
        text += part
    return text.decode()
how, grant = sys.argv[2], os.environ.get('LINESIDE_GRANT', '')
def ids():
    return [one['id'] for one in json.loads(request('GET', '/v1/approvals', '').split('\r\n\r\n', 1)[1])['waiting']]
while not ids():
    pass
if how == 'orphan':
    parent = os.getppid()
    open('seen', 'w').close()
    while os.getppid() == parent:
        pass
more = f'lineside-grant: {grant}\r\n' if how == 'grant' else ''
told = request('POST', f'/v1/approvals/{ids()[0]}', '{"answer": "allow"}', more)
open('told', 'w').write(told)
"#;

/// Publishes a push, and has the question about it answered by what it has started.
const PUBLISHES: &str = r#"
import json, socket, subprocess, sys, threading
def request(method, path, body):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(f'{method} {path} HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}'.encode())
    text = b''
    while part := s.recv(65536):
        text += part
    return text.decode().split('\r\n\r\n', 1)[1]
event = {'point': 'before_tool', 'session': 'p', 'payload': {'tool_name': 'Shell', 'tool_input': {'command': 'git push'}}}
asks = threading.Thread(target=lambda: print(request('POST', '/v1/events?open=true', json.dumps(event))))
asks.start()
while not (waiting := json.loads(request('GET', '/v1/approvals', ''))['waiting']):
    pass
said = subprocess.run([*sys.argv[2:], 'approvals', 'allow', waiting[0]['id']], capture_output=True, text=True)
asks.join()
print(said.returncode, said.stderr)
"#;

impl Ground {
    /// A ground on which questions about pushes wait for so long.
    fn asking(wait: &str) -> Self {
        let ground = Self::new();
        ground.file("home/.config/lineside/hooks.yaml", ASKS);
        ground.file("home/.config/lineside/config.yaml", &format!("approvals: {{wait: {wait}}}\n"));
        ground
    }

    /// The command of an entry on the document of a push.
    fn push(&self, session: &str) -> String {
        let document = AGENTS[1].document(session, "git push", &self.path("project"));
        let document = self.file(&format!("document-{session}"), &document.to_string());
        format!(
            "{} hook codex --home {} --socket {} < {}",
            env!("CARGO_BIN_EXE_lineside"),
            self.path("home").display(),
            self.socket().display(),
            document.display()
        )
    }

    /// An agent program whose first call is asked about while it runs lines of a shell.
    fn asked_agent(&self, lines: &str) -> Answer {
        let mut command = Command::new("timeout");
        let script = format!("{} > answered & {lines}; wait", self.push("s1"));
        command.args(["--foreground", "600", "sh", "-c", &script]).env_clear();
        command.env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        command.env("LINESIDE_SOCKET", self.socket()).current_dir(self.path("project"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        answer(command.spawn().unwrap())
    }

    fn answered(&self) -> String {
        std::fs::read_to_string(self.path("project/answered")).unwrap()
    }
}

/// What a person sees of questions, each as it comes.
struct Watch(Child, BufReader<ChildStdout>);

impl Watch {
    fn over(ground: &Ground) -> Self {
        let mut child = ground.command(&["approvals", "watch", "--json"]).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self(child, out)
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        from_str(&line).unwrap()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn an_agent_cannot_answer_the_question_about_its_own_call_by_any_command() {
    let ground = Ground::asking("3s");
    let _daemon = ground.daemon(&[]);
    let own = env!("CARGO_BIN_EXE_lineside");
    let id = format!(
        "until id=$({own} approvals --json | sed -n 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p') && [ -n \"$id\" ]; do :; done"
    );
    for how in ["", "setsid -w", "env -i HOME=$HOME PATH=$PATH LINESIDE_SOCKET=$LINESIDE_SOCKET"] {
        for word in ["allow $id", "allow $id --session", "allow $id --pattern 'git *' --yes"] {
            let told = ground.asked_agent(&format!("{id}; {how} {own} approvals {word}; echo \"exit $?\""));
            assert!(told.err.contains("a person does it"), "{how} {word}: {told:?}");
            assert!(told.out.contains("exit 2"), "{how} {word}: {told:?}");
            assert!(ground.answered().contains("deny"), "{how} {word}: {}", ground.answered());
        }
    }
}

#[test]
fn an_agent_cannot_answer_the_question_about_its_own_call_by_the_socket() {
    let ground = Ground::asking("3s");
    let _daemon = ground.daemon(&[]);
    let posts = ground.file("posts.py", POSTS);
    let post = |how: &str| format!("python3 {} {} {how}", posts.display(), ground.socket().display());
    // The last one has looked at questions below the agent, and has another parent by the time at which it answers.
    let orphan = format!("( {} & while [ ! -e seen ]; do :; done )", post("orphan"));
    for (how, line) in
        [("plain", post("plain")), ("setsid", format!("setsid -w {}", post("plain"))), ("orphan", orphan)]
    {
        let told = ground.asked_agent(&format!("rm -f told seen; {line}; while [ ! -s told ]; do :; done"));
        let said = std::fs::read_to_string(ground.path("project/told")).unwrap();
        assert!(said.contains(" 403 ") && said.contains("a person does it"), "{how}: {said} {told:?}");
        assert!(ground.answered().contains("deny"), "{how}: {}", ground.answered());
    }
}

#[test]
fn what_a_program_that_publishes_has_started_answers_no_question_about_its_events() {
    let ground = Ground::asking("3s, for: all");
    let _daemon = ground.daemon(&[]);
    let mut program = Command::new("python3");
    program.args(["-c", PUBLISHES]).arg(ground.socket()).args([
        "setsid",
        "-w",
        env!("CARGO_BIN_EXE_lineside"),
    ]);
    program.env_clear().env("HOME", ground.path("home")).env("PATH", "/usr/bin:/bin");
    program.env("LINESIDE_SOCKET", ground.socket()).current_dir(ground.path("project"));
    let told =
        answer(program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(
        told.out.contains("\"verdict\":\"block\"") && told.out.contains("no answer came within"),
        "{told:?}"
    );
    assert!(!told.out.contains("\n0 ") && told.out.contains("a person does it"), "{told:?}");
}

#[test]
fn a_grant_answers_no_question_and_neither_does_http() {
    let ground = Ground::asking("3s");
    let _daemon = ground.daemon(&[]);
    let session = ground.asked("/v1/sessions", "", &lineside::json::json!({"id": "granted"}));
    let grant = session.split("\"LINESIDE_GRANT\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let grant = grant.unwrap_or_else(|| panic!("{session}")).to_owned();
    let mut watch = Watch::over(&ground);
    let mut call = Command::new("timeout");
    call.args(["--foreground", "600", "sh", "-c", &ground.push("s1")])
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    let call = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = watch.next()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/approvals/{id}");
    let told = ground.asked(
        &path,
        &format!("lineside-grant: {grant}\r\n"),
        &lineside::json::json!({"answer": "allow"}),
    );
    assert!(told.contains(" 403 ") && told.contains("not-granted"), "{told}");
    assert!(!answer(call).lets_pass());
    // A person is let, and once.
    let mut call = Command::new("timeout");
    call.args(["--foreground", "600", "sh", "-c", &ground.push("s2")])
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    let call = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let asked = std::iter::from_fn(|| Some(watch.next())).find(|seen| seen["id"].as_str().is_some()).unwrap();
    let id = asked["id"].as_str().unwrap().to_owned();
    let said = answer(ground.command(&["approvals", "allow", &id]).spawn().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let passed = answer(call);
    assert!(passed.lets_pass() && passed.code == Some(0), "{passed:?}");
    let again = answer(ground.command(&["approvals", "allow", &id]).spawn().unwrap());
    assert!(again.code == Some(1) && again.err.contains("it was answered"), "{again:?}");
}

#[test]
fn a_call_whose_daemon_is_killed_while_it_waits_has_its_question_with_the_next_one() {
    let ground = Ground::asking("50s");
    let mut daemon = ground.daemon(&[]);
    let _next = ground.background();
    let mut watch = Watch::over(&ground);
    let mut call = ground.hook(AGENTS[1]).spawn().unwrap();
    let document = AGENTS[1].document("s1", "git push", &ground.path("project")).to_string();
    call.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    let before = watch.next();
    let waiting = ground.path("home/.local/state/lineside/approvals/waiting");
    assert_eq!(std::fs::read_dir(&waiting).unwrap().count(), 1);
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    drop(watch);
    // The call itself starts the next one; a person looks until it is there.
    let list = || answer(ground.command(&["approvals", "--json"]).spawn().unwrap());
    let after = std::iter::from_fn(|| Some(list())).find(|said| said.out.contains("\"id\"")).unwrap();
    let after: Value = from_str(&after.out).unwrap();
    assert_eq!(after["waiting"][0]["id"], before["id"], "{after}");
    assert_eq!(after["waiting"][0]["asked_at"], before["asked_at"], "{after}");
    assert!(
        after["waiting"][0]["left_ms"].as_u64() < before["left_ms"].as_u64(),
        "what has waited counts: {after}"
    );
    let id = before["id"].as_str().unwrap();
    let said = answer(ground.typed(&["approvals", "allow", id]).spawn().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let passed = answer(call);
    assert!(passed.lets_pass() && passed.code == Some(0), "{passed:?}");
    assert_eq!(std::fs::read_dir(&waiting).unwrap().count(), 0);
}

/// A policy that asks about whatever is done.
const ASKS_ALWAYS: &str =
    "hooks:\n  - {name: careful, on: before_tool, verdict: ask, reason: a person has to agree}\n";

impl Ground {
    /// A call of Codex, which may wait.
    fn calls(&self, cwd: &str, tool: &str, input: &Value) -> Child {
        let document = json!({"session_id": "s1", "hook_event_name": "PreToolUse", "cwd": self.path(cwd).to_str(),
            "tool_name": tool, "tool_input": input});
        let mut call = self.hook(AGENTS[1]).spawn().unwrap();
        call.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
        call
    }

    /// Whether a call passes by an answer that was given before; one that is asked about is denied.
    fn passes_unasked(&self, cwd: &str, tool: &str, input: &Value) -> bool {
        let mut call = self.calls(cwd, tool, input);
        while call.try_wait().unwrap().is_none() {
            let said = answer(self.command(&["approvals", "--json"]).spawn().unwrap());
            let waiting: Value = from_str(&said.out).unwrap();
            if let Some(id) = waiting["waiting"][0]["id"].as_str() {
                answer(self.command(&["approvals", "deny", id]).spawn().unwrap());
                call.wait().unwrap();
                return false;
            }
        }
        answer(call).lets_pass()
    }

    /// A person answers the question about this call.
    fn allowed(&self, tool: &str, input: &Value, how: &[&str]) {
        let mut watch = Watch::over(self);
        let call = self.calls("project", tool, input);
        let id = watch.next()["id"].as_str().unwrap().to_owned();
        let said = answer(self.command(&[&["approvals", "allow", &id], how].concat()).spawn().unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(answer(call).lets_pass());
    }
}

#[test]
fn an_answer_for_more_than_one_call_is_for_no_call_that_says_more_or_stands_elsewhere() {
    let ground = Ground::asking("60s");
    ground.file("home/.config/lineside/hooks.yaml", ASKS_ALWAYS);
    ground.file("project/sub/file", "");
    let _daemon = ground.daemon(&[]);
    let docs = ground.path("project/docs");
    let (page, other) = (docs.join("a").display().to_string(), docs.join("b").display().to_string());
    let pattern = format!("{}/*", docs.display());
    ground.allowed("Write", &json!({"file_path": page, "content": "x"}), &["--pattern", &pattern, "--yes"]);
    assert!(ground.passes_unasked("project", "Write", &json!({"file_path": other, "content": "y"})));
    // Which of several paths the tool takes is not known.
    for more in ["path", "filePath", "target_file"] {
        let input = json!({"file_path": other, "content": "y", more: "/etc/passwd"});
        assert!(!ground.passes_unasked("project", "Write", &input), "{input}");
    }
    let push = json!({"command": "git push x", "description": "pushes"});
    ground.allowed("Bash", &push, &["--pattern", "git push *", "--yes"]);
    let again = json!({"command": "git push y", "description": "pushes elsewhere"});
    assert!(ground.passes_unasked("project", "Bash", &again));
    assert!(!ground.passes_unasked("project/sub", "Bash", &again));
    for more in [json!({"cmd": "rm -r ."}), json!({"workdir": "/"}), json!({"unsandboxed": true})] {
        let mut input = again.as_object().unwrap().clone();
        input.extend(more.as_object().unwrap().clone());
        assert!(!ground.passes_unasked("project", "Bash", &Value::Object(input)), "{more}");
    }
    let clean = json!({"command": "rm -r build"});
    ground.allowed("Bash", &clean, &["--session"]);
    assert!(ground.passes_unasked("project", "Bash", &clean));
    assert!(!ground.passes_unasked("project/sub", "Bash", &clean));
}

#[test]
fn a_person_sees_the_whole_of_what_is_asked_about() {
    let ground = Ground::asking("30s");
    ground.file("home/.config/lineside/hooks.yaml", ASKS_ALWAYS);
    let _daemon = ground.daemon(&[]);
    let long =
        format!("echo {}$(rm${{IFS}}-r${{IFS}}a) {}; rm -r b\nrm -r c", "x".repeat(200), "y ".repeat(2_000));
    let document = AGENTS[1].document("s1", &long, &ground.path("project")).to_string();
    let mut watch = Watch::over(&ground);
    let mut call = ground.hook(AGENTS[1]).spawn().unwrap();
    call.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    let id = watch.next()["id"].as_str().unwrap().to_owned();
    let shown = answer(ground.command(&["approvals"]).spawn().unwrap()).out;
    // What goes on stands below the beginning of the value.
    let (_, command) = shown.split_once("  command   ").unwrap();
    let lines = command.lines().map(|line| line.strip_prefix(&" ".repeat(12)).unwrap_or(line));
    let told = lines.take_while(|line| !line.is_empty()).collect::<String>();
    assert_eq!(told, long.replace('\n', "\\n"), "{shown}");
    answer(ground.command(&["approvals", "deny", &id]).spawn().unwrap());
    assert!(!answer(call).lets_pass());
}

/// An agent program that answers by its own process: it calls its hook, and posts the answer itself.
const ANSWERS: &str = r#"
call = subprocess.Popen(sys.argv[2:], stdin=open(os.environ['DOCUMENT']), stdout=open('answered', 'w'))
while not ids():
    pass
told = request('POST', f'/v1/approvals/{ids()[0]}', '{"answer": "allow"}')
open('told', 'w').write(told)
call.wait()
"#;

#[test]
fn an_agent_program_is_no_person_itself() {
    let ground = Ground::asking("3s");
    let _daemon = ground.daemon(&[]);
    let (head, _) = POSTS.split_once("how, grant").unwrap();
    let (_, ids) = POSTS.split_once("'')\n").unwrap();
    let (ids, _) = ids.split_once("while").unwrap();
    let program = ground.file("agent.py", &format!("import subprocess\n{head}{ids}{ANSWERS}"));
    let document = AGENTS[1].document("s1", "git push", &ground.path("project"));
    let document = ground.file("document", &document.to_string());
    let mut command = Command::new("python3");
    command.arg(program).arg(ground.socket()).arg(env!("CARGO_BIN_EXE_lineside")).args(AGENTS[1].entry());
    command.arg("--home").arg(ground.path("home")).arg("--socket").arg(ground.socket());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("DOCUMENT", document);
    command.current_dir(ground.path("project")).stderr(Stdio::piped());
    let ended = answer(command.spawn().unwrap());
    let said = std::fs::read_to_string(ground.path("project/told")).unwrap_or_else(|_| panic!("{ended:?}"));
    assert!(said.contains(" 403 ") && said.contains("a person does it"), "{said}");
    assert!(ground.answered().contains("deny"), "{}", ground.answered());
}
