//! Packet Receipt Times block (RFC 3611 section 4.3).

use super::{RawBlock, Writer};
use crate::bytes::{put_u16, put_u32, take, u16_at, u32_at};
use crate::{Error, List};

/// When packets of a source came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTimes<'a> {
    /// The source.
    pub ssrc: u32,
    /// First sequence number reported.
    pub begin_sequence: u16,
    /// Last sequence number reported, plus one.
    pub end_sequence: u16,
    /// One for each packet that came, in the units of the source's RTP timestamps.
    pub times: List<'a, u32>,
}

mod field {
    pub(super) const SSRC: usize = 0;
    pub(super) const BEGIN: usize = 4;
    pub(super) const END: usize = 6;
    pub(super) const TIMES: usize = 8;
}

impl<'a> ReceiptTimes<'a> {
    /// BT.
    pub(super) const BLOCK_TYPE: u8 = 3;

    pub(super) fn parse(block: RawBlock<'a>) -> Result<Self, Error> {
        let body = block.body;
        take(body, 0, field::TIMES, "receipt times block")?;
        Ok(Self {
            ssrc: u32_at(body, field::SSRC),
            begin_sequence: u16_at(body, field::BEGIN),
            end_sequence: u16_at(body, field::END),
            times: List::on_wire(&body[field::TIMES..]),
        })
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let body = writer.block(Self::BLOCK_TYPE, 0, field::TIMES + self.times.buffer_len())?;
        put_u32(body, field::SSRC, self.ssrc);
        put_u16(body, field::BEGIN, self.begin_sequence);
        put_u16(body, field::END, self.end_sequence);
        self.times.write(&mut body[field::TIMES..]);
        Ok(())
    }
}
