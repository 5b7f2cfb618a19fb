//! Which addresses may be reached: what kind of address one is, and who may go there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use lineside_core::exchange::Addresses;

use super::error::PostError;
use super::target::Host;

/// What an address is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Publicly routable.
    Public,
    /// This machine.
    Loopback,
    /// The network that we are in: private, unique-local, site-local, or shared by a provider.
    Private,
    /// The wire that we are on, where machines of a cloud tell their credentials.
    LinkLocal,
    /// Set aside for documents, benchmarks, tunnels and times to come.
    Reserved,
    /// Not of one host: unspecified, multicast, broadcast.
    NoHost,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Reserved => "a reserved address",
            Self::NoHost => "an address of no host",
        }
    }

    /// The kind of an address. One that has another address within it is what that one is.
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        [0 | 224..=239, ..] | [255, 255, 255, 255] => Kind::NoHost,
        [127, ..] => Kind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Kind::Private,
        [169, 254, ..] => Kind::LinkLocal,
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Kind::Reserved,
        _ => Kind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Kind {
    let within = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::NoHost,
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        // Mapped, and translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => within(high, low),
        [0x64, 0xff9b, 1, ..] => Kind::Private,
        // 6to4
        [0x2002, high, low, ..] => within(high, low),
        // Teredo and its neighbours, documents.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Kind::Private,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xff00..=0xffff, ..] => Kind::NoHost,
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    }
}

/// Whether all of a host's addresses may be reached: one that may not refuses them all, because which of them is
/// reached is chance, or an attack.
pub(super) fn check(host: &Host, found: &[SocketAddr], allowed: Addresses) -> Result<(), PostError> {
    if found.is_empty() {
        return Err(PostError::NoAddress { host: host.to_string() });
    }
    for address in found.iter().map(SocketAddr::ip) {
        let kind = Kind::of(address);
        if !may_reach(kind, is_written(host, address, kind), allowed) {
            return Err(PostError::Refused { host: host.to_string(), address, kind: kind.as_str() });
        }
    }
    Ok(())
}

fn may_reach(kind: Kind, written: bool, allowed: Addresses) -> bool {
    match (kind, allowed) {
        (Kind::NoHost, _) => false,
        (Kind::Public, _) | (_, Addresses::Any) => true,
        (Kind::Loopback | Kind::Private, Addresses::AsWritten) => written,
        (_, Addresses::Public | Addresses::AsWritten) => false,
    }
}

/// Whether the URL itself says that this address is reached.
fn is_written(host: &Host, address: IpAddr, kind: Kind) -> bool {
    match host {
        // Not in the disguise of another kind of address.
        Host::Address(IpAddr::V6(inside)) => {
            matches!(inside.segments(), [0xfc00..=0xfdff, ..] | [0, 0, 0, 0, 0, 0, 0, 1])
                && *inside == address
        }
        Host::Address(written) => *written == address,
        Host::Name(_) => host.is_localhost() && kind == Kind::Loopback,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        Kind::of(text.parse().unwrap())
    }

    #[test]
    fn each_address_is_of_one_kind() {
        for (kind_is, addresses) in [
            (
                Kind::Public,
                "1.1.1.1 172.32.0.1 100.128.0.1 192.169.0.1 2606:4700::1111 64:ff9b::1.1.1.1 ::ffff:8.8.8.8",
            ),
            (Kind::Loopback, "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"),
            (
                Kind::Private,
                "10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 fd00::1 fc00::1 fec0::1",
            ),
            (Kind::Private, "::ffff:10.0.0.1 64:ff9b::a00:1 2002:a00:1::1 64:ff9b:1::1"),
            (Kind::LinkLocal, "169.254.169.254 fe80::1 febf::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe"),
            (
                Kind::Reserved,
                "192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 240.0.0.1 2001::1 2001:db8::1 3fff::1",
            ),
            (Kind::Reserved, "::127.0.0.1 100::1 4000::1 192.88.99.1"),
            (Kind::NoHost, "0.0.0.0 0.1.2.3 224.0.0.1 255.255.255.255 :: ff02::1 ::ffff:0.0.0.0"),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(kind(address), kind_is, "{address}");
            }
        }
    }

    fn may(host: &Host, address: &str, allowed: Addresses) -> bool {
        check(host, &[SocketAddr::new(address.parse().unwrap(), 80)], allowed).is_ok()
    }

    #[test]
    fn who_may_reach_what() {
        let name = || Host::Name("h".to_owned());
        let local = || Host::Name("api.localhost".to_owned());
        let itself = |address: &str| Host::Address(address.parse().unwrap());
        for allowed in [Addresses::Public, Addresses::AsWritten, Addresses::Any] {
            assert!(may(&name(), "1.1.1.1", allowed));
            assert!(!may(&itself("0.0.0.0"), "0.0.0.0", allowed));
            assert!(!may(&itself("224.0.0.1"), "224.0.0.1", allowed));
        }
        for private in ["127.0.0.1", "10.0.0.1", "::1", "fd00::1"] {
            assert!(!may(&itself(private), private, Addresses::Public));
            assert!(may(&itself(private), private, Addresses::AsWritten));
            assert!(!may(&name(), private, Addresses::AsWritten));
            assert!(may(&name(), private, Addresses::Any));
        }
        assert!(may(&local(), "127.0.0.1", Addresses::AsWritten));
        assert!(!may(&local(), "10.0.0.1", Addresses::AsWritten));
        assert!(!may(&local(), "127.0.0.1", Addresses::Public));
        for special in ["169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1", "192.0.2.1"] {
            assert!(!may(&itself(special), special, Addresses::AsWritten), "{special}");
            assert!(may(&itself(special), special, Addresses::Any), "{special}");
        }
    }

    #[test]
    fn one_address_that_may_not_be_reached_refuses_them_all() {
        let both = [SocketAddr::from(([1, 1, 1, 1], 80)), SocketAddr::from(([10, 0, 0, 1], 80))];
        let host = Host::Name("h".to_owned());
        let error = check(&host, &both, Addresses::Public).unwrap_err();
        assert_eq!(error.to_string(), "`h` is at 10.0.0.1, a private address, which this hook may not reach");
        assert!(check(&host, &both, Addresses::Any).is_ok());
        assert_eq!(check(&host, &[], Addresses::Any).unwrap_err().to_string(), "`h` has no address");
    }
}
