//! Connections to the socket: HTTP/1.1, kept open and used again, and those that become something else.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use lineside_core::json::Map;
use lineside_core::propagation::HEADER;
use lineside_stream::Stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::lines::{Lines, Writer};
use crate::publish::Publisher;
use crate::request::RequestError;
use crate::tasks::{Running, start};

/// How many idle connections are kept.
const IDLE: usize = 64;

/// The connections to one daemon, and what is shown there.
#[derive(Clone)]
pub(crate) struct Wire {
    inner: Arc<Inner>,
    grant: Option<Arc<str>>,
    /// The connections for events, each with that grant.
    publisher: Arc<Publisher>,
}

struct Inner {
    socket: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// The same connection, to look whether it is open.
    probe: Stream,
    _driver: Running,
}

impl Connection {
    /// Whether a request can be sent: the daemon has not closed it, also where its driver has not been woken since, and
    /// nothing came that was not asked for.
    fn is_open(&self) -> bool {
        !self.sender.is_closed() && self.probe.is_quiet()
    }
}

impl Wire {
    pub(crate) fn to(socket: &Path) -> Self {
        let inner = Inner { socket: socket.to_path_buf(), idle: Mutex::default() };
        Self { inner: Arc::new(inner), grant: None, publisher: Arc::default() }
    }

    /// The same connections, with a grant; those for events are others.
    pub(crate) fn granted(&self, grant: String) -> Self {
        Self { inner: Arc::clone(&self.inner), grant: Some(grant.into()), publisher: Arc::default() }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.inner.socket
    }

    /// One request to its answer. It is sent once: when its connection breaks it is not sent again, because it may have
    /// arrived. A kept connection that the daemon has closed meanwhile is not used. Dropping the future closes its
    /// connection, which cancels the request at the daemon.
    async fn send(
        &self,
        method: Method,
        path: &str,
        more: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), RequestError> {
        let mut connection = match self.idle() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let request = self.request(method, path, more, body)?;
        connection.sender.ready().await.map_err(broken)?;
        let response = connection.sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
        self.give_back(connection);
        Ok((status, body))
    }

    /// A connection that is open still.
    fn idle(&self) -> Option<Connection> {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(Connection::is_open)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE && !connection.sender.is_closed() {
            idle.push(connection);
        }
    }

    async fn connect(&self) -> Result<Connection, RequestError> {
        let stream = Stream::connect(self.socket())
            .await
            .map_err(|source| RequestError::NoDaemon { socket: self.socket().to_path_buf(), source })?;
        let probe = stream.clone();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let driver = start(async move {
            // What goes wrong is the error of the request concerned.
            connection.with_upgrades().await.ok();
        });
        Ok(Connection { sender, probe, _driver: driver })
    }

    /// A request that is ready to be sent.
    fn request(
        &self,
        method: Method,
        path: &str,
        more: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, RequestError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "lineside")
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        if let Some(grant) = &self.grant {
            request = request.header(HEADER, &**grant);
        }
        request.body(Full::new(Bytes::from(body))).map_err(|_| RequestError::BadPath(path.to_owned()))
    }

    /// A request with a JSON object, to the JSON of its answer.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Map>,
    ) -> Result<T, RequestError> {
        let body = body.map(lineside_core::json::to_vec).transpose().map_err(unreadable)?.unwrap_or_default();
        self.call_with(method, path, &[], body).await
    }

    /// Takes a hook of a program away, with the token of that.
    pub(crate) async fn take_away<T: DeserializeOwned>(
        &self,
        path: &str,
        token: Option<&str>,
    ) -> Result<T, RequestError> {
        let headers: Vec<_> = token.map(|token| (TOKEN, token)).into_iter().collect();
        self.call_with(Method::DELETE, path, &headers, Vec::new()).await
    }

    async fn call_with<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        more: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<T, RequestError> {
        let (status, answer) = self.send(method, path, more, body).await?;
        if status.is_success() {
            return lineside_core::json::from_slice(&answer).map_err(unreadable);
        }
        Err(problem(Some(status), &answer))
    }

    /// Publishes an event, which is JSON, with at most this much time for all hooks together.
    pub(crate) async fn publish(&self, event: String, within: Option<Duration>) -> Result<Map, RequestError> {
        self.publisher.publish(self, event, within.map(|time| time.as_millis())).await
    }

    /// Makes a connection of its own one of the line protocol of workers, with the token of an earlier one.
    pub(crate) async fn attach(&self, token: Option<&str>) -> Result<Attached, RequestError> {
        let headers: Vec<_> = token.map(|token| (TOKEN, token)).into_iter().collect();
        let Upgraded { stream, begun, headers } = self.upgrade("/v1/attach", PROTOCOL, &headers).await?;
        let token = headers.get(TOKEN).and_then(|token| token.to_str().ok());
        let token = token.ok_or_else(|| RequestError::Unreadable("no token".to_owned()))?.to_owned();
        Ok(Attached { lines: Lines::new(stream.clone(), begun), writer: Writer(stream), token })
    }

    /// Makes a connection of its own one of another protocol.
    pub(crate) async fn upgrade(
        &self,
        path: &str,
        protocol: &str,
        more: &[(&str, &str)],
    ) -> Result<Upgraded, RequestError> {
        let mut connection = self.connect().await?;
        let headers = [&[("connection", "upgrade"), ("upgrade", protocol)], more].concat();
        let request = self.request(Method::POST, path, &headers, Vec::new())?;
        let response = connection.sender.send_request(request).await.map_err(broken)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
            return Err(problem(Some(status), &body));
        }
        let headers = response.headers().clone();
        let upgraded = hyper::upgrade::on(response).await.map_err(broken)?;
        let parts = upgraded.downcast::<TokioIo<Stream>>();
        let parts = parts.map_err(|_| RequestError::Unreadable("another connection".to_owned()))?;
        Ok(Upgraded { stream: parts.io.into_inner(), begun: parts.read_buf, headers })
    }

    /// The body of an answer that does not end, over a connection of its own which ends with it.
    pub(crate) async fn stream(&self, path: &str, after: Option<&str>) -> Result<Body, RequestError> {
        let mut connection = self.connect().await?;
        let headers: Vec<_> = after.map(|after| ("last-event-id", after)).into_iter().collect();
        let request = self.request(Method::GET, path, &headers, Vec::new())?;
        let response = connection.sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        if status.is_success() {
            return Ok(Body { body: response.into_body(), _connection: connection });
        }
        let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
        Err(problem(Some(status), &body))
    }
}

/// A body that does not end, with what carries it.
pub(crate) struct Body {
    pub(crate) body: Incoming,
    _connection: Connection,
}

/// A connection that has another protocol now.
pub(crate) struct Upgraded {
    pub(crate) stream: Stream,
    /// What was read of it already.
    pub(crate) begun: Bytes,
    headers: HeaderMap,
}

/// A connection over which hooks are asked.
pub(crate) struct Attached {
    pub(crate) lines: Lines,
    pub(crate) writer: Writer,
    /// By which this process is known.
    pub(crate) token: String,
}

/// The protocol after the upgrade.
const PROTOCOL: &str = "lineside-worker/2";
/// The header with the token of an attachment.
const TOKEN: &str = "lineside-attachment";

/// The problem document of a daemon.
#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type")]
    kind: String,
    status: u16,
    detail: String,
    verdict: Option<String>,
}

/// What a problem document says, with the status of its answer, where that has one of its own.
pub(crate) fn problem(status: Option<StatusCode>, answer: &[u8]) -> RequestError {
    match lineside_core::json::from_slice(answer) {
        Ok(Problem { kind, status: said, detail, verdict }) => {
            let blocks = verdict.as_deref() == Some("block");
            let status = status.map_or(said, |status| status.as_u16());
            RequestError::Refused { status, kind, detail, blocks }
        }
        Err(error) => unreadable(error),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub(crate) fn unreadable(error: lineside_core::json::Error) -> RequestError {
    RequestError::Unreadable(error.to_string())
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn broken(source: hyper::Error) -> RequestError {
    RequestError::Broken { source: io::Error::other(source) }
}
