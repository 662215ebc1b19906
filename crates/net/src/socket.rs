//! A UDP socket with ECN and the kernel's arrival times.

use crate::clock::Clock;
use crate::lateness::Lateness;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use seaway_units::{Ecn, Timestamp};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
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
        // Coalesced reads lose the ECN mark: the control buffer behind them is too short for it.
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::UdpGroSegment, &false).ok();
        // A smaller buffer than asked for is acceptable.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        Ok(Self {
            socket,
            state,
            buffers: vec![vec![0; LONGEST]; BATCH_SIZE],
            unsent: 0,
            reading: Lateness::new(),
        })
    }

    /// The local address.
    ///
    /// # Errors
    /// The kernel reports none.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends one datagram now. A datagram that the kernel refuses is lost, as on any network, and counted.
    pub fn send(&mut self, to: SocketAddr, ecn: Ecn, data: &[u8]) {
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let transmit = Transmit { destination: to, ecn, contents: data, segment_size: None, src_ip: None };
        if self.state.try_send((&self.socket).into(), &transmit).is_err() {
            self.unsent += 1;
        }
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
            self.reading.note(at, now);
            let ecn = Ecn::from_bits(meta.ecn.map_or(0, |ecn| ecn as u8));
            let all = &buffer[..meta.len.min(LONGEST)];
            if all.is_empty() {
                take(Incoming { from: meta.addr, at, ecn, data: all });
            }
            for data in all.chunks(meta.stride.max(1)) {
                take(Incoming { from: meta.addr, at, ecn, data });
            }
        }
        count > 0
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait;
    use seaway_units::TimeDelta;

    #[test]
    fn ecn_and_arrival_time_come_along() {
        let clock = Clock::start();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(mut a) = Socket::bind(address.parse().unwrap()) else { continue };
            let mut b = Socket::bind(address.parse().unwrap()).unwrap();
            let to = b.local_address().unwrap();
            let before = clock.now();
            for (ecn, byte) in [(Ecn::NotEct, 1), (Ecn::Ect1, 2), (Ecn::Ect0, 3), (Ecn::Ce, 4)] {
                a.send(to, ecn, &[byte]);
            }
            let mut seen = Vec::new();
            while seen.len() < 4 {
                assert!(wait(&[b.as_fd()], Some(TimeDelta::from_secs(5))).unwrap(), "nothing came");
                b.receive(&clock, |datagram| {
                    assert!(datagram.at + TimeDelta::from_millis(1) >= before && datagram.at <= clock.now());
                    seen.push((datagram.ecn, datagram.data.to_vec()));
                });
            }
            let expected = [(Ecn::NotEct, 1), (Ecn::Ect1, 2), (Ecn::Ect0, 3), (Ecn::Ce, 4)];
            assert_eq!(seen, expected.map(|(ecn, byte)| (ecn, vec![byte])));
        }
    }
}
