//! Which machine a request goes to, as far as its words name it.

use super::Walk;
use crate::reading::Reading;
use crate::value::Value;

impl Walk<'_> {
    /// Whether what a program sends stays on this machine: each address that it is given is of it.
    pub(super) fn stays_here(&self, reading: &Reading) -> bool {
        let goes_round = ["-x", "--resolve", "--connect-to"].iter().any(|flag| reading.has(flag));
        let mut addresses =
            reading.operands.iter().chain(reading.values("--url")).filter(|word| !is_item(word)).peekable();
        !goes_round && addresses.peek().is_some() && addresses.all(|address| is_here(&address.text))
    }
}

/// A method, a port, or data of a request: `POST`, `80`, `name=text`, `@file`, `Header: text`.
fn is_item(word: &Value) -> bool {
    let text = word.text.as_str();
    let is_plain = |fits: fn(u8) -> bool| !text.is_empty() && text.bytes().all(fits);
    let is_data = !text.contains("://") && (text.contains(['=', '@']) || text.contains(": "));
    is_data || is_plain(|byte| byte.is_ascii_uppercase()) || is_plain(|byte| byte.is_ascii_digit())
}

fn is_here(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let host = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        Some((host, _)) => host,
        None => place.split(':').next().unwrap_or_default(),
    };
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    // `:3000` of HTTPie.
    is_loopback || host.eq_ignore_ascii_case("localhost") || host.is_empty() && place.len() > 1
}
