//! Which machine a request goes to, as far as its words name it.

use super::Walk;
use crate::reading::Reading;
use crate::value::Value;

impl Walk<'_> {
    /// Whether what a program sends stays on this machine: each address that it is given is of it, and nothing names a proxy, or
    /// more addresses.
    pub(super) fn stays_here(&self, reading: &Reading, index: usize) -> bool {
        let program = &self.analysis.programs[index];
        let name = program.known_name().unwrap_or_default();
        let of_wget = ["-e", "-i"].iter().filter(|_| name.starts_with("wget"));
        let goes_round = ROUND.iter().chain(of_wget).any(|flag| reading.has(flag));
        let is_proxy = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.ends_with("_proxy") && name != "no_proxy"
        };
        let given = program.environment.iter().filter_map(|entry| entry.split_once('='));
        let set = self.scope.variables.iter();
        let set = set.filter_map(|(name, values)| Some((name.as_str(), values.first()?.text.as_str())));
        let has_proxy = given.chain(set).any(|(name, value)| is_proxy(name) && !value.is_empty());
        let addresses = reading.operands.iter().chain(reading.values("--url"));
        let mut addresses = addresses.filter(|word| !is_item(word, name)).peekable();
        !goes_round
            && !has_proxy
            && addresses.peek().is_some()
            && addresses.all(|address| is_here(&address.text))
    }
}

/// Options by which a request goes another way than its address says.
const ROUND: [&str; 10] = [
    "-x", "-K", "--resolve", "--connect-to", "--preproxy", "--proxy", "--socks4", "--socks4a", "--socks5",
    "--socks5-hostname",
];

/// A method, a port, or data of a request as HTTPie has them: `POST`, `80`, `name=text`, `@file`, `Header: text`. Each word of
/// curl and of wget is an address.
fn is_item(word: &Value, name: &str) -> bool {
    let text = word.text.as_str();
    let is_plain = |fits: fn(u8) -> bool| !text.is_empty() && text.bytes().all(fits);
    let is_data = !text.contains("://") && (text.contains(['=', '@']) || text.contains(": "));
    match name {
        "http" | "https" | "xh" => is_data || is_plain(|byte| byte.is_ascii_uppercase()),
        "curl" | "curlie" | "wget" | "wget2" => false,
        _ => is_plain(|byte| byte.is_ascii_digit()),
    }
}

fn is_here(address: &str) -> bool {
    // Programs differ about what stands in front of it.
    if address.contains('\\') {
        return false;
    }
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let host = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        Some((host, _)) => host,
        None => place.split(':').next().unwrap_or_default(),
    };
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    // `:3000` of HTTPie.
    is_loopback || host.eq_ignore_ascii_case("localhost") || host.is_empty() && place.len() > 1
}
