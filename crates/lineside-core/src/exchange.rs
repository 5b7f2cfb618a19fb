//! A request over HTTP for a hook, and how it ended: plain values.
//!
//! A dialect makes a [`Post`] and reads a [`Posted`]; the client between them is another crate's business.

use std::time::Duration;

use crate::invocation::Captured;

/// A `POST` for one hook and one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// An absolute `http` or `https` URL. Redirects are not followed.
    pub url: String,
    /// Header names and values beside `Content-Type: application/json`.
    pub headers: Vec<(String, String)>,
    /// The body, JSON in UTF-8.
    pub body: Vec<u8>,
    /// From the connection to the last byte of the answer.
    pub timeout: Duration,
    /// Bytes kept of the answer's body; one that is longer is read no further.
    pub body_bytes: usize,
}

/// How a `POST` ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// The server answered.
    Answered {
        /// The status, 100 to 999.
        status: u16,
        /// The body.
        body: Captured,
        /// From the start to the last byte.
        took: Duration,
    },
    /// There was no whole answer in time.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// There was no connection: the name was not found, nobody listened, TLS was refused, or it broke off.
    Unreachable {
        /// Why, one line.
        why: String,
    },
}
