//! Receiver report (RFC 3550 section 6.4.2).

use super::{Packet, ReportBlock, emit_header, packet_type};
use crate::bytes::{fits, put_u32, take, u32_at};
use crate::{Error, List, Record};

/// A receiver report. Profile-specific extensions after the blocks are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverReport<'a> {
    /// SSRC of the reporter.
    pub ssrc: u32,
    /// What it received, at most 31 sources.
    pub blocks: List<'a, ReportBlock>,
}

mod field {
    pub(super) const SSRC: usize = 4;
    pub(super) const BLOCKS: usize = 8;
}

impl<'a> ReceiverReport<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, or fewer octets than the count of blocks requires.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::RR, field::BLOCKS, "receiver report")?;
        let blocks_len = ReportBlock::SIZE * usize::from(packet.count());
        let blocks = take(bytes, field::BLOCKS, blocks_len, "report blocks")?;
        Ok(Self { ssrc: u32_at(bytes, field::SSRC), blocks: List::on_wire(blocks) })
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
        let packet = emit_header(buffer, count, packet_type::RR, self.buffer_len(), "receiver report")?;
        put_u32(packet, field::SSRC, self.ssrc);
        self.blocks.write(&mut packet[field::BLOCKS..]);
        Ok(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550 section 6.4.2: eight octets, and 24 for each block.
    #[test]
    fn blocks_are_counted() {
        let blocks = [1, 2].map(|ssrc| ReportBlock { ssrc, highest_sequence: 7, ..ReportBlock::default() });
        let report = ReceiverReport { ssrc: 0x0102_0304, blocks: List::from(&blocks[..]) };
        let mut buffer = [0xEE; 56];
        assert_eq!((report.buffer_len(), report.emit(&mut buffer)), (56, Ok(56)));
        assert_eq!(buffer[..12], [0x82, 201, 0, 13, 1, 2, 3, 4, 0, 0, 0, 1]);
        assert_eq!(ReceiverReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
        assert!(report.emit(&mut [0; 55]).is_err());
        buffer[0] = 0x83;
        assert!(ReceiverReport::parse(Packet::parse(&buffer).unwrap().0).is_err(), "three announced");
    }
}
