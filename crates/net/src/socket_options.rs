//! By which interface the datagrams of a session leave, and what their IP headers say.

use crate::dscp::Dscp;
use crate::socket::Socket;
use crate::via::Via;
use std::io;
use std::net::SocketAddr;

/// How the sockets of a session are bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketOptions {
    /// The interface by which datagrams leave and come; by any where there is none.
    pub interface: Option<Via>,
    /// The codepoint of what leaves.
    pub dscp: Dscp,
}

impl SocketOptions {
    /// A socket at `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use or not ours, there is no such interface, or this system writes no codepoints.
    pub fn bind(&self, address: SocketAddr) -> io::Result<Socket> {
        let socket = match &self.interface {
            None => Socket::bind(address)?,
            Some(via) => via.bind_at(address)?,
        };
        socket.marked(self.dscp)
    }

    /// The same for lanes, which have interfaces of their own.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_via(&self, via: &Via, is_ipv4: bool) -> io::Result<Socket> {
        via.bind(is_ipv4)?.marked(self.dscp)
    }
}
