//! A proxy that the user has named. What the environment says of proxies is not asked: a project may have set it.

use thiserror::Error;

use super::target::{Host, Target, place};

/// A proxy for posts.
///
/// `https` goes through it by `CONNECT`, `http` by the whole URL. Addresses that are not public, and `localhost`, are
/// reached without it. What a name resolves to is the proxy's knowledge and not ours: it is not checked here, so that a
/// proxy is a way for hooks into every network that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    host: Host,
    port: u16,
}

impl Proxy {
    /// The proxy at this URL: `http://host:port`, without name, password and path.
    ///
    /// # Errors
    /// It is another kind of URL.
    ///
    /// ```
    /// use lineside_exec::Proxy;
    ///
    /// assert!(Proxy::at("http://proxy.example:3128").is_ok());
    /// assert!(Proxy::at("socks5://proxy.example").is_err());
    /// ```
    pub fn at(url: &str) -> Result<Self, ReadProxyError> {
        let wrong = |why: String| ReadProxyError { url: place(url), why };
        let target = Target::of(url).map_err(|error| wrong(error.to_string()))?;
        if target.tls || target.path != "/" {
            return Err(wrong("only `http://host:port` is spoken to".to_owned()));
        }
        Ok(Self { host: target.host, port: target.port })
    }

    pub(super) fn place(&self) -> (&Host, u16) {
        (&self.host, self.port)
    }
}

/// A text is no proxy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no proxy at `{url}`: {why}")]
pub struct ReadProxyError {
    url: String,
    why: String,
}
