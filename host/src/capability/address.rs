//! The network addresses of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if an address is one of the public internet, so that a hook with an origin granted may be connected
/// to it without more. Loopback, private, link-local (with the metadata services of clouds at 169.254.169.254
/// and fd00:ec2::254), shared, documentation, benchmark, multicast and reserved addresses are not, nor is an
/// IPv6 address that means one of those: mapped, compatible, translated (NAT64) or tunnelled (6to4,
/// Teredo).
///
/// Source: the IANA special-purpose address registries (RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a >= 240
        // Shared address space, RFC 6598; benchmarks, RFC 2544; protocol assignments, RFC 6890; old 6to4
        // relays.
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Only global unicast, 2000::/3, is in use on the internet; everything mapped and translated lies outside
    // it.
    let [first, second, ..] = address.segments();
    (0x2000..0x4000).contains(&first)
        // Protocol assignments with Teredo and ORCHID; documentation; 6to4.
        && !(first == 0x2001 && second < 0x0200)
        && !(first == 0x2001 && second == 0x0db8)
        && !(first == 0x3fff && second < 0x1000)
        && first != 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for (address, public) in [
            ("1.1.1.1", true),
            ("8.8.8.8", true),
            ("172.15.0.1", true),
            ("100.63.0.1", true),
            ("2606:4700::1111", true),
            ("2a00:1450::1", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("127.255.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("192.0.0.192", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:1.1.1.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
