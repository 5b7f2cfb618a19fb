//! Loopback HTTP: the token, the host, no web page.

use http_body_util::BodyExt as _;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use lineside::json::json;
use lineside::prelude::{BeforeTool, Verdict};
use lineside_daemon::{ServeError, Server};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

use crate::hosts::{ask, tool};
use crate::house::{House, folder, json_request, read, settings, small};

fn request(house: &House, token: Option<&str>, host: Option<&str>) -> Request<Full<Bytes>> {
    let address = house.server.http().unwrap().to_string();
    let mut builder = Request::builder().method("POST").uri("/v1/sessions");
    builder = builder.header("host", host.unwrap_or(&address)).header("content-type", "application/json");
    if let Some(token) = token {
        builder = builder.header("authorization", format!("Bearer {token}"));
    }
    builder.body(Full::new(json!({"id": "s"}).to_string().into())).unwrap()
}

#[tokio::test]
async fn n01_n04_http_is_for_whoever_has_the_token_and_means_this_host() {
    let house = House::with(|settings| settings.http(([127, 0, 0, 1], 0).into())).await;
    let token = std::fs::read_to_string(house.folder.path().join("state/http-token")).unwrap();
    let token = token.trim_end();
    let status = async |request| read(house.http(request).await).await.0;
    assert_eq!(status(request(&house, None, None)).await, 401);
    assert_eq!(status(request(&house, Some("0000"), None)).await, 401);
    assert_eq!(status(request(&house, Some(token), Some("evil.example"))).await, 421);
    assert_eq!(house.get("/v1/sessions").await.1, json!({"sessions": []}));
    assert_eq!(status(request(&house, Some(token), None)).await, 201);
}

#[tokio::test]
async fn a_port_that_another_program_has_takes_no_socket_away_and_hears_no_token_of_a_later_daemon() {
    let folder = crate::house::folder();
    let token = || std::fs::read_to_string(folder.path().join("state/http-token")).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let start = async |address| {
        let settings = crate::house::settings(&folder).http(address);
        lineside_daemon::Server::start(settings).await.unwrap()
    };
    let server = start(taken.local_addr().unwrap()).await;
    assert!(
        server.http().is_none() && server.notes()[0].contains("HTTP is not served"),
        "{:?}",
        server.notes()
    );
    assert!(lineside::Client::new(server.socket()).session("s").open().await.is_ok());
    server.end().await;
    let first = token();
    let server = start(([127, 0, 0, 1], 0).into()).await;
    assert_ne!(token(), first);
    server.end().await;
}

#[tokio::test]
async fn n02_n04_what_a_page_can_send_opens_nothing_and_a_get_changes_nothing() {
    let house = House::with(|settings| settings.http(([127, 0, 0, 1], 0).into())).await;
    let token = std::fs::read_to_string(house.folder.path().join("state/http-token")).unwrap();
    let (token, address) = (token.trim_end(), house.server.http().unwrap().to_string());
    let bearer = format!("Bearer {token}");
    let of_a_page = [
        // A socket of a page; a token in the address, and a role that nothing has given.
        (
            "GET",
            "/v1/signals".to_owned(),
            vec![("upgrade", "websocket"), ("origin", "https://evil.example")],
            403,
        ),
        ("POST", format!("/v1/sessions?token={token}"), vec![("x-role", "admin")], 401),
        (
            "POST",
            "/v1/sessions".to_owned(),
            vec![("authorization", &*bearer), ("content-type", "text/plain")],
            415,
        ),
        ("POST", "/v1/sessions".to_owned(), vec![("authorization", &*bearer), ("origin", "null")], 403),
        ("GET", "/v1/sessions".to_owned(), vec![("authorization", &*bearer)], 200),
    ];
    for (method, path, headers, expected) in of_a_page {
        let mut request = Request::builder().method(method).uri(&path).header("host", &address);
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request = request.header("content-type", "application/json");
        }
        request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let body = json!({"id": "s"}).to_string();
        let response = house.http(request.body(Full::new(body.into())).unwrap()).await;
        let is_shared = response.headers().keys().any(|name| name.as_str().starts_with("access-control"));
        assert!(!is_shared, "{method} {path}");
        assert_eq!(response.status().as_u16(), expected, "{method} {path}");
    }
    for path in [
        "/v1/events",
        "/v1/events/batch",
        "/v1/reload",
        "/v1/stop",
        "/v1/attach",
        "/v1/sessions/s/context/collect",
    ] {
        assert_eq!(house.get(path).await.0, 405, "{path}");
    }
    assert_eq!(house.get("/v1/sessions").await.1, json!({"sessions": []}));
    assert_eq!(house.get("/v1/health").await.1["status"], json!("ok"));
}

#[tokio::test]
async fn http_is_served_on_loopback_alone() {
    let folder = folder();
    let error = Server::start(settings(&folder).http(([0, 0, 0, 0], 0).into())).await.unwrap_err();
    assert!(matches!(error, ServeError::NotLoopback(_)), "{error}");
}

/// Waits until so many connections are open, that of the question among them; for ever when they never are.
async fn open_connections(house: &House, count: usize) {
    let wanted = format!("lineside_connections {count}\n");
    loop {
        let answer = house.request(json_request(Method::GET, "/v1/metrics", Vec::new())).await;
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        if std::str::from_utf8(&text).unwrap().contains(&wanted) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Long enough for what happens at once; what never happens fails then.
const NEVER: Duration = Duration::from_secs(20);

#[tokio::test]
async fn n06_strangers_at_the_http_door_take_no_room_from_the_socket() {
    let house = House::with(|settings| {
        let limits = small(|limits| (limits.connections, limits.head) = (2, Duration::from_secs(3_600)));
        settings.http(([127, 0, 0, 1], 0).into()).limits(limits)
    })
    .await;
    let mut strangers = Vec::new();
    for _ in 0..3 {
        let mut stranger = TcpStream::connect(house.server.http().unwrap()).await.unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        strangers.push(stranger);
    }
    let full = timeout(NEVER, open_connections(&house, 3)).await;
    assert!(full.is_ok(), "two strangers are in, and the socket does not answer");
}

#[tokio::test]
async fn what_is_not_known_over_http_ends_no_session_with_hooks_and_takes_none_away() {
    let house = House::with(|settings| settings.http(([127, 0, 0, 1], 0).into())).await;
    let session = house.client().session("guarded").open().await.unwrap();
    let gate = session.intercept::<BeforeTool>("no").gate(async |_, _| Verdict::block("still here"));
    let _gate = gate.await.unwrap();
    let address = house.server.http().unwrap().to_string();
    let token = std::fs::read_to_string(house.folder.path().join("state/http-token")).unwrap();
    let asked = async |method: &str, path: &str, body: &str| {
        let request = Request::builder().method(method).uri(path).header("host", &address);
        let request = request.header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", token.trim()));
        let response = house.http(request.body(Full::new(body.to_owned().into())).unwrap()).await;
        response.status().as_u16()
    };
    assert_eq!(asked("DELETE", "/v1/sessions/guarded", "").await, 403);
    let hooks = house.get("/v1/sessions/guarded/hooks").await.1;
    assert_eq!(hooks["hooks"].as_array().map(Vec::len), Some(1), "{hooks}");
    for number in 0..64_u64 {
        let path = format!("/v1/sessions/guarded/hooks/{number}");
        assert!(matches!(asked("DELETE", &path, "").await, 403 | 404));
    }
    assert_eq!(asked("POST", "/v1/sessions", r#"{"id": "own"}"#).await, 201);
    assert_eq!(asked("DELETE", "/v1/sessions/own", "").await, 200);
}

#[tokio::test]
async fn what_comes_with_the_token_of_http_alone_speaks_in_the_session_of_no_agent() {
    let house = House::with(|settings| settings.http(([127, 0, 0, 1], 0).into())).await;
    let token = std::fs::read_to_string(house.folder.path().join("state/http-token")).unwrap();
    let (bearer, address) =
        (format!("Bearer {}", token.trim_end()), house.server.http().unwrap().to_string());
    for _ in 0..2 {
        assert_eq!(ask(&house, "claude", &[], tool("agent", "ls")).await.3, Some(0));
    }
    let post = async |path: &str, body: String| {
        let request = Request::builder().method("POST").uri(path).header("host", &address);
        let request = request.header("content-type", "application/json").header("authorization", &bearer);
        let request = request.body(Full::new(body.into())).unwrap();
        house.http(request).await.status().as_u16()
    };
    let event = json!({"point": "on_notification", "session": "agent", "payload": {"message": "x"}});
    assert_eq!(post("/v1/events", event.to_string()).await, 403);
    assert_eq!(post("/v1/sessions/agent/context/collect", "{}".to_owned()).await, 403);
    let again = json!({"id": "agent", "resume": true});
    assert_eq!(post("/v1/sessions", again.to_string()).await, 403);
    let child = json!({"id": "child", "parent": "agent"});
    assert_eq!(post("/v1/sessions", child.to_string()).await, 403);
    // Its own sessions are as before.
    assert_eq!(post("/v1/sessions", json!({"id": "own"}).to_string()).await, 201);
    let event = json!({"point": "on_notification", "session": "own", "payload": {"message": "x"}});
    assert_eq!(post("/v1/events", event.to_string()).await, 200);
}
