//! `lineside dashboard`, and the demo that lives on one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use crate::daemon::Daemon;
use crate::hook::tool;
use crate::stage::Stage;

/// What a browser gets that asks an address for nothing but its first page.
fn got(url: &str, cookie: &str) -> String {
    let (address, path) = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The first page, with the key that an address is exchanged for.
fn entered(url: &str) -> String {
    let exchanged = got(url, "");
    let cookie = exchanged.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next());
    let cookie = cookie.unwrap_or_else(|| panic!("{exchanged}"));
    got(&format!("{}/dashboard", url.split("/dashboard").next().unwrap()), cookie)
}

#[test]
fn an_agent_is_not_invited_and_a_person_is() {
    let stage = Stage::new();
    let said = stage.run(&["dashboard", "--print"], "");
    assert_eq!(said.code, Some(3), "{said:?}");
    let _daemon = Daemon::start(&stage);
    let said = stage.run(&["dashboard", "--print"], "");
    assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
    assert!(entered(&said.out).contains("<title>Fleet · lineside</title>"));
    // `timeout` is the agent program of a test: what it runs after its call stands below an agent.
    let document = stage.file("call.json", &tool("s1", "ls").to_string());
    let own = env!("CARGO_BIN_EXE_lineside");
    let call = format!("{own} hook claude --home $HOME < {}", document.display());
    let line = format!("{call}; {call}; {own} dashboard --print; echo \"exit $?\"");
    let mut agent = Command::new("timeout");
    agent.args(["--foreground", "600", "sh", "-c", &line]).env_clear();
    agent.env("HOME", stage.path("home")).env("PATH", "/usr/bin:/bin").current_dir(stage.path("project"));
    let output = agent.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("exit 2") && !out.contains("http://"), "{out} {err}");
    assert!(err.contains("a person does it"), "{err}");
}

#[test]
fn the_demo_lives_on_a_dashboard_until_it_is_interrupted() {
    let stage = Stage::new();
    let mut demo = stage.command(&["demo", "--dashboard", "--print"]).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut url).unwrap();
    assert!(entered(&url).contains("<title>Fleet · lineside</title>"), "{url}");
    let kill = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let said = stage.said(demo);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Ctrl-C ends it"), "{said:?}");
    assert!(TcpStream::connect(url["http://".len()..].split('/').next().unwrap()).is_err());
}
