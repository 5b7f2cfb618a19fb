//! Where a post goes: what a URL says, read strictly.
//!
//! The check of a host and the connection to it must read it in the same way, so only one spelling of an address is
//! taken: no `0x7f.1`, no `2130706433`, no zone, no dot at the end, no name and password before it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::Uri;

use super::error::PostError;

/// A URL that can be posted to.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// Whether it is `https`.
    pub(super) tls: bool,
    /// Whom to ask.
    pub(super) host: Host,
    /// The port, given or that of the scheme.
    pub(super) port: u16,
    /// Host and port as the URL has them.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Host {
    /// By its address.
    Address(IpAddr),
    /// By its name, in lower case.
    Name(String),
}

impl Host {
    /// Whether it is this machine, by the name that is reserved for that.
    pub(super) fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Target {
    pub(super) fn of(url: &str) -> Result<Self, PostError> {
        let wrong = |why: &str| PostError::Url { url: place(url), why: why.to_owned() };
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("{error}")))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("a name and password have no place in it"));
        }
        let host = host(authority.host()).map_err(wrong)?;
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") if tls => 443,
            Some("") => 80,
            // The port that `http` reads is absent when it is none.
            Some(_) => authority.port_u16().filter(|port| *port != 0).ok_or_else(|| wrong("no such port"))?,
            None => return Err(wrong("its host is no name")),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { tls, host, port, authority: authority.as_str().to_owned(), path })
    }
}

fn host(text: &str) -> Result<Host, &'static str> {
    if let Some(inside) = text.strip_prefix('[') {
        let address: Option<Ipv6Addr> = inside.strip_suffix(']').and_then(|inside| inside.parse().ok());
        return address
            .map(|address| Host::Address(address.into()))
            .ok_or("no address of IPv6 in its brackets");
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let labels = || text.split('.');
    if text.is_empty() || text.len() > 253 || labels().any(|label| label.is_empty() || label.len() > 63) {
        return Err("its host is no name");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) {
        return Err("its host is no name");
    }
    if labels().next_back().is_some_and(is_number) {
        return Err("its host is a number and no address of four parts");
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

/// What some readers take for a part of an address of IPv4.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || label.bytes().all(|byte| byte.is_ascii_digit())
}

/// Scheme, host and port of a URL: what may be shown of it. Passwords and tokens stand elsewhere, in a path too.
pub(super) fn place(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]+".contains(&byte));
    if is_plain(scheme) && is_plain(host) { format!("{scheme}://{host}") } else { "…".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(url: &str) -> String {
        match Target::of(url) {
            Ok(target) => format!("{} {}", target.host, target.port),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_host_is_read_in_one_way() {
        assert_eq!(host_of("http://Example.ORG"), "example.org 80");
        assert_eq!(host_of("https://example.org/x?y#z"), "example.org 443");
        assert_eq!(host_of("http://127.0.0.1:8080/"), "127.0.0.1 8080");
        assert_eq!(host_of("http://[::1]:1/"), "[::1] 1");
        assert_eq!(host_of("http://a_b.c-d.e1/"), "a_b.c-d.e1 80");
        assert!(matches!(Target::of("http://h?x").map(|target| target.path), Ok(path) if path == "/?x"));
    }

    #[test]
    fn i09_other_spellings_of_an_address_are_refused() {
        for host in [
            "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01",
            "127.0.0.1.", "localhost.", "0x7F000001", "1.2.3.4.5", "256.0.0.1", "[fe80::1%25eth0]",
            "[fe80::1%eth0]", "[127.0.0.1]", "[::1", "::1", "a..b", ".a", "a b", "ex%61mple.org",
            "①②⑦.⓪.⓪.①", "127。0。0。1", "", "h:0", "h:65536", "h:", "h:x", "me@127.0.0.1",
            "example.org@127.0.0.1", "example.org:80@127.0.0.1", "127.0.0.1\\@example.org", "127.0.0.1\t",
            "\u{200b}localhost", "$(id)", "h;x",
        ] {
            let url = format!("http://{host}/");
            assert!(Target::of(&url).is_err(), "{url}: {:?}", Target::of(&url));
        }
        for url in ["file:///etc/passwd", "unix:/run/x", "ws://h/", "//h/", "h", "http:/h", "http:h", "", "*"]
        {
            assert!(Target::of(url).is_err(), "{url}");
        }
    }

    #[test]
    fn c04_of_a_url_no_path_and_no_password_is_told() {
        for url in [
            "http://me:hunter2@h/x", "http://h/hunter2", "http://h?hunter2", "http://h#hunter2",
            "http://h\\hunter2", "http://hunter2 h/", "hunter2 ://h", "hunter2",
        ] {
            assert!(!place(url).contains("hunter2"), "{url}: {}", place(url));
        }
        assert_eq!(place("https://h:8/x"), "https://h:8");
    }
}
