//! Loopback HTTP: the token, the host, no web page.

use http_body_util::BodyExt as _;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use lineside::json::json;
use lineside_daemon::{ServeError, Server};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

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
