//! What TFRC and CTFRC senders write on each packet. RFC 5348 section 3.2.1 fixes the contents, the layout is
//! this project's; both travel in the two-byte form.

use crate::bytes::{put_u16, put_u32, take, u16_at, u32_at};
use crate::clock::{micros_or_unknown, optional_micros};
use crate::{Error, MicrosClock};
use seaway_units::TimeDelta;

mod field {
    pub(super) const SEQUENCE: usize = 0;
    pub(super) const SENT: usize = 4;
    pub(super) const RTT: usize = 8;
    pub(super) const VIRTUAL_SEQUENCE: usize = 12;
    /// V(1), 15 zero bits.
    pub(super) const VIRTUAL_FLAG: usize = 14;
}

const VIRTUAL: u8 = 0x80;

/// The TFRC data header, 12 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TfrcData {
    /// Counts packets; a retransmission has a number of its own.
    pub sequence_number: u32,
    /// When the packet left, on the sender's clock.
    pub sent: MicrosClock,
    /// The sender's round-trip estimate; `None` before the first sample. Whole microseconds, saturating.
    pub rtt: Option<TimeDelta>,
}

/// The CTFRC data header, 16 octets: TFRC's and the virtual connection's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CtfrcData {
    /// TFRC's part.
    pub tfrc: TfrcData,
    /// Counts virtual packets, modulo 2^16.
    pub virtual_sequence: u16,
    /// V: this packet is a virtual packet.
    pub is_virtual: bool,
}

impl TfrcData {
    /// Local identifier where none is agreed.
    pub const DEFAULT_ID: u8 = 1;
    /// Octets of the element's data.
    pub const LEN: usize = 12;

    /// From an element's data.
    ///
    /// # Errors
    /// Fewer than 12 octets.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let data = take(data, 0, Self::LEN, "TFRC data extension")?;
        Ok(Self {
            sequence_number: u32_at(data, field::SEQUENCE),
            sent: MicrosClock::from_bits(u32_at(data, field::SENT)),
            rtt: micros_or_unknown(u32_at(data, field::RTT)),
        })
    }

    /// The element's data.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut data = [0; Self::LEN];
        put_u32(&mut data, field::SEQUENCE, self.sequence_number);
        put_u32(&mut data, field::SENT, self.sent.bits());
        put_u32(&mut data, field::RTT, optional_micros(self.rtt));
        data
    }
}

impl CtfrcData {
    /// Local identifier where none is agreed.
    pub const DEFAULT_ID: u8 = 2;
    /// Octets of the element's data.
    pub const LEN: usize = 16;

    /// From an element's data.
    ///
    /// # Errors
    /// Fewer than 16 octets.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let data = take(data, 0, Self::LEN, "CTFRC data extension")?;
        Ok(Self {
            tfrc: TfrcData::parse(data)?,
            virtual_sequence: u16_at(data, field::VIRTUAL_SEQUENCE),
            is_virtual: data[field::VIRTUAL_FLAG] & VIRTUAL != 0,
        })
    }

    /// The element's data.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut data = [0; Self::LEN];
        data[..TfrcData::LEN].copy_from_slice(&self.tfrc.to_bytes());
        put_u16(&mut data, field::VIRTUAL_SEQUENCE, self.virtual_sequence);
        data[field::VIRTUAL_FLAG] = if self.is_virtual { VIRTUAL } else { 0 };
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::{Form, Writer};
    use crate::rtp::{HEADER_LEN, Header};

    const DATA: TfrcData = TfrcData {
        sequence_number: 0x0102_0304,
        sent: MicrosClock::from_bits(0x0506_0708),
        rtt: Some(TimeDelta::from_micros(0x0001_86A0)),
    };

    #[test]
    fn tfrc_extension_takes_twenty_octets() {
        let mut data = [0; 14];
        let mut writer = Writer::new(Form::TwoByte, &mut data);
        writer.push(TfrcData::DEFAULT_ID, &DATA.to_bytes()).unwrap();
        let header = Header { extension: writer.finish(), ..Header::default() };
        let mut buffer = [0xEE; 40];
        assert_eq!(header.emit(&mut buffer), Ok(HEADER_LEN + 20));
        let expected = [0x10, 0, 0, 4, 1, 12, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0x86, 0xA0, 0, 0];
        assert_eq!(buffer[HEADER_LEN..HEADER_LEN + 20], expected);
        assert_eq!(TfrcData::parse(&expected[6..]), Ok(DATA));
        assert!(TfrcData::parse(&expected[..11]).is_err());
    }

    #[test]
    fn unknown_round_trip_is_zero() {
        let unknown = TfrcData { rtt: None, ..DATA };
        assert_eq!(TfrcData::parse(&unknown.to_bytes()), Ok(unknown));
        let tiny = TfrcData { rtt: Some(TimeDelta::from_nanos(1)), ..DATA };
        assert_eq!(tiny.to_bytes()[11], 1, "known, so not zero");
    }

    #[test]
    fn ctfrc_adds_the_virtual_number() {
        let data = CtfrcData { tfrc: DATA, virtual_sequence: 0xABCD, is_virtual: true };
        assert_eq!(data.to_bytes()[12..], [0xAB, 0xCD, 0x80, 0]);
        assert_eq!(CtfrcData::parse(&data.to_bytes()), Ok(data));
        assert!(CtfrcData::parse(&data.to_bytes()[..15]).is_err());
        let counted = CtfrcData { is_virtual: false, ..data };
        assert_eq!(CtfrcData::parse(&counted.to_bytes()), Ok(counted));
    }
}
