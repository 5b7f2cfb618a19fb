//! Limits of size and time, in every part of an exchange.

use std::time::Duration;

use lineside_core::exchange::Posted;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::{HttpClient, LONGEST_REQUEST};
use super::{against, answered, post, request, unreachable};

/// Writes this again and again until the other side closes.
async fn flooding(head: &'static str, filler: &'static str) -> Posted {
    let (posted, ()) = against(
        async |mut stream| {
            request(&mut stream).await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let filler = filler.repeat(1 + 4096 / filler.len());
            while stream.write_all(filler.as_bytes()).await.is_ok() {}
        },
        |_| {},
    )
    .await;
    posted
}

#[tokio::test]
async fn p05_endless_headers_are_refused() {
    for (head, filler) in [
        ("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nX-A: ", "b"),
        ("HTTP/1.1 200 ", "O"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "X-A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x"),
    ] {
        unreachable(&flooding(head, filler).await, "broke off");
    }
}

#[tokio::test]
async fn p05_an_endless_chunked_body_is_read_no_further_than_its_bound() {
    let posted = flooding("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\nxxxx\r\n").await;
    let (status, body, dropped) = answered(&posted);
    assert_eq!((status, body.len()), (200, 1000));
    assert!(dropped > 0);
}

#[tokio::test]
async fn p01_informational_answers_without_end_are_out_of_time() {
    let (posted, ()) = against(
        async |mut stream| {
            request(&mut stream).await;
            while stream.write_all(b"HTTP/1.1 103 Early\r\n\r\n").await.is_ok() {
                tokio::task::yield_now().await;
            }
        },
        |post| post.timeout = Duration::from_millis(300),
    )
    .await;
    assert_eq!(posted, Posted::TimedOut { after: Duration::from_millis(300) });
}

#[tokio::test]
async fn i04_a_request_of_more_than_the_most_is_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut post = post(format!("http://{}/", listener.local_addr().unwrap()));
    post.body = vec![b' '; LONGEST_REQUEST + 1];
    unreachable(
        &HttpClient::new().post(&post).await,
        "the request has 67108865 bytes, more than the 67108864",
    );
    super::reach::nobody_came(&listener).await;
}

#[tokio::test]
async fn i04_an_answer_that_is_compressed_is_no_answer() {
    for (status, coding) in [(200, "gzip"), (200, "br, identity"), (201, "zstd")] {
        let (posted, request) = against(
            async |mut stream| {
                let request = request(&mut stream).await;
                let head = format!("HTTP/1.1 {status} OK\r\nContent-Encoding: {coding}\r\n");
                stream
                    .write_all(format!("{head}Content-Length: 4\r\n\r\n\x1f\x08aa").as_bytes())
                    .await
                    .unwrap();
                request
            },
            |_| {},
        )
        .await;
        unreachable(&posted, "encoded");
        assert!(request.to_lowercase().contains("\r\naccept-encoding: identity\r\n"), "{request}");
    }
    let answer = b"HTTP/1.1 503 No\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x08aa";
    let served = async |mut stream: tokio::net::TcpStream| {
        request(&mut stream).await;
        stream.write_all(answer).await.unwrap();
    };
    assert_eq!(answered(&against(served, |_| {}).await.0), (503, String::new(), 0));
}

#[tokio::test]
async fn i06_two_lengths_or_a_length_beside_chunks_are_no_answer_with_both() {
    for (head, body) in [
        ("Content-Length: 4\r\nContent-Length: 9", "fineworse"),
        ("Content-Length: +4", "fine"),
        ("Content-Length: -4", "fine"),
        ("Content-Length: 4, 9", "fineworse"),
        ("Transfer-Encoding: gzip", "fine"),
    ] {
        let (posted, ()) = against(
            async |mut stream| {
                request(&mut stream).await;
                let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            },
            |_| {},
        )
        .await;
        match &posted {
            Posted::Unreachable { .. } => {}
            // Ended by the end of the connection, which is then not used again.
            Posted::Answered { body: read, .. } => assert_eq!(read.bytes, body.as_bytes(), "{head}"),
            other => panic!("{head}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn p01_a_length_without_end_is_out_of_time() {
    let (posted, ()) = against(
        async |mut stream| {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
            while stream.write_all(&[b'0'; 4096]).await.is_ok() {}
        },
        |post| post.timeout = Duration::from_millis(300),
    )
    .await;
    assert_eq!(posted, Posted::TimedOut { after: Duration::from_millis(300) });
}

#[tokio::test]
async fn p01_the_deadline_covers_a_server_that_takes_the_request_drop_by_drop() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut post = post(format!("http://{}/", listener.local_addr().unwrap()));
    post.body = vec![b'x'; 32 << 20];
    post.timeout = Duration::from_millis(300);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Each drop comes before the deadline, and with them alone it would take hours.
        while stream.read_u8().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let client = HttpClient::new();
    tokio::select! {
        posted = client.post(&post) => assert_eq!(posted, Posted::TimedOut { after: post.timeout }),
        () = server => panic!("the server is done before the client"),
    }
}
