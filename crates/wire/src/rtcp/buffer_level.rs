//! Level of the receiver's playout buffer, for any controller: an application-defined packet of 24 octets.

use super::app::report;
use crate::bytes::{put_u32, u32_at};
use seaway_units::DataSize;

/// How much the receiver holds and could hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferLevelReport {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// The stream whose buffer it is.
    pub media_ssrc: u32,
    /// What is in the buffer; saturates at 4 GiB less one octet.
    pub held: DataSize,
    /// What fits into it; saturates likewise.
    pub capacity: DataSize,
}

mod field {
    pub(super) const MEDIA_SSRC: usize = 0;
    pub(super) const HELD: usize = 4;
    pub(super) const CAPACITY: usize = 8;
    pub(super) const LEN: usize = 12;
}

impl BufferLevelReport {
    fn read(sender_ssrc: u32, body: &[u8]) -> Self {
        Self {
            sender_ssrc,
            media_ssrc: u32_at(body, field::MEDIA_SSRC),
            held: DataSize::from_bytes(u32_at(body, field::HELD).into()),
            capacity: DataSize::from_bytes(u32_at(body, field::CAPACITY).into()),
        }
    }

    fn write(&self, body: &mut [u8]) {
        put_u32(body, field::MEDIA_SSRC, self.media_ssrc);
        put_u32(body, field::HELD, octets(self.held));
        put_u32(body, field::CAPACITY, octets(self.capacity));
    }
}

report!(BufferLevelReport, b"BUFL", field::LEN, "buffer level report");

/// An amount as 32 bits, saturating.
pub(super) fn octets(size: DataSize) -> u32 {
    u32::try_from(size.as_bytes()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Packet;

    #[test]
    fn twenty_four_octets() {
        let report = BufferLevelReport {
            sender_ssrc: 1,
            media_ssrc: 2,
            held: DataSize::from_bytes(3_277),
            capacity: DataSize::from_bytes(16_384),
        };
        let mut buffer = [0xEE; 24];
        assert_eq!(report.emit(&mut buffer), Ok(24));
        assert_eq!(&buffer, b"\x81\xCC\0\x05\0\0\0\x01BUFL\0\0\0\x02\0\0\x0C\xCD\0\0\x40\0");
        assert_eq!(BufferLevelReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
        assert_eq!(octets(DataSize::MAX), u32::MAX);
    }
}
