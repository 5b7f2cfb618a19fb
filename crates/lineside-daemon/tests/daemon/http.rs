//! Loopback HTTP: the token, the host, no web page.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use lineside_daemon::{ServeError, Server};
use serde_json::json;

use crate::house::{House, folder, read, settings};

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
