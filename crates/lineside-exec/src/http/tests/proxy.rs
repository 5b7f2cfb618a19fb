//! Through a proxy on loopback that is a real one: it connects, and passes on.

use std::time::Duration;

use lineside_core::exchange::Posted;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::super::connect::trusting;
use super::super::{HttpClient, Proxy};
use super::tls::signed;
use super::{answered, post, request, unreachable};

async fn proxied() -> (TcpListener, HttpClient) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::at(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    (listener, HttpClient::new().through(proxy))
}

#[tokio::test]
async fn a_plain_post_tells_the_proxy_its_whole_url_and_its_connection_is_kept() {
    let (listener, client) = proxied().await;
    let post = post("http://hooks.example:81/x?y=1");
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heads = Vec::new();
        for _ in 0..2 {
            heads.push(request(&mut stream).await);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine").await.unwrap();
        }
        heads
    };
    let posts = async { [client.post(&post).await, client.post(&post).await] };
    let (posted, heads) = tokio::join!(posts, server);
    for (posted, head) in posted.iter().zip(heads) {
        assert_eq!(answered(posted), (200, "fine".to_owned(), 0));
        assert!(head.starts_with("POST http://hooks.example:81/x?y=1 HTTP/1.1\r\n"), "{head}");
        assert!(head.to_lowercase().contains("\r\nhost: hooks.example:81\r\n"), "{head}");
    }
}

#[tokio::test]
async fn a_post_with_tls_goes_through_a_tunnel_and_the_proxy_reads_nothing_of_it() {
    let (acceptor, roots) = signed(&["hooks.example"]);
    let origin = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = origin.local_addr().unwrap();
    let (listener, client) = proxied().await;
    assert!(client.connector.tls.set(Ok(trusting(roots))).is_ok());
    let proxy = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).await.unwrap() > 0);
        }
        let mut onward = TcpStream::connect(there).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
        drop(tokio::io::copy_bidirectional(&mut stream, &mut onward).await);
        head
    });
    let server = tokio::spawn(async move {
        let (stream, _) = origin.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        for _ in 0..3 {
            let mut read = Vec::new();
            while !read.ends_with(b"{\"a\":1}") {
                let mut chunk = [0; 1024];
                let count = stream.read(&mut chunk).await.unwrap();
                assert!(count > 0);
                read.extend_from_slice(&chunk[..count]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine").await.unwrap();
        }
    });
    for _ in 0..3 {
        assert_eq!(
            answered(&client.post(&post("https://hooks.example/x")).await),
            (200, "fine".to_owned(), 0)
        );
    }
    client.drain();
    server.await.unwrap();
    let head = proxy.await.unwrap();
    assert!(head.starts_with("CONNECT hooks.example:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("x-lineside"), "nothing of the request is sent: {head}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told() {
    for (answer, part) in [
        (
            &b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"[..],
            "the proxy refuses hooks.example with status 407",
        ),
        (b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1/\r\n\r\n", "with status 302"),
        (b"SSH-2.0\r\n", "broke off"),
        (b"", "broke off"),
    ] {
        let (listener, client) = proxied().await;
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut chunk = [0; 1024];
            assert!(stream.read(&mut chunk).await.unwrap() > 0);
            stream.write_all(answer).await.unwrap();
        };
        let post = post("https://hooks.example/");
        let (posted, ()) = tokio::join!(client.post(&post), server);
        unreachable(&posted, part);
    }
}

#[tokio::test]
async fn p01_a_proxy_that_says_nothing_is_out_of_time() {
    let (_listener, client) = proxied().await;
    for url in ["https://hooks.example/", "http://hooks.example/"] {
        let mut post = post(url);
        post.timeout = Duration::from_millis(200);
        assert_eq!(client.post(&post).await, Posted::TimedOut { after: post.timeout });
    }
}

#[tokio::test]
async fn what_is_not_public_is_reached_without_the_proxy() {
    let (proxy, client) = proxied().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let post = post(format!("http://{}/", listener.local_addr().unwrap()));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    };
    let (posted, ()) = tokio::join!(client.post(&post), server);
    assert_eq!(answered(&posted).0, 200);
    super::reach::nobody_came(&proxy).await;
}

#[tokio::test]
async fn a_proxy_that_the_environment_names_is_not_used() {
    // The client has no way to ask: this is a look at the code's own words, kept beside the claim.
    for source in [include_str!("../connect.rs"), include_str!("../../http.rs"), include_str!("../proxy.rs")]
    {
        assert!(!source.contains("env::var"));
    }
    let posted = HttpClient::new().post(&post("http://127.0.0.1:1/")).await;
    assert!(matches!(posted, Posted::Unreachable { why } if why.contains("refused")));
}

#[test]
fn c04_only_a_plain_place_is_a_proxy_and_a_wrong_one_tells_no_password() {
    for url in
        ["https://h:1", "http://h:1/x", "socks5://h", "http://me:hunter2@h:1", "h:1", "http://h:1/?hunter2"]
    {
        let error = Proxy::at(url).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
