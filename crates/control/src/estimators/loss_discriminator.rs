//! Was a packet lost to congestion, or on the channel? (Cen, Cosman and Voelker; Biaz and Vaidya; Tobe et al.)
//!
//! The receiver looks at the packet that ends a gap: at how long after its predecessor it came, and at its
//! relative one-way trip time. A loss of the channel is then left out of the loss event rate.

use super::BaseDelay;
use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp, Transit};
use std::str::FromStr;

/// Which scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    /// Biaz: on the channel where the packet came as late as its slot, up to this many slots more than were
    /// lost (Biaz 2, mBiaz 1.25).
    Biaz(f64),
    /// Spike: on the channel while the trip time is not in a spike; it begins above this part of the range
    /// between least and most, and ends below that one.
    Spike(f64, f64),
    /// ZigZag: on the channel where the trip time is below its mean by a number of deviations that falls with
    /// the number of losses.
    ZigZag,
    /// ZBS: chooses among Spike, ZigZag and mBiaz by how many flows seem to share the slowest link.
    Zbs,
    /// Trend: on the channel while the trip time mostly does not rise.
    Trend,
    /// Oracle: on the channel where explicit loss notification says so, the upper bound for every scheme.
    Oracle,
}

impl Scheme {
    /// Spike with the bounds that VTP is said to use: from memory, unverified.
    pub const VTP: Self = Self::Spike(0.4, 0.05);
}

impl FromStr for Scheme {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "biaz" => Ok(Self::Biaz(BIAZ)),
            "mbiaz" => Ok(Self::Biaz(MBIAZ)),
            "spike" => Ok(Self::Spike(0.5, 1.0 / 3.0)),
            "vtp" => Ok(Self::VTP),
            "zigzag" => Ok(Self::ZigZag),
            "zbs" => Ok(Self::Zbs),
            "trend" => Ok(Self::Trend),
            "oracle" => Ok(Self::Oracle),
            _ => Err("no such scheme"),
        }
    }
}

/// Upper bounds in slots more than were lost.
const BIAZ: f64 = 2.0;
const MBIAZ: f64 = 1.25;
/// ZigZag's and Trend's gains.
const ZIGZAG_GAIN: f64 = 1.0 / 32.0;
const TREND_GAIN: f64 = 1.0 / 30.0;
/// Trend's threshold.
const RISING: f64 = 0.4;
/// Notified losses that are remembered, and more than the packets of a gap that is judged.
const RECENT_LOSSES: usize = 32;
/// The least interval and the longest trip are those of the present span of this length and of so many in all: a path
/// changes, and what an older network showed must not decide for ever, nor longer for a change at another instant.
const SPAN: TimeDelta = TimeDelta::from_millis(2500);
const SPANS: usize = 15;
/// The least trip is that of eight longer spans: only a queue that never drains, or another route, could raise it.
const BASE_SPAN: TimeDelta = TimeDelta::from_secs(25);
const BASE_SPANS: usize = 8;
/// What a slot takes off the mean of slots in ZBS.
const ZBS_KEEP: f64 = 0.875;

/// Classifies the losses of one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossDiscriminator {
    scheme: Scheme,
    /// Number, arrival in seconds and trip time in seconds of the newest packet.
    last: Option<(u64, f64, f64)>,
    /// Trip times count from the first one.
    origin: Option<i128>,
    least_interval: f64,
    base: BaseDelay<BASE_SPANS>,
    least_trip: f64,
    most_trip: f64,
    /// By spans, the present one first.
    spans: [Extremes; SPANS],
    /// When the present span began.
    present_from: Timestamp,
    in_spike: bool,
    mean: f64,
    deviation: f64,
    mean_slot: f64,
    rising: f64,
    /// Numbers that the channel is known to have lost, the oldest overwritten.
    recent_losses: [u64; RECENT_LOSSES],
    next_loss: usize,
}

/// The least interval and the longest trip of a span.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Extremes {
    interval: f64,
    trip: f64,
}

impl Extremes {
    const NONE: Self = Self { interval: f64::INFINITY, trip: f64::NEG_INFINITY };

    fn with(self, other: Self) -> Self {
        Self { interval: self.interval.min(other.interval), trip: self.trip.max(other.trip) }
    }
}

impl LossDiscriminator {
    /// Nothing seen.
    pub const fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            last: None,
            origin: None,
            least_interval: f64::INFINITY,
            base: BaseDelay::new(BASE_SPAN),
            least_trip: 0.0,
            most_trip: f64::NEG_INFINITY,
            spans: [Extremes::NONE; SPANS],
            present_from: Timestamp::ZERO,
            in_spike: false,
            mean: 0.0,
            deviation: 0.0,
            mean_slot: 0.0,
            rising: 0.0,
            recent_losses: [u64::MAX; RECENT_LOSSES],
            next_loss: 0,
        }
    }

    /// A link says that the channel lost packet `sequence`.
    pub fn on_notice(&mut self, sequence: u64) {
        self.recent_losses[self.next_loss] = sequence;
        self.next_loss = (self.next_loss + 1) % RECENT_LOSSES;
    }

    /// Packet `sequence` arrived at `now`, having left at `sent` on the sender's clock. Answers whether what is
    /// missing before it was lost on the channel; false where nothing is. Late and duplicate packets change nothing.
    pub fn on_arrival(&mut self, now: Timestamp, sequence: u64, sent: RemoteTimestamp) -> bool {
        let raw = i128::from(now.as_nanos()) - i128::from(sent.as_nanos());
        let trip = (raw - *self.origin.get_or_insert(raw)) as f64 / 1e9;
        // The clocks change places here: it is their difference that counts.
        let departure = Timestamp::from_nanos(sent.as_nanos());
        let transit = RemoteTimestamp::from_nanos(now.as_nanos()).transit_from(departure);
        let Some((newest, at, former_trip)) = self.last else {
            self.mean = trip;
            self.observe(now, sequence, trip, transit);
            return false;
        };
        if sequence <= newest {
            return false;
        }
        let missing = sequence - newest - 1;
        let interval = (now.as_secs_f64() - at).max(0.0);
        self.age(now);
        if missing == 0 && interval > 0.0 {
            self.least_interval = self.least_interval.min(interval);
            self.spans[0].interval = self.spans[0].interval.min(interval);
        }
        self.mean_slot = ZBS_KEEP * self.mean_slot + (1.0 - ZBS_KEEP) * interval / (missing as f64 + 1.0);
        self.mean += ZIGZAG_GAIN * (trip - self.mean);
        self.deviation += 2.0 * ZIGZAG_GAIN * ((trip - self.mean).abs() - self.deviation);
        self.rising += TREND_GAIN * (f64::from(u8::from(trip > former_trip)) - self.rising);
        self.observe(now, sequence, trip, transit);
        if self.scheme == Scheme::Oracle {
            return missing > 0 && self.all_noticed(newest + 1..sequence);
        }
        missing > 0 && self.on_channel(self.scheme, missing as f64, interval, trip)
    }

    fn all_noticed(&self, mut gap: std::ops::Range<u64>) -> bool {
        gap.end - gap.start <= RECENT_LOSSES as u64 && gap.all(|lost| self.recent_losses.contains(&lost))
    }

    /// Where the present span is over, the oldest is forgotten.
    fn age(&mut self, now: Timestamp) {
        let age = now.since(self.present_from);
        if age < SPAN {
            return;
        }
        let passed = age.as_nanos() / SPAN.as_nanos();
        for _ in 0..passed.min(SPANS as i64) {
            self.spans.copy_within(..SPANS - 1, 1);
            self.spans[0] = Extremes::NONE;
        }
        self.present_from += SPAN * passed;
        let kept = self.spans.iter().copied().fold(Extremes::NONE, Extremes::with);
        (self.least_interval, self.most_trip) = (kept.interval, kept.trip);
    }

    fn observe(&mut self, now: Timestamp, sequence: u64, trip: f64, transit: Transit) {
        self.last = Some((sequence, now.as_secs_f64(), trip));
        self.least_trip = trip - self.base.update(now, transit).as_secs_f64();
        self.most_trip = self.most_trip.max(trip);
        self.spans[0].trip = self.spans[0].trip.max(trip);
        let (enter, leave) =
            if let Scheme::Spike(enter, leave) = self.scheme { (enter, leave) } else { (0.5, 1.0 / 3.0) };
        let range = self.most_trip - self.least_trip;
        if trip > self.least_trip + enter * range {
            self.in_spike = true;
        } else if trip < self.least_trip + leave * range {
            self.in_spike = false;
        }
    }

    fn on_channel(&self, scheme: Scheme, missing: f64, interval: f64, trip: f64) -> bool {
        match scheme {
            Scheme::Biaz(slots) => {
                let slot = self.least_interval;
                slot.is_finite() && (missing + 1.0) * slot <= interval && interval < (missing + slots) * slot
            }
            Scheme::Spike(..) => !self.in_spike,
            Scheme::ZigZag => trip < self.mean - self.deviation * zigzag_deviations(missing),
            Scheme::Zbs => self.on_channel(self.choose(trip), missing, interval, trip),
            Scheme::Trend => self.rising <= RISING,
            Scheme::Oracle => false,
        }
    }

    /// ZBS: `T_avg / T_min` is about the number of flows that share the slowest link.
    fn choose(&self, trip: f64) -> Scheme {
        let flows = self.mean_slot / self.least_interval;
        if trip < self.least_trip + 0.05 * self.least_interval {
            Scheme::Spike(0.5, 1.0 / 3.0)
        } else if flows < 0.875 {
            Scheme::ZigZag
        } else if flows < 1.5 {
            Scheme::Biaz(MBIAZ)
        } else if flows < 2.0 {
            Scheme::ZigZag
        } else {
            Scheme::Spike(0.5, 1.0 / 3.0)
        }
    }
}

/// How many deviations below its mean the trip time must be.
fn zigzag_deviations(missing: f64) -> f64 {
    match missing as u64 {
        1 => 1.0,
        2 => 0.5,
        3 => 0.0,
        _ => -0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds packets with (number, arrival ms, trip ms); the last answer.
    fn feed(scheme: Scheme, packets: &[(u64, f64, f64)]) -> bool {
        let mut discriminator = LossDiscriminator::new(scheme);
        packets.iter().fold(false, |_, packet| arrive(&mut discriminator, *packet))
    }

    fn arrive(discriminator: &mut LossDiscriminator, (sequence, arrival, trip): (u64, f64, f64)) -> bool {
        let nanos = |millis: f64| (millis * 1e6).round() as u64;
        // The peer's clock is an hour ahead: only differences mean anything.
        let sent = RemoteTimestamp::from_nanos(nanos(3.6e6 + arrival - trip));
        discriminator.on_arrival(Timestamp::from_nanos(nanos(arrival)), sequence, sent)
    }

    /// Biaz and mBiaz: packets 10 ms apart, one missing.
    #[test]
    fn biaz_looks_at_the_slot() {
        let gap = |scheme: &str, interval: f64| {
            let start = [(0, 1000.0, 50.0), (1, 1010.0, 50.0), (2, 1020.0, 50.0)];
            let packets: Vec<_> = start.into_iter().chain([(4, 1020.0 + interval, 50.0)]).collect();
            feed(scheme.parse().unwrap(), &packets)
        };
        for (interval, biaz, mbiaz) in
            [(20.0, true, true), (13.0, false, false), (31.0, false, false), (23.0, true, false)]
        {
            assert_eq!((gap("biaz", interval), gap("mbiaz", interval)), (biaz, mbiaz), "{interval} ms");
        }
    }

    /// Spike between 20 and 60 ms: entered above 40, left below 33.3.
    #[test]
    fn spike_has_hysteresis() {
        let scheme = "spike".parse().unwrap();
        let after = |trips: &[f64]| {
            let mut discriminator = LossDiscriminator::new(scheme);
            let trips: Vec<_> = [30.0, 20.0, 60.0, 20.0].into_iter().chain(trips.iter().copied()).collect();
            let mut answer = false;
            for (index, trip) in trips.iter().enumerate() {
                let sequence = 2 * index as u64;
                answer = arrive(&mut discriminator, (sequence, 1000.0 + 10.0 * index as f64, *trip));
            }
            answer
        };
        assert!(after(&[39.0]), "not above 40: no spike, so the channel");
        assert!(!after(&[41.0]));
        assert!(!after(&[41.0, 34.0]), "not below 33.3 yet");
        assert!(after(&[41.0, 33.0]));
    }

    /// ZigZag with mean 50 and deviation 8: below 42, 46, 50, 54 for one to four losses.
    #[test]
    fn zigzag_thresholds() {
        for (missing, threshold) in [(1.0, 42.0), (2.0, 46.0), (3.0, 50.0), (4.0, 54.0), (9.0, 54.0)] {
            let discriminator =
                LossDiscriminator { mean: 50.0, deviation: 8.0, ..LossDiscriminator::new(Scheme::ZigZag) };
            assert!(discriminator.on_channel(Scheme::ZigZag, missing, 0.0, threshold - 0.01));
            assert!(!discriminator.on_channel(Scheme::ZigZag, missing, 0.0, threshold));
        }
    }

    /// ZigZag's one step: mean 50, deviation 8, trip 82 give 51 and 9.4375.
    #[test]
    fn zigzag_step() {
        let mut discriminator = LossDiscriminator::new(Scheme::ZigZag);
        arrive(&mut discriminator, (0, 1000.0, 0.0));
        (discriminator.mean, discriminator.deviation) = (0.050, 0.008);
        arrive(&mut discriminator, (1, 1100.0, 82.0));
        assert!((discriminator.mean - 0.051).abs() < 1e-12);
        assert!((discriminator.deviation - 0.009_437_5).abs() < 1e-12);
    }

    /// ZBS chooses by how many flows share the link, and Spike on an empty queue; bounds belong above.
    #[test]
    fn zbs_selector() {
        let zigzag = Scheme::ZigZag;
        let (mbiaz, spike) = (Scheme::Biaz(MBIAZ), Scheme::Spike(0.5, 1.0 / 3.0));
        for (flows, scheme) in [
            (0.5, zigzag),
            (0.875, mbiaz),
            (1.0, mbiaz),
            (1.5, zigzag),
            (1.7, zigzag),
            (2.0, spike),
            (3.0, spike),
        ] {
            let discriminator = LossDiscriminator {
                least_interval: 0.01,
                mean_slot: 0.01 * flows,
                least_trip: 0.02,
                most_trip: 0.06,
                ..LossDiscriminator::new(Scheme::Zbs)
            };
            assert_eq!(discriminator.choose(0.05), scheme, "{flows}");
            assert_eq!(discriminator.choose(0.02), spike, "{flows}");
        }
    }

    /// Trend: from nothing the sixteenth rise in a row is the first above 0.4.
    #[test]
    fn trend_counts_rises() {
        let mut discriminator = LossDiscriminator::new(Scheme::Trend);
        for rises in 0..=16u64 {
            arrive(&mut discriminator, (rises, 1000.0 + 20.0 * rises as f64, 10.0 + rises as f64));
            assert_eq!(discriminator.on_channel(Scheme::Trend, 1.0, 0.0, 0.0), rises < 16, "{rises}");
        }
    }

    /// Explicit loss notification: a gap is the channel's where each of its packets was notified.
    #[test]
    fn oracle_uses_the_causes_it_gets() {
        let mut discriminator = LossDiscriminator::new(Scheme::Oracle);
        arrive(&mut discriminator, (0, 1000.0, 50.0));
        discriminator.on_notice(1);
        assert!(arrive(&mut discriminator, (2, 1020.0, 50.0)));
        assert!(!arrive(&mut discriminator, (4, 1040.0, 50.0)), "3 was never reported");
        discriminator.on_notice(6);
        assert!(!arrive(&mut discriminator, (7, 1070.0, 50.0)), "5 was lost to congestion");
        assert!(!arrive(&mut discriminator, (1_000_000, 1080.0, 50.0)), "an outage is no channel loss");
    }

    /// A trip of a second is the most for two spans; then 41 ms of 20 to 60 ms are a spike again.
    #[test]
    fn extremes_are_forgotten() {
        let mut discriminator = LossDiscriminator::new("spike".parse().unwrap());
        arrive(&mut discriminator, (0, 1000.0, 1000.0));
        let mut sequence = 0;
        let mut on_channel = |from: f64, until: f64| {
            let mut at = from;
            let mut answer = false;
            while at < until {
                for trip in [60.0, 20.0, 41.0] {
                    sequence += 2;
                    at += 100.0;
                    answer = arrive(&mut discriminator, (sequence, at, trip));
                }
            }
            answer
        };
        assert!(on_channel(1000.0, 25_000.0));
        assert!(!on_channel(25_000.0, 52_000.0));
    }

    #[test]
    fn late_packets_change_nothing() {
        let mut discriminator = LossDiscriminator::new(Scheme::Zbs);
        arrive(&mut discriminator, (5, 1000.0, 50.0));
        let before = discriminator;
        assert!(!arrive(&mut discriminator, (4, 1010.0, 60.0)));
        assert!(!arrive(&mut discriminator, (5, 1010.0, 60.0)));
        assert_eq!(discriminator, before);
    }
}
