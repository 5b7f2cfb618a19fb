//! The gate of the pages: for which host and from which page a request comes, by which key, and what every answer says to
//! the browser about itself.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use lineside_dashboard::page::{self, BASE};
use serde::Deserialize;
use tokio::net::TcpStream;

use crate::body::Query;
use crate::boxed::apart;
use crate::caller::Connection;
use crate::daemon::Daemon;
use crate::dashboard::keys::May;
use crate::dashboard::peer::{self, Peer};
use crate::door::meant;
use crate::lineage::Process;

/// Only what is ours is loaded; nothing else shows the pages, and where they are is said to no other. With
/// `no-referrer` a browser would not say either which page its own forms are on, and these would be refused.
const SAYS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// A page that says why there is nothing else.
pub(super) fn refused(status: StatusCode, title: &str, text: &str) -> Response {
    (status, Html(page::notice(title, text))).into_response()
}

/// Lets a request in, or not.
pub(super) async fn enter(State(daemon): State<Arc<Daemon>>, mut request: Request, next: Next) -> Response {
    let mut response = match admitted(&daemon, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    };
    let headers = response.headers_mut();
    for (name, value) in SAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn admitted(daemon: &Daemon, request: &mut Request) -> Result<(), Box<Response>> {
    let no = |status, title, text: &str| Err(Box::new(refused(status, title, text)));
    let headers = request.headers();
    let address = daemon.dashboard.address();
    if address.is_none_or(|address| meant(address, request.uri(), headers).is_err()) {
        return no(StatusCode::MISDIRECTED_REQUEST, "Another host", "The request is meant for another host.");
    }
    if !is_own(headers, request.method()) {
        return no(StatusCode::FORBIDDEN, "Another page", "Requests of other pages are refused.");
    }
    let path = request.uri().path();
    if path == "/dashboard/open" {
        return Ok(());
    }
    let may = address.and_then(|address| daemon.dashboard.keys.may(key(headers, address)?));
    let Some(may) = may else {
        let text = "Type lineside dashboard in a terminal: it opens this page for you.";
        return no(StatusCode::UNAUTHORIZED, "Who are you?", text);
    };
    let from = request.extensions().get::<Connection>();
    // Browsers send the key to servers of other users on this machine too.
    if let Some((near, far)) = from.and_then(ends)
        && apart(move || peer::is_stranger(near, far)).await.unwrap_or(true)
    {
        return no(StatusCode::FORBIDDEN, "Another user", STRANGER);
    }
    // It is no stranger at the door any more.
    let known = from.map_or(Ok(()), |from| from.place.known(path));
    if known.is_err() {
        return no(StatusCode::SERVICE_UNAVAILABLE, "No room", "Too many connections are open.");
    }
    request.extensions_mut().insert(may);
    Ok(())
}

const STRANGER: &str = "This is not the dashboard of the user who asks.";

/// The ends of a connection over loopback.
fn ends(connection: &Connection) -> Option<(SocketAddr, SocketAddr)> {
    let stream = connection.stream.downcast_ref::<TcpStream>()?;
    Some((stream.local_addr().ok()?, stream.peer_addr().ok()?))
}

/// Whether a request comes from one of our pages, or is what a person has typed.
fn is_own(headers: &HeaderMap, method: &Method) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return false;
    }
    match (text(&header::ORIGIN), text(&header::HOST)) {
        (None, _) => matches!(*method, Method::GET | Method::HEAD),
        (Some(origin), Some(host)) => origin.strip_prefix(b"http://") == Some(host),
        (Some(_), None) => false,
    }
}

/// The name of the cookie: browsers send it to other ports as well.
fn cookie(address: SocketAddr) -> String {
    format!("lineside-{}", address.port())
}

fn key(headers: &HeaderMap, address: SocketAddr) -> Option<&str> {
    let name = cookie(address);
    let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = given.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(own, _)| *own == name).map(|(_, key)| key)
}

#[derive(Deserialize)]
pub(super) struct Token {
    #[serde(default)]
    token: String,
}

/// Exchanges a token for a key, which the browser keeps to itself, and goes on to an address without either.
///
/// A process that stands below an agent gets none, and the token stays worth something for the person; one that the system
/// does not show may only look.
pub(super) async fn exchange(
    State(daemon): State<Arc<Daemon>>,
    Query(given): Query<Token>,
    request: Request,
) -> Response {
    let unknown = || {
        let text =
            "An address is worth something once, and for a minute. Type lineside dashboard for another one.";
        refused(StatusCode::UNAUTHORIZED, "This address is used up", text)
    };
    // Who asks is looked for among all processes, and any user of the machine comes to this door.
    if !daemon.dashboard.keys.waits(&given.token) {
        return unknown();
    }
    let may = match may(&daemon, request.extensions().get()).await {
        Ok(may) => may,
        Err(why) => return refused(StatusCode::FORBIDDEN, "A person does this", &why),
    };
    let Some(address) = daemon.dashboard.address().filter(|_| daemon.dashboard.keys.take(&given.token))
    else {
        return unknown();
    };
    let Ok(key) = daemon.dashboard.keys.key(may) else { return unknown() };
    let cookie = format!("{}={key}; Path={BASE}; HttpOnly; SameSite=Strict", cookie(address));
    ([(header::SET_COOKIE, cookie)], Redirect::to(BASE)).into_response()
}

/// What the process at the other end may do: one that is not shown may look, a person may change something as well.
///
/// # Errors
/// It stands below an agent, or may do so, or it is of another user.
pub(super) async fn may(daemon: &Arc<Daemon>, connection: Option<&Connection>) -> Result<May, String> {
    let Some((near, far)) = connection.and_then(ends) else { return Ok(May::Look) };
    let held = Arc::clone(daemon);
    let asked = apart(move || {
        let (processes, may) = match peer::of(near, far) {
            Peer::Unknown => (Vec::new(), May::Look),
            Peer::Stranger => return Err(STRANGER.to_owned()),
            Peer::Processes(processes) => (processes, May::Change),
            Peer::Hidden(processes) => (processes, May::Look),
        };
        for process in processes {
            held.agents.is_of_a_person(Process::of(process))?;
        }
        Ok(may)
    });
    asked.await.unwrap_or(Ok(May::Look))
}

/// Leads to the page that is meant, with what is asked of it.
pub(super) async fn without_slash(uri: Uri) -> Redirect {
    let asked = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    Redirect::to(&format!("{BASE}{asked}"))
}

/// A path that there is not.
pub(super) async fn elsewhere() -> Response {
    refused(StatusCode::NOT_FOUND, "Not here", "There is no such page.")
}
