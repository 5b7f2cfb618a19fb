//! A scripted model on the loopback interface: it takes requests of four protocols and keeps them.
//!
//! What it answers is in `script`, how that is written in `protocol`; this is the server. It keeps no conversation: each
//! request has all of it.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::protocol::{Protocol, Reply};
use super::script::{Stage, answer};

/// The name under which it is asked for.
pub(super) const NAME: &str = "scripted-model";

/// The longest request that is read, in bytes.
const LONGEST: usize = 64 << 20;

/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A model that answers until the chore ends.
pub(super) struct Model {
    /// Its port on 127.0.0.1.
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    before: Arc<Mutex<Option<Before>>>,
}

/// What is done when a question with this text has come and before it is answered.
struct Before {
    text: &'static str,
    act: Box<dyn FnOnce() + Send>,
}

impl Model {
    /// Listens on a free port. `agent` is the type of subagent to start, `project` where relative paths of tools lie.
    pub(super) fn start(agent: &str, project: &Path) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for the model")?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stage = Stage { agent: agent.to_owned(), project: project.to_string_lossy().into_owned() };
        let before: Arc<Mutex<Option<Before>>> = Arc::default();
        let (kept, once, stage) = (Arc::clone(&asked), Arc::clone(&before), Arc::new(stage));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (kept, once, stage) = (Arc::clone(&kept), Arc::clone(&once), Arc::clone(&stage));
                // A client that goes away is no matter for the model.
                thread::spawn(move || drop(serve(&connection, &kept, &once, &stage)));
            }
        });
        Ok(Self { port, asked, before })
    }

    /// Does this once, when a question with this text has come and before it is answered.
    pub(super) fn before_answer_to(&self, text: &'static str, act: impl FnOnce() + Send + 'static) {
        let before = Before { text, act: Box::new(act) };
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    }

    /// The bodies of the questions that were put to it so far, as JSON.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One request on one connection, which is closed then.
fn serve(
    connection: &TcpStream,
    kept: &Mutex<Vec<String>>,
    before: &Mutex<Option<Before>>,
    stage: &Stage,
) -> Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(connection);
    let (path, body) = request(&mut reader)?;
    let path = path.split('?').next().unwrap_or_default().to_owned();
    let mut stream = connection;
    let Some(protocol) = Protocol::of(&path) else {
        return say(&mut stream, &Reply::Whole(beside(&path)));
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let question = body.to_string();
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
    let is_meant = |before: &mut Before| question.contains(before.text);
    let due = before.lock().unwrap_or_else(PoisonError::into_inner).take_if(is_meant);
    if let Some(Before { act, .. }) = due {
        act();
    }
    let answer = answer(protocol, &body, stage);
    say(&mut stream, &protocol.reply(&path, &body, &answer))
}

/// What is asked beside the conversation: which models there are, how many tokens something has.
fn beside(path: &str) -> Value {
    if path.ends_with("/models") {
        let model = json!({"id": NAME, "object": "model", "type": "model", "name": NAME, "display_name": NAME,
            "created": 0, "owned_by": "local",
            "capabilities": {"type": "chat", "supports": {"tool_calls": true, "streaming": true}}});
        return json!({"object": "list", "data": [model]});
    }
    if path.ends_with("/count_tokens") {
        return json!({"input_tokens": 100});
    }
    if path.ends_with(":countTokens") {
        return json!({"totalTokens": 100});
    }
    json!({})
}

/// The path and the body of a request.
fn request(reader: &mut impl BufRead) -> Result<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).context("no request")?.to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<usize>()?.min(LONGEST),
            "transfer-encoding" => is_chunked = value.to_ascii_lowercase().contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if !is_chunked {
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        return Ok((path, body));
    }
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim().split(';').next().unwrap_or_default(), 16)?;
        let at = body.len();
        body.resize((at + size).min(LONGEST), 0);
        reader.read_exact(&mut body[at..])?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok((path, body));
        }
    }
}

fn say(stream: &mut impl Write, reply: &Reply) -> Result<()> {
    let (kind, text) = match reply {
        Reply::Whole(value) => ("application/json", value.to_string()),
        Reply::Events(events) => {
            let event = |(name, data): &(Option<&str>, String)| {
                let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
                format!("{name}data: {data}\n\n")
            };
            ("text/event-stream", events.iter().map(event).collect())
        }
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    Ok(stream.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent: &str, path: &str, body: &str) {
        let (found, read) = request(&mut BufReader::new(sent.as_bytes())).unwrap();
        assert_eq!((found.as_str(), String::from_utf8(read).unwrap().as_str()), (path, body));
    }

    #[test]
    fn bodies_are_read_whole_and_in_chunks() {
        check("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "/a", "abc");
        check(
            "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",
            "/a",
            "abcde",
        );
        check("GET /v1/models?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", "/v1/models?x=1", "");
    }
}
