//! Clients that ask for too much, do not read, go away in between: each costs itself something and others nothing.

use std::fs::File;
use std::time::Duration;

use hyper::Method;
use lineside::json::Value;
use lineside::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::house::{House, json_request, read, small};
use crate::signals::Reader;

fn shell(session: &str, command: &str) -> Value {
    json!({"point": "before_tool", "session": session,
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}})
}

/// A request as bytes.
fn raw(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("it does not come to an end")
}

#[tokio::test]
async fn large_bodies_share_one_bounded_room() {
    let house = House::with(|settings| settings.limits(small(|limits| limits.memory = 2 << 20))).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let zeros = format!(r#"{{"point":"on_idle","session":"s","many":[{}0]}}"#, "0,".repeat(100_000));
    let response = house.request(json_request(Method::POST, "/v1/events", zeros.into_bytes())).await;
    let (status, problem) = read(response).await;
    assert_eq!((status, &problem["verdict"]), (413, &json!("block")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("there is room for 2097152"), "{problem}");
    // Each takes nearly half of the room; all of them have their turn.
    let long = shell("s", &"x".repeat(300 << 10));
    let all = futures_util::future::join_all((0..24).map(|_| house.post("/v1/events", &long)));
    assert!(soon(all).await.iter().all(|(status, _)| *status == 200));
}

#[tokio::test]
async fn a_body_that_finds_no_room_is_told_so_and_small_ones_need_none() {
    let limits = small(|limits| {
        limits.memory = 200 << 10;
        limits.whole = Duration::from_millis(500);
    });
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    // Half a body that has taken nearly all of the room, and does not go on.
    let mut half = UnixStream::connect(house.socket()).await.unwrap();
    let body = raw("/v1/events", &"x".repeat(300 << 10));
    half.write_all(&body[..200 << 10]).await.unwrap();
    assert_eq!(house.post("/v1/events", &shell("s", "ls")).await.0, 200);
    let (status, problem) = house.post("/v1/events", &shell("s", &"x".repeat(100 << 10))).await;
    let kind = problem["type"].as_str().unwrap().rsplit(':').next().unwrap();
    assert!([("no-room", 503), ("too-large", 413)].contains(&(kind, status)), "{problem}");
    assert_eq!(problem["verdict"], json!("block"));
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up() {
    let limits = small(|limits| limits.unread = Duration::from_millis(50));
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut deaf = UnixStream::connect(house.socket()).await.unwrap();
    deaf.write_all(&raw("/v1/events", &shell("s", &"x".repeat(8 << 20)).to_string())).await.unwrap();
    soon(async {
        loop {
            let request = json_request(Method::GET, "/v1/metrics", Vec::new());
            let response = house.request(request).await;
            let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
            let metrics = String::from_utf8(bytes.to_vec()).unwrap();
            let is_decided = metrics.contains("\nlineside_events_total 1\n");
            if is_decided && metrics.contains("\nlineside_connections 1\n") {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn long_answers_that_are_not_read_take_the_room_of_answers() {
    let house = House::with(|settings| settings.limits(small(|limits| limits.memory = 1 << 20))).await;
    for number in 0..250 {
        let session = json!({"id": number.to_string(), "cwd": "x".repeat(3_000)});
        assert_eq!(house.post("/v1/sessions", &session).await.0, 201);
    }
    let mut deaf = UnixStream::connect(house.socket()).await.unwrap();
    let head = "GET /v1/sessions HTTP/1.1\r\nhost: l\r\nconnection: close\r\n\r\n";
    deaf.write_all(head.as_bytes()).await.unwrap();
    let until = async |expected: u16| {
        while house.get("/v1/sessions").await.0 != expected {
            tokio::task::yield_now().await;
        }
    };
    soon(until(503)).await;
    assert_eq!(house.get("/v1/sessions/7").await.0, 200, "short ones need none");
    let mut answer = Vec::new();
    soon(tokio::io::AsyncReadExt::read_to_end(&mut deaf, &mut answer)).await.unwrap();
    assert!(answer.len() > 750_000 && answer.ends_with(b"}"));
    soon(until(200)).await;
}

#[tokio::test]
async fn the_hook_of_a_client_that_has_gone_ends_also_with_a_second_request_behind() {
    let house = House::new().await;
    let pipe = house.folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let hooks = house.folder.path().join("project/.lineside");
    std::fs::create_dir_all(&hooks).unwrap();
    let waits = format!("hooks:\n  - {{name: waits, on: before_tool, command: [cat, {}]}}\n", pipe.display());
    std::fs::write(hooks.join("hooks.yaml"), waits).unwrap();
    house.post("/v1/reload", &json!({})).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let mut client = UnixStream::connect(house.socket()).await.unwrap();
    let one = raw("/v1/events", &shell("s", "ls").to_string());
    client.write_all(&[one.as_slice(), one.as_slice()].concat()).await.unwrap();
    // The opening ends when the hook has opened its end.
    let gate = tokio::task::spawn_blocking(move || File::create(pipe).unwrap()).await.unwrap();
    drop(client);
    let abandoned = soon(reader.until("abandoned")).await;
    assert_eq!((&abandoned["session"], &abandoned["seq"]), (&json!("s"), &json!(1)));
    drop(gate);
}

#[tokio::test]
async fn n06_clients_that_stall_flood_or_send_half_a_frame_keep_no_other_waiting() {
    let house = House::new().await;
    let client = house.client();
    let quiet = client.session("quiet").open().await.unwrap();
    house.post("/v1/sessions", &json!({"id": "loud"})).await;
    let one = raw("/v1/events", &shell("loud", "ls").to_string());
    let mut bad = Vec::new();
    for number in 0..64 {
        let mut stream = UnixStream::connect(house.socket()).await.unwrap();
        match number % 4 {
            // Half a head, half a body, and half a frame of the protocol of workers.
            0 => stream.write_all(&one[..20]).await.unwrap(),
            1 => stream.write_all(&one[..one.len() - 5]).await.unwrap(),
            2 => {
                let attach = b"POST /v1/attach HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\n\
                    connection: upgrade\r\nupgrade: lineside-worker/2\r\ncontent-length: 0\r\n\r\n";
                stream.write_all(attach).await.unwrap();
                let mut head = [0; 12];
                stream.read_exact(&mut head).await.unwrap();
                assert_eq!(&head, b"HTTP/1.1 101");
                stream.write_all(b"{\"type\": \"hel").await.unwrap();
            }
            // Requests without an end, whose answers are not read: as many as the system takes.
            _ => while stream.try_write(&one).is_ok() {},
        }
        bad.push(stream);
    }
    for number in 1..=200 {
        let decision = quiet.publish(BeforeTool::new("Shell", json!({"command": "ls"})));
        assert_eq!(soon(decision).await.unwrap().seq(), Some(number));
    }
    drop(bad);
    let (report, ()) = tokio::join!(house.server.end(), async {});
    assert!(report.drained.is_clean());
}

#[tokio::test]
async fn what_names_something_is_short() {
    let house = House::new().await;
    let long = "x".repeat(1 << 20);
    for session in [
        json!({"id": long}),
        json!({"id": "s", "cwd": long}),
        json!({"id": "s", "agent": {"id": long, "kind": "main"}}),
    ] {
        let (status, problem) = house.post("/v1/sessions", &session).await;
        assert_eq!((status, &problem["verdict"]), (400, &json!("block")));
        assert!(problem["detail"].as_str().unwrap().contains("1048576 bytes, at most"), "{problem}");
    }
    let (status, problem) = house.post("/v1/events?open=true", &shell(&long, "ls")).await;
    assert_eq!((status, &problem["verdict"]), (400, &json!("block")));
    let (status, problem) = house.post("/v1/events", &shell(&long, "ls")).await;
    assert_eq!((status, &problem["verdict"]), (404, &json!("block")));
    assert!(problem.to_string().len() < 10_000, "it is not given back whole");
}

#[tokio::test]
async fn a_path_that_is_not_utf_8_gets_a_problem_document() {
    let house = House::new().await;
    for path in ["/v1/sessions/%FF", "/v1/sessions/%FF/hooks", "/v1/receipts/%FF", "/v1/jobs/%FF"] {
        let response = house.request(json_request(Method::GET, path, Vec::new())).await;
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        assert_eq!(read(response).await.0, 400, "{path}");
    }
}

#[tokio::test]
async fn the_end_of_the_daemon_cuts_no_answer_that_it_owes() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut client = UnixStream::connect(house.socket()).await.unwrap();
    let command = "x".repeat(8 << 20);
    client.write_all(&raw("/v1/events", &shell("s", &command).to_string())).await.unwrap();
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    reader.until("decided").await;
    drop(reader);
    let read = async {
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        answer
    };
    let (_, answer) = soon(async { tokio::join!(house.server.end(), read) }).await;
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let decision: Value = lineside::json::from_slice(&answer[body..]).expect("the answer is whole");
    assert_eq!(decision["payload"]["tool_input"]["command"].as_str().unwrap().len(), command.len());
}
