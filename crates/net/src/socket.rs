//! A UDP socket with ECN and the kernel's arrival times.

use crate::clock::Clock;
use crate::dscp::Dscp;
use crate::lateness::Lateness;
#[cfg(target_os = "linux")]
use crate::marked::Marking;
#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use seaway_units::{Ecn, Timestamp};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};

/// The longest datagram: an emulated network forwards any.
const LONGEST: usize = 65_535;
/// Holds a burst of 10 000 packets/s over a pause of 100 ms.
const BUFFER: usize = 2 * 1024 * 1024;

/// A received datagram.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// Its source.
    pub from: SocketAddr,
    /// When it reached the kernel.
    pub at: Timestamp,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its payload.
    pub data: &'a [u8],
}

/// A non-blocking UDP socket.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// What leaves is marked by it.
    #[cfg(target_os = "linux")]
    marking: Option<Marking>,
    buffers: Vec<Vec<u8>>,
    /// Datagrams the kernel refused to send.
    unsent: u64,
    /// How long datagrams waited to be read.
    reading: Lateness,
}

impl Socket {
    /// Binds to `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        #[cfg(target_os = "linux")]
        forget_destination(&socket);
        // A smaller buffer than requested is acceptable.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        Ok(Self {
            socket,
            state,
            #[cfg(target_os = "linux")]
            marking: None,
            buffers: vec![vec![0; LONGEST]; BATCH_SIZE],
            unsent: 0,
            reading: Lateness::new(),
        })
    }

    /// The same, whose datagrams leave with this codepoint.
    ///
    /// # Errors
    /// It is not the default, and the system is not Linux.
    pub fn marked(mut self, dscp: Dscp) -> io::Result<Self> {
        if !dscp.is_default() {
            self.mark(dscp)?;
        }
        Ok(self)
    }

    #[cfg(target_os = "linux")]
    fn mark(&mut self, dscp: Dscp) -> io::Result<()> {
        self.marking = Some(Marking::new(dscp));
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn mark(&mut self, _: Dscp) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "codepoints are written on Linux alone"))
    }

    /// The local address.
    ///
    /// # Errors
    /// The kernel reports none.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// To set options of the system.
    pub(crate) fn reference(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    /// What is waited for.
    #[cfg(any(not(target_os = "linux"), test))]
    pub(crate) const fn source(&self) -> &UdpSocket {
        &self.socket
    }

    /// Sends one datagram now. A datagram that the kernel refuses is lost, as on any network, and counted.
    pub fn send(&mut self, to: SocketAddr, ecn: Ecn, data: &[u8]) {
        self.unsent += u64::from(!self.try_send(to, ecn, data, None));
    }

    /// How many datagrams one call of [`send_train`](Self::send_train) gives to the kernel at once.
    pub(crate) fn longest_train(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends `data` now, cut into datagrams of `segment` octets, which is at least 1; the last may be shorter. There are
    /// no more of them than [`longest_train`](Self::longest_train).
    pub(crate) fn send_train(&mut self, to: SocketAddr, ecn: Ecn, data: &[u8], segment: usize) {
        if data.len() <= segment {
            return self.send(to, ecn, data);
        }
        if !self.try_send(to, ecn, data, Some(segment)) {
            // A device or a route without segmentation: each for itself.
            data.chunks(segment).for_each(|datagram| self.send(to, ecn, datagram));
        }
    }

    fn try_send(&mut self, to: SocketAddr, ecn: Ecn, contents: &[u8], segment_size: Option<usize>) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(marking) = &mut self.marking {
            return marking.send(&self.socket, (to, ecn), contents, segment_size).is_ok();
        }
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let transmit = Transmit { destination: to, ecn, contents, segment_size, src_ip: None };
        self.state.try_send((&self.socket).into(), &transmit).is_ok()
    }

    /// Datagrams the kernel refused to send.
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// How long datagrams waited to be read.
    pub const fn reading(&self) -> &Lateness {
        &self.reading
    }

    /// Reads one batch of arrivals; false if there was none.
    pub fn receive(&mut self, clock: &Clock, mut take: impl FnMut(Incoming<'_>)) -> bool {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<IoSliceMut<'_>> = self.buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        // An error here is an earlier datagram's that could not be delivered, or nothing to read.
        let Ok(count) = self.state.recv((&self.socket).into(), &mut slices, &mut meta) else { return false };
        let now = clock.now();
        for (meta, buffer) in meta.iter().zip(&self.buffers).take(count) {
            let at = meta.timestamp.map_or(now, |stamp| clock.at_epoch(now, stamp));
            let stride = meta.stride.max(1);
            self.reading.note_all(meta.len.div_ceil(stride).max(1) as u64, at, now);
            let ecn = Ecn::from_bits(meta.ecn.map_or(0, |ecn| ecn as u8));
            let all = &buffer[..meta.len.min(LONGEST)];
            if all.is_empty() {
                take(Incoming { from: meta.addr, at, ecn, data: all });
            }
            for data in all.chunks(stride) {
                take(Incoming { from: meta.addr, at, ecn, data });
            }
        }
        count > 0
    }
}

/// A read does not return the local address to which a datagram came. No caller needs it, and behind it the control buffer of
/// a read that holds several datagrams has no room for the ECN codepoint.
#[cfg(target_os = "linux")]
fn forget_destination(socket: &UdpSocket) {
    // Each is an option of one address family.
    let _ = setsockopt(socket, sockopt::Ipv4PacketInfo, &false);
    let _ = setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &false);
}

#[cfg(target_os = "linux")]
impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;
    use crate::wait::Waiter;
    use seaway_units::TimeDelta;

    const CODEPOINTS: [(Ecn, u8); 4] = [(Ecn::NotEct, 1), (Ecn::Ect1, 2), (Ecn::Ect0, 3), (Ecn::Ce, 4)];

    /// A socket and one that receives, by each address family that is there; the last pair is of both.
    fn pairs() -> impl Iterator<Item = (Socket, Interface, SocketAddr)> {
        let families = [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("127.0.0.1:0", "[::]:0")];
        families.into_iter().filter_map(|(from, to)| {
            let from = from.parse::<SocketAddr>().unwrap();
            let (a, b) = (Socket::bind(from).ok()?, Socket::bind(to.parse().unwrap()).ok()?);
            let port = b.local_address().unwrap().port();
            Some((a, b.into(), SocketAddr::new(from.ip(), port)))
        })
    }

    /// What `interface` receives until it has `count` datagrams.
    fn receive(interface: &mut Interface, clock: &Clock, count: usize) -> Vec<(Ecn, Timestamp, Vec<u8>)> {
        let (mut waiter, mut seen, mut ready) = (Waiter::new().unwrap(), Vec::new(), Vec::new());
        while seen.len() < count {
            let longest = Some(TimeDelta::from_secs(5));
            waiter.wait([&*interface].into_iter(), longest, &mut ready).unwrap();
            assert_eq!(ready, [true], "{} of {count} came", seen.len());
            interface
                .receive(clock, |datagram| seen.push((datagram.ecn, datagram.at, datagram.data.to_vec())));
        }
        seen
    }

    #[test]
    fn ecn_and_arrival_time_come_along() {
        let clock = Clock::start();
        for (mut a, mut b, to) in pairs() {
            let before = clock.now();
            for (ecn, byte) in CODEPOINTS {
                a.send(to, ecn, &[byte]);
            }
            for ((ecn, at, data), expected) in receive(&mut b, &clock, 4).into_iter().zip(CODEPOINTS) {
                assert!(at + TimeDelta::from_millis(1) >= before && at <= clock.now());
                assert_eq!((ecn, data), (expected.0, vec![expected.1]));
            }
        }
    }

    /// A read that holds a whole train still has the codepoint, the arrival time and each datagram.
    #[test]
    fn trains_come_whole_with_their_ecn() {
        let clock = Clock::start();
        for (mut a, mut b, to) in pairs() {
            let before = clock.now();
            let datagrams: Vec<Vec<u8>> =
                (0..20).map(|byte| vec![byte; if byte == 19 { 7 } else { 1_172 }]).collect();
            for (ecn, _) in CODEPOINTS {
                a.send_train(to, ecn, &datagrams.concat(), 1_172);
                let seen = receive(&mut b, &clock, datagrams.len());
                assert!(seen.iter().all(|(mark, at, _)| *mark == ecn && *at <= clock.now()));
                assert!(seen.iter().all(|(_, at, _)| *at + TimeDelta::from_millis(1) >= before));
                assert!(seen.into_iter().map(|(_, _, data)| data).eq(datagrams.clone()));
            }
            assert_eq!((a.unsent(), b.reading().count()), (0, 80));
        }
    }

    /// The kernel gives the receiver the two bits of ECN; the six above them are seen by an observer of the network alone.
    #[cfg(target_os = "linux")]
    #[test]
    fn marked_trains_keep_their_ecn() {
        let clock = Clock::start();
        for (a, mut b, to) in pairs() {
            let mut a = a.marked("af41".parse().unwrap()).unwrap();
            let datagrams: Vec<Vec<u8>> =
                (0..20).map(|byte| vec![byte; if byte == 19 { 7 } else { 1_172 }]).collect();
            for (ecn, _) in CODEPOINTS {
                a.send(to, ecn, &[9]);
                a.send_train(to, ecn, &datagrams.concat(), 1_172);
                let seen = receive(&mut b, &clock, 21);
                assert!(seen.iter().all(|(mark, ..)| *mark == ecn));
                assert!(seen.into_iter().skip(1).map(|(_, _, data)| data).eq(datagrams.clone()));
            }
            assert_eq!(a.unsent(), 0);
        }
    }

    /// A train of datagrams that no device takes is refused as they are, one by one.
    #[test]
    fn refused_datagrams_of_a_train_are_counted() {
        let mut socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let to = SocketAddr::from(([255, 255, 255, 255], 9));
        socket.send_train(to, Ecn::NotEct, &[0; 300], 100);
        assert_eq!(socket.unsent(), 3);
    }
}
