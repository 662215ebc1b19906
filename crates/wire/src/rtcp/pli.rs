//! Picture loss indication (RFC 4585 section 6.3.1): the decoder needs a key frame.

use super::feedback::{self, Kind};
use super::{Packet, packet_type};
use crate::Error;

const KIND: Kind =
    Kind { packet_type: packet_type::PSFB, format: feedback::PLI, name: "picture loss indication" };

/// A picture loss indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pli {
    /// SSRC of the requester.
    pub sender_ssrc: u32,
    /// The stream that lost a picture.
    pub media_ssrc: u32,
}

impl Pli {
    /// Octets of the packet.
    pub const LEN: usize = feedback::field::FCI;

    /// Reads a packet.
    ///
    /// # Errors
    /// Another type or format, or fewer than 12 octets.
    pub fn parse(packet: Packet<'_>) -> Result<Self, Error> {
        let (sender_ssrc, media_ssrc, _) = KIND.parse(packet, 0)?;
        Ok(Self { sender_ssrc, media_ssrc })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        Self::LEN
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// A buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        KIND.emit(buffer, Self::LEN, self.sender_ssrc, self.media_ssrc).map(|packet| packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_octets() {
        let mut buffer = [0; 12];
        let pli = Pli { sender_ssrc: 0x0102_0304, media_ssrc: 0x0506_0708 };
        assert_eq!((pli.buffer_len(), pli.emit(&mut buffer)), (12, Ok(12)));
        assert_eq!(buffer, [0x81, 206, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Pli::parse(Packet::parse(&buffer).unwrap().0), Ok(pli));
        assert!(pli.emit(&mut buffer[..11]).is_err());
    }
}
