//! TUN devices on systems where they are not supported.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::socket::Incoming;
use std::convert::Infallible;
use std::io;

/// A TUN device, which Linux alone has here.
#[derive(Debug)]
pub struct Tun(Infallible);

impl Tun {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn open(_name: &str) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "TUN devices are for Linux alone; `udp` needs no device",
        ))
    }

    /// Sends an IP packet.
    pub const fn send(&mut self, _packet: &[u8]) {
        match self.0 {}
    }

    /// Packets the kernel refused to send.
    pub const fn unsent(&self) -> u64 {
        match self.0 {}
    }

    /// Whether the device was deleted.
    pub const fn is_closed(&self) -> bool {
        match self.0 {}
    }

    /// Reads one batch of arrivals; false if there was none.
    pub fn receive(&mut self, _clock: &Clock, _take: impl FnMut(Incoming<'_>)) -> bool {
        match self.0 {}
    }

    /// How long packets waited to be read, at most.
    pub const fn reading(&self) -> &Lateness {
        match self.0 {}
    }
}
