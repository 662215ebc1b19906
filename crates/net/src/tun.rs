//! A TUN device: a network interface whose packets come to us.

use crate::clock::Clock;
use crate::socket::Incoming;
use seaway_wire::ip::IpHeader;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// The longest packet there is.
const LONGEST: usize = 65_535;
/// Packets read before others have their turn.
const BATCH: usize = 32;

/// A TUN device. It stays ours when it is moved into another network namespace, and goes when this value does.
pub struct Tun {
    device: SyncDevice,
    buffer: Vec<u8>,
    /// Packets that the kernel did not take.
    unsent: u64,
}

impl Tun {
    /// Makes the device `name`, or takes it where it exists and nobody has it.
    ///
    /// # Errors
    /// No right to do so, a name that is taken or is none.
    pub fn open(name: &str) -> io::Result<Self> {
        let device = DeviceBuilder::new().name(name).mtu(1500).build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self { device, buffer: vec![0; LONGEST], unsent: 0 })
    }

    /// Sends an IP packet. One that the kernel does not take is lost, as on any network, and counted.
    pub fn send(&mut self, packet: &[u8]) {
        if self.device.send(packet).is_err() {
            self.unsent += 1;
        }
    }

    /// Packets that the kernel did not take.
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Reads one batch of what has arrived; false where nothing had. The kernel notes no arrival time: it is the time of
    /// the read.
    pub fn receive(&mut self, clock: &Clock, mut take: impl FnMut(Incoming<'_>)) -> bool {
        for count in 0..BATCH {
            // An error here is nothing to read, or a device that went away.
            let Ok(length) = self.device.recv(&mut self.buffer) else { return count > 0 };
            let data = &self.buffer[..length.min(LONGEST)];
            if let Some(header) = IpHeader::parse(data) {
                let from = SocketAddr::new(header.source, 0);
                take(Incoming { from, at: clock.now(), ecn: header.ecn, data });
            }
        }
        true
    }
}

impl std::fmt::Debug for Tun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tun").field("unsent", &self.unsent).finish_non_exhaustive()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
