//! The client, and what can go wrong with a request.

use std::io;
use std::path::{Path, PathBuf};

use hyper::Method;
use lineside_core::json::Map;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::session::OpenSession;
use crate::wire::Wire;

/// A client of one daemon. Cloning it costs one reference count; clones share their connections.
#[derive(Clone)]
pub struct Client {
    wire: Wire,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("socket", &self.wire.socket()).finish_non_exhaustive()
    }
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No daemon answers at the socket.
    #[error("no daemon answers at {}; start one with `lineside serve`", socket.display())]
    NoDaemon {
        /// The socket.
        socket: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The connection broke before the answer; whether the daemon has met the request is not known.
    #[error("the connection to the daemon broke before its answer")]
    Broken {
        /// How.
        source: hyper::Error,
    },
    /// The daemon does not meet the request.
    #[error("{detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Which problem it is: `urn:lineside:problem:` and a word.
        kind: String,
        /// What happened, and what would be right.
        detail: String,
        /// Whether the event that was to be published must not happen, because no gate has seen it.
        blocks: bool,
    },
    /// The answer is not the documented one; the daemon may be of another version.
    #[error("the answer of the daemon cannot be read: {0}")]
    Unreadable(String),
    /// The path of the request cannot be sent.
    #[error("{0:?} is not a path")]
    BadPath(String),
}

impl RequestError {
    /// Whether there is no daemon to answer.
    #[must_use]
    pub fn is_no_daemon(&self) -> bool {
        matches!(self, Self::NoDaemon { .. })
    }
}

/// The problem document of a daemon.
#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type")]
    kind: String,
    detail: String,
    verdict: Option<String>,
}

impl Client {
    /// A client of the daemon at this socket. Nothing is connected yet.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self { wire: Wire::to(socket.as_ref()) }
    }

    /// The same client with a grant: its sessions are children of the session of the grant, or below it, and it can reach
    /// nothing else.
    #[must_use]
    pub fn granted(&self, grant: impl Into<String>) -> Self {
        Self { wire: self.wire.granted(grant.into()) }
    }

    /// A session of that id, about to be opened: a root, or a child of the session whose grant this client has.
    pub fn session(&self, id: impl Into<String>) -> OpenSession {
        OpenSession::root(self.clone(), id.into())
    }

    /// `GET`: the JSON at a path of the API, such as `/v1/status`.
    ///
    /// # Errors
    /// No daemon, a broken connection, a problem document, or an answer of another form.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        self.call(Method::GET, path, None).await
    }

    /// `POST` of a JSON object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &Map) -> Result<T, RequestError> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// `DELETE`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        self.call(Method::DELETE, path, None).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Map>,
    ) -> Result<T, RequestError> {
        let unreadable = |error: lineside_core::json::Error| RequestError::Unreadable(error.to_string());
        let body = body.map(lineside_core::json::to_vec).transpose().map_err(unreadable)?.unwrap_or_default();
        let (status, answer) = self.wire.send(method, path, body).await?;
        if status.is_success() {
            return lineside_core::json::from_slice(&answer).map_err(unreadable);
        }
        let Problem { kind, detail, verdict } =
            lineside_core::json::from_slice(&answer).map_err(unreadable)?;
        let blocks = verdict.as_deref() == Some("block");
        Err(RequestError::Refused { status: status.as_u16(), kind, detail, blocks })
    }
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn a_segment_hides_what_would_lead_elsewhere() {
        assert_eq!(segment("s-1_~"), "s-1_~");
        assert_eq!(segment("../a b/ü?#%"), "%2E%2E%2Fa%20b%2F%C3%BC%3F%23%25");
    }
}
