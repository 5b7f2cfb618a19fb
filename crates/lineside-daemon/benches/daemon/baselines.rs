//! What an event is measured against: a bare line that goes to a process and back, and the same bytes over hyper alone.

use std::path::Path;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::{say_ready, until_over};

/// How long a decision is, in bytes.
const DECISION: usize = 361;

/// Sends back every line that it gets.
pub(crate) async fn echo(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    say_ready();
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut read = tokio::io::BufReader::new(read);
                let mut line = Vec::new();
                while read.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                    if write.write_all(&line).await.is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
    };
    until_over(serve).await;
}

/// Reads every request whole and answers with as many bytes as a decision has, by `hyper` and nothing else: what is left
/// when the daemon does no work at all.
pub(crate) async fn bare_server(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    say_ready();
    let answer = Bytes::from(vec![b' '; DECISION]);
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            tokio::spawn(async move {
                let service = service_fn(async |request: Request<Incoming>| {
                    request.into_body().collect().await?;
                    let mut response = Response::new(Full::new(answer.clone()));
                    let kind = HeaderValue::from_static("application/json");
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                    Ok::<_, hyper::Error>(response)
                });
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
            });
        }
    };
    until_over(serve).await;
}

/// The connection to the echo.
pub(crate) struct Line {
    read: tokio::io::BufReader<tokio::net::unix::OwnedReadHalf>,
    write: tokio::net::unix::OwnedWriteHalf,
    text: Vec<u8>,
}

impl Line {
    pub(crate) async fn to(socket: &Path) -> Self {
        let (read, write) = UnixStream::connect(socket).await.unwrap().into_split();
        Self { read: tokio::io::BufReader::new(read), write, text: Vec::new() }
    }

    pub(crate) async fn ask(&mut self, line: &[u8]) {
        self.write.write_all(line).await.unwrap();
        self.text.clear();
        self.read.read_until(b'\n', &mut self.text).await.unwrap();
    }
}

/// The connection to the bare server.
pub(crate) struct Bare(SendRequest<Full<Bytes>>);

impl Bare {
    pub(crate) async fn to(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn ask(&mut self, line: &Bytes) {
        let request = Request::post("/v1/events").header("host", "lineside");
        let request =
            request.header("content-type", "application/json").body(Full::new(line.clone())).unwrap();
        self.0.ready().await.unwrap();
        let response = self.0.send_request(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), DECISION);
    }
}
