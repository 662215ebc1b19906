//! The address by which the open network sees a socket, from a STUN server (RFC 8489), as a candidate of ICE (RFC 8445 section
//! 5.1.1.2).

use crate::clock::Clock;
use crate::socket::Socket;
use seaway_units::{Ecn, TimeDelta, Timestamp};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use tokio::net::UdpSocket;
use tokio::time::{Duration, Instant, timeout_at};

/// Octets of the head of a message, and of a transaction's number in it.
const HEAD: usize = 20;
const TRANSACTION: usize = 12;
const MAGIC_COOKIE: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];
const BINDING_REQUEST: [u8; 2] = [0, 1];
const BINDING_SUCCESS: [u8; 2] = [1, 1];
const MAPPED_ADDRESS: u16 = 0x0001;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
/// When the request is sent, after the first, and when it is given up (RFC 8489 section 6.2.1), in milliseconds.
const ATTEMPTS: [i64; 4] = [0, 500, 1500, 3500];
const READ: TimeDelta = TimeDelta::from_millis(5);
const USUAL_PORT: u16 = 3478;

/// A STUN server by its name: `host` or `host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StunServer {
    host: String,
    port: u16,
}

impl StunServer {
    /// Its address of the family of `local`.
    ///
    /// # Errors
    /// It has none.
    pub fn resolve(&self, local: IpAddr) -> io::Result<SocketAddr> {
        let mut addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
        let none = || io::Error::new(ErrorKind::NotFound, "no address of this host's family");
        addresses.find(|address| address.is_ipv4() == local.is_ipv4()).ok_or_else(none)
    }
}

impl FromStr for StunServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected host:port of a STUN server, such as stun.example.org:3478";
        let text = text.strip_prefix("stun:").unwrap_or(text);
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an address without brackets are not those of a port.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, USUAL_PORT),
            Some((host, port)) => (host, port.parse().map_err(|_| EXPECTED)?),
            None => (text, USUAL_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._:%".contains(letter);
        if host.is_empty() || port == 0 || !host.chars().all(is_name) {
            return Err(EXPECTED);
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for StunServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The address that `server` sees of `socket`. Blocks for 3.5 seconds at most. Other datagrams that come meanwhile are lost: the
/// socket is in no use yet.
///
/// # Errors
/// No answer came, or there are no random numbers.
pub fn reflexive_address(clock: &Clock, socket: &mut Socket, server: SocketAddr) -> io::Result<SocketAddr> {
    let id = transaction()?;
    let (request, begin) = (binding_request(id), clock.now());
    let due = |millis: i64| -> Timestamp { begin + TimeDelta::from_millis(millis) };
    for attempt in ATTEMPTS.windows(2) {
        socket.send(server, Ecn::NotEct, &request);
        while clock.now() < due(attempt[1]) {
            let mut mapped = None;
            socket.receive(clock, |incoming| {
                mapped = mapped.or(mapped_address(incoming.data, id).filter(|_| incoming.from == server));
            });
            if let Some(mapped) = mapped {
                return Ok(mapped);
            }
            clock.sleep_until(clock.now() + READ);
        }
    }
    Err(no_answer())
}

/// The same of a socket of tokio's.
///
/// # Errors
/// As of [`reflexive_address`].
pub(super) async fn reflexive_address_of(socket: &UdpSocket, server: &StunServer) -> io::Result<SocketAddr> {
    let (id, local) = (transaction()?, socket.local_addr()?.ip());
    let server = {
        let server = server.clone();
        // A look-up by name blocks.
        tokio::task::spawn_blocking(move || server.resolve(local)).await.map_err(io::Error::other)??
    };
    let (request, begin) = (binding_request(id), Instant::now());
    let mut datagram = [0; 512];
    for attempt in ATTEMPTS.windows(2) {
        // A request that cannot be sent is a request lost.
        let _ = socket.send_to(&request, server).await;
        let due = begin + Duration::from_millis(attempt[1].unsigned_abs());
        while let Ok(read) = timeout_at(due, socket.recv_from(&mut datagram)).await {
            let Ok((length, from)) = read else { continue };
            if let Some(mapped) = mapped_address(&datagram[..length], id).filter(|_| from == server) {
                return Ok(mapped);
            }
        }
    }
    Err(no_answer())
}

fn no_answer() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "no answer within 3.5 s")
}

fn transaction() -> io::Result<[u8; TRANSACTION]> {
    let mut id = [0; TRANSACTION];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    Ok(id)
}

fn binding_request(id: [u8; TRANSACTION]) -> [u8; HEAD] {
    let mut request = [0; HEAD];
    request[..2].copy_from_slice(&BINDING_REQUEST);
    request[4..8].copy_from_slice(&MAGIC_COOKIE);
    request[8..].copy_from_slice(&id);
    request
}

/// The address in the answer to the request with this number (RFC 8489 section 14.2).
fn mapped_address(answer: &[u8], id: [u8; TRANSACTION]) -> Option<SocketAddr> {
    let (head, rest) = answer.split_at_checked(HEAD)?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if head[..2] != BINDING_SUCCESS || head[4..8] != MAGIC_COOKIE || head[8..] != id {
        return None;
    }
    let mut attributes = rest.get(..length)?;
    let mut plain = None;
    while let Some((&[a, b, c, d], rest)) = attributes.split_first_chunk() {
        let (kind, length) = (u16::from_be_bytes([a, b]), usize::from(u16::from_be_bytes([c, d])));
        let value = rest.get(..length)?;
        match kind {
            XOR_MAPPED_ADDRESS => return address(value, [&MAGIC_COOKIE[..], &id].concat()),
            // Of servers before RFC 5389.
            MAPPED_ADDRESS => plain = address(value, vec![0; 16]),
            _ => {}
        }
        attributes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    plain
}

/// An address whose octets, and whose port, are masked by the first of `mask`.
fn address(value: &[u8], mask: Vec<u8>) -> Option<SocketAddr> {
    let (&[_, family, high, low], host) = value.split_first_chunk()?;
    let port = u16::from_be_bytes([high ^ mask[0], low ^ mask[1]]);
    let mut octets = host.to_vec();
    octets.iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
    let ip: IpAddr = match family {
        1 => Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into(),
        2 => Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into(),
        _ => return None,
    };
    let is_possible = port != 0 && !ip.is_unspecified() && !ip.is_multicast();
    is_possible.then(|| SocketAddr::new(ip, port))
}

/// A session description with `mapped` as a candidate beside each of the host's (RFC 8839 section 5.1): peers reach the socket at
/// `local` by it.
pub fn with_reflexive_candidate(description: &str, local: SocketAddr, mapped: SocketAddr) -> String {
    /// The preference of a server-reflexive candidate (RFC 8445 section 5.1.2).
    const PRIORITY: u32 = (100 << 24) + (65_535 << 8) + 255;
    let candidate = format!(
        "a=candidate:srflx1 1 udp {PRIORITY} {} {} typ srflx raddr {} rport {}\r\n",
        mapped.ip(),
        mapped.port(),
        local.ip(),
        local.port()
    );
    let mut text = String::with_capacity(description.len() + candidate.len());
    for line in description.lines().map(str::trim_end) {
        text.push_str(line);
        text.push_str("\r\n");
        if line.starts_with("a=candidate:") && line.ends_with(" typ host") && mapped != local {
            text.push_str(&candidate);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; TRANSACTION] = [7; TRANSACTION];

    fn answer(attributes: &[u8]) -> Vec<u8> {
        let mut answer = binding_request(ID).to_vec();
        answer[..2].copy_from_slice(&BINDING_SUCCESS);
        answer[2..4].copy_from_slice(&(attributes.len() as u16).to_be_bytes());
        answer.extend(attributes);
        answer
    }

    /// 203.0.113.9:5004, masked.
    const MAPPED: [u8; 12] = [0, 0x20, 0, 8, 0, 1, 0x32, 0x9E, 0xEA, 0x12, 0xD5, 0x4B];

    #[test]
    fn an_answer_has_the_address() {
        let software = [0x80, 0x22, 0, 3, b'a', b'b', b'c', 0];
        let mapped = Some("203.0.113.9:5004".parse().unwrap());
        assert_eq!(mapped_address(&answer(&MAPPED), ID), mapped);
        assert_eq!(mapped_address(&answer(&[&software[..], &MAPPED].concat()), ID), mapped);
        let plain = [0, 1, 0, 8, 0, 1, 0x13, 0x8C, 203, 0, 113, 9];
        assert_eq!(mapped_address(&answer(&plain), ID), mapped);
        let six = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 9).octets();
        let masked = six.iter().zip(MAGIC_COOKIE.iter().chain(&ID)).map(|(octet, mask)| octet ^ mask);
        let six: Vec<u8> = [0, 0x20, 0, 20, 0, 2, 0x32, 0x9E].into_iter().chain(masked).collect();
        assert_eq!(mapped_address(&answer(&six), ID), Some("[2001:db8::9]:5004".parse().unwrap()));
    }

    #[test]
    fn what_is_no_answer_of_ours_is_passed_over() {
        let good = answer(&MAPPED);
        assert_eq!(mapped_address(&good, [8; TRANSACTION]), None);
        assert_eq!(mapped_address(&binding_request(ID), ID), None);
        for length in 0..good.len() {
            assert_eq!(mapped_address(&good[..length], ID), None, "{length}");
        }
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0xFF;
            let _ = mapped_address(&damaged, ID);
        }
        // No port, no address, an unknown family, a length beyond the end.
        for (at, octet) in [(7, 0x8D), (5, 3), (3, 200), (3, 7)] {
            let mut attribute = MAPPED;
            attribute[at] = octet;
            assert!(at == 7 || mapped_address(&answer(&attribute), ID).is_none(), "{at}");
        }
    }

    #[test]
    fn names() {
        let shown = |text: &str| text.parse::<StunServer>().map(|server| server.to_string());
        assert_eq!(shown("stun.example.org"), Ok("stun.example.org:3478".into()));
        assert_eq!(shown("stun:192.0.2.1:99"), Ok("192.0.2.1:99".into()));
        assert_eq!(shown("[::1]:5"), Ok("[::1]:5".into()));
        assert_eq!(shown("::1"), Ok("[::1]:3478".into()));
        for wrong in ["", ":", "a:", "a:0", "a:70000", "a b:1", "http://a:1", "a:b"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_candidate_stands_beside_each_of_the_host() {
        let (local, mapped) = ("192.168.7.2:4000".parse().unwrap(), "203.0.113.9:5004".parse().unwrap());
        let text = "v=0\r\nm=video 9\r\na=candidate:1 1 udp 9 192.168.7.2 4000 typ host\r\nm=audio 9\r\n";
        let with = with_reflexive_candidate(text, local, mapped);
        let line =
            "a=candidate:srflx1 1 udp 1694498815 203.0.113.9 5004 typ srflx raddr 192.168.7.2 rport 4000\r\n";
        assert_eq!(with, text.replace("typ host\r\n", &format!("typ host\r\n{line}")));
        assert_eq!(with_reflexive_candidate(text, local, local), text);
    }

    /// A server of its own on this host, whose first answer is lost.
    #[test]
    fn a_server_is_asked() {
        let server = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = server.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let mut request = [0; 64];
            server.recv_from(&mut request).unwrap();
            let (length, from) = server.recv_from(&mut request).unwrap();
            let mut reply = answer(&MAPPED);
            reply[8..HEAD].copy_from_slice(&request[8..length]);
            server.send_to(&reply, from).unwrap();
        });
        let mut socket = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let mapped = reflexive_address(&Clock::start(), &mut socket, at).unwrap();
        assert_eq!(mapped, SocketAddr::from(([203, 0, 113, 9], 5004)));
        thread.join().unwrap();
    }
}
