//! Inputs that come by a socket.

use crate::failure::Failure;
use seaway_net::Via;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};

/// The stream of `tcp://host:port`, to which we connect, or the datagrams of `udp://host:port`, one of our addresses or a
/// multicast group; `None` for another name.
pub(crate) fn open(name: &str) -> Option<Result<Box<dyn Read + Send>, Failure>> {
    let failure = |error: io::Error| Failure::input(&format!("{name}: {error}"));
    let opened = if let Some(address) = name.strip_prefix("tcp://") {
        TcpStream::connect(address).map(|stream| Box::new(stream) as Box<dyn Read + Send>)
    } else {
        let address = name.strip_prefix("udp://")?;
        Datagrams::open(address).map(|datagrams| Box::new(datagrams) as Box<dyn Read + Send>)
    };
    Some(opened.map_err(failure))
}

/// The contents of datagrams, one after the other.
struct Datagrams {
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// What of the last datagram is not read yet.
    left: std::ops::Range<usize>,
}

impl Datagrams {
    /// The largest datagram.
    const LARGEST: usize = 65_536;

    /// Receives at `host:port`, or at `host:port?interface=NAME` of a multicast group.
    fn open(address: &str) -> io::Result<Self> {
        let (address, interface) = match address.split_once("?interface=") {
            Some((address, interface)) => (address, Some(interface)),
            None => (address, None),
        };
        let address = address.trim_start_matches('@').to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("no address"))?;
        let socket =
            if address.ip().is_multicast() { join(address, interface)? } else { UdpSocket::bind(address)? };
        Ok(Self { socket, buffer: vec![0; Self::LARGEST], left: 0..0 })
    }
}

/// Joins a multicast group on `interface`: its name, its address, or with IPv6 its number.
fn join(group: SocketAddr, interface: Option<&str>) -> io::Result<UdpSocket> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let via = |text: &str| text.parse::<Via>().map_err(wrong);
    match group.ip() {
        IpAddr::V4(ip) => {
            let any = Ipv4Addr::UNSPECIFIED;
            let address = interface.map(|text| via(text)?.address_for(any.into())).transpose()?;
            let address = address.and_then(|address| match address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            });
            let socket = UdpSocket::bind((any, group.port()))?;
            socket.join_multicast_v4(&ip, &address.unwrap_or(any))?;
            Ok(socket)
        }
        IpAddr::V6(ip) => {
            let number = |text: &str| text.parse().or_else(|_| via(text)?.number());
            let number = interface.map(number).transpose()?;
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, group.port()))?;
            socket.join_multicast_v6(&ip, number.unwrap_or(0))?;
            Ok(socket)
        }
    }
}

impl Read for Datagrams {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // An empty datagram is not the end.
        while self.left.is_empty() {
            self.left = 0..self.socket.recv(&mut self.buffer)?;
        }
        let length = self.left.len().min(into.len());
        into[..length].copy_from_slice(&self.buffer[self.left.start..self.left.start + length]);
        self.left.start += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_group_is_joined_by_the_name_of_an_interface() {
        for group in ["239.1.2.3:0", "[ff02::1234]:0"] {
            let open = |interface: &str| Datagrams::open(&format!("{group}?interface={interface}"));
            assert!(open("none0").err().unwrap().to_string().contains("there is no interface none0"));
            // A host may be without IPv6.
            let joined = open("lo");
            assert!(joined.is_ok() || group.starts_with('['), "{group}: {:?}", joined.err());
        }
    }

    #[test]
    fn datagrams_become_a_stream() {
        let mut datagrams = Datagrams::open("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = datagrams.socket.local_addr().unwrap();
        for text in ["abcd", "", "ef"] {
            sender.send_to(text.as_bytes(), to).unwrap();
        }
        let mut all = [0; 6];
        datagrams.read_exact(&mut all[..3]).unwrap();
        datagrams.read_exact(&mut all[3..]).unwrap();
        assert_eq!(&all, b"abcdef");
    }
}
