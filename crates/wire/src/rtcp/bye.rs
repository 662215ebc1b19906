//! Goodbye (RFC 3550 section 6.6).

use super::{Packet, emit_header, packet_type};
use crate::bytes::{fits, padded, take};
use crate::{Error, List};

/// Sources that leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bye<'a> {
    /// Who leaves, at most 31.
    pub ssrcs: List<'a, u32>,
    /// Why, UTF-8 as the sender claims, at most 255 octets; empty where it does not say.
    pub reason: &'a [u8],
}

const SSRCS: usize = 4;

impl<'a> Bye<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, or sources or reason beyond the end.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::BYE, SSRCS, "goodbye")?;
        let ssrcs = take(bytes, SSRCS, 4 * usize::from(packet.count()), "goodbye sources")?;
        let reason_at = SSRCS + ssrcs.len();
        let reason = match bytes.get(reason_at) {
            Some(&len) => take(bytes, reason_at + 1, len.into(), "goodbye reason")?,
            None => &[],
        };
        Ok(Self { ssrcs: List::on_wire(ssrcs), reason })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        let reason = if self.reason.is_empty() { 0 } else { padded(1 + self.reason.len()) };
        SSRCS + self.ssrcs.buffer_len() + reason
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// More than 31 sources, a reason above 255 octets, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let count = fits(self.ssrcs.len() as u64, 31, "goodbye source count")? as u8;
        let reason_len = fits(self.reason.len() as u64, 255, "goodbye reason")? as u8;
        let packet = emit_header(buffer, count, packet_type::BYE, self.buffer_len(), "goodbye")?;
        let (ssrcs, rest) = packet[SSRCS..].split_at_mut(self.ssrcs.buffer_len());
        self.ssrcs.write(ssrcs);
        rest.fill(0);
        if let Some((len, text)) = rest.split_first_mut() {
            *len = reason_len;
            text[..self.reason.len()].copy_from_slice(self.reason);
        }
        Ok(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_optional() {
        let ssrcs = [0x0102_0304];
        let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: b"done!" };
        let mut buffer = [0xEE; 16];
        assert_eq!(bye.emit(&mut buffer), Ok(16));
        assert_eq!(&buffer, b"\x81\xCB\0\x03\x01\x02\x03\x04\x05done!\0\0");
        assert_eq!(Bye::parse(Packet::parse(&buffer).unwrap().0), Ok(bye));
        let silent = Bye { reason: b"", ..bye };
        assert_eq!(silent.emit(&mut buffer), Ok(8));
        assert_eq!(Bye::parse(Packet::parse(&buffer).unwrap().0), Ok(silent));
        buffer.copy_from_slice(b"\x81\xCB\0\x03\x01\x02\x03\x04\x08done!\0\0");
        assert!(Bye::parse(Packet::parse(&buffer).unwrap().0).is_err(), "eight announced, seven there");
    }

    /// RFC 3550 section 6.6: a reason of four octets takes two words with its length.
    #[test]
    fn several_sources_leave() {
        let ssrcs = [1, 2];
        let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: b"done" };
        let mut buffer = [0xEE; 20];
        assert_eq!((bye.buffer_len(), bye.emit(&mut buffer)), (20, Ok(20)));
        assert_eq!(&buffer, b"\x82\xCB\0\x04\0\0\0\x01\0\0\0\x02\x04done\0\0\0");
        assert_eq!(Bye::parse(Packet::parse(&buffer).unwrap().0), Ok(bye));
    }
}
