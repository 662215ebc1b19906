//! Network interfaces of a machine: a UDP socket or a TUN device.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::socket::{Incoming, Socket};
use crate::tun::Tun;
use seaway_units::Ecn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};

/// A network interface of a machine.
#[derive(Debug)]
pub enum Interface {
    /// Datagrams.
    Udp(Socket),
    /// IP packets.
    Tun(Tun),
}

impl Interface {
    /// What is waited for.
    #[cfg(any(not(target_os = "linux"), test))]
    pub(crate) fn source(&self) -> &std::net::UdpSocket {
        match self {
            Self::Udp(socket) => socket.source(),
            Self::Tun(_) => unreachable!("devices are for Linux, which waits in another way"),
        }
    }

    /// The local address; a device has none.
    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Udp(socket) => socket.local_address(),
            Self::Tun(_) => Ok((Ipv4Addr::UNSPECIFIED, 0).into()),
        }
    }

    /// How many datagrams one call can send.
    pub(crate) fn longest_train(&self) -> usize {
        match self {
            Self::Udp(socket) => socket.longest_train(),
            Self::Tun(_) => 1,
        }
    }

    /// Sends now; an IP packet carries its destination and codepoint itself. `data` is cut into datagrams of `segment` octets,
    /// at least 1.
    pub(crate) fn send(&mut self, to: SocketAddr, ecn: Ecn, data: &[u8], segment: usize) {
        match self {
            Self::Udp(socket) => socket.send_train(to, ecn, data, segment),
            Self::Tun(tun) => data.chunks(segment).for_each(|packet| tun.send(packet)),
        }
    }

    /// Packets the kernel refused to send.
    pub(crate) const fn unsent(&self) -> u64 {
        match self {
            Self::Udp(socket) => socket.unsent(),
            Self::Tun(tun) => tun.unsent(),
        }
    }

    /// How long packets waited to be read.
    pub(crate) const fn reading(&self) -> &Lateness {
        match self {
            Self::Udp(socket) => socket.reading(),
            Self::Tun(tun) => tun.reading(),
        }
    }

    /// Whether the interface is closed for good.
    pub(crate) const fn is_closed(&self) -> bool {
        match self {
            Self::Udp(_) => false,
            Self::Tun(tun) => tun.is_closed(),
        }
    }

    /// Reads one batch of arrivals; false if there was none.
    pub(crate) fn receive(&mut self, clock: &Clock, take: impl FnMut(Incoming<'_>)) -> bool {
        match self {
            Self::Udp(socket) => socket.receive(clock, take),
            Self::Tun(tun) => tun.receive(clock, take),
        }
    }
}

impl From<Socket> for Interface {
    fn from(socket: Socket) -> Self {
        Self::Udp(socket)
    }
}

impl From<Tun> for Interface {
    fn from(tun: Tun) -> Self {
        Self::Tun(tun)
    }
}

#[cfg(target_os = "linux")]
impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Tun(tun) => tun.as_fd(),
        }
    }
}
