//! Posts to HTTP servers: one connection, one request, one answer, under one deadline.
//!
//! Nothing is shared between two posts but the roots of trust: no pool, no cookies, no proxy, no redirects.
//! So what one hook sends can neither wait for another's connection nor tell who else was posted to.
//! What a status or a body means is the dialect's business.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use lineside_core::exchange::{Post, Posted};
use lineside_core::invocation::Captured;
use thiserror::Error;
use tokio::time::Instant;
use tower_service::Service;

use crate::running::after;

/// Posts for hooks.
///
/// Clones are cheap and share the roots of trust, which are read from the system at the first `https` post.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::exchange::{Post, Posted};
/// use lineside_exec::HttpClient;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let post = Post {
///     url: "http://127.0.0.1:1/hook".to_owned(),
///     headers: vec![("X-Event".to_owned(), "7".to_owned())],
///     body: b"{}".to_vec(),
///     timeout: Duration::from_secs(5),
///     body_bytes: 1 << 20,
/// };
/// // Nobody listens there.
/// assert!(matches!(HttpClient::new().post(&post).await, Posted::Unreachable { .. }));
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct HttpClient {
    tls: Arc<OnceLock<Result<HttpsConnector<HttpConnector>, String>>>,
}

impl HttpClient {
    /// A client that has not yet read anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Posts and says what came of it.
    ///
    /// `timeout` counts from the call and covers the name, the connection, TLS, the request and the last byte of the
    /// answer's body; the clock is tokio's.
    /// The body is kept up to `body_bytes`; one byte more, and nothing further is read, `dropped` counts what had
    /// come beyond, and the connection is closed.
    /// A redirect is an answer like any other.
    /// Anything that prevents a whole answer but time gives [`Posted::Unreachable`]: a URL that cannot be posted to,
    /// a name that is not found, a connection that is refused or breaks off, TLS that fails, an answer that is not HTTP.
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
        match tokio::time::timeout_at(after(began, post.timeout), self.exchange(post)).await {
            Ok(Ok((status, body))) => Posted::Answered { status, body, took: began.elapsed() },
            Ok(Err(error)) => Posted::Unreachable { why: in_one_line(&error) },
            Err(_) => Posted::TimedOut { after: post.timeout },
        }
    }

    async fn exchange(&self, post: &Post) -> Result<(u16, Captured), PostError> {
        let target = Target::of(&post.url)?;
        let request = target.request(post)?;
        let connect = |source| PostError::Connect { host: target.host.clone(), source };
        if target.tls {
            let mut connector = self.tls()?;
            let stream = connector.call(target.uri.clone()).await.map_err(connect)?;
            talk(stream, request, post.body_bytes).await
        } else {
            let stream = HttpConnector::new().call(target.uri.clone()).await;
            talk(stream.map_err(|error| connect(error.into()))?, request, post.body_bytes).await
        }
    }

    fn tls(&self) -> Result<HttpsConnector<HttpConnector>, PostError> {
        let connector = self.tls.get_or_init(|| {
            let builder =
                HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
            Ok(builder.https_only().enable_http1().build())
        });
        connector.clone().map_err(|why| PostError::Roots { why })
    }
}

/// Where a post goes.
struct Target {
    uri: Uri,
    host: String,
    tls: bool,
}

impl Target {
    fn of(url: &str) -> Result<Self, PostError> {
        let wrong = |why: &str| PostError::Url { url: place(url), why: why.to_owned() };
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("{error}")))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("neither http nor https")),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(wrong("a name and password have no place in it"));
        }
        let host = authority.to_owned();
        Ok(Self { uri, host, tls })
    }

    fn request(&self, post: &Post) -> Result<Request<Full<Bytes>>, PostError> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(Bytes::from(post.body.clone())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path
            .parse()
            .map_err(|error| PostError::Url { url: place(&post.url), why: format!("{error}") })?;
        let headers = request.headers_mut();
        headers.insert(HOST, value(HOST.as_str(), &self.host)?);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("lineside/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        for (name, text) in &post.headers {
            let known = HeaderName::try_from(name).map_err(|_| PostError::Header { name: name.clone() })?;
            headers.insert(known, value(name, text)?);
        }
        Ok(request)
    }
}

/// Scheme, host and path of a URL: what may be told of it. Names, passwords and tokens stand elsewhere.
fn place(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

fn value(name: &str, text: &str) -> Result<HeaderValue, PostError> {
    HeaderValue::from_str(text).map_err(|_| PostError::Header { name: name.to_owned() })
}

/// Sends the request and reads the answer, moving the connection along in the same future.
async fn talk<S>(stream: S, request: Request<Full<Bytes>>, limit: usize) -> Result<(u16, Captured), PostError>
where
    S: Read + Write + Unpin,
{
    let (mut sender, connection) = http1::handshake(stream).await.map_err(PostError::Broken)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(PostError::Broken)?;
        let status = response.status().as_u16();
        Ok((status, body(response, limit).await?))
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        biased;
        said = &mut exchange => return said,
        // Whatever ended it, the exchange is told and says what it was.
        _ = &mut connection => {}
    }
    exchange.await
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

/// Why there is no whole answer.
#[derive(Debug, Error)]
enum PostError {
    /// The URL is none that can be posted to.
    #[error("cannot post to `{url}`: {why}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("cannot send the header `{name}`")]
    Header {
        /// Its name.
        name: String,
    },
    /// The system has no roots of trust.
    #[error("cannot read the system's certificates: {why}")]
    Roots {
        /// Why.
        why: String,
    },
    /// There is no connection.
    #[error("cannot connect to {host}")]
    Connect {
        /// Host and port.
        host: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke off, or what came over it is not HTTP.
    #[error("the exchange broke off")]
    Broken(#[source] hyper::Error),
}

fn in_one_line(error: &PostError) -> String {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some of the libraries below repeat their source.
        if !why.ends_with(&text) {
            why = format!("{why}: {text}");
        }
        cause = error.source();
    }
    why.replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests;
