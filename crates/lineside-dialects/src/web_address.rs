//! Tells whether a text is an address that a post can go to.

/// Whether it is an absolute URL that can be posted to: `http` or `https`, a host, perhaps a port, no white space.
#[must_use]
pub fn is_web_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        || text.chars().any(|character| character.is_whitespace() || character.is_control())
    {
        return false;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host_and_port.rsplit_once(':') {
        // The colons of an address of IPv6 stand in brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (host_and_port, ""),
    };
    !host.is_empty() && (port.is_empty() || port.parse::<u16>().is_ok())
}
