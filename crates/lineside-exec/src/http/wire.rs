//! One connection: a request is written to it, an answer is read from it, and it may be kept for the next.
//!
//! A connection is driven only by the request that uses it, so dropping a request closes its connection, and
//! one that is kept costs nothing but a descriptor.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_ENCODING, HeaderMap, LOCATION};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use lineside_core::invocation::Captured;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::error::PostError;
use super::target::place;

/// The most headers of an answer.
const MOST_HEADERS: usize = 100;
/// The longest head of an answer, in bytes, and the longest trailers.
const LONGEST_HEAD: usize = 64 * 1024;
/// How much is read at once, in bytes.
const BUFFER: usize = 128 * 1024;
/// How long a connection is kept whose server does not say how long it keeps it: less than the 5 s of those that keep it
/// shortly, so that a request and their closing seldom meet.
const KEPT: Duration = Duration::from_secs(4);
/// How long one is kept at most.
const KEPT_AT_MOST: Duration = Duration::from_secs(60);

/// What a connection is made of.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection.
pub(super) struct Wire {
    sender: http1::SendRequest<Full<Bytes>>,
    connection: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>,
    /// The same socket, to ask the system whether the other side has closed it.
    socket: std::net::TcpStream,
    /// The prefix of a path, where a proxy expects the whole URL.
    prefix: Option<String>,
    /// When the address was looked up.
    pub(super) resolved: Instant,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Captured,
    /// Where a redirect points, without secrets.
    pub(super) to: Option<String>,
    /// How long the connection may be kept; absent when it may not.
    pub(super) keep: Option<Duration>,
}

/// Why there is no answer.
pub(super) enum AskError {
    /// Nothing of the request was sent, and here it is again.
    Unsent(Box<Request<Full<Bytes>>>),
    /// Something was sent, or may have been.
    Failed(PostError),
}

impl Wire {
    pub(super) async fn over(
        stream: Box<dyn Stream>,
        socket: std::net::TcpStream,
        prefix: Option<String>,
        resolved: Instant,
    ) -> Result<Self, PostError> {
        let handshake = http1::Builder::new()
            .max_headers(MOST_HEADERS)
            .max_header_size(LONGEST_HEAD)
            .max_buf_size(BUFFER)
            .handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(PostError::Broken)?;
        Ok(Self { sender, connection: Box::pin(connection), socket, prefix, resolved })
    }

    /// Whether the other side still keeps it, as far as the system has heard, and has said nothing unasked.
    pub(super) async fn is_open(&mut self) -> bool {
        if !matches!(self.socket.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock) {
            return false;
        }
        let ended = poll_fn(|cx| Poll::Ready(self.connection.as_mut().poll(cx).is_ready())).await;
        !ended && self.sender.is_ready()
    }

    /// Sends the request and reads the answer, moving the connection along in the same future. Dropping it closes the
    /// connection with `self`.
    pub(super) async fn ask(
        &mut self,
        mut request: Request<Full<Bytes>>,
        limit: usize,
    ) -> Result<Reply, AskError> {
        if let Some(prefix) = &self.prefix {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            if let Ok(whole) = format!("{prefix}{path}").parse() {
                *request.uri_mut() = whole;
            }
        }
        let exchange = async {
            let response = self.sender.try_send_request(request).await.map_err(|mut error| {
                match error.take_message() {
                    Some(request) => AskError::Unsent(Box::new(request)),
                    None => AskError::Failed(PostError::Broken(error.into_error())),
                }
            })?;
            read(response, limit).await.map_err(AskError::Failed)
        };
        tokio::pin!(exchange);
        tokio::select! {
            biased;
            said = &mut exchange => return said,
            // The exchange receives and reports whatever ended it.
            _ = &mut self.connection => {}
        }
        exchange.await.map(|reply| Reply { keep: None, ..reply })
    }
}

async fn read(response: Response<Incoming>, limit: usize) -> Result<Reply, PostError> {
    let status = response.status().as_u16();
    let headers = response.headers();
    if (300..400).contains(&status) {
        let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).map(pointed);
        return Ok(Reply { status, body: Captured::default(), to, keep: None });
    }
    let plain = |coding: &hyper::header::HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        // Of an answer that is none anyway the status is worth more.
        return match status {
            200..=299 => Err(PostError::Encoded),
            _ => Ok(Reply { status, body: Captured::default(), to: None, keep: None }),
        };
    }
    let keep = kept(headers);
    let body = body(response, limit).await?;
    let keep = keep.filter(|_| !body.is_cut());
    Ok(Reply { status, body, to: None, keep })
}

fn pointed(location: &str) -> String {
    if location.contains("://") { place(location) } else { "a path of its own".to_owned() }
}

/// How long the server says that it keeps the connection, less a second for the way there.
fn kept(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get("keep-alive").and_then(|said| said.to_str().ok());
    let seconds = said.and_then(|said| said.split(',').find_map(|part| part.trim().strip_prefix("timeout=")));
    let Some(seconds) = seconds.and_then(|seconds| seconds.parse().ok()) else { return Some(KEPT) };
    let kept = Duration::from_secs(seconds).checked_sub(Duration::from_secs(1))?;
    (!kept.is_zero()).then_some(kept.min(KEPT_AT_MOST))
}

async fn body(response: Response<Incoming>, limit: usize) -> Result<Captured, PostError> {
    let mut body = response.into_body();
    let mut captured = Captured::default();
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    captured.bytes.reserve(announced.min(limit).min(64 * 1024));
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(PostError::Broken)?.into_data() else { continue };
        let kept = bytes.len().min(limit - captured.bytes.len());
        captured.bytes.extend_from_slice(&bytes[..kept]);
        captured.dropped += (bytes.len() - kept) as u64;
        if captured.is_cut() {
            break;
        }
    }
    Ok(captured)
}
