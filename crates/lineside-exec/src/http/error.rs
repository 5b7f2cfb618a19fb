//! Why there is no complete answer, and how that is reported.

use std::error::Error as _;
use std::net::IpAddr;

use lineside_redact::redact;
use thiserror::Error;

/// Why there is no whole answer.
#[derive(Debug, Error)]
pub(super) enum PostError {
    /// The URL is none that can be posted to.
    #[error("cannot post to `{url}`: {why}")]
    Url {
        /// Scheme and host of it.
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
    /// The body is too long.
    #[error("the request has {bytes} bytes, more than the {most} that are sent")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// What would have been sent.
        most: usize,
    },
    /// The name is not known.
    #[error("cannot connect to {host}: its name is not found")]
    Name {
        /// The host.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// The name is known and has no address.
    #[error("`{host}` has no address")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// It is where this hook may not go.
    #[error("`{host}` is at {address}, {kind}, which this hook may not reach")]
    Refused {
        /// The host.
        host: String,
        /// The address.
        address: IpAddr,
        /// What kind of address that is.
        kind: &'static str,
    },
    /// There is no connection.
    #[error("cannot connect to {host}")]
    Connect {
        /// The host.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// The system has no roots of trust.
    #[error("cannot read the system's certificates: {why}")]
    Roots {
        /// Why.
        why: String,
    },
    /// The server is not the one that was meant, or does not speak TLS.
    #[error("cannot speak TLS with {host}")]
    Tls {
        /// The host.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// The proxy does not connect us.
    #[error("the proxy refuses {host} with status {status}")]
    Proxy {
        /// The host.
        host: String,
        /// What it answered.
        status: u16,
    },
    /// The answer is in a form that was not asked for.
    #[error("the answer is encoded in a way that was not asked for")]
    Encoded,
    /// The connection broke off, or what came over it is not HTTP.
    #[error("the exchange broke off")]
    Broken(#[source] hyper::Error),
    /// A new connection did not take the request.
    #[error("the connection ended before anything was sent")]
    Unsent,
}

/// An error and its causes in one line, without secrets.
pub(super) fn in_one_line(error: &PostError) -> String {
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
    let line: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    redact(&line).into_owned()
}
