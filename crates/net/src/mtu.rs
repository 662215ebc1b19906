//! The largest datagram of the way to another host.

use std::net::SocketAddr;

/// Octets of the largest IP datagram that the route to `peer` takes, as far as this host knows. `None` where the system does not say:
/// over IPv6, and on other systems than Linux. Nothing is sent.
#[cfg(target_os = "linux")]
pub fn mtu_towards(peer: SocketAddr) -> Option<u64> {
    use nix::sys::socket::{getsockopt, sockopt};
    use std::net::{Ipv4Addr, UdpSocket};

    if !peer.is_ipv4() {
        return None;
    }
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(peer).ok()?;
    u64::try_from(getsockopt(&socket, sockopt::IpMtu).ok()?).ok()
}

/// Octets of the largest IP datagram that the route to a peer takes, which this system does not say.
#[cfg(not(target_os = "linux"))]
pub const fn mtu_towards(_: SocketAddr) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_takes_long_datagrams() {
        assert!(mtu_towards("127.0.0.1:9".parse().unwrap()).is_some_and(|mtu| mtu >= 1500));
        assert_eq!(mtu_towards("[::1]:9".parse().unwrap()), None);
    }
}
