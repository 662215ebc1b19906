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
