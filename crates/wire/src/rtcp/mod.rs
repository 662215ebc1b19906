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

    fn message(octets: &[u8]) -> Message<'_> {
        Message::parse(Packet::parse(octets).unwrap().0).unwrap()
    }

    /// The least packet of each type and format.
    #[test]
    fn each_type_is_read_as_what_it_is() {
        use Message as M;
        let kind = |octets: &[u8]| match message(octets) {
            M::SenderReport(_) => "SR",
            M::ReceiverReport(_) => "RR",
            M::SourceName(_) => "SDES",
            M::Bye(_) => "BYE",
            M::App(_) => "APP",
            M::Nack(_) => "NACK",
            M::Pli(_) => "PLI",
            M::Remb(_) => "REMB",
            M::Ccfb(_) => "CCFB",
            M::Twcc(_) => "TWCC",
            M::Unknown(_) => "unknown",
            other => panic!("{other:?}"),
        };
        // The first octet and the type, then words behind the length.
        for (first, packet_type, body, expected) in [
            (0x80, 200, &[[0; 4]; 6][..], "SR"),
            (0x80, 201, &[[0, 0, 0, 1]], "RR"),
            (0x81, 202, &[[0, 0, 0, 1], [1, 1, b'a', 0]], "SDES"),
            (0x80, 202, &[], "unknown"),
            (0x81, 203, &[[0, 0, 0, 1]], "BYE"),
            (0x81, 204, &[[0, 0, 0, 1], *b"ABCD"], "APP"),
            (0x80, 204, &[[0, 0, 0, 1], *NadaReport::NAME], "APP"),
            (0x81, 205, &[[0; 4], [0; 4], [0, 7, 0, 0]], "NACK"),
            (0x82, 205, &[[0; 4], [0; 4], [0, 7, 0, 0]], "unknown"),
            (0x8B, 205, &[[0; 4], [0; 4]], "CCFB"),
            (0x8F, 205, &[[0; 4]; 4], "TWCC"),
            (0x81, 206, &[[0; 4]; 2], "PLI"),
            (0x8F, 206, &[[0; 4], [0; 4], *b"REMB", [0; 4]], "REMB"),
            (0x8F, 206, &[[0; 4], [0; 4], *b"XXXX", [0; 4]], "unknown"),
            (0x80, 207, &[], "unknown"),
        ] {
            let octets = [&[first, packet_type, 0, body.len() as u8], body.as_flattened()].concat();
            assert_eq!(kind(&octets), expected, "{first:#x} {packet_type}");
        }
    }

    #[test]
    fn each_report_of_ours_is_read_as_what_it_is() {
        use seaway_units::{Bitrate, DataSize, Probability, TimeDelta};
        let (sender_ssrc, media_ssrc, delay) = (1, 2, TimeDelta::from_millis(3));
        let (echo, receive_rate) = (crate::MicrosClock::from_bits(4), Bitrate::from_kbps(8));
        let (held, capacity) = (DataSize::from_bytes(5), DataSize::from_bytes(6));
        let nada = NadaReport { sender_ssrc, media_ssrc, ramp_up: true, congestion: delay, receive_rate };
        let tfrc = TfrcReport {
            sender_ssrc,
            media_ssrc,
            echo,
            delay,
            receive_rate,
            loss_event_rate: Probability::ZERO,
            new_loss: true,
            ecn: true,
            ce_packets: 7,
        };
        let level = BufferLevelReport { sender_ssrc, media_ssrc, held, capacity };
        let aware = BufferAwareReport {
            sender_ssrc,
            media_ssrc,
            held,
            capacity,
            echo,
            delay,
            highest_sequence: 8,
            lost: 9,
        };
        let mut buffer = [0; 64];
        let len = nada.emit(&mut buffer).unwrap();
        assert_eq!(message(&buffer[..len]), Message::Nada(nada));
        let len = tfrc.emit(&mut buffer).unwrap();
        assert_eq!(message(&buffer[..len]), Message::Tfrc(tfrc));
        let len = level.emit(&mut buffer).unwrap();
        assert_eq!(message(&buffer[..len]), Message::BufferLevel(level));
        let len = aware.emit(&mut buffer).unwrap();
        assert_eq!(message(&buffer[..len]), Message::BufferAware(aware));
    }

    #[test]
    fn a_wrong_header_is_named() {
        let error = |octets: &[u8]| Packet::parse(octets).unwrap_err();
        let expected = "2";
        assert_eq!(
            error(&[0x40, 200, 0, 0]),
            Error::Invalid { field: "RTCP version", offset: 0, seen: 1, expected }
        );
        let expected = "1 to the octets of the body";
        let field = "RTCP padding count";
        assert_eq!(
            error(&[0xA0, 250, 0, 1, 0, 0, 0, 5]),
            Error::Invalid { field, offset: 7, seen: 5, expected }
        );
        let all = [0xA0, 250, 0, 1, 0, 0, 0, 4];
        assert_eq!(Packet::parse(&all).unwrap().0.bytes(), &all[..4], "the whole body is padding");
        assert_eq!(error(&[0xA0, 250, 0, 0]), Error::Invalid { field, offset: 3, seen: 0, expected });
    }
}
