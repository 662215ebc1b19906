//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3):
//! the arrival of every packet of a socket, whatever its stream.

mod chunk;
mod writer;

pub use writer::{Emitted, TwccWriter};

use super::feedback::{self, Kind};
use super::{Packet, packet_type};
use crate::Error;
use crate::bytes::{take, u16_at, u24_at};
use chunk::{Chunk, Symbol};
use seaway_units::TimeDelta;

const KIND: Kind =
    Kind { packet_type: packet_type::RTPFB, format: feedback::TWCC, name: "transport-wide feedback" };

mod field {
    pub(super) const BASE: usize = 12;
    pub(super) const STATUS_COUNT: usize = 14;
    pub(super) const REFERENCE: usize = 16;
    pub(super) const FEEDBACK_COUNT: usize = 19;
    pub(super) const CHUNKS: usize = 20;
}

/// Unit of a delta.
const TICK: TimeDelta = TimeDelta::from_micros(250);
/// Ticks in a unit of the reference time, 64 ms.
const TICKS_PER_REFERENCE: i64 = 256;

/// A feedback packet; [`TwccWriter`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twcc<'a> {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// One of the streams it is about.
    pub media_ssrc: u32,
    /// Transport-wide sequence number of the first packet reported.
    pub base_sequence: u16,
    /// Number of packets reported.
    pub status_count: u16,
    /// Counts feedback packets, modulo 256.
    pub feedback_count: u8,
    /// 24 bits, signed, in 64 ms.
    reference: i32,
    chunks: &'a [u8],
    deltas: &'a [u8],
}

impl<'a> Twcc<'a> {
    /// Arrival times are known modulo this span, 12.4 days.
    pub const WRAP: TimeDelta = TimeDelta::from_millis(64 << 24);

    /// Reads a packet and checks that every status has its chunk and its delta.
    ///
    /// # Errors
    /// Another type or format, chunks or deltas beyond the end, or the reserved symbol.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let (sender_ssrc, media_ssrc, bytes) = KIND.parse(packet, field::CHUNKS - feedback::field::FCI)?;
        let status_count = u16_at(bytes, field::STATUS_COUNT);
        let (chunks_len, deltas_len) = measure(bytes, status_count.into())?;
        Ok(Self {
            sender_ssrc,
            media_ssrc,
            base_sequence: u16_at(bytes, field::BASE),
            status_count,
            feedback_count: bytes[field::FEEDBACK_COUNT],
            // Sign-extend the 24 bits.
            reference: (u24_at(bytes, field::REFERENCE) << 8) as i32 >> 8,
            chunks: &bytes[field::CHUNKS..field::CHUNKS + chunks_len],
            deltas: take(bytes, field::CHUNKS + chunks_len, deltas_len, "receive deltas")?,
        })
    }

    /// Each sequence number, and when it came by the reporter's clock, modulo [`Self::WRAP`]; `None` where it
    /// had not come, or was reported before.
    pub fn packets(&self) -> impl Iterator<Item = (u16, Option<TimeDelta>)> + use<'a> {
        let mut ticks = i64::from(self.reference) * TICKS_PER_REFERENCE;
        let mut deltas = self.deltas;
        let mut sequence = self.base_sequence;
        let symbols = self.chunks.chunks_exact(2).flat_map(|chunk| Chunk(u16_at(chunk, 0)).symbols());
        symbols.take(self.status_count.into()).map(move |symbol| {
            let number = sequence;
            sequence = sequence.wrapping_add(1);
            // Checked by `parse`: there is a delta for every symbol that has one.
            let (delta, rest) = symbol.split_delta(deltas).unwrap_or((None, &[]));
            deltas = rest;
            (
                number,
                delta.map(|delta| {
                    ticks += i64::from(delta);
                    TICK * ticks
                }),
            )
        })
    }
}

/// Octets of the chunks that hold `count` symbols, and of the deltas they announce.
fn measure(bytes: &[u8], count: usize) -> Result<(usize, usize), Error> {
    let (mut at, mut left, mut deltas) = (field::CHUNKS, count, 0);
    while left > 0 {
        let chunk = Chunk(u16_at(take(bytes, at, 2, "packet status chunk")?, 0));
        for symbol in chunk.runs() {
            let run = symbol.1.min(left);
            if symbol.0 == Symbol::Reserved && run > 0 {
                let expected = "no reserved symbol";
                let seen = chunk.0.into();
                return Err(Error::Invalid { field: "packet status chunk", offset: at, seen, expected });
            }
            deltas += run * symbol.0.delta_len();
            left -= run;
        }
        at += 2;
    }
    Ok((at - field::CHUNKS, deltas))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.1: symbols behind the last status are ignored, be they the reserved one. 0xDFFF is one small delta and six of it.
    #[test]
    fn symbols_behind_the_last_status_are_ignored() {
        let mut octets = [0; 24];
        octets[..4].copy_from_slice(&[0x8F, 205, 0, 5]);
        octets[12..].copy_from_slice(&[0, 7, 0, 1, 0, 0, 1, 0, 0xDF, 0xFF, 4, 0]);
        let report = Twcc::parse(Packet::parse(&octets).unwrap().0).unwrap();
        assert!(report.packets().eq([(7, Some(TimeDelta::from_millis(65)))]), "64 ms and four ticks");
        octets[15] = 2;
        assert!(Twcc::parse(Packet::parse(&octets).unwrap().0).is_err(), "the second is reserved");
    }

    #[test]
    fn a_report_without_its_head_is_refused() {
        for len in [12, 16] {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&[0x8F, 205, 0, len / 4 - 1]);
            let packet = Packet::parse(&octets[..usize::from(len)]).unwrap().0;
            assert!(Twcc::parse(packet).is_err(), "{len} octets");
        }
    }
}
