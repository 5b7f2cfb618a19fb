//! Requests that give their connection another protocol: one check, and one answer, for each of those protocols.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::OnUpgrade;

use crate::caller::{Caller, Connection};
use crate::daemon::Daemon;
use crate::problem::Problem;

/// Answers a request that asks for this protocol: `begin` is given the upgrade and the connection, and returns further
/// headers of the answer. A request that does not ask for it is answered with status 426, which names the protocol.
///
/// # Errors
/// The daemon is ending, the connection is not one of the Unix socket, or `begin` refuses.
pub(super) fn upgraded(
    daemon: &Daemon,
    caller: &Caller,
    mut request: Request,
    protocol: &'static str,
    begin: impl FnOnce(OnUpgrade, Connection) -> Result<HeaderMap, Problem>,
) -> Result<Response, Problem> {
    if daemon.ending.is_cancelled() {
        return Err(Problem::ending());
    }
    let wanted = request.headers().get(header::UPGRADE).map(HeaderValue::as_bytes);
    let is_wanted = wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(protocol.as_bytes()));
    // HTTP/1.0 has no upgrades.
    if !is_wanted || request.version() < Version::HTTP_11 {
        return Ok(required(protocol));
    }
    if caller.connection.as_deref().is_none_or(|connection| !connection.starts_with("socket:")) {
        return Err(Problem::bad_request("connections get another protocol over the Unix socket alone"));
    }
    let from = request.extensions_mut().remove::<Connection>();
    let from = from.ok_or_else(|| Problem::bad_request("it is not known over what it came"))?;
    let more = begin(hyper::upgrade::on(request), from)?;
    let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, protocol)];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers, more).into_response())
}

fn required(protocol: &'static str) -> Response {
    let detail = format!("send the headers `Connection: Upgrade` and `Upgrade: {protocol}`");
    let title = "The connection must be upgraded";
    let problem = Problem::new(StatusCode::UPGRADE_REQUIRED, "upgrade-required", title, detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(protocol));
    response
}
