//! Arrival times of the input's packets, by its program clock references (PCR).

use std::collections::VecDeque;

use super::packet::{PCR_WRAP, Packet};

/// A longer interval between two references is a jump of the clock: 0.3 s at 27 MHz, where 0.1 s is allowed. It also
/// bounds the gap that a damaged reference can cause.
const LONGEST_INTERVAL: i64 = 27_000 * 300;

/// A time stamp further from the present is ignored: 10 s.
const FAR: i64 = 10 * 27_000_000;

/// A packet with its arrival time in ticks of 27 MHz, on a time line without jumps and with any origin.
#[derive(Debug)]
pub(super) struct TimedPacket {
    pub(super) packet: Packet,
    pub(super) video_bytes: u64,
    pub(super) at: i64,
}

/// A packet with a clock reference.
#[derive(Clone, Copy, Debug)]
struct PcrSample {
    index: i64,
    at: i64,
    reference: u64,
}

/// Gives packets their times: between two references by interpolation (ISO/IEC 13818-1, 2.4.2.2), before the first and
/// after the last by the nearest rate.
#[derive(Debug, Default)]
pub(super) struct PcrClock {
    pid: Option<u16>,
    untimed: VecDeque<(Packet, u64)>,
    /// Packets taken so far.
    count: i64,
    anchor: Option<PcrSample>,
    /// Ticks and packets between the last two references.
    rate: Option<(i64, i64)>,
    pub(super) discontinuities: u64,
}

impl PcrClock {
    pub(super) fn follow(&mut self, pid: u16) {
        self.pid = Some(pid);
    }

    /// Number of packets that wait for the next reference.
    pub(super) fn waiting(&self) -> usize {
        self.untimed.len()
    }

    /// Takes the next packet; calls `timed` for packets whose time is known now.
    pub(super) fn push(&mut self, packet: Packet, video_bytes: u64, mut timed: impl FnMut(TimedPacket)) {
        if let Some(reference) = packet.pcr().filter(|_| self.pid == Some(packet.pid())) {
            self.reference(reference, packet.discontinuity(), &mut timed);
        }
        self.untimed.push_back((packet, video_bytes));
        self.count += 1;
    }

    /// The stream has ended: the rest is timed by the last rate. False where no rate is known.
    pub(super) fn finish(&mut self, timed: impl FnMut(TimedPacket)) -> bool {
        self.rate.is_some() && {
            self.release(timed);
            true
        }
    }

    fn reference(&mut self, reference: u64, marked: bool, timed: &mut impl FnMut(TimedPacket)) {
        let mut next = PcrSample { index: self.count, at: 0, reference };
        if let Some(last) = self.anchor {
            let ticks = (reference + PCR_WRAP - last.reference) % PCR_WRAP;
            if !marked && (1..=LONGEST_INTERVAL as u64).contains(&ticks) {
                self.rate = Some((ticks as i64, self.count - last.index));
                next.at = last.at + ticks as i64;
            } else {
                self.discontinuities += 1;
                next.at = self.time(self.count).unwrap_or(0);
            }
            self.release(timed);
        }
        self.anchor = Some(next);
    }

    fn time(&self, index: i64) -> Option<i64> {
        let (anchor, (ticks, packets)) = (self.anchor?, self.rate?);
        let since = i128::from(index - anchor.index) * i128::from(ticks) / i128::from(packets);
        Some(anchor.at + since.min(LONGEST_INTERVAL.into()) as i64)
    }

    fn release(&mut self, mut timed: impl FnMut(TimedPacket)) {
        let first = self.count - self.untimed.len() as i64;
        if self.rate.is_none() {
            return;
        }
        for index in first..self.count {
            let Some(((packet, video_bytes), at)) = self.untimed.pop_front().zip(self.time(index)) else {
                return;
            };
            timed(TimedPacket { packet, video_bytes, at });
        }
    }

    /// The time of a time stamp of 90 kHz; `None` far from the present.
    pub(super) fn place(&self, time_stamp: u64) -> Option<i64> {
        let anchor = self.anchor?;
        let ticks = (time_stamp * 300 + PCR_WRAP - anchor.reference) % PCR_WRAP;
        let signed = if ticks > PCR_WRAP / 2 { ticks as i64 - PCR_WRAP as i64 } else { ticks as i64 };
        (signed.abs() <= FAR).then_some(anchor.at + signed)
    }
}
