//! Sender report (RFC 3550 section 6.4.1).

use super::{Packet, ReportBlock, emit_header, packet_type};
use crate::bytes::{fits, put_u32, take, u32_at};
use crate::{Error, List, NtpTime, Record};

/// A sender report. Profile-specific extensions after the blocks are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderReport<'a> {
    /// Who sends.
    pub ssrc: u32,
    /// When this report left.
    pub ntp_time: NtpTime,
    /// The same instant in the units of the media timestamps.
    pub rtp_timestamp: u32,
    /// Packets sent since the start, modulo 2^32.
    pub packet_count: u32,
    /// Octets of payload sent since the start, modulo 2^32.
    pub octet_count: u32,
    /// What it received, at most 31 sources.
    pub blocks: List<'a, ReportBlock>,
}

mod field {
    pub(super) const SSRC: usize = 4;
    pub(super) const NTP_SECONDS: usize = 8;
    pub(super) const NTP_FRACTION: usize = 12;
    pub(super) const RTP_TIMESTAMP: usize = 16;
    pub(super) const PACKETS: usize = 20;
    pub(super) const OCTETS: usize = 24;
    pub(super) const BLOCKS: usize = 28;
}

impl<'a> SenderReport<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, or fewer octets than the count of blocks requires.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::SR, field::BLOCKS, "sender report")?;
        let blocks_len = ReportBlock::SIZE * usize::from(packet.count());
        let ntp = u64::from(u32_at(bytes, field::NTP_SECONDS)) << 32
            | u64::from(u32_at(bytes, field::NTP_FRACTION));
        Ok(Self {
            ssrc: u32_at(bytes, field::SSRC),
            ntp_time: NtpTime::from_bits(ntp),
            rtp_timestamp: u32_at(bytes, field::RTP_TIMESTAMP),
            packet_count: u32_at(bytes, field::PACKETS),
            octet_count: u32_at(bytes, field::OCTETS),
            blocks: List::on_wire(take(bytes, field::BLOCKS, blocks_len, "report blocks")?),
        })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        field::BLOCKS + self.blocks.buffer_len()
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// More than 31 blocks, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let count = fits(self.blocks.len() as u64, 31, "report count")? as u8;
        let packet = emit_header(buffer, count, packet_type::SR, self.buffer_len(), "sender report")?;
        put_u32(packet, field::SSRC, self.ssrc);
        put_u32(packet, field::NTP_SECONDS, (self.ntp_time.bits() >> 32) as u32);
        put_u32(packet, field::NTP_FRACTION, self.ntp_time.bits() as u32);
        put_u32(packet, field::RTP_TIMESTAMP, self.rtp_timestamp);
        put_u32(packet, field::PACKETS, self.packet_count);
        put_u32(packet, field::OCTETS, self.octet_count);
        self.blocks.write(&mut packet[field::BLOCKS..]);
        Ok(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550 section 6.4.1: seven words, and six for each block.
    #[test]
    fn seven_words_and_the_blocks() {
        let blocks = [1, 2].map(|ssrc| ReportBlock { ssrc, ..ReportBlock::default() });
        let report = SenderReport {
            ssrc: 0x0102_0304,
            ntp_time: NtpTime::from_bits(0x1112_1314_1516_1718),
            rtp_timestamp: 0x2122_2324,
            packet_count: 0x3132_3334,
            octet_count: 0x4142_4344,
            blocks: List::from(&blocks[..]),
        };
        let mut buffer = [0xEE; 76];
        assert_eq!((report.buffer_len(), report.emit(&mut buffer)), (76, Ok(76)));
        let head = b"\x82\xC8\0\x12\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x21\x22\x23\x24\x31\x32\x33\x34\x41\x42\x43\x44";
        assert_eq!(&buffer[..28], head);
        assert_eq!(SenderReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
        assert!(report.emit(&mut [0; 75]).is_err());
        buffer[0] = 0x83;
        assert!(SenderReport::parse(Packet::parse(&buffer).unwrap().0).is_err(), "three announced");
    }
}
