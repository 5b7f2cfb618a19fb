//! Workers that are other programs: they listen on a socket, or they connect. The owners here are tasks of
//! the test with real sockets.

use lineside_core::Propagation;
use lineside_core::failure::FailureKind;
use lineside_core::json::{Value, json};
use lineside_core::worker::{HookCall, HookWorker, HookWorkerBounds, WorkerEnded, WorkerReach, WorkerStart};
use lineside_exec::{Containment, HookWorkerClient, WorkerListener};
use lineside_stream::Stream;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::room::{PATIENCE, Room, millis};
use crate::yard::{Yard, answered, bounds, failed};

fn at(room: &Room, start: WorkerStart) -> HookWorker {
    let reach = WorkerReach::Socket(room.path("owner.sock"));
    HookWorker { reach, content: String::new(), start, bounds: bounds() }
}

/// An owner that says hello and answers so many calls, each with how many it has answered, and then goes away while one
/// more is under way.
async fn owner(stream: UnixStream, answers: usize) {
    let (input, mut output) = stream.into_split();
    let mut lines = BufReader::new(input).lines();
    let mut answered = 0;
    while let Some(line) = lines.next_line().await.unwrap() {
        let frame: Value = lineside_core::json::from_str(&line).unwrap();
        let said = match frame["type"].as_str().unwrap() {
            "hello" => json!({ "type": "hello", "protocol": 2 }),
            "call" if answered == answers => return,
            "call" => {
                answered += 1;
                json!({ "type": "answer", "id": frame["id"], "answer": { "log": answered } })
            }
            "ping" => json!({ "type": "pong" }),
            _ => continue,
        };
        output.write_all(format!("{said}\n").as_bytes()).await.unwrap();
    }
}

async fn ask(worker: &HookWorkerClient) -> WorkerEnded {
    worker
        .call(HookCall {
            environment: Propagation::none(),
            hook: "h".to_owned(),
            event: "{}".to_owned(),
            timeout: PATIENCE,
            tree: None,
        })
        .await
}

#[test]
fn an_owner_that_goes_away_fails_its_calls_at_once_and_is_asked_again_when_it_is_back() {
    let room = Room::enter();
    let worker = at(&room, WorkerStart::OnUse);
    room.block_on(async {
        let yard = Yard::keep(worker, Containment::new());
        // It is not there yet.
        assert_eq!(failed(yard.ask(json!({})).await).0, FailureKind::Closed);

        for _ in 0..2 {
            let listener = UnixListener::bind(room.path("owner.sock")).unwrap();
            let serves = async {
                let (stream, _) = listener.accept().await.unwrap();
                drop(listener);
                owner(stream, 2).await;
            };
            let calls = async {
                // It is asked for again once a second at most.
                while yard.ask(json!({})).await != answered("{\"log\":1}") {
                    tokio::time::sleep(millis(1)).await;
                }
                assert_eq!(yard.ask(json!({})).await, answered("{\"log\":2}"));
                let began = std::time::Instant::now();
                let (kind, why) = failed(yard.ask(json!({})).await);
                assert_eq!(kind, FailureKind::Closed, "{why}");
                let (kind, _) = failed(yard.ask(json!({})).await);
                assert_eq!(kind, FailureKind::Closed);
                assert!(began.elapsed() < millis(1000), "at once");
            };
            tokio::join!(serves, calls);
            std::fs::remove_file(room.path("owner.sock")).unwrap();
        }
        yard.worker.shutdown().await;
    });
    room.leave();
}

#[test]
fn who_comes_to_us_has_a_seat_that_is_empty_while_it_is_away() {
    let room = Room::enter();
    room.block_on(async {
        let (worker, seat) = HookWorkerClient::seated(bounds(), WorkerListener::default());
        assert_eq!(failed(ask(&worker).await).0, FailureKind::Closed, "no worker has connected yet");
        for answers in [1, 3] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            seat.connect(Stream::new(ours).unwrap()).unwrap();
            let calls = async {
                let mut told = 0;
                loop {
                    match ask(&worker).await {
                        WorkerEnded::Answered(_) => told += 1,
                        _ if told == 0 => tokio::time::sleep(millis(1)).await,
                        gone => return (told, failed(gone).0),
                    }
                }
            };
            let ((), ended) = tokio::join!(owner(theirs, answers), calls);
            assert_eq!(ended, (answers, FailureKind::Closed));
            assert_eq!(failed(ask(&worker).await).0, FailureKind::Closed, "at once");
        }
        worker.shutdown().await;
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert!(seat.connect(Stream::new(ours).unwrap()).is_err(), "the seat is gone");
    });
    room.leave();
}

#[test]
fn an_owner_that_does_not_obey_loses_its_connection() {
    let room = Room::enter();
    room.block_on(async {
        let bounds = HookWorkerBounds { cancel: millis(100), ..bounds() };
        let (worker, seat) = HookWorkerClient::seated(bounds, WorkerListener::default());
        let (ours, theirs) = UnixStream::pair().unwrap();
        seat.connect(Stream::new(ours).unwrap()).unwrap();
        let (input, mut output) = theirs.into_split();
        output.write_all(b"{\"type\":\"hello\",\"protocol\":2}\n").await.unwrap();
        let call = HookCall {
            environment: Propagation::none(),
            hook: "h".to_owned(),
            event: "{}".to_owned(),
            timeout: millis(200),
            tree: None,
        };
        let ended = loop {
            let (kind, why) = failed(worker.call(call.clone()).await);
            if kind != FailureKind::Closed {
                break (kind, why);
            }
            tokio::time::sleep(millis(1)).await;
        };
        assert_eq!(ended.0, FailureKind::Timeout);
        let mut lines = BufReader::new(input).lines();
        let mut heard = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            heard.push(
                lineside_core::json::from_str::<Value>(&line).unwrap()["type"].as_str().unwrap().to_owned(),
            );
        }
        assert_eq!(heard, ["hello", "call", "cancel"], "and then the end");
        worker.shutdown().await;
    });
    room.leave();
}
