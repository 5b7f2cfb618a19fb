//! The client of one daemon.

use std::path::Path;

use hyper::Method;
use lineside_core::json::Map;
use serde::de::DeserializeOwned;

use crate::attach::Attachment;
use crate::request::RequestError;
use crate::session::OpenSession;
use crate::wire::{Stream, Wire};

/// A client of one daemon. Cloning it costs one reference count; clones share their connections.
#[derive(Clone)]
pub struct Client {
    wire: Wire,
    attachment: Attachment,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("socket", &self.wire.socket()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the daemon at this socket. Nothing is connected yet.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self::over(Wire::to(socket.as_ref()))
    }

    fn over(wire: Wire) -> Self {
        Self { attachment: Attachment::new(wire.clone()), wire }
    }

    pub(crate) fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The body of an answer that does not end.
    pub(crate) async fn stream(&self, path: &str, after: Option<&str>) -> Result<Stream, RequestError> {
        self.wire.stream(path, after).await
    }

    /// The same client with a grant: its sessions are children of the session of the grant, or below it, and it can reach
    /// nothing else.
    #[must_use]
    pub fn granted(&self, grant: impl Into<String>) -> Self {
        Self::over(self.wire.granted(grant.into()))
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
        self.wire.call(Method::GET, path, None).await
    }

    /// `POST` of a JSON object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &Map) -> Result<T, RequestError> {
        self.wire.call(Method::POST, path, Some(body)).await
    }

    /// `DELETE`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        self.wire.call(Method::DELETE, path, None).await
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
