//! Packets of S002's window transport for one video stream: a data header, and the client's acknowledgements and
//! requests. The data header is S002's, the client's messages are this project's (`docs/models/window-transport.md`,
//! section "Wire format"). They do not travel in RTP.

use crate::bytes::{fits, put_u16, put_u32, room, take, u16_at, u32_at};
use crate::{Error, List};
use seaway_units::TimeDelta;

/// The header before each payload, 10 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHeader {
    /// Counts packets, modulo 2^16; a retransmission keeps its number.
    pub sequence_number: u16,
    /// Presentation time in ms, the same in all packets of a frame, modulo 2^32.
    pub presentation_ms: u32,
    /// The sender's round-trip estimate; whole milliseconds, saturating. `None` before the first sample.
    pub rtt: Option<TimeDelta>,
}

mod data {
    pub(super) const SEQUENCE: usize = 0;
    pub(super) const PRESENTATION: usize = 2;
    pub(super) const RTT: usize = 6;
    pub(super) const LEN: usize = 10;
}

impl DataHeader {
    /// Octets of the header.
    pub const LEN: usize = data::LEN;
    /// Most octets of payload after it.
    pub const MAX_PAYLOAD: usize = 512;

    /// The header at the front of a datagram, and its payload.
    ///
    /// # Errors
    /// Fewer than 10 octets, or a payload above 512.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), Error> {
        let header = take(datagram, 0, data::LEN, "data header")?;
        let payload = &datagram[data::LEN..];
        if payload.len() > Self::MAX_PAYLOAD {
            let (offset, seen) = (data::LEN, payload.len() as u64);
            return Err(Error::Invalid { field: "payload length", offset, seen, expected: "at most 512" });
        }
        let rtt = u32_at(header, data::RTT);
        let header = Self {
            sequence_number: u16_at(header, data::SEQUENCE),
            presentation_ms: u32_at(header, data::PRESENTATION),
            rtt: (rtt != 0).then(|| TimeDelta::from_millis(rtt.into())),
        };
        Ok((header, payload))
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        data::LEN
    }

    /// Writes the header to the front of `buffer`; the payload follows directly.
    ///
    /// # Errors
    /// A buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, data::LEN, "data header")?;
        // Zero means unknown: a known time is at least a millisecond.
        let rtt = self.rtt.map_or(0, |rtt| u32::try_from(rtt.as_millis().max(1)).unwrap_or(u32::MAX));
        put_u16(buffer, data::SEQUENCE, self.sequence_number);
        put_u32(buffer, data::PRESENTATION, self.presentation_ms);
        put_u32(buffer, data::RTT, rtt);
        Ok(data::LEN)
    }
}

/// A message of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// One for each data packet.
    Acknowledgement(Acknowledgement),
    /// Send these again: sequence numbers, at most 255.
    RetransmissionRequest(List<'a, u16>),
}

/// An acknowledgement, 12 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Sequence number of the packet this one acknowledges.
    pub packet: u16,
    /// Highest number up to which all came or were given up.
    pub cumulative: u16,
    /// The 32 numbers after `cumulative`, highest bit first; set where it came.
    pub bitmap: u32,
    /// How many numbers were given up so far, modulo 2^16.
    pub given_up: u16,
}

const ACKNOWLEDGEMENT: u8 = 1;
const REQUEST: u8 = 2;

mod ack {
    pub(super) const PACKET: usize = 2;
    pub(super) const CUMULATIVE: usize = 4;
    pub(super) const BITMAP: usize = 6;
    pub(super) const GIVEN_UP: usize = 10;
    pub(super) const LEN: usize = 12;
}

mod request {
    pub(super) const COUNT: usize = 1;
    pub(super) const SEQUENCES: usize = 2;
}

impl<'a> Message<'a> {
    /// Reads a datagram from a client.
    ///
    /// # Errors
    /// An unknown type, or fewer octets than the type or the count requires.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Error> {
        match take(datagram, 0, 1, "message type")?[0] {
            ACKNOWLEDGEMENT => Acknowledgement::parse(datagram).map(Self::Acknowledgement),
            REQUEST => {
                let head = take(datagram, 0, request::SEQUENCES, "retransmission request")?;
                let len = 2 * usize::from(head[request::COUNT]);
                let sequences = take(datagram, request::SEQUENCES, len, "retransmission request")?;
                Ok(Self::RetransmissionRequest(List::on_wire(sequences)))
            }
            other => {
                let (seen, expected) = (other.into(), "1 (acknowledgement) or 2 (retransmission request)");
                Err(Error::Invalid { field: "message type", offset: 0, seen, expected })
            }
        }
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        match self {
            Self::Acknowledgement(_) => ack::LEN,
            Self::RetransmissionRequest(sequences) => request::SEQUENCES + sequences.buffer_len(),
        }
    }

    /// Writes the datagram to the front of `buffer`.
    ///
    /// # Errors
    /// More than 255 sequence numbers, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "client message")?;
        match self {
            Self::Acknowledgement(acknowledgement) => acknowledgement.emit(buffer),
            Self::RetransmissionRequest(sequences) => {
                buffer[0] = REQUEST;
                buffer[request::COUNT] = fits(sequences.len() as u64, 255, "retransmission request")? as u8;
                sequences.write(&mut buffer[request::SEQUENCES..]);
            }
        }
        Ok(buffer.len())
    }
}

impl Acknowledgement {
    /// True where packet `sequence_number` came or was given up, according to this message.
    pub fn covers(&self, sequence_number: u16) -> bool {
        match sequence_number.wrapping_sub(self.cumulative) {
            ahead @ 1..=32 => self.bitmap >> (32 - ahead) & 1 == 1,
            ahead => ahead == 0 || ahead > u16::MAX / 2,
        }
    }

    fn parse(datagram: &[u8]) -> Result<Self, Error> {
        let bytes = take(datagram, 0, ack::LEN, "acknowledgement")?;
        Ok(Self {
            packet: u16_at(bytes, ack::PACKET),
            cumulative: u16_at(bytes, ack::CUMULATIVE),
            bitmap: u32_at(bytes, ack::BITMAP),
            given_up: u16_at(bytes, ack::GIVEN_UP),
        })
    }

    fn emit(&self, buffer: &mut [u8]) {
        // The second octet, flags, is zero.
        buffer[..ack::PACKET].copy_from_slice(&[ACKNOWLEDGEMENT, 0]);
        put_u16(buffer, ack::PACKET, self.packet);
        put_u16(buffer, ack::CUMULATIVE, self.cumulative);
        put_u32(buffer, ack::BITMAP, self.bitmap);
        put_u16(buffer, ack::GIVEN_UP, self.given_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_header_takes_ten_octets() {
        let rtt = Some(TimeDelta::from_millis(0x0708_090A));
        let header = DataHeader { sequence_number: 0x0102, presentation_ms: 0x0304_0506, rtt };
        let mut buffer = [0xEE; 12];
        assert_eq!((header.buffer_len(), header.emit(&mut buffer)), (10, Ok(10)));
        assert_eq!(buffer, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0A, 0xEE, 0xEE]);
        assert_eq!(DataHeader::parse(&buffer), Ok((header, &[0xEE, 0xEE][..])));
        let early = DataHeader { rtt: None, ..header };
        early.emit(&mut buffer).unwrap();
        assert_eq!(DataHeader::parse(&buffer).unwrap().0, early);
        assert!(DataHeader::parse(&[0; 522]).is_ok());
        assert!(DataHeader::parse(&[0; 523]).is_err());
        assert!(DataHeader::parse(&[0; 9]).is_err());
    }

    #[test]
    fn acknowledgement_takes_twelve_octets() {
        let acknowledgement =
            Acknowledgement { packet: 3, cumulative: 65_535, bitmap: 0x4000_0001, given_up: 0x0A0B };
        let message = Message::Acknowledgement(acknowledgement);
        let mut buffer = [0xEE; 12];
        assert_eq!(message.emit(&mut buffer), Ok(12));
        assert_eq!(buffer, [1, 0, 0, 3, 0xFF, 0xFF, 0x40, 0, 0, 1, 0x0A, 0x0B]);
        assert_eq!(Message::parse(&buffer), Ok(message));
        // Half of the numbers, 32 767, are ahead of the cumulative one.
        let covered: Vec<_> = [32_767, 65_000, 65_535, 0, 1, 2, 30, 31, 32, 5_000, 32_766]
            .into_iter()
            .filter(|&number| acknowledgement.covers(number))
            .collect();
        assert_eq!(covered, [32_767, 65_000, 65_535, 1, 31]);
    }

    #[test]
    fn request_names_each_number() {
        let numbers = [65_535, 1, 2];
        let message = Message::RetransmissionRequest(List::from(&numbers[..]));
        let mut buffer = [0; 8];
        assert_eq!(message.emit(&mut buffer), Ok(8));
        assert_eq!(buffer, [2, 3, 0xFF, 0xFF, 0, 1, 0, 2]);
        assert_eq!(Message::parse(&buffer), Ok(message));
        assert!(Message::parse(&buffer[..7]).is_err());
        assert!(Message::parse(&[3]).is_err());
        assert!(Message::parse(&[]).is_err());
        let many = [0; 256];
        assert!(Message::RetransmissionRequest(List::from(&many[..])).emit(&mut [0; 600]).is_err());
    }
}
