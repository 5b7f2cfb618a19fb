//! Who may be reached: checked for every address that a name has, before there is a connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_core::exchange::{Addresses, Posted};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::super::HttpClient;
use super::super::connect::Names;
use super::{answered, post, request, unreachable};

/// A client to whom a name has these addresses, look-up by look-up.
pub(super) fn told<A: IntoIterator<Item = SocketAddr>>(answers: impl IntoIterator<Item = A>) -> HttpClient {
    let answers: VecDeque<Vec<_>> = answers.into_iter().map(|found| found.into_iter().collect()).collect();
    let mut client = HttpClient::new();
    client.connector.names = Names::Scripted(Arc::new(Mutex::new(answers)));
    client
}

/// There was no connection, and none is pending: the next one is the first.
pub(super) async fn nobody_came(listener: &TcpListener) {
    let own = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (_, first) = listener.accept().await.unwrap();
    assert_eq!(first, own.local_addr().unwrap());
}

/// A post and its server, which waits for ever when another place is connected to.
async fn both<T>(posted: impl Future<Output = Posted>, server: impl Future<Output = T>) -> (Posted, T) {
    let both = async { tokio::join!(posted, server) };
    tokio::time::timeout(Duration::from_secs(20), both).await.expect("the server was not connected to")
}

#[tokio::test]
async fn i09_n05_no_spelling_of_a_private_address_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = HttpClient::new();
    for host in [
        "127.0.0.1", "localhost", "LOCALHOST", "api.localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        "[::1]", "0.0.0.0", "[::]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "2130706433", "0x7f000001",
        "0177.0.0.1", "127.1", "127.0.0.1.", "localhost.", "example.org@127.0.0.1",
    ] {
        let mut post = post(format!("http://{host}:{port}/"));
        post.addresses = Addresses::Public;
        post.timeout = Duration::from_secs(5);
        let posted = client.post(&post).await;
        assert!(matches!(&posted, Posted::Unreachable { .. }), "{host}: {posted:?}");
    }
    // Another spelling of an address does not count as written either.
    for host in [
        "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "2130706433", "0x7f000001", "127.1", "127.0.0.1.",
        "localhost.",
    ] {
        let posted = client.post(&post(format!("http://{host}:{port}/"))).await;
        assert!(matches!(&posted, Posted::Unreachable { .. }), "{host}: {posted:?}");
    }
    nobody_came(&listener).await;
}

#[tokio::test]
async fn n05_a_name_that_is_resolved_to_a_private_address_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let public = SocketAddr::from(([1, 1, 1, 1], 80));
    for addresses in [Addresses::Public, Addresses::AsWritten] {
        for found in [vec![here], vec![public, here], vec![here, public]] {
            let mut post = post("http://hooks.example/");
            post.addresses = addresses;
            unreachable(
                &told([found]).post(&post).await,
                "`hooks.example` is at 127.0.0.1, a loopback address",
            );
        }
    }
    unreachable(&told([[]; 1]).post(&post("http://hooks.example/")).await, "has no address");
    nobody_came(&listener).await;
}

#[tokio::test]
async fn n05_the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    // Resolving it again would give another address.
    let elsewhere = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let client = told([[here], [elsewhere.local_addr().unwrap()]]);
    let mut post = post("http://hooks.example:81/");
    post.addresses = Addresses::Any;
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        request
    };
    let (posted, request) = both(client.post(&post), server).await;
    assert_eq!(answered(&posted), (200, String::new(), 0));
    assert!(request.to_lowercase().contains("\r\nhost: hooks.example:81\r\n"), "{request}");
    nobody_came(&elsewhere).await;
}

#[tokio::test]
async fn p09_the_next_address_is_tried_when_one_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = told([[closed, here]]);
    let mut post = post("http://hooks.example/");
    post.addresses = Addresses::Any;
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 204 No\r\n\r\n").await.unwrap();
    };
    let (posted, ()) = both(client.post(&post), server).await;
    assert_eq!(answered(&posted), (204, String::new(), 0));
}

#[tokio::test]
async fn localhost_as_written_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 204 No\r\n\r\n").await.unwrap();
    };
    let client = told([[here]]);
    let post = post("http://localhost/");
    let (posted, ()) = both(client.post(&post), server).await;
    assert_eq!(answered(&posted), (204, String::new(), 0));
}
