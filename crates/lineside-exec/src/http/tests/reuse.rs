//! Connections that are kept: when they are used again, and when not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_core::exchange::{Addresses, Posted};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

use super::super::HttpClient;
use super::{answered, post, request, unreachable};

const FINE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n";

/// Answers every request of every connection with this.
fn serving(listener: TcpListener, answer: &'static [u8]) -> Arc<AtomicUsize> {
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                while stream.readable().await.is_ok()
                    && stream.peek(&mut [0]).await.is_ok_and(|read| read > 0)
                {
                    request(&mut stream).await;
                    stream.write_all(answer).await.unwrap();
                }
            });
        }
    });
    accepted
}

async fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn fifty_posts_take_one_connection() {
    for answer in [FINE, CHUNKED] {
        let (listener, url) = listening().await;
        let accepted = serving(listener, answer);
        let client = HttpClient::new();
        for _ in 0..50 {
            assert_eq!(answered(&client.post(&post(&url)).await), (200, "fine".to_owned(), 0));
        }
        assert_eq!(accepted.load(Ordering::SeqCst), 1);
        client.drain();
        for _ in 0..2 {
            assert_eq!(answered(&client.post(&post(&url)).await).0, 200);
        }
        assert_eq!(accepted.load(Ordering::SeqCst), 3, "after a drain nothing is kept");
    }
}

#[tokio::test]
async fn a_connection_is_of_those_who_may_reach_the_same() {
    let (listener, url) = listening().await;
    let accepted = serving(listener, FINE);
    let client = HttpClient::new();
    let mut post = post(&url);
    assert_eq!(answered(&client.post(&post).await).0, 200);
    post.addresses = Addresses::Public;
    unreachable(&client.post(&post).await, "loopback");
    post.addresses = Addresses::Any;
    assert_eq!(answered(&client.post(&post).await).0, 200);
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_waited_is_not_used() {
    let (listener, url) = listening().await;
    let client = HttpClient::new();
    let post = post(&url);
    for _ in 0..20 {
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream.write_all(FINE).await.unwrap();
            // Closed without a word of it in the answer.
        };
        let (posted, ()) = tokio::join!(client.post(&post), server);
        assert_eq!(answered(&posted), (200, "fine".to_owned(), 0));
    }
}

#[tokio::test]
async fn what_is_said_unasked_is_not_taken_for_the_next_answer() {
    let (listener, url) = listening().await;
    let client = HttpClient::new();
    let post = post(&url);
    let server = async {
        let mut held = Vec::new();
        for answer in [[FINE, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"].concat(), FINE.to_vec()]
        {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream.write_all(&answer).await.unwrap();
            held.push(stream);
        }
    };
    let posts = async { [client.post(&post).await, client.post(&post).await] };
    let (posted, ()) = tokio::join!(posts, server);
    for posted in posted {
        assert_eq!(answered(&posted), (200, "fine".to_owned(), 0));
    }
}

#[tokio::test]
async fn a_request_of_which_something_was_sent_is_not_sent_again() {
    let (listener, url) = listening().await;
    let client = HttpClient::new();
    let post = post(&url);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(FINE).await.unwrap();
        // The second one is read and never answered.
        request(&mut stream).await;
        drop(stream);
        super::reach::nobody_came(&listener).await;
    };
    let posts = async {
        assert_eq!(answered(&client.post(&post).await).0, 200);
        unreachable(&client.post(&post).await, "broke off");
    };
    tokio::join!(posts, server);
}

#[tokio::test]
async fn a_connection_is_not_kept_where_the_server_does_not_keep_it() {
    for head in [
        "Connection: close",
        "Keep-Alive: timeout=1",
        "Keep-Alive: timeout=0",
        "Connection: Close\r\nKeep-Alive: timeout=9",
    ] {
        let (listener, url) = listening().await;
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: 4\r\n\r\nfine");
        let accepted = serving(listener, Box::leak(answer.into_boxed_str()).as_bytes());
        let client = HttpClient::new();
        for _ in 0..3 {
            assert_eq!(answered(&client.post(&post(&url)).await), (200, "fine".to_owned(), 0));
        }
        assert_eq!(accepted.load(Ordering::SeqCst), 3, "{head}");
    }
}

/// Real sockets are not moved by a paused clock, so it is moved between posts only.
async fn wait(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_connection_waits_for_as_long_as_the_server_says_and_a_minute_at_most() {
    for (head, short, long) in
        [("X-A: b", 3, 5), ("Keep-Alive: timeout=20, max=9", 18, 20), ("Keep-Alive: timeout=900", 29, 61)]
    {
        let (listener, url) = listening().await;
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: 4\r\n\r\nfine");
        let accepted = serving(listener, Box::leak(answer.into_boxed_str()).as_bytes());
        let client = HttpClient::new();
        let post = post(&url);
        assert_eq!(answered(&client.post(&post).await).0, 200);
        wait(Duration::from_secs(short)).await;
        assert_eq!(answered(&client.post(&post).await).0, 200);
        assert_eq!(accepted.load(Ordering::SeqCst), 1, "{head}");
        wait(Duration::from_secs(long)).await;
        assert_eq!(answered(&client.post(&post).await).0, 200);
        assert_eq!(accepted.load(Ordering::SeqCst), 2, "{head}");
    }
}

#[tokio::test]
async fn a_name_is_asked_again_after_a_minute_however_busy_its_connection_is() {
    let (first, _) = listening().await;
    let (second, _) = listening().await;
    let client = super::reach::told([[first.local_addr().unwrap()], [second.local_addr().unwrap()]]);
    let accepted = [
        serving(first, b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=50\r\nContent-Length: 0\r\n\r\n"),
        serving(second, FINE),
    ];
    let mut post = post("http://hooks.example/");
    post.addresses = Addresses::Any;
    for _ in 0..4 {
        assert_eq!(answered(&client.post(&post).await).0, 200);
        wait(Duration::from_secs(19)).await;
    }
    assert_eq!(answered(&client.post(&post).await).1, "fine");
    assert_eq!(accepted.map(|accepted| accepted.load(Ordering::SeqCst)), [1, 1]);
}

#[tokio::test]
async fn one_place_gets_so_many_posts_at_once_and_the_others_wait_within_their_time() {
    let (listener, url) = listening().await;
    let (here, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let (full, is_full) = oneshot::channel();
    let server = {
        let (here, most, gate) = (Arc::clone(&here), Arc::clone(&most), Arc::clone(&gate));
        let mut full = Some(full);
        async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (here, most, gate) = (Arc::clone(&here), Arc::clone(&most), Arc::clone(&gate));
                let now = here.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                if now == 3
                    && let Some(full) = full.take()
                {
                    full.send(()).unwrap();
                }
                tokio::spawn(async move {
                    request(&mut stream).await;
                    gate.acquire().await.unwrap().forget();
                    here.fetch_sub(1, Ordering::SeqCst);
                    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                    stream.write_all(closing).await.unwrap();
                });
            }
        }
    };
    let server = tokio::spawn(server);
    let client = HttpClient::new().at_once(3);
    let posts: Vec<_> = (0..12)
        .map(|_| {
            let (client, post) = (client.clone(), post(&url));
            tokio::spawn(async move { client.post(&post).await })
        })
        .collect();
    is_full.await.unwrap();
    // All three are taken, and waiting for one is within the time.
    let mut late = post(&url);
    late.timeout = Duration::from_millis(50);
    assert_eq!(client.post(&late).await, Posted::TimedOut { after: late.timeout });
    // A place of its own is free.
    let (other, elsewhere) = listening().await;
    serving(other, FINE);
    assert_eq!(answered(&client.post(&post(&elsewhere)).await).0, 200);
    gate.add_permits(12);
    for posted in posts {
        assert_eq!(answered(&posted.await.unwrap()).0, 200);
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
    server.abort();
}

#[tokio::test]
async fn p02_a_dropped_post_gives_its_place_back_and_its_connection_to_nobody() {
    let (listener, url) = listening().await;
    let client = HttpClient::new().at_once(1);
    let post = post(&url);
    // Over a new connection, and over one that was kept.
    let mut stream: Option<TcpStream> = None;
    for _ in 0..2 {
        let asked = async {
            let mut stream = match stream.take() {
                Some(stream) => stream,
                None => listener.accept().await.unwrap().0,
            };
            request(&mut stream).await;
            stream
        };
        let mut dropped = tokio::select! {
            posted = client.post(&post) => panic!("{posted:?}"),
            stream = asked => stream,
        };
        let mut rest = Vec::new();
        assert_eq!(dropped.read_to_end(&mut rest).await.unwrap(), 0, "the other side has closed");
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream.write_all(FINE).await.unwrap();
            stream
        };
        let (posted, kept) = tokio::join!(client.post(&post), server);
        assert_eq!(answered(&posted), (200, "fine".to_owned(), 0));
        stream = Some(kept);
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_ends_its_connection() {
    let (listener, url) = listening().await;
    let accepted = serving(listener, FINE);
    let client = HttpClient::new();
    let mut post = post(&url);
    post.body_bytes = 3;
    for _ in 0..2 {
        assert_eq!(answered(&client.post(&post).await), (200, "fin".to_owned(), 1));
    }
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
}
