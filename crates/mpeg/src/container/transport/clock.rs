//! When each packet of the input arrives, told by the program clock references among them.

use std::collections::VecDeque;

use super::packet::{PCR_WRAP, Packet};

/// Two references further apart are a jump of the clock: 0.3 s at 27 MHz, where 0.1 s is lawful. It also bounds
/// how long a silence a damaged reference can feign.
const LONGEST_INTERVAL: i64 = 27_000 * 300;

/// A time stamp further from the present is none, ten seconds.
const FAR: i64 = 10 * 27_000_000;

/// A packet with its time: ticks of 27 MHz, on a line that has no jumps and starts anywhere.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) packet: Packet,
    pub(super) video_bytes: u64,
    pub(super) at: i64,
}

/// A packet whose clock reference was read.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    index: i64,
    at: i64,
    reference: u64,
}

/// Times packets: those between two references by interpolation (ISO/IEC 13818-1, 2.4.2.2), those before the
/// first and after the last at the rate next to them.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pid: Option<u16>,
    untimed: VecDeque<(Packet, u64)>,
    /// Packets taken so far.
    count: i64,
    anchor: Option<Anchor>,
    /// Ticks and packets between the last two references.
    pace: Option<(i64, i64)>,
    pub(super) discontinuities: u64,
}

impl Clock {
    /// The references are in packets of this PID.
    pub(super) fn follow(&mut self, pid: u16) {
        self.pid = Some(pid);
    }

    /// Packets that wait for the next reference.
    pub(super) fn waiting(&self) -> usize {
        self.untimed.len()
    }

    /// Takes the next packet, and gives those whose time is known now.
    pub(super) fn push(&mut self, packet: Packet, video_bytes: u64, mut timed: impl FnMut(Timed)) {
        if let Some(reference) = packet.pcr().filter(|_| self.pid == Some(packet.pid())) {
            self.reference(reference, packet.discontinuity(), &mut timed);
        }
        self.untimed.push_back((packet, video_bytes));
        self.count += 1;
    }

    /// Nothing follows: the rest goes at the last rate. False where no rate is known.
    pub(super) fn finish(&mut self, timed: impl FnMut(Timed)) -> bool {
        self.pace.is_some() && {
            self.release(timed);
            true
        }
    }

    fn reference(&mut self, reference: u64, marked: bool, timed: &mut impl FnMut(Timed)) {
        let mut next = Anchor { index: self.count, at: 0, reference };
        if let Some(last) = self.anchor {
            let ticks = (reference + PCR_WRAP - last.reference) % PCR_WRAP;
            if !marked && (1..=LONGEST_INTERVAL as u64).contains(&ticks) {
                self.pace = Some((ticks as i64, self.count - last.index));
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
        let (anchor, (ticks, packets)) = (self.anchor?, self.pace?);
        let since = i128::from(index - anchor.index) * i128::from(ticks) / i128::from(packets);
        Some(anchor.at + since.min(LONGEST_INTERVAL.into()) as i64)
    }

    fn release(&mut self, mut timed: impl FnMut(Timed)) {
        let first = self.count - self.untimed.len() as i64;
        if self.pace.is_none() {
            return;
        }
        for index in first..self.count {
            let Some(((packet, video_bytes), at)) = self.untimed.pop_front().zip(self.time(index)) else {
                return;
            };
            timed(Timed { packet, video_bytes, at });
        }
    }

    /// A time stamp of 90 kHz on the line of the packets; `None` far from the present.
    pub(super) fn place(&self, time_stamp: u64) -> Option<i64> {
        let anchor = self.anchor?;
        let ticks = (time_stamp * 300 + PCR_WRAP - anchor.reference) % PCR_WRAP;
        let signed = if ticks > PCR_WRAP / 2 { ticks as i64 - PCR_WRAP as i64 } else { ticks as i64 };
        (signed.abs() <= FAR).then_some(anchor.at + signed)
    }
}
