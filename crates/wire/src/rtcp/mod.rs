//! RTCP: the common header, compound packets, and every report (RFC 3550 section 6, RFC 4585, RFC 5506).
//!
//! A datagram is walked with [`packets`]; each [`Packet`] becomes a [`Message`]. A compound packet is written
//! by emitting one report after the other.
//!
//! | report | container | source |
//! | --- | --- | --- |
//! | [`SenderReport`], [`ReceiverReport`] | 200, 201 | RFC 3550 section 6.4 |
//! | [`SourceName`] | 202 | RFC 3550 section 6.5 |
//! | [`Bye`] | 203 | RFC 3550 section 6.6 |
//! | [`App`] | 204 | RFC 3550 section 6.7 |
//! | [`Nack`] | 205 FMT 1 | RFC 4585 section 6.2.1 |
//! | [`Pli`] | 206 FMT 1 | RFC 4585 section 6.3.1 |
//! | [`Remb`] | 206 FMT 15 | draft-alvestrand-rmcat-remb-03 section 2.2 |
//! | [`Ccfb`] | 205 FMT 11 | RFC 8888 section 3 |
//! | [`Twcc`] | 205 FMT 15 | draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1 |
//! | [`TfrcReport`] | APP `TFRC` subtype 1 | RFC 5348 section 3.2.2; layout ours |
//! | [`NadaReport`] | APP `NADA` subtype 1 | RFC 8698 section 5.3; container ours |
//! | [`BufferLevelReport`] | APP `BUFL` subtype 1 | ours |
//! | [`BufferAwareReport`] | APP `BUFA` subtype 1 | ours |

mod app;
mod buffer_aware;
mod buffer_level;
mod bye;
pub mod ccfb;
mod feedback;
mod nack;
mod nada;
mod pli;
mod reception;
mod remb;
mod rr;
mod sdes;
mod sr;
mod tfrc;
pub mod twcc;

pub use app::App;
pub use buffer_aware::BufferAwareReport;
pub use buffer_level::BufferLevelReport;
pub use bye::Bye;
pub use ccfb::Ccfb;
pub use nack::{Nack, NackEntry};
pub use nada::NadaReport;
pub use pli::Pli;
pub use reception::ReportBlock;
pub use remb::Remb;
pub use rr::ReceiverReport;
pub use sdes::SourceName;
pub use sr::SenderReport;
pub use tfrc::TfrcReport;
pub use twcc::Twcc;

use crate::Error;
use crate::bytes::{fits, put_u16, room, take, u16_at};

/// RTCP packet types.
pub mod packet_type {
    /// Sender report.
    pub const SR: u8 = 200;
    /// Receiver report.
    pub const RR: u8 = 201;
    /// Source description.
    pub const SDES: u8 = 202;
    /// Goodbye.
    pub const BYE: u8 = 203;
    /// Application-defined.
    pub const APP: u8 = 204;
    /// Transport layer feedback.
    pub const RTPFB: u8 = 205;
    /// Payload-specific feedback.
    pub const PSFB: u8 = 206;
}

const VERSION: u8 = 2;
const PADDING: u8 = 0x20;
const HEADER_LEN: usize = 4;

mod field {
    /// V(2) P(1) count or format(5).
    pub(super) const FLAGS: usize = 0;
    pub(super) const PACKET_TYPE: usize = 1;
    /// 32-bit words less one.
    pub(super) const LENGTH: usize = 2;
}

/// One packet of a compound, not yet looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// From the common header on, without padding.
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet at the front of `bytes`, and what follows it.
    ///
    /// # Errors
    /// A version other than 2, a length beyond the end, or padding larger than the body.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let header = take(bytes, 0, HEADER_LEN, "RTCP header")?;
        let flags = header[field::FLAGS];
        if flags >> 6 != VERSION {
            let seen = u64::from(flags >> 6);
            return Err(Error::Invalid { field: "RTCP version", offset: field::FLAGS, seen, expected: "2" });
        }
        let len = 4 * (usize::from(u16_at(header, field::LENGTH)) + 1);
        let whole = take(bytes, 0, len, "RTCP packet")?;
        // RFC 3550 asks for a multiple of four, but browsers fill the last word of transport-wide feedback
        // with one to three octets.
        let padding = if flags & PADDING != 0 { usize::from(whole[len - 1]) } else { 0 };
        if flags & PADDING != 0 && (padding == 0 || padding > len - HEADER_LEN) {
            let expected = "1 to the octets of the body";
            let seen = padding as u64;
            return Err(Error::Invalid { field: "RTCP padding count", offset: len - 1, seen, expected });
        }
        Ok((Self { bytes: &whole[..len - padding] }, &bytes[len..]))
    }

    /// Report count, feedback message type or subtype: the five bits after the padding bit.
    pub fn count(&self) -> u8 {
        self.bytes[field::FLAGS] & 0x1F
    }

    /// One of [`packet_type`].
    pub fn packet_type(&self) -> u8 {
        self.bytes[field::PACKET_TYPE]
    }

    /// The packet from its common header on, without padding.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of a packet of this type that holds at least `len` octets.
    fn expect(&self, packet_type: u8, len: usize, name: &'static str) -> Result<&'a [u8], Error> {
        let seen = u64::from(self.packet_type());
        if self.packet_type() != packet_type {
            let expected = "the packet type of this report";
            return Err(Error::Invalid { field: name, offset: field::PACKET_TYPE, seen, expected });
        }
        take(self.bytes, 0, len, name)?;
        Ok(self.bytes)
    }
}

/// The packets of a datagram in order. An error ends the iteration; what came before it counts.
pub fn packets(datagram: &[u8]) -> Packets<'_> {
    Packets { datagram, at: 0 }
}

/// Iterator over the packets of a datagram.
#[derive(Debug, Clone)]
pub struct Packets<'a> {
    datagram: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.datagram.get(self.at..).filter(|left| !left.is_empty())?;
        let base = self.at;
        match Packet::parse(left) {
            Ok((packet, rest)) => {
                self.at = self.datagram.len() - rest.len();
                Some(Ok(packet))
            }
            Err(error) => {
                self.at = self.datagram.len();
                Some(Err(error.moved(base)))
            }
        }
    }
}

/// True where a datagram on a port shared with RTP is RTCP (RFC 5761 section 4: packet types 192 to 223).
pub fn is_rtcp(datagram: &[u8]) -> bool {
    datagram.get(field::PACKET_TYPE).is_some_and(|packet_type| (192..=223).contains(packet_type))
}

/// Every packet type that this crate supports.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Sender report.
    SenderReport(SenderReport<'a>),
    /// Receiver report.
    ReceiverReport(ReceiverReport<'a>),
    /// The canonical name of a source.
    SourceName(SourceName<'a>),
    /// Goodbye.
    Bye(Bye<'a>),
    /// Application-defined, of a name not known here.
    App(App<'a>),
    /// Negative acknowledgement.
    Nack(Nack<'a>),
    /// Picture loss indication.
    Pli(Pli),
    /// Receiver estimated maximum bitrate.
    Remb(Remb<'a>),
    /// Congestion control feedback.
    Ccfb(Ccfb<'a>),
    /// Transport-wide congestion control feedback.
    Twcc(Twcc<'a>),
    /// TFRC feedback.
    Tfrc(TfrcReport),
    /// NADA feedback.
    Nada(NadaReport),
    /// Feedback of buffer-aware rate control.
    BufferAware(BufferAwareReport),
    /// Level of the receiver's buffer.
    BufferLevel(BufferLevelReport),
    /// A type or format not known here.
    Unknown(Packet<'a>),
}

impl<'a> Message<'a> {
    /// Reads one packet.
    ///
    /// # Errors
    /// What the report's own `parse` refuses; an unknown type is no error.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        Ok(match (packet.packet_type(), packet.count()) {
            (packet_type::SR, _) => Self::SenderReport(SenderReport::parse(packet)?),
            (packet_type::RR, _) => Self::ReceiverReport(ReceiverReport::parse(packet)?),
            (packet_type::SDES, 1..) => Self::SourceName(SourceName::parse(packet)?),
            (packet_type::BYE, _) => Self::Bye(Bye::parse(packet)?),
            (packet_type::APP, _) => Self::application(packet)?,
            (packet_type::RTPFB, feedback::NACK) => Self::Nack(Nack::parse(packet)?),
            (packet_type::RTPFB, feedback::CCFB) => Self::Ccfb(Ccfb::parse(packet)?),
            (packet_type::RTPFB, feedback::TWCC) => Self::Twcc(Twcc::parse(packet)?),
            (packet_type::PSFB, feedback::PLI) => Self::Pli(Pli::parse(packet)?),
            (packet_type::PSFB, feedback::APPLICATION) if Remb::is(packet) => {
                Self::Remb(Remb::parse(packet)?)
            }
            _ => Self::Unknown(packet),
        })
    }

    fn application(packet: Packet<'a>) -> Result<Self, Error> {
        let app = App::parse(packet)?;
        Ok(match (&app.name, app.subtype) {
            (TfrcReport::NAME, app::REPORT) => Self::Tfrc(TfrcReport::parse(packet)?),
            (NadaReport::NAME, app::REPORT) => Self::Nada(NadaReport::parse(packet)?),
            (BufferAwareReport::NAME, app::REPORT) => Self::BufferAware(BufferAwareReport::parse(packet)?),
            (BufferLevelReport::NAME, app::REPORT) => Self::BufferLevel(BufferLevelReport::parse(packet)?),
            _ => Self::App(app),
        })
    }
}

/// Writes the common header of a packet of `len` octets to the front of `buffer`, and returns these octets.
fn emit_header<'b>(
    buffer: &'b mut [u8],
    count: u8,
    packet_type: u8,
    len: usize,
    name: &'static str,
) -> Result<&'b mut [u8], Error> {
    let words = fits((len / 4 - 1) as u64, u16::MAX.into(), "RTCP length")? as u16;
    let buffer = room(buffer, len, name)?;
    buffer[field::FLAGS] = VERSION << 6 | fits(count, 31, "RTCP count")?;
    buffer[field::PACKET_TYPE] = packet_type;
    put_u16(buffer, field::LENGTH, words);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compound_is_walked_to_its_first_error() {
        let pli = Pli { sender_ssrc: 1, media_ssrc: 2 };
        let mut buffer = [0; 64];
        let first = ReceiverReport { ssrc: 1, ..ReceiverReport::default() }.emit(&mut buffer).unwrap();
        let second = pli.emit(&mut buffer[first..]).unwrap();
        let end = first + second;
        let messages: Vec<_> = packets(&buffer[..end]).map(|p| Message::parse(p.unwrap()).unwrap()).collect();
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[1], Message::Pli(pli));

        let mut walk = packets(&buffer[..end - 1]);
        assert!(walk.next().unwrap().is_ok());
        let error = walk.next().unwrap().unwrap_err();
        assert_eq!(error, Error::Truncated { field: "RTCP packet", offset: 8, needed: 12, available: 11 });
        assert_eq!(walk.next(), None);
        assert!(is_rtcp(&buffer) && !is_rtcp(&[0x80, 96]) && !is_rtcp(&[0x80]));
    }

    #[test]
    fn padding_is_stripped() {
        let mut bytes = [0xA0, 250, 0, 2, 9, 9, 9, 9, 0, 0, 0, 4];
        let (packet, rest) = Packet::parse(&bytes).unwrap();
        assert_eq!((packet.bytes(), rest), (&bytes[..8], &[][..]));
        assert_eq!(Message::parse(packet), Ok(Message::Unknown(packet)));
        bytes[11] = 3;
        assert_eq!(Packet::parse(&bytes).unwrap().0.bytes(), &bytes[..9]);
        for wrong in [0, 9, 255] {
            bytes[11] = wrong;
            assert!(Packet::parse(&bytes).is_err(), "{wrong}");
        }
    }
}
