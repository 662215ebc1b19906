//! Application-defined packet (RFC 3550 section 6.7), the container of this project's own reports.

use super::{Packet, emit_header, packet_type};
use crate::Error;
use crate::bytes::{padded, put_u32, u32_at};

/// An application-defined packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App<'a> {
    /// 0 to 31.
    pub subtype: u8,
    /// Who sends it.
    pub ssrc: u32,
    /// Four ASCII characters.
    pub name: [u8; 4],
    /// Whole 32-bit words; `emit` fills the last with zeros.
    pub data: &'a [u8],
}

mod field {
    use std::ops::Range;

    pub(super) const SSRC: usize = 4;
    pub(super) const NAME: Range<usize> = 8..12;
    pub(super) const DATA: usize = 12;
}

impl<'a> App<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, or fewer than 12 octets.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::APP, field::DATA, "application-defined packet")?;
        let mut name = [0; 4];
        name.copy_from_slice(&bytes[field::NAME]);
        // Padding that is no multiple of four may end inside a word.
        let end = bytes.len() / 4 * 4;
        Ok(Self {
            subtype: packet.count(),
            ssrc: u32_at(bytes, field::SSRC),
            name,
            data: &bytes[field::DATA..end],
        })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        field::DATA + padded(self.data.len())
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// A subtype above 31, more data than a packet holds, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let name = "application-defined packet";
        let packet = emit_header(buffer, self.subtype, packet_type::APP, self.buffer_len(), name)?;
        put_u32(packet, field::SSRC, self.ssrc);
        packet[field::NAME].copy_from_slice(&self.name);
        let (data, fill) = packet[field::DATA..].split_at_mut(self.data.len());
        data.copy_from_slice(self.data);
        fill.fill(0);
        Ok(packet.len())
    }
}

/// The packet of one of this project's reports: `name`, subtype 1 and a body of fixed length, which begins with the SSRC
/// of the media stream. The type has `read` and `write` for the body, and a `sender_ssrc`.
macro_rules! report {
    ($report:ident, $name:literal, $body_len:expr, $what:literal) => {
        impl $report {
            /// Name of the application-defined packet.
            pub const NAME: &'static [u8; 4] = $name;
            /// Octets of the packet.
            pub const LEN: usize = $crate::rtcp::app::HEADER_LEN + $body_len;

            /// Reads a packet.
            ///
            /// # Errors
            /// Another type, name or subtype, or fewer than `LEN` octets.
            pub fn parse(packet: $crate::rtcp::Packet<'_>) -> Result<Self, $crate::Error> {
                let app = $crate::rtcp::app::expect(packet, Self::NAME, Self::LEN, $what)?;
                Ok(Self::read(app.ssrc, app.data))
            }

            /// Octets `emit` writes.
            pub fn buffer_len(&self) -> usize {
                Self::LEN
            }

            /// Writes the packet to the front of `buffer`.
            ///
            /// # Errors
            /// A buffer below `buffer_len()`.
            pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, $crate::Error> {
                let mut body = [0; $body_len];
                self.write(&mut body);
                let (subtype, name) = ($crate::rtcp::app::REPORT, *Self::NAME);
                $crate::rtcp::App { subtype, ssrc: self.sender_ssrc, name, data: &body }.emit(buffer)
            }
        }
    };
}
pub(super) use report;

/// Octets before the data.
pub(super) const HEADER_LEN: usize = field::DATA;
/// The subtype of all reports of this project.
pub(super) const REPORT: u8 = 1;

/// A report of `name` with at least `len` octets.
pub(super) fn expect<'a>(
    packet: Packet<'a>,
    name: &[u8; 4],
    len: usize,
    what: &'static str,
) -> Result<App<'a>, Error> {
    let bytes = packet.expect(packet_type::APP, len, what)?;
    let app = App::parse(packet)?;
    if app.name != *name || app.subtype != REPORT {
        let seen = u32_at(bytes, field::NAME.start).into();
        let expected = "the name and subtype of this report";
        return Err(Error::Invalid { field: what, offset: field::NAME.start, seen, expected });
    }
    Ok(app)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_filled_to_words() {
        let app = App { subtype: 31, ssrc: 0x0102_0304, name: *b"ABCD", data: &[9, 8, 7, 6, 5] };
        let mut buffer = [0xEE; 20];
        assert_eq!(app.emit(&mut buffer), Ok(20));
        assert_eq!(buffer, *b"\x9F\xCC\0\x04\x01\x02\x03\x04ABCD\x09\x08\x07\x06\x05\0\0\0");
        let parsed = App::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert_eq!(parsed, App { data: &[9, 8, 7, 6, 5, 0, 0, 0], ..app });
        assert!(App { subtype: 32, ..app }.emit(&mut buffer).is_err());
        // One octet of padding: three of the last word are left.
        buffer[0] |= 0x20;
        buffer[19] = 1;
        let parsed = App::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert_eq!(parsed.data, [9, 8, 7, 6]);
    }

    #[test]
    fn a_report_has_its_name_and_subtype() {
        for (name, subtype, is_it) in [(b"ABCD", REPORT, true), (b"ABCE", REPORT, false), (b"ABCD", 0, false)]
        {
            let mut buffer = [0; 12];
            App { subtype, ssrc: 1, name: *name, data: &[] }.emit(&mut buffer).unwrap();
            let packet = Packet::parse(&buffer).unwrap().0;
            assert_eq!(expect(packet, b"ABCD", 12, "report").is_ok(), is_it, "{name:?} {subtype}");
        }
    }
}
