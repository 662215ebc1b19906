//! Interframe spaces, contention windows and limits of the medium access (`docs/models/wlan.md`, section "MAC
//! constants").

use crate::wlan::config::AccessCategory;
use crate::wlan::mode::{Band, MICRO, Mode, Nanos, Standard, octets};

/// What all devices of a cell agree on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) sifs: Nanos,
    pub(crate) slot: Nanos,
    /// From the end of a PPDU to the instant its response is missed.
    pub(crate) response_timeout: Nanos,
    /// What a failed reception adds to the wait.
    pub(crate) eifs: Nanos,
    /// How long a beacon is, for a network's name of five letters.
    pub(crate) beacon_octets: u32,
    /// The signal extension of OFDM at 2.4 GHz.
    pub(crate) extension: Nanos,
}

/// How long it takes until a transmission is noticed (2.6).
pub(crate) const NOTICE: Nanos = 4 * MICRO;
/// A response whose header was read is missed this long after its end (3.2.9).
pub(crate) const AFTER_RESPONSE: Nanos = 400;
/// The longest PPDU with more than one frame.
pub(crate) const LONGEST: Nanos = 5_484 * MICRO;

impl Timing {
    pub(crate) fn new(standard: Standard, band: Band) -> Self {
        let lowest = lowest_mode(band);
        let sifs = if band == Band::Ghz5 { 16 } else { 10 } * MICRO;
        let slot = if standard == Standard::B { 20 } else { 9 } * MICRO;
        let preamble = if standard == Standard::B { 192 } else { 20 } * MICRO;
        let beacon_octets = match (standard, band) {
            (Standard::Ac, _) => 163,
            (Standard::N, Band::Ghz5) => 135,
            (Standard::N, Band::Ghz2) => 145,
            (Standard::A, _) => 57,
            (Standard::G, _) => 69,
            (Standard::B, _) => 56,
        };
        Self {
            sifs,
            slot,
            response_timeout: sifs + slot + preamble,
            eifs: sifs + lowest.duration(u64::from(octets::ACK)),
            beacon_octets,
            extension: if standard == Standard::B { 0 } else { mode_extension(band) },
        }
    }
}

const fn mode_extension(band: Band) -> Nanos {
    match band {
        Band::Ghz2 => 6 * MICRO,
        Band::Ghz5 => 0,
    }
}

/// The mode of beacons.
pub(crate) fn lowest_mode(band: Band) -> Mode {
    let mode = match band {
        Band::Ghz2 => Mode::dsss(1_000_000, false),
        Band::Ghz5 => Mode::legacy(6_000_000),
    };
    mode.expect("the lowest rate of each band")
}

/// How a queue contends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) window_min: u32,
    pub(crate) window_max: u32,
    /// Slots after SIFS before counting begins.
    pub(crate) aifsn: u32,
    /// How long one access may last; zero: one exchange.
    pub(crate) limit: Nanos,
    pub(crate) aggregates: bool,
    /// Counts as EDCA does, not as DCF.
    pub(crate) is_qos: bool,
}

impl Access {
    /// Of data in a cell of this standard.
    pub(crate) const fn data(standard: Standard, category: AccessCategory) -> Self {
        let low = if matches!(standard, Standard::B) { 31 } else { 15 };
        let high = 1023;
        if !standard.is_qos() {
            let (window_min, window_max) = (low, high);
            return Self { window_min, window_max, aifsn: 2, limit: 0, aggregates: false, is_qos: false };
        }
        let slots = low + 1;
        let (window_min, window_max, aifsn, limit, aggregates) = match category {
            AccessCategory::Voice => (slots / 4 - 1, slots / 2 - 1, 2, 2_080, false),
            AccessCategory::Video => (slots / 2 - 1, low, 2, 4_096, true),
            AccessCategory::BestEffort => (low, high, 3, 0, true),
            AccessCategory::Background => (low, high, 7, 0, false),
        };
        Self { window_min, window_max, aifsn, limit: limit * MICRO, aggregates, is_qos: true }
    }

    /// Of beacons.
    pub(crate) const BEACON: Self =
        Self { window_min: 0, window_max: 0, aifsn: 1, limit: 0, aggregates: false, is_qos: false };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/models/wlan.md`, sections "MAC constants" and "Beacons and association".
    #[test]
    fn constants_of_the_table() {
        let ac = Timing::new(Standard::Ac, Band::Ghz5);
        assert_eq!((ac.sifs, ac.slot, ac.eifs, ac.response_timeout), (16_000, 9_000, 60_000, 45_000));
        let beacon = |timing: Timing, band| lowest_mode(band).duration(u64::from(timing.beacon_octets));
        assert_eq!(beacon(ac, Band::Ghz5), 244_000);
        let n = Timing::new(Standard::N, Band::Ghz2);
        assert_eq!(
            (n.sifs, n.eifs, n.response_timeout, beacon(n, Band::Ghz2)),
            (10_000, 314_000, 39_000, 1_352_000)
        );
        let b = Timing::new(Standard::B, Band::Ghz2);
        assert_eq!(
            (b.slot, b.eifs, b.response_timeout, beacon(b, Band::Ghz2)),
            (20_000, 314_000, 222_000, 640_000)
        );
        assert_eq!(beacon(Timing::new(Standard::N, Band::Ghz5), Band::Ghz5), 204_000);
        let video = Access::data(Standard::Ac, AccessCategory::Video);
        assert_eq!((video.window_min, video.window_max, video.aifsn), (7, 15, 2));
        let voice = Access::data(Standard::N, AccessCategory::Voice);
        assert_eq!((voice.window_min, voice.window_max), (3, 7));
    }
}
