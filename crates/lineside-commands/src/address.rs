//! Where an address leads.

/// Whether it is one of this machine: of its loopback, by number or by name.
pub(crate) fn is_here(address: &str) -> bool {
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
