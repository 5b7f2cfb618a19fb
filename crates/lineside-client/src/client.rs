//! The client of one daemon.

use std::path::Path;

use hyper::Method;
use lineside_core::json::Map;
use serde::de::DeserializeOwned;

use crate::attach::Attachment;
use crate::request::RequestError;
use crate::wire::{Body, Wire};

/// A client of one daemon. Cloning it costs one reference count; clones share their connections.
///
/// ```
/// use lineside_client::Client;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let client = Client::new("/nowhere/lineside.sock");
/// // Nothing was connected yet; a request says that there is no daemon.
/// assert!(client.session("s1").open().await.is_err());
/// # }
/// ```
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

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(crate) fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The body of an answer that does not end.
    pub(crate) async fn stream(&self, path: &str, after: Option<&str>) -> Result<Body, RequestError> {
        self.wire.stream(path, after).await
    }

    /// The same client with a grant: its sessions are children of the session of the grant, or below it, and it can reach
    /// nothing else.
    ///
    /// ```
    /// use lineside_client::Client;
    ///
    /// let client = Client::new("/run/user/1000/lineside/lineside.sock").granted("a-secret");
    /// // The grant is a secret, which no log shows.
    /// assert!(!format!("{client:?}").contains("a-secret"));
    /// ```
    #[must_use]
    pub fn granted(&self, grant: impl Into<String>) -> Self {
        Self::over(self.wire.granted(grant.into()))
    }

    /// `GET`: the JSON at a path of the API, such as `/v1/status`.
    ///
    /// ```no_run
    /// use lineside_core::json::Map;
    ///
    /// # async fn example(client: lineside_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let status: Map = client.get("/v1/status").await?;
    /// assert!(status.contains_key("sessions"));
    /// # Ok(())
    /// # }
    /// ```
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
