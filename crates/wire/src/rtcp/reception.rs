//! The report block of sender and receiver reports (RFC 3550 section 6.4.1).

use crate::bytes::{put_u24, put_u32, u24_at, u32_at};
use crate::{NtpShort, Record};
use seaway_units::TimeDelta;

/// Reception of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// Lost packets of those expected since the last report, in 1/256, rounded down.
    pub fraction_lost: u8,
    /// Expected less received since the start; negative with duplicates. Written clamped to 24 bits.
    pub cumulative_lost: i32,
    /// Highest sequence number received, extended by the number of its wraps.
    pub highest_sequence: u32,
    /// Interarrival jitter in timestamp units.
    pub jitter: u32,
    /// LSR: the middle bits of the last sender report's time. `None` (zero) where none came.
    pub last_sender_report: Option<NtpShort>,
    /// DLSR: how long ago that report came.
    pub delay_since_last: NtpShort,
}

mod field {
    pub(super) const SSRC: usize = 0;
    pub(super) const FRACTION: usize = 4;
    pub(super) const CUMULATIVE: usize = 5;
    pub(super) const HIGHEST: usize = 8;
    pub(super) const JITTER: usize = 12;
    pub(super) const LAST_SR: usize = 16;
    pub(super) const DELAY: usize = 20;
}

const MAX_CUMULATIVE: i32 = (1 << 23) - 1;

impl ReportBlock {
    /// `fraction_lost` of an interval: 0 where more came than expected, 255 at most.
    pub fn fraction_of(expected: u32, received: u32) -> u8 {
        let lost = u64::from(expected.saturating_sub(received));
        (lost * 256).checked_div(u64::from(expected)).map_or(0, |fraction| fraction.min(255) as u8)
    }

    /// Round-trip time where this block arrives at `now`, on the clock of the sender reports. `None` where
    /// the peer saw no sender report, or claims to have waited longer than the report is old.
    pub fn round_trip(&self, now: NtpShort) -> Option<TimeDelta> {
        let since_report = now.since(self.last_sender_report?);
        let rtt = since_report - self.delay_since_last.to_span();
        (!rtt.is_negative()).then_some(rtt)
    }
}

impl Record for ReportBlock {
    const SIZE: usize = 24;

    fn read(bytes: &[u8]) -> Self {
        let last = u32_at(bytes, field::LAST_SR);
        Self {
            ssrc: u32_at(bytes, field::SSRC),
            fraction_lost: bytes[field::FRACTION],
            // Sign-extend the 24 bits.
            cumulative_lost: (u24_at(bytes, field::CUMULATIVE) << 8) as i32 >> 8,
            highest_sequence: u32_at(bytes, field::HIGHEST),
            jitter: u32_at(bytes, field::JITTER),
            last_sender_report: (last != 0).then_some(NtpShort::from_bits(last)),
            delay_since_last: NtpShort::from_bits(u32_at(bytes, field::DELAY)),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        let cumulative = self.cumulative_lost.clamp(-MAX_CUMULATIVE - 1, MAX_CUMULATIVE);
        put_u32(bytes, field::SSRC, self.ssrc);
        bytes[field::FRACTION] = self.fraction_lost;
        put_u24(bytes, field::CUMULATIVE, cumulative as u32);
        put_u32(bytes, field::HIGHEST, self.highest_sequence);
        put_u32(bytes, field::JITTER, self.jitter);
        put_u32(bytes, field::LAST_SR, self.last_sender_report.map_or(0, NtpShort::bits));
        put_u32(bytes, field::DELAY, self.delay_since_last.bits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_of_rfc_3550_figure_2() {
        let block = ReportBlock {
            last_sender_report: Some(NtpShort::from_bits(0xB705_2000)),
            delay_since_last: NtpShort::from_bits(0x0005_4000),
            ..ReportBlock::default()
        };
        let rtt = block.round_trip(NtpShort::from_bits(0xB710_8000)).unwrap();
        assert_eq!(rtt, TimeDelta::from_millis(6_125));
        assert_eq!(ReportBlock::default().round_trip(NtpShort::from_bits(5)), None);
        assert_eq!(block.round_trip(NtpShort::from_bits(0xB706_0000)), None, "waited longer than it is old");
    }

    #[test]
    fn fraction_lost() {
        for ((expected, received), fraction) in
            [((0, 0), 0), ((100, 75), 64), ((3, 2), 85), ((10, 0), 255), ((10, 12), 0), ((u32::MAX, 0), 255)]
        {
            assert_eq!(ReportBlock::fraction_of(expected, received), fraction, "{received} of {expected}");
        }
    }

    #[test]
    fn cumulative_loss_is_signed_and_clamped() {
        for (lost, written) in
            [(-1, -1), (8_388_607, 8_388_607), (8_388_608, 8_388_607), (i32::MIN, -8_388_608)]
        {
            let mut bytes = [0; 24];
            ReportBlock { cumulative_lost: lost, ..ReportBlock::default() }.write(&mut bytes);
            assert_eq!(ReportBlock::read(&bytes).cumulative_lost, written);
        }
    }
}
