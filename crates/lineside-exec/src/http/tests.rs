//! Posts against servers on loopback that say what the script says, and nothing else.

use std::future::Future;
use std::time::{Duration, Instant};

use lineside_core::exchange::{Addresses, Post, Posted};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::HttpClient;

mod limits;
mod proxy;
mod reach;
mod reuse;
mod tls;

fn post(url: impl Into<String>) -> Post {
    Post {
        url: url.into(),
        addresses: Addresses::AsWritten,
        headers: vec![("X-Lineside-Event".to_owned(), "e1".to_owned())],
        body: b"{\"a\":1}".to_vec(),
        timeout: Duration::from_secs(10),
        body_bytes: 1000,
    }
}

/// Reads a request to the end of its body, which is `{"a":1}`.
async fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"{\"a\":1}") {
        let mut chunk = [0; 1024];
        let count = stream.read(&mut chunk).await.unwrap();
        assert!(count > 0, "the request is whole, not {read:?}");
        read.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(read).unwrap()
}

/// Posts to a server that serves one connection by the script; what came of both.
async fn against<S, F, T>(script: S, change: impl FnOnce(&mut Post)) -> (Posted, T)
where
    S: FnOnce(TcpStream) -> F,
    F: Future<Output = T>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut post = post(format!("http://{}/hook?x=1#here", listener.local_addr().unwrap()));
    change(&mut post);
    let server = async {
        let (stream, _) = listener.accept().await.unwrap();
        script(stream).await
    };
    let client = HttpClient::new();
    tokio::join!(client.post(&post), server)
}

fn answered(posted: &Posted) -> (u16, String, u64) {
    match posted {
        Posted::Answered { status, body, .. } => {
            (*status, String::from_utf8(body.bytes.clone()).unwrap(), body.dropped)
        }
        other => panic!("no answer: {other:?}"),
    }
}

fn unreachable(posted: &Posted, part: &str) {
    match posted {
        Posted::Unreachable { why } => {
            assert!(why.contains(part), "{why}");
            assert!(!why.contains('\n'), "{why}");
        }
        other => panic!("not unreachable: {other:?}"),
    }
}

#[tokio::test]
async fn the_request_is_what_was_asked_for_and_the_answer_is_handed_back() {
    let (posted, request) = against(
        async |mut stream| {
            let request = request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine").await.unwrap();
            request
        },
        |_| {},
    )
    .await;
    assert_eq!(answered(&posted), (200, "fine".to_owned(), 0));
    let request = request.to_lowercase();
    assert!(request.starts_with("post /hook?x=1 http/1.1\r\n"), "{request}");
    for line in
        ["content-type: application/json", "x-lineside-event: e1", "host: 127.0.0.1:", "content-length: 7"]
    {
        assert!(request.contains(&format!("\r\n{line}")), "{line} in {request}");
    }
    assert!(!request.contains("cookie"), "{request}");
}

#[tokio::test]
async fn a_redirect_says_where_it_points_and_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = elsewhere.local_addr().unwrap();
    for (location, to) in [
        (format!("Location: http://{address}/hunter2?x\r\n"), Some(format!("http://{address}"))),
        (format!("Location: http://me:hunter2@{address}/\r\n"), Some(format!("http://{address}"))),
        ("Location: /hunter2\r\n".to_owned(), Some("a path of its own".to_owned())),
        ("Location: é://hunter2\r\n".to_owned(), None),
        (String::new(), None),
    ] {
        for status in [301, 302, 303, 307, 308] {
            let (posted, ()) = against(
                async |mut stream| {
                    request(&mut stream).await;
                    let answer = format!("HTTP/1.1 {status} Away\r\n{location}Content-Length: 0\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                },
                |_| {},
            )
            .await;
            assert_eq!(posted, Posted::Redirected { status, to: to.clone() });
        }
    }
    reach::nobody_came(&elsewhere).await;
}

#[tokio::test]
async fn i04_a_body_of_the_longest_length_is_whole_and_one_more_byte_cuts_it() {
    for (length, dropped) in [(1000, 0), (1001, 1)] {
        let (posted, ()) = against(
            async |mut stream| {
                request(&mut stream).await;
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
                stream.write_all(answer.as_bytes()).await.unwrap();
            },
            |_| {},
        )
        .await;
        assert_eq!(answered(&posted), (200, "x".repeat(1000), dropped));
    }
}

#[tokio::test]
async fn p05_an_endless_body_is_read_no_further_than_its_bound() {
    let (posted, ()) = against(
        async |mut stream| {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            // Ends because the client closes the connection.
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
        },
        |_| {},
    )
    .await;
    let (status, body, dropped) = answered(&posted);
    assert_eq!((status, body.len()), (200, 1000));
    assert!(dropped > 0);
}

#[tokio::test]
async fn p01_one_deadline_covers_slow_headers_and_a_slow_body() {
    for head in ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"] {
        let began = Instant::now();
        let (posted, ()) = against(
            async |mut stream| {
                request(&mut stream).await;
                stream.write_all(head.as_bytes()).await.unwrap();
                let filler: &[u8] = if head.ends_with("\r\n\r\n") { b"x" } else { b"X-A: b\r\n" };
                // Each byte comes well before the deadline; all of them never do.
                while stream.write_all(filler).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
            |post| post.timeout = Duration::from_millis(300),
        )
        .await;
        assert_eq!(posted, Posted::TimedOut { after: Duration::from_millis(300) });
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn p01_a_server_that_accepts_and_says_nothing_is_out_of_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut post = post(format!("http://{}", listener.local_addr().unwrap()));
    post.timeout = Duration::from_millis(100);
    let posted = HttpClient::new().post(&post).await;
    assert_eq!(posted, Posted::TimedOut { after: Duration::from_millis(100) });
    post.url = post.url.replace("http:", "https:");
    let posted = HttpClient::new().post(&post).await;
    // Without certificates on the system there is no attempt.
    assert!(!matches!(posted, Posted::Answered { .. }), "{posted:?}");
}

#[tokio::test]
async fn p09_a_refused_connection_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    unreachable(&HttpClient::new().post(&post(format!("http://{address}/"))).await, "refused");
}

#[tokio::test]
async fn p09_an_unknown_name_is_told() {
    let posted = HttpClient::new().post(&post("http://nobody.invalid/")).await;
    unreachable(&posted, "cannot connect to nobody.invalid");
}

#[tokio::test]
async fn what_cannot_be_posted_to_is_told() {
    for (url, part) in [
        ("ftp://127.0.0.1/", "neither http nor https"),
        ("nothing", "neither http nor https"),
        ("http://", "cannot post to"),
        ("http://2130706433/", "a number and no address"),
        ("http://a b/", "cannot post to"),
        ("http://name:word@127.0.0.1/", "password"),
    ] {
        unreachable(&HttpClient::new().post(&post(url)).await, part);
    }
    let mut odd = post("http://127.0.0.1:1/");
    for (name, value) in [
        ("X-Odd", "a\r\nb"),
        ("X-Odd", "a\nTransfer-Encoding: chunked"),
        ("X-Odd", "a\0"),
        ("X-Odd\r\nHost", "a"),
        ("X-Odd: x", "a"),
        ("", "a"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("host", "example.org"),
        ("Connection", "close"),
        ("Proxy-Authorization", "a"),
    ] {
        odd.headers = vec![(name.to_owned(), value.to_owned())];
        unreachable(&HttpClient::new().post(&odd).await, "cannot send the header");
    }
}

#[tokio::test]
async fn p10_an_answer_that_is_not_http_is_told() {
    let (posted, ()) = against(
        async |mut stream| {
            request(&mut stream).await;
            stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await.unwrap();
        },
        |_| {},
    )
    .await;
    unreachable(&posted, "broke off");
}

#[tokio::test]
async fn a_server_without_tls_refuses_an_https_post() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let post = post(format!("https://{}/", listener.local_addr().unwrap()));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let client = HttpClient::new();
    tokio::select! {
        posted = client.post(&post) => unreachable(&posted, "cannot"),
        () = async { server.await; std::future::pending::<()>().await } => {}
    }
}

#[tokio::test]
async fn p10_a_connection_that_is_reset_or_closed_too_early_is_told() {
    for head in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        for reset in [true, false] {
            let (posted, ()) = against(
                async |mut stream| {
                    request(&mut stream).await;
                    stream.write_all(head.as_bytes()).await.unwrap();
                    if reset {
                        stream.set_zero_linger().unwrap();
                    }
                },
                |_| {},
            )
            .await;
            unreachable(&posted, "broke off");
        }
    }
}

#[tokio::test]
async fn p02_a_dropped_post_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (client, post) = (HttpClient::new(), post(url));
    let mut stream = tokio::select! {
        posted = client.post(&post) => panic!("{posted:?}"),
        stream = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream
        } => stream,
    };
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).await.unwrap(), 0, "the other side has closed");
}

#[tokio::test]
async fn p04_a_server_that_answers_without_reading_is_heard() {
    let (posted, ()) = against(
        async |mut stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine").await.unwrap();
            // Held open, unread, until the other side has what it needs.
            stream.readable().await.unwrap();
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
        },
        |post| post.body = vec![b'x'; 4 << 20],
    )
    .await;
    assert_eq!(answered(&posted), (200, "fine".to_owned(), 0));
}

#[tokio::test]
async fn p04_a_server_that_never_reads_is_out_of_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut post = post(format!("http://{}", listener.local_addr().unwrap()));
    post.body = vec![b'x'; 32 << 20];
    post.timeout = Duration::from_millis(200);
    let posted = HttpClient::new().post(&post).await;
    assert_eq!(posted, Posted::TimedOut { after: Duration::from_millis(200) });
}

/// A hook on a path of its own cannot be distinguished from other text of the URL.
#[tokio::test]
async fn c04_an_error_tells_nothing_that_may_be_a_secret() {
    for url in [
        "http://name:hunter2@127.0.0.1:1/",
        "http://127.0.0.1:1/hook?token=hunter2",
        "ftp://name:hunter2@127.0.0.1/?token=hunter2",
        "http://name:hunter2@a b/?token=hunter2",
        "hunter2 is no URL",
    ] {
        let mut post = post(url);
        post.headers = vec![("Authorization".to_owned(), "Bearer hunter2\r\n".to_owned())];
        match HttpClient::new().post(&post).await {
            Posted::Unreachable { why } => assert!(!why.contains("hunter2"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
