//! A connection for events: what is answered over it is what is answered over HTTP, and none of its events waits for
//! another one, nor outlives its publisher.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use lineside::json::{Value, from_slice};
use lineside::prelude::*;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::hosts::ask;
use crate::house::{House, small};
use crate::signals::Reader;

/// A connection for events, as a program without our library has one.
pub(crate) struct Line(BufReader<UnixStream>);

pub(crate) fn shell(session: &str, command: &str) -> Value {
    json!({"point": "before_tool", "session": session,
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}})
}

impl Line {
    pub(crate) async fn open(house: &House) -> Self {
        Self::with(house, "").await
    }

    async fn with(house: &House, headers: &str) -> Self {
        let mut stream = UnixStream::connect(house.socket()).await.unwrap();
        let head = format!(
            "POST /v1/events/connection HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\n\
             connection: upgrade\r\nupgrade: lineside-events/1\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 101"), "{line}");
        while line.trim() != "" {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
        }
        Self(stream)
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }

    /// Nothing more is written.
    pub(crate) async fn ends(&mut self) {
        self.0.get_mut().shutdown().await.unwrap();
    }

    pub(crate) async fn publish(&mut self, id: u64, event: &Value) {
        self.write(&frame(id, event)).await;
    }

    /// The next answer: its type, its id and its body; nothing at the end.
    pub(crate) async fn answer(&mut self) -> Option<(String, Option<u64>, Value)> {
        let mut head = String::new();
        while head.trim().is_empty() {
            head.clear();
            if soon(self.0.read_line(&mut head)).await.ok()? == 0 {
                return None;
            }
        }
        let head: Value = from_slice(head.as_bytes()).unwrap();
        let mut body = vec![0; usize::try_from(head["bytes"].as_u64().unwrap()).unwrap()];
        soon(self.0.read_exact(&mut body)).await.unwrap();
        let kind = head["type"].as_str().unwrap().to_owned();
        Some((kind, head["id"].as_u64(), from_slice(&body).unwrap()))
    }
}

/// An event as it is written to such a connection.
pub(crate) fn frame(id: u64, event: &Value) -> Vec<u8> {
    let body = event.to_string();
    format!("{}\n{body}", json!({"type": "publish", "id": id, "bytes": body.len()})).into_bytes()
}

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("it does not come to an end")
}

/// A daemon whose one hook waits until the pipe that it reads is opened and closed.
async fn waiting() -> (House, PathBuf) {
    let house = House::new().await;
    let pipe = house.folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let hooks = house.folder.path().join("project/.lineside");
    std::fs::create_dir_all(&hooks).unwrap();
    let waits = format!("hooks:\n  - {{name: waits, on: before_tool, command: [cat, {}]}}\n", pipe.display());
    std::fs::write(hooks.join("hooks.yaml"), waits).unwrap();
    house.post("/v1/reload", &json!({})).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    (house, pipe)
}

/// Opens the pipe of the hook, when that has opened its end.
async fn opened(pipe: PathBuf) -> File {
    soon(tokio::task::spawn_blocking(move || File::create(pipe).unwrap())).await.unwrap()
}

#[tokio::test]
async fn an_answer_is_that_of_http_whether_it_is_a_decision_or_a_problem() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut line = Line::open(&house).await;
    let bad = [
        shell("nowhere", "ls"),
        json!({"point": "befor_tool", "session": "s"}),
        json!([1]),
        json!({"point": "before_tool", "session": "s", "payload": {"tool_name": "x"}}),
    ];
    for (id, event) in (7..).zip(&bad) {
        line.publish(id, event).await;
        let (status, problem) = house.post("/v1/events", event).await;
        assert_eq!(line.answer().await.unwrap(), ("problem".to_owned(), Some(id), problem.clone()));
        assert_eq!((problem["status"].as_u64(), &problem["verdict"]), (Some(status.into()), &json!("block")));
    }
    line.publish(1, &shell("s", "ls")).await;
    let (kind, id, over_line) = line.answer().await.unwrap();
    assert_eq!((&*kind, id), ("decision", Some(1)));
    let (_, mut over_http) = house.post("/v1/events", &shell("s", "ls")).await;
    for (field, expected) in [("seq", json!(2)), ("id", over_http["id"].clone())] {
        assert_eq!(over_http[field], expected);
        over_http.as_object_mut().unwrap().insert(field.to_owned(), over_line[field].clone());
    }
    assert_eq!(over_line, over_http);
}

#[tokio::test]
async fn what_is_of_a_later_version_is_passed_over_and_parameters_stand_in_the_head() {
    let house = House::new().await;
    let mut line = Line::open(&house).await;
    let body = shell("new", "ls").to_string();
    let head =
        json!({"type": "publish", "id": 3, "bytes": body.len(), "open": true, "receipt": true, "later": [1]});
    let text = format!(
        "\n{{\"type\":\"later\"}}\n{{\"type\":\"later\",\"bytes\":5}}\n\n\n\n{{}}\n{{\"type\":\"cancel\",\"id\":9}}\r\n{head}\n{body}"
    );
    // A byte at a time is as good as all of them.
    for byte in text.as_bytes() {
        line.write(&[*byte]).await;
    }
    let (kind, id, decision) = line.answer().await.unwrap();
    assert_eq!((&*kind, id, &decision["session"]), ("decision", Some(3), &json!("new")));
    assert!(decision["hooks"].is_array(), "the whole receipt was asked for");
}

#[tokio::test]
async fn what_is_not_the_protocol_ends_the_connection_with_a_problem() {
    let house = House::new().await;
    let long = [b"{\"type\":\"publish\",\"x\":\"".as_slice(), &[b'x'; 5000]].concat();
    for wrong in
        [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"{\"type\":\"publish\",\"bytes\":2}\n{}", b"[]\n", &long]
    {
        let mut line = Line::open(&house).await;
        line.write(wrong).await;
        let (kind, id, problem) = line.answer().await.unwrap();
        assert_eq!((&*kind, id, &problem["verdict"]), ("problem", None, &json!("block")));
        assert!(line.answer().await.is_none());
    }
}

#[tokio::test]
async fn an_event_that_waits_keeps_no_other_one_waiting_and_ends_when_it_is_cancelled() {
    let (house, pipe) = waiting().await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let mut line = Line::open(&house).await;
    line.publish(1, &shell("s", "ls")).await;
    let gate = opened(pipe.clone()).await;
    line.publish(2, &json!({"point": "on_idle", "session": "s"})).await;
    assert_eq!(line.answer().await.unwrap().1, Some(2));
    drop(gate);
    assert_eq!(line.answer().await.unwrap().1, Some(1));
    line.publish(3, &shell("s", "ls")).await;
    let gate = opened(pipe).await;
    line.write(b"{\"type\":\"cancel\",\"id\":3}\n").await;
    assert_eq!(soon(reader.until("abandoned")).await["seq"], json!(3));
    line.publish(4, &json!({"point": "on_idle", "session": "s"})).await;
    assert_eq!(line.answer().await.unwrap().1, Some(4), "what is cancelled is not answered");
    drop(gate);
}

#[tokio::test]
async fn a_publisher_that_is_gone_leaves_its_event_undecided() {
    let (house, pipe) = waiting().await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let mut line = Line::open(&house).await;
    line.publish(1, &shell("s", "ls")).await;
    let gate = opened(pipe.clone()).await;
    drop(line);
    assert_eq!(soon(reader.until("abandoned")).await["seq"], json!(1));
    drop(gate);
}

#[tokio::test]
async fn an_event_that_is_cancelled_at_once_is_undecided_at_once() {
    let (house, _pipe) = waiting().await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let mut line = Line::open(&house).await;
    // Both are read at the same time: the hook has begun, and waits for what never comes.
    let cancelled = [frame(1, &shell("s", "ls")), b"\n{\"type\":\"cancel\",\"id\":1}\n".to_vec()].concat();
    line.write(&cancelled).await;
    assert_eq!(soon(reader.until("abandoned")).await["seq"], json!(1));
}

#[tokio::test]
async fn a_client_that_does_not_wait_any_more_leaves_its_event_undecided_and_goes_on() {
    let (house, pipe) = waiting().await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let client = house.client();
    let session = client.session("s").resume().open().await.unwrap();
    let publish = session.publish(BeforeTool::new("Shell", json!({"command": "ls"})));
    let gate = tokio::select! {
        gate = opened(pipe) => gate,
        decision = publish => panic!("{decision:?}"),
    };
    assert_eq!(soon(reader.until("abandoned")).await["seq"], json!(1));
    drop(gate);
    assert_eq!(session.publish(OnIdle::new()).await.unwrap().seq(), Some(2), "over the same connection");
}

#[tokio::test]
async fn long_events_pass_and_those_that_are_too_long_are_refused_alone() {
    let limits = small(|limits| {
        limits.body = 1 << 20;
        limits.memory = 16 << 20;
    });
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut line = Line::open(&house).await;
    for (id, length) in [(1, 900 << 10), (2, 60 << 10), (3, 70 << 10), (4, 10)] {
        line.publish(id, &shell("s", &"x".repeat(length))).await;
    }
    let mut found = Vec::new();
    for _ in 0..4 {
        let (kind, id, decision) = line.answer().await.unwrap();
        let length = decision["payload"]["tool_input"]["command"].as_str().unwrap().len();
        found.push((kind, id.unwrap(), length));
    }
    found.sort_by_key(|(_, id, _)| *id);
    let decided = |id, length| ("decision".to_owned(), id, length);
    assert_eq!(found, [decided(1, 900 << 10), decided(2, 60 << 10), decided(3, 70 << 10), decided(4, 10)]);
    line.publish(5, &shell("s", &"x".repeat(2 << 20))).await;
    line.publish(6, &shell("s", "ls")).await;
    let (kind, id, problem) = line.answer().await.unwrap();
    assert_eq!(
        (&*kind, id, &problem["status"], &problem["verdict"]),
        ("problem", Some(5), &json!(413), &json!("block"))
    );
    assert_eq!(line.answer().await.unwrap().1, Some(6));
}

#[tokio::test]
async fn n06_half_a_frame_and_answers_that_are_not_read_end_their_connection_alone() {
    let limits = small(|limits| {
        limits.whole = Duration::from_millis(100);
        limits.unread = Duration::from_millis(100);
    });
    let house = House::with(|settings| settings.limits(limits)).await;
    let session = house.client().session("s").open().await.unwrap();
    let one = frame(1, &shell("s", &"x".repeat(1000)));
    let mut half = Line::open(&house).await;
    half.write(&one[..one.len() - 5]).await;
    let mut head = Line::open(&house).await;
    head.write(b"{\"type\":").await;
    let deaf = Line::open(&house).await;
    // As many as the system takes: then the daemon reads no further, because its answers are not read.
    let mut id = 1;
    loop {
        id += 1;
        deaf.0.get_ref().writable().await.unwrap();
        let whole = frame(id, &shell("s", &"x".repeat(1000)));
        match deaf.0.get_ref().try_write(&whole) {
            Ok(written) if written == whole.len() => {}
            _ => break,
        }
        tokio::task::yield_now().await;
    }
    assert!(half.answer().await.is_none());
    assert!(head.answer().await.is_none());
    assert!(session.publish(OnIdle::new()).await.unwrap().seq().is_some());
    // The connections of the client, and that of the look itself.
    soon(async {
        while !metrics(&house).await.contains("\nlineside_connections 3\n") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(deaf);
}

#[tokio::test]
async fn decisions_that_are_not_read_take_the_room_of_their_bodies() {
    let limits = small(|limits| {
        limits.memory = 16 << 20;
        limits.whole = Duration::from_millis(200);
    });
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    // More of it than the system takes for a reader that does not read.
    let long = || shell("s", &"x".repeat(4 << 20));
    let mut deaf = Vec::new();
    let refused = loop {
        let mut line = Line::open(&house).await;
        line.publish(1, &long()).await;
        // It is decided, and its answer stands before it.
        line.0.get_ref().readable().await.unwrap();
        deaf.push(line);
        assert!(deaf.len() < 40, "forty decisions of 4 MiB are not read, and have the room of 16 MiB");
        let (status, problem) = house.post("/v1/events", &long()).await;
        if status != 200 {
            break problem;
        }
    };
    assert!(refused["type"].as_str().unwrap().ends_with("no-room"), "{refused}");
    for line in &mut deaf {
        assert!(line.answer().await.is_some());
    }
    let (status, decision) = house.post("/v1/events", &long()).await;
    assert_eq!(status, 200, "{decision}");
}

pub(crate) async fn metrics(house: &House) -> String {
    let request = crate::house::json_request(hyper::Method::GET, "/v1/metrics", Vec::new());
    let response = house.request(request).await;
    let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_grant_that_is_over_is_worth_nothing_over_a_connection_that_has_shown_it() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let environment = session.environment();
    let grant = environment.iter().find(|(name, _)| *name == "LINESIDE_GRANT").unwrap().1.to_owned();
    let mut line = Line::with(&house, &format!("lineside-grant: {grant}\r\n")).await;
    line.publish(1, &shell("s", "ls")).await;
    assert_eq!(line.answer().await.unwrap().2["type"], json!("urn:lineside:problem:not-granted"));
    let child = house.client().granted(grant).session("child").open().await.unwrap();
    assert!(child.publish(OnIdle::new()).await.is_ok());
    line.publish(2, &shell("child", "ls")).await;
    assert_eq!(line.answer().await.unwrap().0, "decision");
    session.close().await.unwrap();
    line.publish(3, &shell("child", "ls")).await;
    let (_, _, problem) = line.answer().await.unwrap();
    assert_eq!(
        (&problem["type"], &problem["verdict"]),
        (&json!("urn:lineside:problem:no-such-grant"), &json!("block"))
    );
}

#[tokio::test]
async fn the_end_of_the_daemon_answers_what_is_under_way_over_a_connection() {
    let (house, pipe) = waiting().await;
    let mut line = Line::open(&house).await;
    line.publish(1, &shell("s", "ls")).await;
    let gate = opened(pipe).await;
    let ending = house.server.ending();
    let end = tokio::spawn(house.server.end());
    soon(ending).await;
    drop(gate);
    assert_eq!(line.answer().await.unwrap().1, Some(1));
    assert!(line.answer().await.is_none());
    assert!(soon(end).await.unwrap().drained.is_clean());
}

/// Hooks of facts that wait for the other end of a pipe, with an automation beside them.
async fn waiting_at_facts() -> (House, PathBuf) {
    let house = House::new().await;
    let pipe = house.folder.path().join("facts");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let hooks = house.folder.path().join("project/.lineside");
    std::fs::create_dir_all(&hooks).unwrap();
    let waits = format!("command: [cat, {}]", pipe.display());
    let text = format!(
        "hooks:\n- {{name: waits, on: [after_tool, after_session], {waits}}}\n\
        - {{name: lint, on: after_tool, command: 'true', automate: {{}}}}\n"
    );
    std::fs::write(hooks.join("hooks.yaml"), text).unwrap();
    house.post("/v1/reload", &json!({})).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    (house, pipe)
}

#[tokio::test]
async fn what_has_happened_is_decided_though_its_publisher_leaves() {
    let (house, pipe) = waiting_at_facts().await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let after_tool = json!({"point": "after_tool", "session": "s",
        "payload": {"tool_name": "Shell", "tool_input": {}, "tool_output": "done"}});
    let of_host = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": "done"});
    let mut line = Line::open(&house).await;
    for way in ["a request", "a connection for events", "a call of a host"] {
        let publish = async {
            match way {
                "a request" => drop(house.post("/v1/events", &after_tool).await),
                "a call of a host" => drop(ask(&house, "claude", &[], of_host.to_string()).await),
                _ => {
                    line.publish(1, &after_tool).await;
                    std::future::pending::<()>().await;
                }
            }
        };
        let gate = tokio::select! {
            gate = opened(pipe.clone()) => gate,
            () = publish => panic!("the hook waits"),
        };
        if way == "a connection for events" {
            line.write(b"{\"type\":\"cancel\",\"id\":1}\n").await;
        }
        drop(gate);
        let decided = soon(reader.until("decided")).await;
        assert_eq!(decided["session"], json!("s"), "{way}: {decided}");
    }
    let jobs = house.get("/v1/jobs").await.1;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 3, "{jobs}");
}

#[tokio::test]
async fn a_session_whose_end_is_published_is_closed_though_the_publisher_leaves() {
    let (house, pipe) = waiting_at_facts().await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let end = json!({"point": "after_session", "session": "s", "payload": {"reason": "exit"}});
    let gate = tokio::select! {
        gate = opened(pipe) => gate,
        _ = house.post("/v1/events", &end) => panic!("the hook waits"),
    };
    drop(gate);
    assert_eq!(soon(reader.until("session_closed")).await["session"], json!("s"));
    let (status, problem) = house.post("/v1/events?open=true", &end).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:lineside:problem:session-closed")), "{problem}");
}
