//! The address of a live stream: `udp://host:port` or `rtp://host:port`, with `?interface=` and `&ttl=`.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// What carries the transport packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// Datagrams with whole packets.
    Udp,
    /// RTP (RFC 2250, section 2; payload type 33).
    Rtp,
}

/// Where a live stream comes from or goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) transport: Transport,
    socket: SocketAddr,
    /// The interface of a multicast group: an address with IPv4, a number with IPv6.
    interface: Option<String>,
    /// Time to live, or hop limit.
    ttl: Option<u32>,
}

/// Octets of the kernel's buffers: a second at 16 Mbit/s.
const BUFFER: usize = 2 << 20;

/// True for the name of a live stream.
pub(in super::super) fn is_live(name: &str) -> bool {
    name.contains("://")
}

impl Address {
    pub(super) fn parse(name: &str) -> Result<Address, String> {
        let (scheme, rest) = name.split_once("://").ok_or("expected udp://, rtp:// or srt://")?;
        let transport = match scheme {
            "udp" => Transport::Udp,
            "rtp" => Transport::Rtp,
            other => return Err(format!("{other}:// is none of udp://, rtp:// and srt://")),
        };
        let (host, options) = rest.split_once('?').unwrap_or((rest, ""));
        let host = host.trim_start_matches('@').trim_end_matches('/');
        let mut found = host.to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
        let socket = found.next().ok_or_else(|| format!("{host}: no address"))?;
        let mut address = Address { transport, socket, interface: None, ttl: None };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("interface" | "localaddr", value)) => address.interface = Some(value.to_owned()),
                Some(("ttl", value)) => address.ttl = Some(hops(value)?),
                _ => return Err(format!("{option}: expected interface=ADDR or ttl=N")),
            }
        }
        if !socket.ip().is_multicast() && address.interface.is_some() {
            return Err("interface= is for a multicast group".to_owned());
        }
        Ok(address)
    }

    /// A socket that receives what is sent to the address.
    pub(super) fn listen(&self) -> io::Result<UdpSocket> {
        let socket = self.open()?;
        if !self.socket.ip().is_multicast() {
            socket.bind(&SockAddr::from(self.socket))?;
            return Ok(socket.into());
        }
        // Several programs may listen to one group.
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(self.place_to_bind()))?;
        match self.socket.ip() {
            IpAddr::V4(group) => socket.join_multicast_v4(&group, &self.interface_v4()?)?,
            IpAddr::V6(group) => socket.join_multicast_v6(&group, self.interface_v6()?)?,
        }
        Ok(socket.into())
    }

    /// A socket that sends to the address.
    pub(super) fn connect(&self) -> io::Result<UdpSocket> {
        let socket = self.open()?;
        let multicast = self.socket.ip().is_multicast();
        match self.socket.ip() {
            IpAddr::V4(_) if multicast => {
                if self.interface.is_some() {
                    socket.set_multicast_if_v4(&self.interface_v4()?)?;
                }
                socket.set_multicast_ttl_v4(self.ttl.unwrap_or(1))?;
            }
            IpAddr::V6(_) if multicast => {
                socket.set_multicast_if_v6(self.interface_v6()?)?;
                socket.set_multicast_hops_v6(self.ttl.unwrap_or(1))?;
            }
            IpAddr::V4(_) => self.ttl.map_or(Ok(()), |ttl| socket.set_ttl_v4(ttl))?,
            IpAddr::V6(_) => self.ttl.map_or(Ok(()), |ttl| socket.set_unicast_hops_v6(ttl))?,
        }
        socket.connect(&SockAddr::from(self.socket))?;
        Ok(socket.into())
    }

    fn open(&self) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(self.socket), Type::DGRAM, Some(Protocol::UDP))?;
        // A smaller buffer than asked for is acceptable.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        Ok(socket)
    }

    /// The group itself, so that nothing comes of another group with that port; Windows binds to no group.
    fn place_to_bind(&self) -> SocketAddr {
        match self.socket.ip() {
            _ if cfg!(unix) => self.socket,
            IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, self.socket.port()).into(),
            IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, self.socket.port()).into(),
        }
    }

    fn interface_v4(&self) -> io::Result<Ipv4Addr> {
        let Some(text) = &self.interface else { return Ok(Ipv4Addr::UNSPECIFIED) };
        text.parse().map_err(|_| wrong("expected an interface as its address"))
    }

    fn interface_v6(&self) -> io::Result<u32> {
        let Some(text) = &self.interface else { return Ok(0) };
        text.parse().map_err(|_| wrong("expected an interface as its number"))
    }
}

fn hops(text: &str) -> Result<u32, String> {
    let ttl = text.parse().ok().filter(|ttl| *ttl <= 255);
    ttl.ok_or_else(|| format!("ttl={text}: expected 0 to 255"))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_transport_an_interface_and_a_ttl() {
        let address = Address::parse("rtp://@239.1.2.3:5004?interface=127.0.0.1&ttl=4").unwrap();
        assert_eq!((address.transport, address.ttl), (Transport::Rtp, Some(4)));
        assert_eq!(address.interface_v4().unwrap(), Ipv4Addr::LOCALHOST);
        assert_eq!(Address::parse("udp://127.0.0.1:5000/").unwrap().transport, Transport::Udp);
        for wrong in [
            "tcp://127.0.0.1:1",
            "udp://127.0.0.1",
            "udp://127.0.0.1:1?ttl=256",
            "udp://127.0.0.1:1?interface=127.0.0.1",
            "udp://239.0.0.1:1?colour=red",
            "udp:127.0.0.1:1",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
        let named = Address::parse("udp://239.1.2.3:1?interface=lo").unwrap();
        assert!(named.listen().is_err());
    }
}
