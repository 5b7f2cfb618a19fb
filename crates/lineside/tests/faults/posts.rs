//! Guards that are posts, by a format of this test's own: `{"decision": "allow"}` with status 200, and nothing else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use lineside::core::exchange::{Addresses, Post, Posted};
use lineside::core::hook::Hook;
use lineside::core::json::read_strict;
use lineside::core::{Answer, AnyEvent, Failure, FailureKind, OnFailure, Part, PointInfo};
use lineside::dialects::{Call, Dialect, ForeignHook, Handler, Loaded, Places, Returned, Watched};
use lineside::json::Map;
use lineside::prelude::*;

use crate::bench::{Bench, cause};

struct Posts {
    url: String,
    policy: OnFailure,
}

impl Dialect for Posts {
    fn name(&self) -> &'static str {
        "posts"
    }

    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn load(&self, _: &Places) -> Loaded {
        let hook = Hook::native("h", Part::Gate).on_failure(self.policy);
        let points = vec![lineside::points::find("before_tool").unwrap()];
        let handler = Arc::new(Guard { url: self.url.clone() });
        Loaded { hooks: vec![ForeignHook::new(hook, "before", points, handler)], ..Loaded::default() }
    }

    fn watched(&self, _: &Places) -> Vec<Watched> {
        Vec::new()
    }

    fn point(&self, _: &str, _: &Map) -> Option<&'static PointInfo> {
        None
    }
}

struct Guard {
    url: String,
}

impl Handler for Guard {
    fn prepare(&self, _: &AnyEvent) -> Result<Call, Failure> {
        let timeout = Duration::from_millis(400);
        let post = Post {
            url: self.url.clone(),
            addresses: Addresses::AsWritten,
            headers: Vec::new(),
            body: b"{}".to_vec(),
            timeout,
            body_bytes: 1000,
        };
        Ok(Call::Post(post))
    }

    fn read(&self, _: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        let fails = |kind, why: String| Err(Failure::new(kind, why));
        match returned {
            Returned::Post(Posted::Answered { status: 200, body, .. }) if !body.is_cut() => {
                match read_strict(&body.bytes) {
                    Ok(value) if value == json!({ "decision": "allow" }) => Ok(Answer::default()),
                    Ok(_) => fails(FailureKind::Output, "no decision".to_owned()),
                    Err(error) => fails(FailureKind::Output, error.to_string()),
                }
            }
            Returned::Post(Posted::Answered { status, .. }) => {
                fails(FailureKind::Output, format!("status {status}"))
            }
            Returned::Post(Posted::Redirected { status, .. }) => {
                fails(FailureKind::Output, format!("status {status}"))
            }
            Returned::Post(Posted::TimedOut { .. }) => fails(FailureKind::Timeout, "timed out".to_owned()),
            Returned::Post(Posted::Unreachable { why }) => fails(FailureKind::Spawn, why.clone()),
            _ => fails(FailureKind::Error, "no post".to_owned()),
        }
    }
}

/// Publishes to a guard behind a server that says this, and then closes or waits for the other side to close.
fn against(said: &'static [u8], policy: OnFailure, test: impl AsyncFnOnce(Decision<BeforeTool>)) {
    let bench = Bench::enter();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        serve(&mut stream, said);
    });
    bench.run_with(Box::leak(Box::new(Posts { url, policy })), async |stage| {
        test(stage.shell("ls").await).await;
        server.join().unwrap();
    });
}

fn serve(stream: &mut TcpStream, said: &[u8]) {
    let mut request = Vec::new();
    while !request.ends_with(b"{}") {
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).unwrap() {
            0 => return,
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
    if stream.write_all(said).is_ok() && said.is_empty() {
        // Sends nothing, until its client is gone.
        drop(stream.read_to_end(&mut request));
    }
}

const CANNOT_ANSWER: &[(&[u8], FailureKind)] = &[
    (b"", FailureKind::Timeout),
    (b"SSH-2.0-x\r\n", FailureKind::Spawn),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"decision\": \"allow\"}", FailureKind::Spawn),
    (b"HTTP/1.1 500 Oh\r\nContent-Length: 21\r\n\r\n{\"decision\": \"allow\"}", FailureKind::Output),
    (b"HTTP/1.1 404 Oh\r\nContent-Length: 0\r\n\r\n", FailureKind::Output),
    (b"HTTP/1.1 204 Oh\r\n\r\n", FailureKind::Output),
    (b"HTTP/1.1 302 Oh\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", FailureKind::Output),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n<html>allowed</html>", FailureKind::Output),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", FailureKind::Output),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", FailureKind::Output),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"decision\":\"allow\"}\xff\xff", FailureKind::Output),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n{\"decision\":\"allow\",\"decision\":\"allow\"}",
        FailureKind::Output,
    ),
];

#[test]
fn d03_a_post_that_is_not_answered_meets_its_policy_and_says_why() {
    for (said, kind) in CANNOT_ANSWER {
        for (policy, refused) in [(OnFailure::Block, true), (OnFailure::Continue, false)] {
            against(said, policy, async |decision| {
                assert_eq!(decision.is_refused(), refused, "{}", said.escape_ascii());
                assert_eq!(cause(&decision).kind, *kind, "{}", said.escape_ascii());
            });
        }
    }
    against(
        b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"decision\": \"allow\"}",
        OnFailure::Block,
        async |decision| assert!(!decision.is_refused()),
    );
}

#[test]
fn i06_two_documents_are_no_answer_of_a_post() {
    let said =
        b"HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n{\"decision\": \"allow\"}{\"decision\": \"allow\"}";
    against(said, OnFailure::Block, async |decision| assert!(decision.is_refused()));
}

/// A guard whose server says this first, and then that again and again until its client is gone.
fn without_end(
    first: &'static str,
    then: &'static str,
    pause: Duration,
    test: impl AsyncFnOnce(Decision<BeforeTool>),
) {
    let bench = Bench::enter();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        serve(&mut stream, first.as_bytes());
        while stream.write_all(then.as_bytes()).is_ok() {
            std::thread::sleep(pause);
        }
    });
    let posts = Posts { url, policy: OnFailure::Block };
    bench.run_with(Box::leak(Box::new(posts)), async |stage| {
        test(stage.shell("ls").await).await;
        server.join().unwrap();
    });
}

#[test]
fn p01_a_post_whose_answer_drips_in_is_out_of_time_and_its_guard_is_closed() {
    for (first, then) in [
        ("HTTP/1.1 200 OK\r\nX-A: ", "b"),
        ("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", " "),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
    ] {
        without_end(first, then, Duration::from_millis(20), async |decision| {
            assert!(decision.is_refused());
            assert_eq!(cause(&decision).kind, FailureKind::Timeout);
            let took = decision.receipt().unwrap().took;
            assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(5), "{took:?}");
        });
    }
}

#[test]
fn p05_a_post_whose_answer_has_no_end_is_no_answer_and_its_guard_is_closed() {
    let allowed = "HTTP/1.1 200 OK\r\n\r\n{\"decision\": \"allow\"}";
    without_end(allowed, "                                ", Duration::ZERO, async |decision| {
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Output);
    });
}
