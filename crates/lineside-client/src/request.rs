//! What can go wrong with a request.

use std::io;
use std::path::PathBuf;

/// Why a request has no result.
///
/// ```
/// use lineside_client::{Client, RequestError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("/nowhere/lineside.sock");
/// match client.session("s1").open().await {
///     Err(RequestError::NoDaemon { socket, .. }) => assert!(socket.ends_with("lineside.sock")),
///     other => panic!("there is no daemon: {other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
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
        source: io::Error,
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
    ///
    /// ```
    /// use lineside_client::Client;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new("/nowhere/lineside.sock");
    /// assert!(client.session("s1").open().await.is_err_and(|error| error.is_no_daemon()));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_no_daemon(&self) -> bool {
        matches!(self, Self::NoDaemon { .. })
    }
}
