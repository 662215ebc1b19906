//! Datagrams with a codepoint of differentiated services. Crate `quinn-udp` writes the two bits of ECN and zeros before them, so the
//! socket's own options write both here.

use crate::dscp::Dscp;
use nix::sys::socket::{setsockopt, sockopt};
use seaway_units::Ecn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// What a socket writes beside the contents of its datagrams.
#[derive(Debug)]
pub(crate) struct Marking {
    dscp: Dscp,
    /// What the options of the socket are: the traffic class, and the length of the datagrams that contents are cut into.
    class: Option<i32>,
    segment: i32,
}

impl Marking {
    pub(crate) const fn new(dscp: Dscp) -> Self {
        Self { dscp, class: None, segment: 0 }
    }

    /// Sends `contents`, cut into datagrams of `segment` octets where that is given.
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        (to, ecn): (SocketAddr, Ecn),
        contents: &[u8],
        segment: Option<usize>,
    ) -> io::Result<()> {
        let class = i32::from(self.dscp.traffic_class(ecn.bits()));
        if self.class != Some(class) {
            match is_ipv4(to) {
                true => setsockopt(socket, sockopt::Ipv4Tos, &class)?,
                false => setsockopt(socket, sockopt::Ipv6TClass, &class)?,
            }
            self.class = Some(class);
        }
        let segment = segment.map_or(0, |segment| i32::try_from(segment).unwrap_or(i32::MAX));
        if self.segment != segment {
            setsockopt(socket, sockopt::UdpGsoSegment, &segment)?;
            self.segment = segment;
        }
        socket.send_to(contents, to).map(drop)
    }
}

/// Also of an IPv6 socket to an address of IPv4. A session's datagrams go to addresses of one family.
fn is_ipv4(to: SocketAddr) -> bool {
    match to.ip() {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => ip.to_ipv4_mapped().is_some(),
    }
}
