//! Extended reports (RFC 3611). SCReAM's first version sends a Loss RLE and a Packet Receipt Times block
//! (RFC 8298 section 4.1.1.1).

mod loss_rle;
mod receipt_times;

pub use loss_rle::{LossRle, RunLengthChunk};
pub use receipt_times::ReceiptTimes;

use super::{Packet, emit_header, packet_type};
use crate::Error;
use crate::bytes::{fits, put_u16, put_u32, room, take, u16_at, u32_at};

const NAME: &str = "extended report";

mod field {
    pub(super) const SSRC: usize = 4;
    pub(super) const BLOCKS: usize = 8;
    // Within a block:
    pub(super) const BLOCK_TYPE: usize = 0;
    pub(super) const SPECIFIC: usize = 1;
    /// 32-bit words less one.
    pub(super) const LENGTH: usize = 2;
    pub(super) const BODY: usize = 4;
}

/// An extended report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedReport<'a> {
    /// Who reports.
    pub ssrc: u32,
    /// Checked by `parse`.
    blocks: &'a [u8],
}

/// A report block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block<'a> {
    /// Which packets came.
    LossRle(LossRle<'a>),
    /// When they came.
    ReceiptTimes(ReceiptTimes<'a>),
    /// A type not known here.
    Unknown(RawBlock<'a>),
}

/// A report block, not yet looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// BT.
    pub block_type: u8,
    /// The octet whose meaning depends on the type.
    pub specific: u8,
    /// Whole 32-bit words.
    pub body: &'a [u8],
}

impl<'a> ExtendedReport<'a> {
    /// Reads a packet and checks every block.
    ///
    /// # Errors
    /// Another type, a block beyond the end, or one that is too short for its type.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::XR, field::BLOCKS, NAME)?;
        let mut rest = &bytes[field::BLOCKS..];
        while !rest.is_empty() {
            let base = bytes.len() - rest.len();
            (_, rest) = Block::parse(rest).map_err(|error| error.moved(base))?;
        }
        Ok(Self { ssrc: u32_at(bytes, field::SSRC), blocks: &bytes[field::BLOCKS..] })
    }

    /// The blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + Clone + use<'a> {
        let mut rest = self.blocks;
        std::iter::from_fn(move || {
            // Checked by `parse`: fails at the end only.
            let (block, left) = Block::parse(rest).ok()?;
            rest = left;
            Some(block)
        })
    }
}

impl<'a> Block<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let head = take(bytes, 0, field::BODY, "extended report block")?;
        let len = 4 * usize::from(u16_at(head, field::LENGTH));
        let body = take(bytes, field::BODY, len, "extended report block")?;
        let (block_type, specific) = (head[field::BLOCK_TYPE], head[field::SPECIFIC]);
        let raw = RawBlock { block_type, specific, body };
        let block = match block_type {
            LossRle::BLOCK_TYPE | LossRle::MISPRINTED_BLOCK_TYPE => LossRle::parse(raw).map(Self::LossRle),
            ReceiptTimes::BLOCK_TYPE => ReceiptTimes::parse(raw).map(Self::ReceiptTimes),
            _ => Ok(Self::Unknown(raw)),
        };
        Ok((block.map_err(|error| error.moved(field::BODY))?, &bytes[field::BODY + len..]))
    }
}

/// Writes an extended report block by block into the caller's buffer.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    /// Begins a packet in `buffer`.
    ///
    /// # Errors
    /// A buffer that cannot hold a report without blocks, 8 octets.
    pub fn new(buffer: &'b mut [u8], ssrc: u32) -> Result<Self, Error> {
        room(buffer, field::BLOCKS, NAME)?;
        put_u32(buffer, field::SSRC, ssrc);
        Ok(Self { buffer, len: field::BLOCKS })
    }

    /// Appends a block.
    ///
    /// # Errors
    /// A block beyond 65 535 words or the buffer; it is then left out.
    pub fn push(&mut self, block: &Block<'_>) -> Result<(), Error> {
        match block {
            Block::LossRle(rle) => rle.emit(self),
            Block::ReceiptTimes(times) => times.emit(self),
            Block::Unknown(raw) => {
                let body = self.block(raw.block_type, raw.specific, raw.body.len())?;
                body.copy_from_slice(raw.body);
                Ok(())
            }
        }
    }

    /// Ends the packet and returns its octets.
    ///
    /// # Errors
    /// More than an RTCP packet can hold, 256 KiB.
    pub fn finish(self) -> Result<usize, Error> {
        emit_header(self.buffer, 0, packet_type::XR, self.len, NAME).map(|packet| packet.len())
    }

    /// Appends the head of a block and returns its body, zeroed. `body_len` is a whole number of words.
    fn block(&mut self, block_type: u8, specific: u8, body_len: usize) -> Result<&mut [u8], Error> {
        let words = fits((body_len / 4) as u64, u16::MAX.into(), "extended report block length")? as u16;
        let len = field::BODY + body_len;
        let block = room(&mut self.buffer[self.len..], len, "extended report block")?;
        self.len += len;
        block[field::BLOCK_TYPE] = block_type;
        block[field::SPECIFIC] = specific;
        put_u16(block, field::LENGTH, words);
        let body = &mut block[field::BODY..];
        body.fill(0);
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;

    /// Figure 2 of RFC 8298 with the block type RFC 3611 assigns: 8 + (12 + 8) + 16 octets with 4 chunks.
    #[test]
    fn scream_report_takes_forty_four_octets() {
        let chunks = [0x400A, 0x0005, 0xFFFF, 0x8001].map(RunLengthChunk::from_bits);
        let times = [0x1122_3344];
        let rle =
            LossRle { ssrc: 2, begin_sequence: 65_530, end_sequence: 39, chunks: List::from(&chunks[..]) };
        let receipt =
            ReceiptTimes { ssrc: 2, begin_sequence: 38, end_sequence: 39, times: List::from(&times[..]) };
        let blocks = [Block::LossRle(rle), Block::ReceiptTimes(receipt)];
        let mut buffer = [0xEE; 44];
        let mut writer = Writer::new(&mut buffer, 1).unwrap();
        blocks.iter().for_each(|block| writer.push(block).unwrap());
        assert_eq!(writer.finish(), Ok(44));
        let expected = [
            0x80, 207, 0, 10, 0, 0, 0, 1, //
            1, 0, 0, 4, 0, 0, 0, 2, 0xFF, 0xFA, 0, 39, 0x40, 0x0A, 0, 5, 0xFF, 0xFF, 0x80, 1, //
            3, 0, 0, 3, 0, 0, 0, 2, 0, 38, 0, 39, 0x11, 0x22, 0x33, 0x44,
        ];
        assert_eq!(buffer, expected);
        let parsed = ExtendedReport::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert!(parsed.blocks().eq(blocks));
        buffer[8] = 2; // as printed in RFC 8298
        let parsed = ExtendedReport::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert!(matches!(parsed.blocks().next(), Some(Block::LossRle(_))));
    }

    #[test]
    fn unknown_blocks_are_kept_and_broken_ones_refused() {
        let mut bytes = *b"\x80\xCF\0\x05\0\0\0\x01\x63\x09\0\x01abcd\x03\0\0\0";
        bytes[3] = 4;
        bytes[16..].copy_from_slice(&[99, 0, 0, 0]);
        let report = ExtendedReport::parse(Packet::parse(&bytes).unwrap().0).unwrap();
        let first = report.blocks().next();
        assert_eq!(first, Some(Block::Unknown(RawBlock { block_type: 99, specific: 9, body: b"abcd" })));
        assert_eq!(report.blocks().count(), 2);
        bytes[16] = 3; // receipt times without a body
        assert!(ExtendedReport::parse(Packet::parse(&bytes).unwrap().0).is_err());
        bytes[16..].copy_from_slice(&[99, 0, 0, 1]);
        assert!(
            ExtendedReport::parse(Packet::parse(&bytes).unwrap().0).is_err(),
            "a word announced, none there"
        );
    }
}
