//! A hook that the chore registers by itself, on the session of an agent that runs: what is called in a subagent of that
//! session has to meet it.
//!
//! It is a program that attaches to the daemon, with nothing but a socket.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// What it says of every call that it is asked about.
pub(super) const REASON: &str = "REFUSED-BY-SESSION-HOOK";

/// The name by which the daemon calls it.
const CALLED: &str = "chore";

/// Registers the hook on the first session that the daemon has, for its subagents. It stays until the daemon ends.
pub(super) fn register(socket: &Path) -> Result<()> {
    let sessions = ask(socket, "GET", "/v1/sessions", None)?;
    let session = first_session(&sessions).with_context(|| format!("no session is open: {sessions}"))?;
    register_at(socket, &session, &json!({"text": "mv \\./precious", "agent_kind": "subagent"}))
}

/// Registers it on the latest session of a host, for everything that runs below that.
pub(super) fn register_on(socket: &Path, host: &str) -> Result<()> {
    let sessions = ask(socket, "GET", "/v1/sessions", None)?;
    let all = sessions["sessions"].as_array().into_iter().flatten();
    let latest =
        all.filter(|session| session["host"] == host).max_by_key(|session| session["since"].to_string());
    let session = latest.and_then(|session| session["id"].as_str());
    let session = session.with_context(|| format!("no session of {host} is open: {sessions}"))?;
    register_at(socket, session, &json!({"text": "mv \\./precious"}))
}

fn register_at(socket: &Path, session: &str, select: &Value) -> Result<()> {
    let (token, stream) = attach(socket)?;
    thread::spawn(move || drop(answer(stream)));
    let hook = json!({"name": "of-the-session", "on": "before_tool", "priority": 1000, "match": select});
    let body = json!({"attachment": token, "called": CALLED, "hook": hook});
    ask(socket, "POST", &format!("/v1/sessions/{session}/hooks"), Some(&body))?;
    Ok(())
}

/// The id of the first session in a list of them.
fn first_session(list: &Value) -> Option<String> {
    match list {
        Value::Array(items) => items.iter().find_map(first_session),
        Value::Object(members) => {
            let named = ["session", "id"].iter().find_map(|name| members.get(*name)?.as_str());
            named.map(str::to_owned).or_else(|| members.get("sessions").and_then(first_session))
        }
        Value::String(id) => Some(id.clone()),
        _ => None,
    }
}

/// Makes a connection one of the protocol of workers. Gives the token of the program.
fn attach(socket: &Path) -> Result<(String, BufReader<UnixStream>)> {
    let mut stream = UnixStream::connect(socket)?;
    let request = "POST /v1/attach HTTP/1.1\r\nHost: lineside\r\nConnection: Upgrade\r\n\
                   Upgrade: lineside-worker/2\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let head = head(&mut reader)?;
    ensure!(head.first().is_some_and(|line| line.contains(" 101 ")), "it was not attached: {head:?}");
    let token = value(&head, "lineside-attachment").context("it was given no token")?;
    Ok((token, reader))
}

/// Refuses whatever is asked, until the daemon is gone.
fn answer(mut reader: BufReader<UnixStream>) -> Result<()> {
    let mut writer = reader.get_ref().try_clone()?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let frame: Value = serde_json::from_str(&line).unwrap_or_default();
        let said = match frame["type"].as_str() {
            Some("hello") => json!({"type": "hello", "protocol": 2, "concurrency": 1}),
            Some("call") => {
                let answer = json!({"verdict": "block", "reason": REASON});
                json!({"type": "answer", "id": frame["id"], "answer": answer})
            }
            Some("cancel") => json!({"type": "cancelled", "id": frame["id"]}),
            Some("ping") => json!({"type": "pong"}),
            _ => Value::Null,
        };
        if !said.is_null() {
            writeln!(writer, "{said}")?;
        }
        line.clear();
    }
    Ok(())
}

/// One request, and the document that is answered.
fn ask(socket: &Path, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: lineside\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let head = self::head(&mut reader)?;
    let length = value(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut text = vec![0; length];
    reader.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let first = head.first().map(String::as_str).unwrap_or_default();
    ensure!(first.contains(" 20"), "{method} {path}: {first}: {text}");
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// The lines of the head of an answer.
fn head(reader: &mut impl BufRead) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        ensure!(reader.read_line(&mut line)? > 0, "the daemon has closed the connection");
        if line.trim().is_empty() {
            return Ok(lines);
        }
        lines.push(line.trim().to_owned());
    }
}

fn value(head: &[String], name: &str) -> Option<String> {
    let mut pairs = head.iter().filter_map(|line| line.split_once(':'));
    pairs.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned()))
}
