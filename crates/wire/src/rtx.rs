//! Retransmission payload (RFC 4588 section 4): an RTP packet of another payload type that carries the
//! sequence number of the original in front of its payload.

use crate::Error;
use crate::bytes::{put_u16, room, take, u16_at};
use crate::rtp::{Header, Packet};

const ORIGINAL_LEN: usize = 2;

/// A retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission<'a> {
    /// Its own sequence number and payload type, and its own SSRC unless they are separated by session; the rest is
    /// the original's.
    pub header: Header<'a>,
    /// OSN: sequence number of the original.
    pub original_sequence: u16,
    /// Payload of the original, without padding.
    pub payload: &'a [u8],
}

impl<'a> Retransmission<'a> {
    /// The retransmission of `original`, in the stream that `ssrc`, `payload_type` and `sequence_number` name.
    pub fn of(original: &Packet<'a>, ssrc: u32, payload_type: u8, sequence_number: u16) -> Self {
        Self {
            header: Header { ssrc, payload_type, sequence_number, ..original.header },
            original_sequence: original.header.sequence_number,
            payload: original.payload,
        }
    }

    /// Reads a packet of a retransmission stream.
    ///
    /// # Errors
    /// A payload of fewer than 2 octets.
    pub fn parse(packet: &Packet<'a>) -> Result<Self, Error> {
        let head = take(packet.payload, 0, ORIGINAL_LEN, "original sequence number")?;
        Ok(Self {
            header: packet.header,
            original_sequence: u16_at(head, 0),
            payload: &packet.payload[ORIGINAL_LEN..],
        })
    }

    /// The original packet, of the stream that `ssrc` and `payload_type` name. A header extension that counts
    /// departures is still the retransmission's.
    pub fn original(&self, ssrc: u32, payload_type: u8) -> Packet<'a> {
        let header = Header { ssrc, payload_type, sequence_number: self.original_sequence, ..self.header };
        Packet { header, payload: self.payload, padding: 0 }
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        self.header.buffer_len() + ORIGINAL_LEN + self.payload.len()
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// As [`Header::emit`].
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "retransmission")?;
        let start = self.header.emit(buffer)?;
        put_u16(buffer, start, self.original_sequence);
        buffer[start + ORIGINAL_LEN..].copy_from_slice(self.payload);
        Ok(self.buffer_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;
    use crate::rtp::Extension;

    #[test]
    fn gives_back_the_original_without_its_padding() {
        let csrc = [5];
        let header = Header {
            marker: true,
            payload_type: 96,
            sequence_number: 0xFFFF,
            timestamp: 90_000,
            ssrc: 1,
            csrc: List::from(&csrc[..]),
            extension: Some(Extension { profile: 0xBEDE, data: &[0x10, 1, 0, 0] }),
        };
        let original = Packet { header, payload: &[1, 2, 3], padding: 5 };
        let again = Retransmission::of(&original, 2, 97, 0);
        let mut buffer = [0xEE; 64];
        let len = again.emit(&mut buffer).unwrap();
        assert_eq!((len, again.buffer_len()), (29, 29));
        assert_eq!((&buffer[..4], &buffer[24..29]), (&[0x91, 0xE1, 0, 0][..], &[0xFF, 0xFF, 1, 2, 3][..]));
        let parsed = Retransmission::parse(&Packet::parse(&buffer[..len]).unwrap()).unwrap();
        assert_eq!(parsed, again);
        assert_eq!(parsed.original(1, 96), Packet { padding: 0, ..original });
        assert!(Retransmission::parse(&Packet { payload: &[1], ..original }).is_err());
    }
}
