//! A client whose kept connection was closed meanwhile: another one is used, and nothing is sent twice.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

use lineside::Client;
use lineside::client::RequestError;
use lineside::json::{Map, Value};

use crate::house::folder;

/// Reads a request up to the end of its body.
fn read(stream: &UnixStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

fn answer(mut stream: &UnixStream) {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
}

/// A daemon that answers one request of its first connection and is closed on request, and then does this.
fn daemon(
    listener: UnixListener,
    then: impl FnOnce(UnixStream) + Send + 'static,
) -> (SyncSender<()>, Receiver<()>, JoinHandle<()>) {
    let (close, closes) = sync_channel(1);
    let (closed, is_closed) = sync_channel(1);
    let serving = spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        read(&stream);
        answer(&stream);
        closes.recv().unwrap();
        drop(stream);
        closed.send(()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        then(stream);
    });
    (close, is_closed, serving)
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_not_used() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let (close, is_closed, serving) = daemon(UnixListener::bind(&socket).unwrap(), |stream| {
        read(&stream);
        answer(&stream);
    });
    let client = Client::new(&socket);
    client.get::<Value>("/v1/health").await.unwrap();
    // In one thread, the client has not seen yet that its connection was closed meanwhile.
    close.send(()).unwrap();
    is_closed.recv().unwrap();
    client.post::<Value>("/v1/events", &Map::new()).await.unwrap();
    serving.join().unwrap();
}

#[tokio::test]
async fn a_request_that_may_have_arrived_is_not_sent_again() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let (close, is_closed, serving) = daemon(UnixListener::bind(&socket).unwrap(), |stream| {
        read(&stream);
        drop(stream);
    });
    let client = Client::new(&socket);
    client.get::<Value>("/v1/health").await.unwrap();
    close.send(()).unwrap();
    is_closed.recv().unwrap();
    let error = client.post::<Value>("/v1/events", &Map::new()).await.unwrap_err();
    assert!(matches!(error, RequestError::Broken { .. }), "{error}");
    // Nothing listens any more; whatever was sent again would have been an error of another kind.
    serving.join().unwrap();
}
