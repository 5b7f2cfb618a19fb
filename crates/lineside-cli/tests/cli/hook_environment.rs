//! What of the environment of an agent program reaches hooks (HO-72) and what it chooses, and which versions of program
//! and daemon believe one another.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use lineside::json::json;

use crate::daemon::Daemon;
use crate::hook::{Background, given, guarded, status, tool};
use crate::stage::Stage;

#[test]
fn ho_72_a_daemon_that_a_call_starts_has_no_secret_and_one_of_a_person_keeps_its_environment() {
    let stage = Stage::new();
    let _background = Background(&stage);
    let told =
        "hooks:\n  - {name: tell, on: before_tool, command: \"echo saw ${MY_TOKEN-nothing} >&2; exit 2\"}\n";
    stage.file("home/.config/lineside/hooks.yaml", told);
    let event =
        json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}});
    let call = || {
        let mut host = stage.command(&["hook", "claude"]).env("MY_TOKEN", "one").spawn().unwrap();
        host.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        stage.said(host).out
    };
    let said = call();
    assert!(said.contains("saw nothing"), "the call has started it: {said}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    let serve = stage.command(&["serve", "--detached"]).env("MY_TOKEN", "two").spawn().unwrap();
    assert_eq!(stage.said(serve).code, Some(0));
    let said = call();
    assert!(said.contains("saw two"), "a person has started it: {said}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
}

#[test]
fn nothing_of_the_environment_of_an_agent_chooses_a_daemon_a_home_a_state_or_a_switch() {
    let stage = guarded();
    let _background = Background(&stage);
    stage.file("project/.s/lineside/off", "");
    stage.file("project/other/.local/state/lineside/off", "");
    let listener = UnixListener::bind(stage.path("project/lineside.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let [state, home, config] = ["project/.s", "project/other", "project/none"].map(|path| stage.path(path));
    let chosen = [
        ("XDG_STATE_HOME", &state),
        ("HOME", &home),
        ("XDG_CONFIG_HOME", &config),
        ("XDG_RUNTIME_DIR", &state),
    ];
    // The first call starts the daemon, and the second one finds it.
    for _ in 0..2 {
        let mut command = stage.command(&["hook", "claude"]);
        command.envs(chosen);
        let said = given(&stage, command, tool("c1", "rm x").as_bytes());
        assert!(said.out.contains("\"deny\"") && said.out.contains("not rm"), "{said:?}");
    }
    for named in ["project/lineside.sock", "project/none.sock"] {
        let mut command = stage.command(&["hook", "claude"]);
        command.env("LINESIDE_SOCKET", stage.path(named));
        let said = given(&stage, command, tool("c1", "ls").as_bytes());
        assert!(said.out.contains("LINESIDE_SOCKET names another daemon"), "{said:?}");
    }
    assert!(listener.accept().is_err(), "nothing went there");
    let mut command = stage.command(&["hook", "claude"]);
    command.env("LINESIDE_SOCKET", stage.path("home/.local/state/../state/lineside/lineside.sock"));
    assert!(
        given(&stage, command, tool("c1", "rm x").as_bytes()).out.contains("not rm"),
        "it is the same one"
    );
}

#[test]
fn the_user_sets_the_path_and_variables_of_the_daemon_and_hears_what_is_wrong_with_that() {
    let stage = Stage::new();
    let _background = Background(&stage);
    let tell = "hooks:\n  - {name: tell, on: before_tool, command: \"echo $SET $PATH >&2; exit 2\"}\n";
    stage.file("home/.config/lineside/hooks.yaml", tell);
    let settings = "daemon:\n  path: [~/tools]\n  environment: {SET: by-me}\n";
    let file = stage.file("home/.config/lineside/config.yaml", settings);
    let tools = stage.path("home/tools");
    let told = || stage.run(&["hook", "kimi"], tool("k1", "ls")).err;
    let by_me = |rest: &str| format!("by-me [stage]/home/tools:{rest}");
    assert!(told().starts_with(&by_me("/usr/local/sbin:")), "a call has started it");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    let mut serve = stage.command(&["serve", "--detached"]);
    let path = format!("/own:{}", std::env::var("PATH").unwrap());
    let said = stage.said(serve.env("PATH", &path).env("SET", "other").spawn().unwrap());
    assert_eq!((said.code, tools.exists()), (Some(0), false), "{said:?}");
    assert!(told().starts_with(&by_me("/own:")), "a person has started it");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    std::fs::write(file, "daemon:\n  pathh: []\n  environment: {HOME: /x}\n").unwrap();
    assert!(told().starts_with("/usr/local/sbin:"), "nothing is set by a file with an error");
    let findings = status(&stage)["findings"].to_string();
    assert!(findings.contains("config.yaml:3") && findings.contains("did you mean `path`?"), "{findings}");
    let said = stage.run(&["doctor"], "");
    assert!(said.code == Some(1) && said.out.contains("config.yaml:3"), "{said:?}");
    assert!(
        said.out.contains("repair the file, then: lineside stop"),
        "the remedy reads that file: {said:?}"
    );
}

#[test]
fn a_program_and_a_daemon_of_different_generations_open_nothing() {
    let stage = guarded();
    let daemon = Daemon::start(&stage);
    let socket = stage.path("home/.local/state/lineside/lineside.sock");
    let document = tool("c1", "ls");
    let head = format!(
        "POST /v1/hosts/claude HTTP/1.1\r\nhost: lineside\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        document.len()
    );
    // As the program has asked at first, as it asks now, and as it may ask one day.
    let first = "lineside-within-ms: 58800\r\n";
    let now = format!("expect: 100-continue\r\nlineside-protocol: 1\r\n{first}");
    let one_day = now.replace("protocol: 1", "protocol: 2");
    for (more, opens) in [(first, false), (&now, true), (&one_day, false)] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        write!(stream, "{head}{more}connection: close\r\n\r\n{document}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.contains("\"deny\""), !opens, "{answer}");
        assert_eq!(answer.contains("lineside-stdout-bytes: 0\r\n"), opens, "{answer}");
    }
    drop(daemon);
    // As the daemon has answered at first, as it answers now, and as it may answer one day.
    let folder = stage.path("run");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(folder.join("s")).unwrap();
    let first = "content-type: text/plain; charset=utf-8\r\nlineside-exit: 0\r\nlineside-stdout-bytes: 0\r\ncontent-length: 0\r\n";
    let now = format!("lineside-protocol: 1\r\n{first}");
    let one_day = format!("lineside-protocol: 2\r\n{first}");
    for (more, opens) in [(first, false), (&now, true), (&one_day, false)] {
        let mut child = stage
            .command(&["hook", "claude", "--socket", folder.join("s").to_str().unwrap()])
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        write!(stream, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{more}\r\n").unwrap();
        let said = stage.said(child);
        assert_eq!((said.code, said.out.is_empty()), (Some(0), opens), "{said:?}");
        assert_eq!(said.out.contains("of another version"), !opens, "{said:?}");
    }
}
