//! A TUN device: a network interface whose packets this process reads and writes.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::socket::Incoming;
use seaway_units::Timestamp;
use seaway_wire::ip::IpHeader;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// The longest IP packet.
const LONGEST: usize = 65_535;
/// Packets read before other interfaces are served.
const BATCH: u64 = 32;

/// A TUN device. It stays open when it is moved into another network namespace, and is removed when dropped.
pub struct Tun {
    device: SyncDevice,
    buffer: Vec<u8>,
    /// Packets the kernel refused to send.
    unsent: u64,
    /// When the first packet that is not read yet may have arrived.
    waiting: Option<Timestamp>,
    /// How long packets waited to be read, at most.
    reading: Lateness,
    is_closed: bool,
}

impl Tun {
    /// Creates the device `name`, or opens it if it exists and no process uses it.
    ///
    /// # Errors
    /// No permission, a name in use or an invalid name.
    pub fn open(name: &str) -> io::Result<Self> {
        let device = DeviceBuilder::new().name(name).mtu(1500).build_sync()?;
        device.set_nonblocking(true)?;
        let (buffer, reading) = (vec![0; LONGEST], Lateness::new());
        Ok(Self { device, buffer, unsent: 0, waiting: None, reading, is_closed: false })
    }

    /// Sends an IP packet. A packet that the kernel refuses is lost, as on any network, and counted.
    pub fn send(&mut self, packet: &[u8]) {
        if self.device.send(packet).is_err() {
            self.unsent += 1;
        }
    }

    /// Packets the kernel refused to send.
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether the device, or the namespace that it was moved into, was deleted. It then stays readable without data.
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Reads one batch of arrivals; false if there was none. The kernel gives no arrival time, so that of the read is
    /// taken.
    pub fn receive(&mut self, clock: &Clock, mut take: impl FnMut(Incoming<'_>)) -> bool {
        let since = *self.waiting.get_or_insert_with(|| clock.now());
        let mut count = 0;
        while count < BATCH {
            let length = match self.device.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) => {
                    self.waiting = None;
                    self.is_closed |= !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
                    break;
                }
            };
            count += 1;
            let data = &self.buffer[..length.min(LONGEST)];
            if let Some(header) = IpHeader::parse(data) {
                let from = SocketAddr::new(header.source, 0);
                take(Incoming { from, at: clock.now(), ecn: header.ecn, data });
            }
        }
        self.reading.note_all(count, since, clock.now());
        count > 0
    }

    /// How long packets waited to be read, at most. Under more load than this process can read it grows without bound,
    /// and the kernel drops packets.
    pub const fn reading(&self) -> &Lateness {
        &self.reading
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
