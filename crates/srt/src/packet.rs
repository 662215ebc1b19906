//! Packets as octets (draft-sharabayko-srt-01, section 3).

use crate::bytes::{Reader, put_u16, put_u32};
use crate::{Error, Sequence};

/// Octets of the header.
pub const HEADER_LEN: usize = 16;
/// Octets of a payload at most: a datagram of 1500 octets less the headers of IPv4, UDP and SRT.
pub const MAX_PAYLOAD: usize = 1456;

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A packet of the stream.
    Data(Data<'a>),
    /// Everything else.
    Control(Control<'a>),
}

/// The key that encrypts a payload (field KK).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFlag {
    /// The payload is plain.
    Plain,
    /// The even key.
    Even,
    /// The odd key.
    Odd,
}

/// A data packet (section 3.1). Live mode sends each message in one packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data<'a> {
    /// Its number.
    pub sequence: Sequence,
    /// The key of the payload.
    pub key: KeyFlag,
    /// Whether it was sent before.
    pub retransmitted: bool,
    /// The number of its message, 26 bits.
    pub message: u32,
    /// Microseconds since the sender's start, modulo 2^32.
    pub timestamp: u32,
    /// The socket of the receiver.
    pub destination: u32,
    /// What it carries.
    pub payload: &'a [u8],
}

/// A control packet (section 3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control<'a> {
    /// Microseconds since the sender's start, modulo 2^32.
    pub timestamp: u32,
    /// The socket of the receiver; 0 before it is known.
    pub destination: u32,
    /// What it says.
    pub content: Content<'a>,
}

/// What a control packet says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// A handshake, for [`Handshake::parse`](crate::Handshake::parse).
    Handshake(&'a [u8]),
    /// The peer is there.
    KeepAlive,
    /// What was received (ACK).
    Acknowledgement {
        /// Counts full acknowledgements; 0 in a light one.
        number: u32,
        /// The report.
        report: Acknowledgement,
    },
    /// What was lost (NAK).
    LossReport(LossList<'a>),
    /// The end of the connection.
    Shutdown,
    /// An acknowledgement was received (ACKACK).
    AcknowledgementReceived(u32),
    /// These packets are not sent any more.
    DropRequest {
        /// The first of them.
        first: Sequence,
        /// The last of them.
        last: Sequence,
    },
    /// Keys (section 3.2.2), as request or as the answer to one.
    KeyMaterial {
        /// True for the answer.
        is_response: bool,
        /// For [`KeyMaterial::parse`](crate::KeyMaterial::parse).
        data: &'a [u8],
    },
    /// A type without use in live mode.
    Other(u16),
}

/// What a receiver reports (section 3.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The first packet that is not received yet.
    pub next: Sequence,
    /// What a full one has.
    pub full: Option<FullAcknowledgement>,
}

/// The further fields of a full acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FullAcknowledgement {
    /// The round-trip time, microseconds.
    pub rtt_us: u32,
    /// Its variation, microseconds.
    pub rtt_variation_us: u32,
    /// Packets that the buffer has room for.
    pub available: u32,
    /// Packets a second.
    pub packet_rate: u32,
    /// Octets a second.
    pub octet_rate: u32,
}

const CONTROL: u16 = 0x8000;
const HANDSHAKE: u16 = 0;
const KEEP_ALIVE: u16 = 1;
const ACKNOWLEDGEMENT: u16 = 2;
const LOSS_REPORT: u16 = 3;
const SHUTDOWN: u16 = 5;
const ACKNOWLEDGEMENT_RECEIVED: u16 = 6;
const DROP_REQUEST: u16 = 7;
const USER_DEFINED: u16 = 0x7fff;
/// Subtypes of a user-defined packet.
const KEY_REQUEST: u16 = 3;
const KEY_RESPONSE: u16 = 4;

impl<'a> Packet<'a> {
    /// Reads a datagram.
    pub fn parse(datagram: &'a [u8]) -> Result<Packet<'a>, Error> {
        if datagram.len() > HEADER_LEN + MAX_PAYLOAD {
            return Err(Error::Unexpected { what: "octets of a datagram", seen: datagram.len() as u32 });
        }
        let mut reader = Reader::new("header", datagram);
        let [first, second, timestamp, destination] =
            [reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?];
        let body = reader.rest();
        if first >> 31 == 1 {
            let content = Content::parse((first >> 16) as u16 & !CONTROL, first as u16, second, body)?;
            return Ok(Packet::Control(Control { timestamp, destination, content }));
        }
        let key = match second >> 27 & 3 {
            0 => KeyFlag::Plain,
            1 => KeyFlag::Even,
            2 => KeyFlag::Odd,
            both => return Err(Error::Unexpected { what: "key of a data packet", seen: both }),
        };
        if second >> 30 != SOLO {
            return Err(Error::Unexpected { what: "position in a message", seen: second >> 30 });
        }
        if body.is_empty() {
            return Err(Error::Payload(body.len()));
        }
        Ok(Packet::Data(Data {
            sequence: Sequence::new(first),
            key,
            retransmitted: second >> 26 & 1 == 1,
            message: second & MESSAGE_MASK,
            timestamp,
            destination,
            payload: body,
        }))
    }

    /// The datagram.
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Packet::Data(data) => data.emit(),
            Packet::Control(control) => control.emit(),
        }
    }
}

/// Position of a message that is in one packet (field PP).
const SOLO: u32 = 3;
const MESSAGE_MASK: u32 = 0x03ff_ffff;

impl Data<'_> {
    fn emit(&self) -> Vec<u8> {
        let mut datagram = Vec::with_capacity(HEADER_LEN + self.payload.len());
        put_u32(&mut datagram, self.sequence.value());
        let key = match self.key {
            KeyFlag::Plain => 0,
            KeyFlag::Even => 1,
            KeyFlag::Odd => 2,
        };
        let flags = SOLO << 30 | key << 27 | u32::from(self.retransmitted) << 26;
        put_u32(&mut datagram, flags | (self.message & MESSAGE_MASK));
        put_u32(&mut datagram, self.timestamp);
        put_u32(&mut datagram, self.destination);
        datagram.extend_from_slice(self.payload);
        datagram
    }
}

impl<'a> Content<'a> {
    fn parse(kind: u16, subtype: u16, info: u32, body: &'a [u8]) -> Result<Content<'a>, Error> {
        Ok(match kind {
            HANDSHAKE => Content::Handshake(body),
            KEEP_ALIVE => Content::KeepAlive,
            ACKNOWLEDGEMENT => {
                Content::Acknowledgement { number: info, report: Acknowledgement::parse(body)? }
            }
            LOSS_REPORT => Content::LossReport(LossList::new(body)?),
            SHUTDOWN => Content::Shutdown,
            ACKNOWLEDGEMENT_RECEIVED => Content::AcknowledgementReceived(info),
            DROP_REQUEST => {
                let mut reader = Reader::new("drop request", body);
                let (first, last) = (Sequence::new(reader.u32()?), Sequence::new(reader.u32()?));
                Content::DropRequest { first, last }
            }
            USER_DEFINED if subtype == KEY_REQUEST || subtype == KEY_RESPONSE => {
                Content::KeyMaterial { is_response: subtype == KEY_RESPONSE, data: body }
            }
            other => Content::Other(other),
        })
    }

    /// Type, subtype and the word that depends on the type.
    fn head(&self) -> (u16, u16, u32) {
        match *self {
            Content::Handshake(_) => (HANDSHAKE, 0, 0),
            Content::KeepAlive => (KEEP_ALIVE, 0, 0),
            Content::Acknowledgement { number, .. } => (ACKNOWLEDGEMENT, 0, number),
            Content::LossReport(_) => (LOSS_REPORT, 0, 0),
            Content::Shutdown => (SHUTDOWN, 0, 0),
            Content::AcknowledgementReceived(number) => (ACKNOWLEDGEMENT_RECEIVED, 0, number),
            Content::DropRequest { .. } => (DROP_REQUEST, 0, 0),
            Content::KeyMaterial { is_response: false, .. } => (USER_DEFINED, KEY_REQUEST, 0),
            Content::KeyMaterial { is_response: true, .. } => (USER_DEFINED, KEY_RESPONSE, 0),
            Content::Other(kind) => (kind, 0, 0),
        }
    }
}

impl Control<'_> {
    fn emit(&self) -> Vec<u8> {
        let (kind, subtype, info) = self.content.head();
        let mut datagram = Vec::with_capacity(64);
        put_u16(&mut datagram, CONTROL | kind);
        put_u16(&mut datagram, subtype);
        for word in [info, self.timestamp, self.destination] {
            put_u32(&mut datagram, word);
        }
        match &self.content {
            Content::Handshake(body) | Content::KeyMaterial { data: body, .. } => {
                datagram.extend_from_slice(body);
            }
            Content::Acknowledgement { report, .. } => report.emit(&mut datagram),
            Content::LossReport(list) => datagram.extend_from_slice(list.data),
            Content::DropRequest { first, last } => {
                put_u32(&mut datagram, first.value());
                put_u32(&mut datagram, last.value());
            }
            // libsrt sends a word of zeros where there is no body.
            _ => put_u32(&mut datagram, 0),
        }
        datagram
    }
}

impl Acknowledgement {
    fn parse(body: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("acknowledgement", body);
        let next = Sequence::new(reader.u32()?);
        if reader.rest().is_empty() {
            return Ok(Self { next, full: None });
        }
        let [rtt_us, rtt_variation_us, available] = [reader.u32()?, reader.u32()?, reader.u32()?];
        // A small one ends here; the capacity of the link is not used.
        let packet_rate = reader.u32().unwrap_or(0);
        let octet_rate = reader.u32().and_then(|_| reader.u32()).unwrap_or(0);
        let full = FullAcknowledgement { rtt_us, rtt_variation_us, available, packet_rate, octet_rate };
        Ok(Self { next, full: Some(full) })
    }

    fn emit(&self, datagram: &mut Vec<u8>) {
        put_u32(datagram, self.next.value());
        let Some(full) = &self.full else { return };
        // The capacity of the link is not measured: the rate stands there.
        for word in [
            full.rtt_us,
            full.rtt_variation_us,
            full.available,
            full.packet_rate,
            full.packet_rate,
            full.octet_rate,
        ] {
            put_u32(datagram, word);
        }
    }
}

/// The packets of a loss report (appendix A): single ones, and ranges whose first number has the highest bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossList<'a> {
    data: &'a [u8],
}

impl<'a> LossList<'a> {
    /// Words of a list at most: it is in one datagram.
    pub const MAX_WORDS: usize = MAX_PAYLOAD / 4;
    const RANGE: u32 = 1 << 31;

    fn new(data: &'a [u8]) -> Result<Self, Error> {
        if data.len() < 4 {
            return Err(Error::Truncated { what: "loss report", len: data.len(), least: 4 });
        }
        Ok(Self { data })
    }

    /// The list of these ranges, first and last number of each, as far as they are in one datagram.
    pub(crate) fn write(ranges: impl IntoIterator<Item = (Sequence, Sequence)>) -> Vec<u8> {
        let mut data = Vec::new();
        for (first, last) in ranges {
            if data.len() + 8 > 4 * Self::MAX_WORDS {
                break;
            }
            if first == last {
                put_u32(&mut data, first.value());
            } else {
                put_u32(&mut data, first.value() | Self::RANGE);
                put_u32(&mut data, last.value());
            }
        }
        data
    }

    /// Reads what [`write`](Self::write) has made.
    pub(crate) fn of(data: &'a [u8]) -> Self {
        Self { data }
    }

    /// First and last number of each range. A range that is cut off, or ends before it begins, is left out.
    pub fn ranges(self) -> impl Iterator<Item = (Sequence, Sequence)> + 'a {
        let mut reader = Reader::new("loss report", self.data);
        std::iter::from_fn(move || {
            loop {
                let word = reader.u32().ok()?;
                let first = Sequence::new(word);
                if word & Self::RANGE == 0 {
                    return Some((first, first));
                }
                let last = Sequence::new(reader.u32().ok()?);
                if last.since(first) >= 0 {
                    return Some((first, last));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(packet: &Packet<'_>) {
        let datagram = packet.emit();
        assert_eq!(&Packet::parse(&datagram).unwrap(), packet);
    }

    fn control(content: Content<'_>) -> Packet<'_> {
        Packet::Control(Control { timestamp: 7, destination: 9, content })
    }

    #[test]
    fn packets_have_their_fields() {
        let data = Packet::Data(Data {
            sequence: Sequence::new(0x1234_5678),
            key: KeyFlag::Odd,
            retransmitted: true,
            message: 0x0201,
            timestamp: 5,
            destination: 6,
            payload: &[0x47; 1316],
        });
        let datagram = data.emit();
        assert_eq!(datagram[..16], [0x12, 0x34, 0x56, 0x78, 0xd4, 0, 2, 1, 0, 0, 0, 5, 0, 0, 0, 6]);
        again(&data);
        let full = FullAcknowledgement {
            rtt_us: 1,
            rtt_variation_us: 2,
            available: 3,
            packet_rate: 4,
            octet_rate: 5,
        };
        for full in [None, Some(full)] {
            let report = Acknowledgement { next: Sequence::new(5), full };
            again(&control(Content::Acknowledgement { number: 4, report }));
        }
        again(&control(Content::KeepAlive));
        again(&control(Content::Shutdown));
        again(&control(Content::AcknowledgementReceived(4)));
        again(&control(Content::DropRequest { first: Sequence::new(1), last: Sequence::new(2) }));
        again(&control(Content::KeyMaterial { is_response: true, data: &[1; 8] }));
        again(&control(Content::Handshake(&[2; 48])));
    }

    #[test]
    fn ranges_of_a_loss_report_are_checked() {
        let numbers = |words: &[u32]| -> Vec<(u32, u32)> {
            let data: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            LossList::of(&data).ranges().map(|(first, last)| (first.value(), last.value())).collect()
        };
        assert_eq!(numbers(&[3, 0x8000_0005, 9]), [(3, 3), (5, 9)]);
        assert_eq!(numbers(&[0x8000_0009, 5, 4]), [(4, 4)]);
        assert_eq!(numbers(&[0x8000_0009]), []);
        assert_eq!(numbers(&[0xffff_ffff, 1]), [(0x7fff_ffff, 1)]);
        let many = (0..1000).map(|n| (Sequence::new(n * 3), Sequence::new(n * 3 + 1)));
        let list = LossList::write(many);
        assert_eq!(list.len(), 8 * (LossList::MAX_WORDS / 2));
        again(&control(Content::LossReport(LossList::of(&list))));
    }

    #[test]
    fn what_is_not_of_live_mode_is_refused() {
        for datagram in [
            &[0; 15][..],
            &[0; 16],
            &[0; 20],
            &[0, 0, 0, 0, 0xd8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x80, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ] {
            assert!(Packet::parse(datagram).is_err(), "{datagram:?}");
        }
        let longest = control(Content::Handshake(&[0; MAX_PAYLOAD])).emit();
        assert!(Packet::parse(&longest).is_ok());
        assert!(Packet::parse(&[&longest[..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_parsed_is_written_alike(datagram: Vec<u8>) {
            if let Ok(packet) = Packet::parse(&datagram) {
                let again = packet.emit();
                prop_assert_eq!(Packet::parse(&again).unwrap(), packet);
            }
        }
    }
}
