//! Requests of other spellings, as bytes: pieces, several at once, an old version, floods, another host.

use lineside::json::{Value, from_slice};
use lineside::prelude::*;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpStream, UnixStream};

use crate::connection::{shell, soon};
use crate::house::{House, small};

/// A connection on which bytes are written and answers read.
struct Raw<S>(BufReader<S>);

impl Raw<UnixStream> {
    async fn open(house: &House) -> Self {
        Self(BufReader::new(UnixStream::connect(house.socket()).await.unwrap()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Raw<S> {
    async fn write(&mut self, bytes: &[u8]) {
        // Who refuses a flood need not read all of it.
        self.0.get_mut().write_all(bytes).await.ok();
    }

    /// The next answer: its status and its body; nothing at the end.
    async fn answer(&mut self) -> Option<(u16, Value)> {
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            if soon(self.0.read_line(&mut line)).await.ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("http/1.") {
                status = text[2..5].parse().unwrap();
            } else if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        soon(self.0.read_exact(&mut body)).await.unwrap();
        Some((status, from_slice(&body).unwrap_or(Value::Null)))
    }
}

const HEAD: &str = "POST /v1/events HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\n";

fn with_length(body: &str) -> String {
    format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len())
}

fn in_pieces(body: &str, size: usize) -> String {
    let piece = |piece: &[u8]| format!("{:x}\r\n{}\r\n", piece.len(), str::from_utf8(piece).unwrap());
    let pieces: String = body.as_bytes().chunks(size).map(piece).collect();
    format!("{HEAD}transfer-encoding: chunked\r\n\r\n{pieces}0\r\n\r\n")
}

async fn house() -> House {
    let limits = small(|limits| limits.body = 1 << 20);
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    house
}

#[tokio::test]
async fn requests_that_come_at_once_are_answered_one_after_another() {
    let house = house().await;
    let mut raw = Raw::open(&house).await;
    let event = shell("s", "ls").to_string();
    let all = with_length(&event)
        + &in_pieces(&event, 7)
        + "GET /nowhere HTTP/1.1\r\nhost: l\r\n\r\n"
        + &with_length("{")
        + &with_length(&event);
    raw.write(all.as_bytes()).await;
    let mut answers = Vec::new();
    for _ in 0..5 {
        let (status, body) = raw.answer().await.unwrap();
        answers.push((status, body["seq"].as_u64(), body["verdict"].as_str().unwrap_or("none").to_owned()));
    }
    let answer = |status, seq, verdict: &str| (status, seq, verdict.to_owned());
    let expected = [
        answer(200, Some(1), "continue"),
        answer(200, Some(2), "continue"),
        answer(404, None, "none"),
        answer(400, None, "block"),
        answer(200, Some(3), "continue"),
    ];
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn n06_a_body_in_pieces_is_bounded_as_any_other() {
    let house = house().await;
    let mut raw = Raw::open(&house).await;
    raw.write(in_pieces(&"x".repeat((1 << 20) + 1), 10_000).as_bytes()).await;
    let (status, problem) = raw.answer().await.unwrap();
    assert_eq!((status, &problem["verdict"]), (413, &json!("block")));
    // The length of a body that comes in pieces counts for nothing: either way nothing that follows is taken for a request.
    let event = shell("s", "ls").to_string();
    let both = in_pieces(&event, 50).replace("transfer-encoding", "content-length: 3\r\ntransfer-encoding");
    let mut raw = Raw::open(&house).await;
    raw.write(both.as_bytes()).await;
    let (status, _) = raw.answer().await.unwrap();
    assert!([200, 400].contains(&status), "{status}");
    // A piece whose length is none, and one of more bytes than there are numbers for.
    for wrong in ["-1", "zz", "ffffffffffffffffff", "1;x=\n1"] {
        let mut raw = Raw::open(&house).await;
        raw.write(format!("{HEAD}transfer-encoding: chunked\r\n\r\n{wrong}\r\n{{}}\r\n0\r\n\r\n").as_bytes())
            .await;
        if let Some((status, problem)) = raw.answer().await {
            assert_eq!((status, &problem["verdict"]), (400, &json!("block")), "{wrong}");
        }
    }
    assert_eq!(house.get("/v1/health").await.0, 200);
}

#[tokio::test]
async fn a_request_of_the_old_version_is_answered_and_gets_no_other_protocol() {
    let house = house().await;
    let mut raw = Raw::open(&house).await;
    raw.write(b"GET /v1/health HTTP/1.0\r\n\r\n").await;
    assert_eq!(raw.answer().await.unwrap().0, 200);
    assert_eq!(raw.answer().await, None, "the connection ends with it");
    for (path, protocol) in
        [("/v1/events/connection", "lineside-events/1"), ("/v1/attach", "lineside-worker/2")]
    {
        let mut raw = Raw::open(&house).await;
        let head = format!(
            "POST {path} HTTP/1.0\r\ncontent-type: application/json\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\r\n"
        );
        raw.write(head.as_bytes()).await;
        let (status, _) = raw.answer().await.unwrap();
        assert!(status >= 400, "{path}: {status}");
        assert_eq!(raw.answer().await, None, "{path}");
    }
}

#[tokio::test]
async fn n06_a_flood_of_headers_is_refused_and_costs_its_connection() {
    let house = house().await;
    let many: String = (0..5_000).map(|number| format!("x-{number}: y\r\n")).collect();
    for flood in [many, format!("x: {}\r\n", "y".repeat(4 << 20))] {
        let mut raw = Raw::open(&house).await;
        raw.write(format!("GET /v1/health HTTP/1.1\r\nhost: l\r\n{flood}\r\n").as_bytes()).await;
        if let Some((status, _)) = raw.answer().await {
            assert_eq!(status, 431);
        }
        assert_eq!(raw.answer().await, None);
    }
    assert_eq!(house.get("/v1/health").await.0, 200);
}

#[tokio::test]
async fn n01_the_host_in_the_target_of_a_request_counts_too() {
    let house = House::with(|settings| settings.http(([127, 0, 0, 1], 0).into())).await;
    let token = std::fs::read_to_string(house.folder.path().join("state/http-token")).unwrap();
    let (token, address) = (token.trim_end(), house.server.http().unwrap());
    for (target, expected) in [
        ("/v1/health".to_owned(), 200),
        (format!("http://{address}/v1/health"), 200),
        ("http://evil.example/v1/health".to_owned(), 421),
        (format!("http://user@{address}/v1/health"), 421),
        (format!("http://evil.example:{}/v1/health", address.port()), 421),
    ] {
        let mut raw = Raw(BufReader::new(TcpStream::connect(address).await.unwrap()));
        let head =
            format!("GET {target} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
        raw.write(head.as_bytes()).await;
        assert_eq!(raw.answer().await.unwrap().0, expected, "{target}");
    }
    // Bytes that no header may have, and a token that only begins as the right one.
    for wrong in [
        format!("{token}\u{fe}"),
        format!("{token}0"),
        token[..63].to_owned(),
        token.to_uppercase(),
        format!("{token} {token}"),
    ] {
        let mut raw = Raw(BufReader::new(TcpStream::connect(address).await.unwrap()));
        let head =
            format!("GET /v1/health HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {wrong}\r\n\r\n");
        raw.write(head.as_bytes()).await;
        let status = raw.answer().await.unwrap().0;
        assert!([400, 401].contains(&status), "{wrong}: {status}");
    }
}

#[tokio::test]
async fn a_refusal_waits_for_the_rest_of_its_request() {
    let house = House::new().await;
    let (_, opened) = house.post("/v1/sessions", &json!({"id": "s"})).await;
    let grant = opened["environment"]["LINESIDE_GRANT"].as_str().unwrap();
    let mut raw = Raw::open(&house).await;
    let head =
        "POST /v1/explain HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\ncontent-length: 2\r\n";
    // Over one connection, which goes on.
    for _ in 0..2 {
        raw.write(format!("{head}lineside-grant: {grant}\r\n\r\n").as_bytes()).await;
        let early = tokio::time::timeout(std::time::Duration::from_millis(100), raw.answer()).await;
        assert!(early.is_err(), "{early:?}");
        raw.write(b"{}").await;
        assert_eq!(raw.answer().await.map(|(status, _)| status), Some(403));
    }
}
