//! The address of this host.

#[cfg(unix)]
use nix::sys::socket::SockaddrStorage;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address by which other hosts reach a socket bound to `bind`: its own; or, where that is every address of this host, the
/// one with the default route, else the first of an interface. `bind` itself where there is none.
pub fn reachable_address(bind: SocketAddr) -> SocketAddr {
    if !bind.ip().is_unspecified() {
        return bind;
    }
    let ip = with_default_route(bind.is_ipv4()).ok().or_else(|| of_interface(bind.is_ipv4()));
    ip.map_or(bind, |ip| SocketAddr::new(ip, bind.port()))
}

/// The route to an address of documentation (RFC 5737, RFC 3849).
fn with_default_route(is_ipv4: bool) -> io::Result<IpAddr> {
    let beyond: IpAddr = match is_ipv4 {
        true => Ipv4Addr::new(192, 0, 2, 1).into(),
        false => Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1).into(),
    };
    address_towards(SocketAddr::new(beyond, 9))
}

/// Any address of a family.
pub const fn unspecified(is_ipv4: bool) -> IpAddr {
    if is_ipv4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) }
}

/// The address of this host from which packets to `peer` leave. Nothing is sent: connecting looks up the route.
///
/// # Errors
/// There is no route.
pub fn address_towards(peer: SocketAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((unspecified(peer.is_ipv4()), 0))?;
    socket.connect(peer)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(unix)]
fn of_interface(is_ipv4: bool) -> Option<IpAddr> {
    let mut addresses = nix::ifaddrs::getifaddrs().ok()?.filter_map(|interface| ip_of(&interface.address?));
    let is_usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    };
    addresses.find(|ip| ip.is_ipv4() == is_ipv4 && is_usable(ip))
}

#[cfg(not(unix))]
const fn of_interface(_is_ipv4: bool) -> Option<IpAddr> {
    None
}

#[cfg(unix)]
pub(crate) fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_one_is_kept() {
        let address = SocketAddr::from(([127, 0, 0, 1], 5004));
        assert_eq!(reachable_address(address), address);
        let any = reachable_address(SocketAddr::from(([0; 4], 5004)));
        assert!(any.port() == 5004 && any.is_ipv4() && !any.ip().is_loopback(), "{any}");
    }
}
