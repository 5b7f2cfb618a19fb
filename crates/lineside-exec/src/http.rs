//! Posts to HTTP servers: one request, one answer, under one deadline, to an address that was checked.
//!
//! The modules stand in the order in which a post meets them: its URL is read, a place and perhaps a connection are
//! taken from the pool, or the host is looked up, checked and connected to, and the wire carries request and answer.
//! There are no cookies and no redirects, and only the proxy that the user has named.
//! What a status or a body means is the dialect's business.

mod error;
mod target;
mod pool;
mod addresses;
mod proxy;
mod connect;
mod wire;

use std::fmt;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, HeaderValue,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use hyper::{Method, Request};
use lineside_core::exchange::{Post, Posted};
use tokio::time::Instant;

pub use proxy::{Proxy, ReadProxyError};

use self::connect::Connector;
use self::error::{PostError, in_one_line};
use self::pool::Pool;
use self::target::{Target, place};
use self::wire::{AskError, Reply};
use crate::running::after;

/// The longest body of a request, in bytes.
const LONGEST_REQUEST: usize = 64 << 20;

/// Posts for hooks.
///
/// Clones are cheap and share their connections and the roots of trust, which are read from the system at the first
/// `https` post. Proxies that the environment names are not used.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::exchange::{Addresses, Post, Posted};
/// use lineside_exec::HttpClient;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut post = Post {
///     url: "http://127.0.0.1:1/hook".to_owned(),
///     addresses: Addresses::Public,
///     headers: vec![("X-Event".to_owned(), "7".to_owned())],
///     body: b"{}".to_vec(),
///     timeout: Duration::from_secs(5),
///     body_bytes: 1 << 20,
/// };
/// let client = HttpClient::new();
/// // Not public.
/// assert!(matches!(client.post(&post).await, Posted::Unreachable { why } if why.contains("loopback")));
/// // No server listens there.
/// post.addresses = Addresses::AsWritten;
/// assert!(matches!(client.post(&post).await, Posted::Unreachable { why } if why.contains("refused")));
/// # }
/// ```
#[derive(Clone)]
pub struct HttpClient {
    connector: Connector,
    pool: Arc<Pool>,
    kind: HeaderValue,
}

impl Default for HttpClient {
    fn default() -> Self {
        let kind = HeaderValue::from_static("application/json");
        Self { connector: Connector::default(), pool: Arc::default(), kind }
    }
}

impl HttpClient {
    /// A client that has not yet read anything, without a proxy; each place gets 16 posts at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Through this proxy. It is for the user to name, and for no project.
    #[must_use]
    pub fn through(mut self, proxy: Proxy) -> Self {
        self.connector.proxy = Some(proxy);
        // What was connected without it, or through another one, is not used again.
        self.pool = Arc::default();
        self
    }

    /// At most so many posts at once to one place: scheme, host and port. At least one.
    #[must_use]
    pub fn at_once(mut self, most: usize) -> Self {
        self.pool = Arc::new(Pool::new(most.clamp(1, tokio::sync::Semaphore::MAX_PERMITS)));
        self
    }

    /// Its posts have bodies of this type in the place of JSON.
    #[must_use]
    pub fn of_type(mut self, kind: &'static str) -> Self {
        self.kind = HeaderValue::from_static(kind);
        self
    }

    /// Posts and says what came of it.
    ///
    /// `timeout` counts from the call and covers waiting for other posts to the same place, the name, the connection,
    /// TLS, the request and the last byte of the answer's body; the clock is tokio's.
    /// The body is kept up to `body_bytes`; one byte more, and nothing further is read, `dropped` counts what had
    /// come beyond, and the connection is closed.
    /// A redirect is reported and not followed.
    /// Anything else that prevents a whole answer but time gives [`Posted::Unreachable`].
    ///
    /// A connection whose answer was read to its end is kept, for the time that the server states or for 4 s, and for a
    /// minute after its name was looked up at most. Before it is used again the system is asked whether the other side
    /// still has it. If nothing of a request was sent because it has not, the request goes over a new connection, once.
    /// A request of which a byte was sent is never sent again: the server may have acted on it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; no task stays behind. Looking up a name may keep a thread of the
    /// runtime for as long as the system takes.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn post(&self, post: &Post) -> Posted {
        let began = Instant::now();
        let by = after(began, post.timeout);
        match tokio::time::timeout_at(by, self.exchange(post, by)).await {
            Ok(Ok(Reply { status: status @ 300..=399, to, .. })) => Posted::Redirected { status, to },
            Ok(Ok(Reply { status, body, .. })) => Posted::Answered { status, body, took: began.elapsed() },
            Ok(Err(error)) => Posted::Unreachable { why: in_one_line(&error) },
            Err(_) => Posted::TimedOut { after: post.timeout },
        }
    }

    /// Closes the connections that are kept. Posts under way go on, and nothing is kept from now on.
    pub fn drain(&self) {
        self.pool.close();
    }

    async fn exchange(&self, post: &Post, by: Instant) -> Result<Reply, PostError> {
        let target = Target::of(&post.url)?;
        let mut request = request(&target, post, &self.kind)?;
        let lease = self.pool.lease(&target, post.addresses).await;
        let mut kept = lease.take().await;
        loop {
            let is_new = kept.is_none();
            let mut wire = match kept.take() {
                Some(wire) => wire,
                None => self.connector.connect(&target, post.addresses, by).await?,
            };
            match wire.ask(request, post.body_bytes).await {
                Ok(reply) => {
                    if let Some(most) = reply.keep {
                        lease.keep(wire, most).await;
                    }
                    return Ok(reply);
                }
                Err(AskError::Failed(error)) => return Err(error),
                Err(AskError::Unsent(_)) if is_new => return Err(PostError::Unsent),
                Err(AskError::Unsent(unsent)) => request = *unsent,
            }
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("proxy", &self.connector.proxy).finish_non_exhaustive()
    }
}

/// Headers that say where a message begins and ends, or how it is to be passed on: not for a hook to set.
const FRAMING: [HeaderName; 10] = [
    HOST, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT,
    ACCEPT_ENCODING,
];

fn request(target: &Target, post: &Post, kind: &HeaderValue) -> Result<Request<Full<Bytes>>, PostError> {
    if post.body.len() > LONGEST_REQUEST {
        return Err(PostError::TooLong { bytes: post.body.len(), most: LONGEST_REQUEST });
    }
    let mut request = Request::new(Full::new(Bytes::from(post.body.clone())));
    *request.method_mut() = Method::POST;
    let wrong = |error| PostError::Url { url: place(&post.url), why: format!("{error}") };
    *request.uri_mut() = target.path.parse().map_err(|error: hyper::http::uri::InvalidUri| wrong(error))?;
    let headers = request.headers_mut();
    headers.insert(HOST, value(HOST.as_str(), &target.authority)?);
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("lineside/", env!("CARGO_PKG_VERSION"))));
    headers.insert(CONTENT_TYPE, kind.clone());
    headers.insert(ACCEPT, kind.clone());
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, text) in &post.headers {
        let refused = || PostError::Header { name: name.escape_debug().to_string() };
        let known = HeaderName::try_from(name).map_err(|_| refused())?;
        if FRAMING.contains(&known) || known.as_str().starts_with("proxy-") || known == "keep-alive" {
            return Err(refused());
        }
        headers.insert(known, value(name, text)?);
    }
    Ok(request)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, PostError> {
    HeaderValue::from_str(text).map_err(|_| PostError::Header { name: name.to_owned() })
}

#[cfg(test)]
mod tests;
