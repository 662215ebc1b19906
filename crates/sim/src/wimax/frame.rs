//! The OFDMA TDD frame and its slots (`docs/models/wimax.md`, section "Frame").

use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use serde::Deserialize;

/// Sampling frequency over 100 kHz: 28/25 of 10 MHz.
const SAMPLES_PER_10_US: u64 = 112;
/// FFT of 1024 and a cyclic prefix of one eighth.
const SYMBOL: u64 = 1024 + 1024 / 8;
/// Transmit to receive transition gap: 296 physical slots of four samples.
const TTG: u64 = 296 * 4;
/// Receive to transmit transition gap: 168 physical slots of four samples.
const RTG: u64 = 168 * 4;
/// A slot of the uplink is one subchannel by three symbols.
const UPLINK_SLOT: u32 = 3;
const UPLINK_SUBCHANNELS: u32 = 35;
/// A slot of the downlink is one subchannel by two symbols; the first symbol is the preamble.
const DOWNLINK_SLOT: u32 = 2;
const DOWNLINK_SUBCHANNELS: u32 = 30;

/// A TDD frame of 10 MHz: downlink, gap, uplink, gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    duration: TimeDelta,
    downlink: u32,
    uplink: u32,
}

impl Frame {
    /// A frame whose usable symbols are split as `downlink` to `uplink`, the uplink rounded to a multiple of three
    /// symbols. `None` where either has no slot.
    pub fn with_ratio(duration: TimeDelta, downlink: u32, uplink: u32) -> Option<Self> {
        let symbols = Self::usable_symbols(duration)?;
        let whole = u64::from(downlink) + u64::from(uplink);
        let share = u64::from(symbols) * u64::from(uplink);
        let slots = nearest(share, whole * u64::from(UPLINK_SLOT))?;
        let uplink = u32::try_from(slots).ok()?.checked_mul(UPLINK_SLOT)?;
        Self::with_symbols(duration, symbols.checked_sub(uplink)?, uplink)
    }

    /// A frame of so many symbols each way. `None` where they do not fit, where the uplink's are no multiple of three,
    /// or where either has no slot.
    pub fn with_symbols(duration: TimeDelta, downlink: u32, uplink: u32) -> Option<Self> {
        let fits = downlink.checked_add(uplink)? <= Self::usable_symbols(duration)?;
        let has_slots =
            downlink > DOWNLINK_SLOT && uplink >= UPLINK_SLOT && uplink.is_multiple_of(UPLINK_SLOT);
        (fits && has_slots).then_some(Self { duration, downlink, uplink })
    }

    /// Symbols between the gaps; `None` where the frame is too short for them.
    pub fn usable_symbols(duration: TimeDelta) -> Option<u32> {
        let samples = u64::try_from(duration.as_nanos()).ok()?.checked_mul(SAMPLES_PER_10_US)? / 10_000;
        u32::try_from(samples.checked_sub(TTG + RTG)? / SYMBOL).ok()
    }

    /// From one frame to the next.
    pub const fn duration(self) -> TimeDelta {
        self.duration
    }

    /// Symbols of downlink and uplink.
    pub const fn symbols(self) -> (u32, u32) {
        (self.downlink, self.uplink)
    }

    /// Slots of the uplink in a frame.
    pub const fn uplink_slots(self) -> u32 {
        UPLINK_SUBCHANNELS * (self.uplink / UPLINK_SLOT)
    }

    /// Slots of the downlink in a frame, the preamble left out.
    pub const fn downlink_slots(self) -> u32 {
        DOWNLINK_SUBCHANNELS * ((self.downlink - 1) / DOWNLINK_SLOT)
    }

    /// From the start of the frame to the end of the downlink.
    pub fn downlink_end(self) -> TimeDelta {
        samples(u64::from(self.downlink) * SYMBOL)
    }

    /// From the start of the frame to the start of the uplink: what arrives from then on waits for the next frame.
    pub fn uplink_start(self) -> TimeDelta {
        samples(u64::from(self.downlink) * SYMBOL + TTG)
    }

    /// From the start of the frame to the end of the uplink, when what was sent in it has arrived.
    pub fn uplink_end(self) -> TimeDelta {
        samples(u64::from(self.downlink + self.uplink) * SYMBOL + TTG)
    }

    /// When frame `index` begins.
    pub(super) fn start(self, index: u64) -> Timestamp {
        Timestamp::from_nanos(index.saturating_mul(self.duration.as_nanos().unsigned_abs()))
    }

    /// The frame that `now` falls into.
    pub(super) fn index(self, now: Timestamp) -> u64 {
        now.as_nanos() / self.duration.as_nanos().unsigned_abs().max(1)
    }

    /// What so many octets a frame make.
    pub fn rate(self, octets: u64) -> Bitrate {
        DataSize::from_bytes(octets).over(self.duration).unwrap_or(Bitrate::ZERO)
    }

    /// What fits into a frame at this rate.
    pub fn octets(self, rate: Bitrate) -> u64 {
        rate.size_in(self.duration).as_bytes()
    }
}

/// The whole number nearest to `a / b`; `None` where `b` is zero.
fn nearest(a: u64, b: u64) -> Option<u64> {
    (2 * a + b).checked_div(2 * b)
}

/// Samples at 11.2 MHz as a time.
fn samples(count: u64) -> TimeDelta {
    TimeDelta::from_nanos((count * 10_000).div_euclid(SAMPLES_PER_10_US) as i64)
}

/// Modulation and coding of a station; a slot has 48 data subcarriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "constellation and code rate say it all")]
pub enum Modulation {
    #[serde(rename = "qpsk-1/2")]
    Qpsk12,
    #[serde(rename = "qpsk-3/4")]
    Qpsk34,
    #[serde(rename = "16-qam-1/2")]
    Qam16R12,
    #[serde(rename = "16-qam-3/4")]
    Qam16R34,
    #[serde(rename = "64-qam-1/2")]
    Qam64R12,
    #[serde(rename = "64-qam-2/3")]
    Qam64R23,
    #[serde(rename = "64-qam-3/4")]
    Qam64R34,
    #[serde(rename = "64-qam-5/6")]
    Qam64R56,
}

impl Modulation {
    /// Octets that a slot carries.
    pub const fn octets_per_slot(self) -> u64 {
        match self {
            Self::Qpsk12 => 6,
            Self::Qpsk34 => 9,
            Self::Qam16R12 => 12,
            Self::Qam16R34 | Self::Qam64R12 => 18,
            Self::Qam64R23 => 24,
            Self::Qam64R34 => 27,
            Self::Qam64R56 => 30,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: TimeDelta = TimeDelta::from_millis(5);

    fn micros(span: TimeDelta) -> f64 {
        span.as_nanos() as f64 / 1e3
    }

    #[test]
    fn section_1_symbols_slots_and_times() {
        assert_eq!(Frame::usable_symbols(FRAME), Some(47));
        let frame = Frame::with_ratio(FRAME, 1, 3).unwrap();
        assert_eq!(frame.symbols(), (11, 36));
        assert_eq!((frame.uplink_slots(), frame.downlink_slots()), (420, 150));
        assert!((micros(frame.downlink_end()) - 1131.4).abs() < 0.05);
        assert!((micros(frame.uplink_start()) - 1237.1).abs() < 0.05);
        assert!((micros(frame.uplink_end()) - 4940.0).abs() < 0.001);
        assert_eq!(Frame::with_symbols(FRAME, 14, 33).unwrap().uplink_slots(), 385);
        assert_eq!(Frame::with_ratio(FRAME, 1, 1).unwrap().symbols(), (23, 24));
    }

    #[test]
    fn section_1_net_uplink_rates() {
        let net = |frame: Frame, modulation: Modulation| {
            frame.rate(u64::from(frame.uplink_slots() - 6) * modulation.octets_per_slot()).as_bps()
        };
        let frame = Frame::with_ratio(FRAME, 1, 3).unwrap();
        assert_eq!(net(frame, Modulation::Qpsk12), 3_974_400);
        assert_eq!(net(frame, Modulation::Qpsk34), 5_961_600);
        assert_eq!(net(frame, Modulation::Qam16R12), 7_948_800);
        assert_eq!(net(frame, Modulation::Qam64R34), 17_884_800);
        assert_eq!(net(Frame::with_symbols(FRAME, 14, 33).unwrap(), Modulation::Qpsk12), 3_638_400);
    }

    #[test]
    fn frames_that_cannot_be_are_refused() {
        for (downlink, uplink) in [(0, 3), (3, 0), (11, 37), (12, 36), (2, 36), (u32::MAX, 3)] {
            assert_eq!(Frame::with_symbols(FRAME, downlink, uplink), None, "{downlink}:{uplink}");
        }
        assert_eq!(Frame::with_ratio(FRAME, 0, 0), None);
        assert_eq!(Frame::with_ratio(FRAME, 1, 0), None);
        assert_eq!(Frame::with_ratio(TimeDelta::from_micros(100), 1, 1), None);
        assert_eq!(Frame::with_ratio(TimeDelta::ZERO, 1, 1), None);
    }
}
