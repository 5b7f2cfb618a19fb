//! A request over HTTP for a hook, and how it ended: plain values.
//!
//! A dialect makes a [`Post`] and reads a [`Posted`]; the client between them is another crate's business.

use std::fmt;
use std::time::Duration;

use crate::invocation::Captured;
use lineside_redact::{redact, redact_header};

/// A `POST` for one hook and one event.
///
/// Its `Debug` tells no secret: of headers that hold one only the name, and of the body the length.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::exchange::{Addresses, Post};
///
/// let post = Post {
///     url: "https://policy.example/judge".into(),
///     addresses: Addresses::Public,
///     headers: vec![("Authorization".into(), "Bearer t0ken".into())],
///     body: b"{}".to_vec(),
///     timeout: Duration::from_secs(5),
///     body_bytes: 1 << 20,
/// };
/// // The values of its headers are no matter for a log.
/// assert!(!format!("{post:?}").contains("t0ken"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Post {
    /// An absolute `http` or `https` URL without name and password. Redirects are not followed.
    pub url: String,
    /// Which addresses may be reached. The owner of the URL decides.
    pub addresses: Addresses,
    /// Header names and values beside `Content-Type: application/json`. Those that frame a message cannot be set.
    pub headers: Vec<(String, String)>,
    /// The body, JSON in UTF-8; at most 64 MiB of it are sent.
    pub body: Vec<u8>,
    /// From before the name is looked up to the last byte of the answer.
    pub timeout: Duration,
    /// Bytes kept of the answer's body; one that is longer is read no further.
    pub body_bytes: usize,
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name, redact_header(name, value))).collect();
        f.debug_struct("Post")
            .field("url", &redact(&self.url))
            .field("addresses", &self.addresses)
            .field("headers", &headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("timeout", &self.timeout)
            .field("body_bytes", &self.body_bytes)
            .finish()
    }
}

/// Which addresses a post may reach.
///
/// Every address that a name has is checked before a connection is made, and the connection is made to one that was
/// checked. Addresses of no single host (unspecified, multicast, broadcast) are always refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Addresses {
    /// Public ones.
    #[default]
    Public,
    /// Also a loopback or private one that stands in the URL itself, in its usual form or as `localhost`: a person who agreed
    /// to the text has agreed to it. What a name is resolved to has to be public.
    AsWritten,
    /// Private, link-local and reserved ones too, also behind a name.
    Any,
}

/// How a `POST` ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// The server answered, with anything but a redirect.
    Answered {
        /// The status, 100 to 299 or 400 to 999.
        status: u16,
        /// The body.
        body: Captured,
        /// From the start to the last byte.
        took: Duration,
    },
    /// The server answered that it is to be found elsewhere. It was not followed.
    Redirected {
        /// The status, 300 to 399.
        status: u16,
        /// Scheme and host of where it points, or `a path of its own`; absent when it does not say.
        to: Option<String>,
    },
    /// There was no whole answer in time.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// There was no answer: the URL cannot be posted to, its address may not be reached, the name was not found, no server
    /// listened, TLS was refused, it broke off, or what came is beyond the limits.
    Unreachable {
        /// Why, one line, without secrets.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c04_what_is_shown_of_a_post_has_no_secret() {
        let post = Post {
            url: "https://me:hunter2@h/x?token=hunter2".to_owned(),
            addresses: Addresses::Public,
            headers: vec![
                ("Authorization".to_owned(), "Bearer hunter2".to_owned()),
                ("X-Event".to_owned(), "e1".to_owned()),
            ],
            body: b"hunter2".to_vec(),
            timeout: Duration::from_secs(1),
            body_bytes: 1,
        };
        let shown = format!("{post:?}");
        assert!(!shown.contains("hunter2") && shown.contains("e1") && shown.contains("7 bytes"), "{shown}");
    }
}
