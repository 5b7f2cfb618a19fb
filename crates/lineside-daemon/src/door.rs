//! Who may come in over loopback HTTP, and in which form: the token, the host that was meant, no web page, JSON only.
//!
//! Over the Unix socket the system says who the peer is, so the token and the host are not asked for there.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use crate::problem::Problem;
use crate::token::Token;

/// By which door a request has come.
#[derive(Debug, Clone)]
pub(crate) enum Door {
    /// The Unix socket; the peer is the same user.
    Socket,
    /// Loopback HTTP at this address, for clients with the token.
    Http(Arc<Lock>),
}

/// What the HTTP door asks for.
#[derive(Debug)]
pub(crate) struct Lock {
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
}

/// Whether a request may come in.
///
/// # Errors
/// Why not.
pub(crate) fn admit(door: &Door, method: &Method, target: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    // A browser says for which page it asks; no page has business here.
    if headers.contains_key(header::ORIGIN) {
        let (word, title) = ("foreign-origin", "Requests of web pages are refused");
        return Err(Problem::new(StatusCode::FORBIDDEN, word, title, "leave the header `Origin` out"));
    }
    if let Door::Http(lock) = door {
        meant(lock.address, target, headers)?;
        known(&lock.token, headers)?;
    }
    if matches!(*method, Method::GET | Method::HEAD) || is_json(headers) {
        return Ok(());
    }
    let (word, title) = ("not-json", "The content type is not JSON");
    let detail = "send the header `Content-Type: application/json`, also without a body";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, word, title, detail))
}

/// A name that resolves to loopback is not one of ours (DNS rebinding), neither in the header nor in a target that is a
/// whole address, which counts before the header.
pub(crate) fn meant(address: SocketAddr, target: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let hosts: Vec<_> = headers.get_all(header::HOST).iter().collect();
    let own = [address.to_string(), format!("localhost:{}", address.port())];
    let is_own = |host: &[u8]| own.iter().any(|own| host == own.as_bytes());
    let is_target_own = target.authority().is_none_or(|host| is_own(host.as_str().as_bytes()));
    if is_target_own && matches!(&hosts[..], [host] if is_own(host.as_bytes())) {
        return Ok(());
    }
    let detail = format!("the header `Host` must be {} or {}", own[0], own[1]);
    let (word, title) = ("other-host", "The request is meant for another host");
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, word, title, detail))
}

fn known(token: &Token, headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let known = match (given.next(), given.next()) {
        (Some(one), None) => one.as_bytes().strip_prefix(b"Bearer ").is_some_and(|text| token.is(text)),
        _ => false,
    };
    if known {
        return Ok(());
    }
    let detail = "send the header `Authorization: Bearer TOKEN` with the token of the file `http-token` in the state folder";
    Err(Problem::new(StatusCode::UNAUTHORIZED, "no-token", "The token is absent or wrong", detail))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next()).map(<[u8]>::trim_ascii);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case(b"application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(door: &Door, method: &Method, headers: &[(&'static str, &'static str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        admit(door, method, &Uri::default(), &map).map_or_else(|problem| problem.status, |()| 200)
    }

    fn http() -> (tempfile::TempDir, Door) {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("http-token"), "").unwrap();
        std::fs::remove_file(state.path().join("http-token")).unwrap();
        let token = Token::of(state.path()).unwrap();
        (state, Door::Http(Arc::new(Lock { address: ([127, 0, 0, 1], 4100).into(), token })))
    }

    const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");

    #[test]
    fn n01_a_name_that_resolves_to_loopback_is_another_host() {
        let (_state, door) = http();
        for host in ["evil.example:4100", "127.0.0.1", "localhost:4101", "127.0.0.1:4100.evil.example"] {
            assert_eq!(status(&door, &Method::GET, &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status(&door, &Method::GET, &[]), 421);
        assert_eq!(status(&door, &Method::GET, &[("host", "localhost:4100"), ("host", "evil.example")]), 421);
        assert_eq!(status(&door, &Method::GET, &[("host", "localhost:4100")]), 401);
    }

    #[test]
    fn n02_no_web_page_and_no_form_comes_in() {
        for origin in ["https://evil.example", "null", "http://127.0.0.1:4100"] {
            assert_eq!(status(&Door::Socket, &Method::POST, &[JSON, ("origin", origin)]), 403, "{origin}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"] {
            assert_eq!(status(&Door::Socket, &Method::POST, &[("content-type", kind)]), 415, "{kind}");
        }
        assert_eq!(status(&Door::Socket, &Method::POST, &[]), 415);
        assert_eq!(status(&Door::Socket, &Method::POST, &[JSON]), 200);
        assert_eq!(status(&Door::Socket, &Method::GET, &[]), 200);
    }

    #[test]
    fn n04_only_the_token_opens_the_http_door() {
        let (state, door) = http();
        let token = std::fs::read_to_string(state.path().join("http-token")).unwrap();
        let with = |value: &str| {
            let mut map = HeaderMap::new();
            map.append("host", "127.0.0.1:4100".parse().unwrap());
            map.append("authorization", value.parse().unwrap());
            admit(&door, &Method::GET, &Uri::default(), &map).map_or_else(|problem| problem.status, |()| 200)
        };
        assert_eq!(with(&format!("Bearer {}", token.trim_end())), 200);
        for wrong in ["", "Bearer ", "Bearer x", token.trim_end(), "Basic YTpi"] {
            assert_eq!(with(wrong), 401, "{wrong:?}");
        }
    }
}
