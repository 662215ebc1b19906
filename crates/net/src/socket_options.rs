//! By which interface the datagrams of a session leave, and what their IP headers say.

use crate::dscp::Dscp;
use crate::socket::Socket;
use crate::via::Via;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// How the sockets of a session are bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketOptions {
    /// The interface by which datagrams leave and come; by any where there is none.
    pub interface: Option<Via>,
    /// The codepoint of what leaves.
    pub dscp: Dscp,
}

impl SocketOptions {
    /// A socket at `address`; port 0 takes a free one. A multicast group is joined, on the interface.
    ///
    /// # Errors
    /// The address is in use or not ours, there is no such interface, or this system writes no codepoints.
    pub fn bind(&self, address: SocketAddr) -> io::Result<Socket> {
        let socket = match &self.interface {
            _ if address.ip().is_multicast() => self.join(address)?,
            None => Socket::bind(address)?,
            Some(via) => via.bind_at(address)?,
        };
        socket.marked(self.dscp)
    }

    fn join(&self, group: SocketAddr) -> io::Result<Socket> {
        let socket = Socket::bind(group)?;
        let options = socket.reference();
        match group.ip() {
            IpAddr::V4(ip) => {
                let any = Ipv4Addr::UNSPECIFIED;
                let address = self.interface.as_ref().map(|via| via.address_for(any.into())).transpose()?;
                let address = if let Some(IpAddr::V4(address)) = address { address } else { any };
                options.join_multicast_v4(&ip, &address)?;
            }
            IpAddr::V6(ip) => {
                let number = self.interface.as_ref().map(Via::number).transpose()?;
                options.join_multicast_v6(&ip, number.unwrap_or(0))?;
            }
        }
        Ok(socket)
    }

    /// Sets how datagrams of `socket` to `to` leave where that is a multicast group: by the interface, and over so many hops.
    ///
    /// # Errors
    /// There is no such interface, or the system refuses it.
    pub fn prepare_multicast(&self, socket: &Socket, to: SocketAddr, hops: u8) -> io::Result<()> {
        if !to.ip().is_multicast() {
            return Ok(());
        }
        let socket = socket.reference();
        match (to, &self.interface) {
            (SocketAddr::V4(_), interface) => {
                socket.set_multicast_ttl_v4(hops.into())?;
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                let address = interface.as_ref().map(|via| via.address_for(any)).transpose()?;
                match address {
                    Some(IpAddr::V4(address)) => socket.set_multicast_if_v4(&address),
                    _ => Ok(()),
                }
            }
            (SocketAddr::V6(_), interface) => {
                socket.set_multicast_hops_v6(hops.into())?;
                let number = interface.as_ref().map(Via::number).transpose()?;
                number.map_or(Ok(()), |number| socket.set_multicast_if_v6(number))
            }
        }
    }

    /// The same for lanes, which have interfaces of their own.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_via(&self, via: &Via, is_ipv4: bool) -> io::Result<Socket> {
        via.bind(is_ipv4)?.marked(self.dscp)
    }
}
