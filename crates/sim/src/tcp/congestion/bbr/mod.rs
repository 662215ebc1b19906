//! BBR, version 1: the window and the pace follow a model of the path, its bandwidth and its least round trip
//! (draft-cardwell-iccrg-bbr-congestion-control-00; where it leaves something open, Linux's `tcp_bbr.c`). Loss does not enter the
//! model.
//!
//! Left out: long-term bandwidth for policers. The cycle begins with its first neutral phase, not with a random one.

mod aggregation;
mod bandwidth;

use super::{Acked, Cause, Delivery, Pacing, WindowAdjustment};
use aggregation::Aggregation;
use bandwidth::Bandwidth;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::ops::Range;

/// 2/ln 2: the least that doubles the rate each round trip (section 4.1.1).
const HIGH_GAIN: f64 = 2.885;
/// The window in bandwidth-delay products, for acknowledgements that come late or together (section 4.2.3.2).
const WINDOW_GAIN: f64 = 2.0;
/// The pacing gains of `ProbeBW`, a least round trip each (section 4.3.4.3).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const FIRST_PHASE: usize = 2;
/// The pace is below the bandwidth by this share, so that queues are short (Linux).
const PACING_MARGIN: f64 = 0.01;
/// How long a least round-trip time is valid.
const ROUND_TRIP_LIFE: TimeDelta = TimeDelta::from_secs(10);
const PROBE_RTT_FOR: TimeDelta = TimeDelta::from_millis(200);
/// Segments (`BBRMinPipeCwnd`).
const LEAST_WINDOW: f64 = 4.0;
/// Segments leave singly below this rate, bit/s, and in pairs above it (section 4.2.2).
const SINGLY_BELOW: f64 = 1.2e6;
/// More leave at once where this time's share of the rate is more (Linux, `sk_pacing_shift`), a second.
const QUANTUM: f64 = 1.0 / 1024.0;
const MOST_AT_ONCE: f64 = 44.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Timestamp,
    },
    /// `until`: once no more than four segments are on their way. A round must end, too.
    ProbeRtt {
        until: Option<Timestamp>,
        had_round: bool,
    },
}

/// The model and what is done by it. Rates are in segments a second.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Bbr {
    mode: Mode,
    /// Payload of a segment, bits.
    segment: f64,
    bandwidth: Bandwidth,
    aggregation: Aggregation,
    round_trip: Option<(TimeDelta, Timestamp)>,
    /// The rate that the pipe was last thought to be filled at, and for how many rounds it has not grown by a quarter.
    full: (f64, u32),
    is_full: bool,
    pace: f64,
    /// The window before losses or `ProbeRTT` cut it, and whether an acknowledgement now lets only as much leave as it
    /// says arrived.
    window_before: f64,
    conserves: bool,
    was_recovering: bool,
    /// Segments that left when so much was delivered show the rate of `ProbeRTT`.
    limited: Range<u64>,
}

impl Bbr {
    pub(super) fn new(payload: DataSize) -> Self {
        Self {
            mode: Mode::Startup,
            segment: payload.as_bytes_f64() * 8.0,
            bandwidth: Bandwidth::default(),
            aggregation: Aggregation::default(),
            round_trip: None,
            full: (0.0, 0),
            is_full: false,
            pace: 0.0,
            window_before: 0.0,
            conserves: false,
            was_recovering: false,
            limited: 0..0,
        }
    }

    /// In segments; none before the first sample.
    fn product(&self, gain: f64) -> Option<f64> {
        let (round_trip, _) = self.round_trip?;
        let product = self.bandwidth.get() * round_trip.as_secs_f64();
        (product > 0.0).then(|| (gain * product).ceil())
    }

    /// Segments that leave at once.
    fn quantum(&self) -> f64 {
        let least = if self.pace * self.segment < SINGLY_BELOW { 1.0 } else { 2.0 };
        (self.pace * QUANTUM).floor().clamp(least, MOST_AT_ONCE)
    }

    /// Three quanta are wherever packets wait together, and a window is even, for acknowledgements of two segments each
    /// (Linux, `bbr_quantization_budget`).
    fn with_budget(&self, segments: f64) -> f64 {
        let even = ((segments + 3.0 * self.quantum()) / 2.0).ceil() * 2.0;
        let probes = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        if probes { even + 2.0 } else { even }
    }

    fn in_flight_at(&self, gain: f64) -> f64 {
        self.product(gain).map_or(f64::INFINITY, |product| self.with_budget(product))
    }

    /// Three rounds without growth by a quarter fill the pipe (section 4.3.2.2).
    fn check_full(&mut self) {
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full.0 * 1.25 {
            self.full = (bandwidth, 0);
        } else {
            self.full.1 += 1;
            self.is_full |= self.full.1 >= 3;
        }
    }

    /// True where the least round trip is too old.
    fn update_round_trip(&mut self, now: Timestamp, sample: TimeDelta) -> bool {
        let is_old = self.round_trip.is_some_and(|(_, at)| now - at > ROUND_TRIP_LIFE);
        if is_old || self.round_trip.is_none_or(|(least, _)| sample <= least) {
            self.round_trip = Some((sample, now));
        }
        is_old
    }

    fn advance_cycle(&mut self, delivery: &Delivery) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let is_over = self.round_trip.is_some_and(|(least, _)| delivery.now - since > least);
        let in_flight = delivery.was_in_flight as f64;
        let is_next = match phase {
            // A loss shows that no more fits.
            0 => {
                is_over && (delivery.losses > 0 || in_flight + self.quantum() >= self.in_flight_at(CYCLE[0]))
            }
            1 => is_over || in_flight <= self.in_flight_at(1.0),
            _ => is_over,
        };
        if is_next {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: delivery.now };
        }
    }

    fn check_drain(&mut self, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && delivery.in_flight as f64 <= self.in_flight_at(1.0) {
            self.mode = Mode::ProbeBw { phase: FIRST_PHASE, since: delivery.now };
        }
    }

    fn probe_round_trip(&mut self, delivery: &Delivery, is_old: bool, is_round: bool, cwnd: f64) {
        if is_old && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_window(cwnd);
            self.mode = Mode::ProbeRtt { until: None, had_round: false };
        }
        let Mode::ProbeRtt { until, had_round } = self.mode else { return };
        if self.limited.end < delivery.delivered {
            self.limited.start = delivery.delivered;
        }
        self.limited.end = delivery.delivered + delivery.in_flight + 1;
        match until {
            None if delivery.in_flight as f64 <= LEAST_WINDOW => {
                self.mode = Mode::ProbeRtt { until: Some(delivery.now + PROBE_RTT_FOR), had_round };
                self.bandwidth.begin_round(delivery.delivered);
            }
            Some(until) if (had_round || is_round) && delivery.now >= until => {
                if let Some((_, at)) = &mut self.round_trip {
                    *at = delivery.now;
                }
                self.mode = match self.is_full {
                    true => Mode::ProbeBw { phase: FIRST_PHASE, since: delivery.now },
                    false => Mode::Startup,
                };
            }
            _ => self.mode = Mode::ProbeRtt { until, had_round: had_round || (until.is_some() && is_round) },
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], WINDOW_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// Until the pipe is full it only grows (section 4.2.1); before the first sample the window leaves in a round trip.
    fn update_pace(&mut self, cwnd: f64) {
        let margin = 1.0 - PACING_MARGIN;
        if let Some((round_trip, _)) = self.round_trip.filter(|_| self.pace == 0.0) {
            self.pace = HIGH_GAIN * margin * cwnd / round_trip.as_secs_f64();
        }
        let pace = self.gains().0 * margin * self.bandwidth.get();
        if self.is_full || pace > self.pace {
            self.pace = pace;
        }
    }

    fn save_window(&mut self, cwnd: f64) {
        let is_cut = self.was_recovering || matches!(self.mode, Mode::ProbeRtt { .. });
        self.window_before = if is_cut { self.window_before.max(cwnd) } else { cwnd };
    }

    /// The window of a recovery: what arrived may leave again in its first round, twice that later. At its end the window is
    /// what it was (Linux, `bbr_set_cwnd_to_recover_or_restore`).
    fn recovering(&mut self, delivery: &Delivery, cwnd: f64) -> f64 {
        let mut cwnd = (cwnd - delivery.losses as f64).max(1.0);
        let conserved = (delivery.in_flight + delivery.newly) as f64;
        if delivery.is_recovering && !self.was_recovering {
            self.conserves = true;
            self.bandwidth.begin_round(delivery.delivered);
            cwnd = conserved;
        } else if !delivery.is_recovering && self.was_recovering {
            self.conserves = false;
            cwnd = cwnd.max(self.window_before);
        }
        self.was_recovering = delivery.is_recovering;
        if self.conserves { cwnd.max(conserved) } else { cwnd }
    }

    /// Section 4.2.3.
    fn window(&mut self, delivery: &Delivery, cwnd: f64) -> f64 {
        if delivery.newly == 0 {
            return cwnd;
        }
        let recovering = self.recovering(delivery, cwnd);
        if self.conserves {
            return recovering;
        }
        let grown = recovering + delivery.newly as f64;
        let allowance = if self.is_full { self.aggregation.get(self.bandwidth.get()) } else { 0.0 };
        let target = self.product(self.gains().1).map(|product| self.with_budget(product + allowance));
        let window = match target {
            Some(target) if self.is_full => grown.min(target),
            Some(target) if recovering >= target => recovering,
            _ => grown,
        };
        window.max(LEAST_WINDOW)
    }
}

impl WindowAdjustment for Bbr {
    /// The model sets the window, not growth.
    fn grow(&mut self, cwnd: f64, _: Acked) -> f64 {
        cwnd
    }

    /// Loss is no signal of the model; after the recovery the window is what it was.
    fn reduce(&mut self, cwnd: f64, _: f64, cause: Cause) -> f64 {
        if cause != Cause::Mark {
            self.save_window(cwnd);
        }
        if cause == Cause::Timeout {
            self.was_recovering = true;
            self.full.0 = 0.0;
        }
        cwnd
    }

    fn on_delivery(&mut self, delivery: &Delivery, cwnd: f64) -> Option<f64> {
        let sample = delivery.sample;
        let is_limited =
            sample.is_some_and(|sample| sample.is_limited || self.limited.contains(&sample.delivered_before));
        let is_round = self.bandwidth.update(delivery, is_limited);
        self.conserves &= !is_round;
        if sample.is_some() {
            let (newly, bandwidth) = (delivery.newly as f64, self.bandwidth.get());
            self.aggregation.update(delivery.now, newly, bandwidth, is_round, cwnd);
        }
        self.advance_cycle(delivery);
        if is_round && !self.is_full && !is_limited {
            self.check_full();
        }
        self.check_drain(delivery);
        let is_old = delivery.round_trip.is_some_and(|sample| self.update_round_trip(delivery.now, sample));
        let was_probing = matches!(self.mode, Mode::ProbeRtt { .. });
        self.probe_round_trip(delivery, is_old, is_round, cwnd);
        let is_probing = matches!(self.mode, Mode::ProbeRtt { .. });
        let cwnd = if was_probing && !is_probing { cwnd.max(self.window_before) } else { cwnd };
        self.update_pace(cwnd);
        let window = self.window(delivery, cwnd);
        Some(if is_probing { window.min(LEAST_WINDOW) } else { window })
    }

    fn pacing(&self) -> Option<Pacing> {
        (self.pace > 0.0).then(|| Pacing {
            gap: TimeDelta::from_secs_f64(1.0 / self.pace),
            at_once: self.quantum() as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::RateSample;

    /// Segments of 1460 B.
    fn bbr() -> Bbr {
        Bbr::new(DataSize::from_bytes(1460))
    }

    /// A round with this rate, and this many on their way.
    fn round(bbr: &mut Bbr, millis: i64, rate: f64, in_flight: u64, cwnd: f64) -> f64 {
        let delivered = bbr.limited.end.max(millis as u64);
        let sample = RateSample { rate, delivered_before: delivered, is_limited: false };
        let delivery = Delivery {
            now: Timestamp::ZERO + TimeDelta::from_millis(millis),
            delivered,
            newly: 2,
            in_flight,
            was_in_flight: in_flight,
            sample: Some(sample),
            round_trip: Some(TimeDelta::from_millis(50)),
            ..Delivery::default()
        };
        bbr.on_delivery(&delivery, cwnd).expect("a model")
    }

    #[test]
    fn a_full_pipe_is_three_rounds_without_growth_by_a_quarter() {
        let mut bbr = bbr();
        for (step, (rate, mode)) in [
            (100.0, Mode::Startup),
            (130.0, Mode::Startup),
            (150.0, Mode::Startup),
            (155.0, Mode::Startup),
            (160.0, Mode::Drain),
        ]
        .into_iter()
        .enumerate()
        {
            round(&mut bbr, 50 * (1 + step as i64), rate, 100, 10.0);
            assert_eq!(bbr.mode, mode, "{rate}");
        }
    }

    /// 856 segments a second, 10 Mbit/s: two leave at once. The product is 42.8, twice of it and three quanta 92.
    #[test]
    fn the_window_has_the_worked_numbers() {
        let mut bbr = bbr();
        let mut cwnd = 10.0;
        for step in 1..60 {
            let in_flight = if bbr.mode == Mode::Drain { 40 } else { 64 };
            cwnd = round(&mut bbr, 60 * step, 856.0, in_flight, cwnd);
        }
        // Two segments more came at once.
        let ahead = bbr.aggregation.get(856.0);
        assert_eq!((bbr.product(WINDOW_GAIN), ahead), (Some(86.0), 2.0));
        assert_eq!(cwnd, bbr.with_budget(88.0));
        bbr.mode = Mode::ProbeBw { phase: FIRST_PHASE, since: Timestamp::ZERO };
        assert_eq!((bbr.with_budget(86.0), bbr.quantum()), (92.0, 2.0));
        bbr.pace = 100.0;
        assert_eq!(bbr.quantum(), 1.0);
    }

    #[test]
    fn the_gains_of_a_cycle_come_to_one() {
        assert_eq!(CYCLE.iter().sum::<f64>(), CYCLE.len() as f64);
    }

    /// In the first round of a recovery what arrived leaves again; at its end the window is what it was.
    #[test]
    fn a_recovery_conserves_and_gives_back() {
        let mut bbr = bbr();
        let delivery = |is_recovering, losses| Delivery {
            newly: 2,
            losses,
            in_flight: 30,
            is_recovering,
            ..Delivery::default()
        };
        bbr.reduce(40.0, 0.0, Cause::Loss);
        assert_eq!(bbr.window(&delivery(true, 8), 40.0), 32.0);
        assert_eq!(bbr.window(&delivery(true, 0), 32.0), 32.0);
        bbr.conserves = false;
        assert_eq!(bbr.window(&delivery(true, 0), 32.0), 34.0);
        assert_eq!(bbr.window(&delivery(false, 0), 34.0), 42.0);
    }

    /// After ten seconds without a lower round trip four segments are on their way for 200 ms and a round.
    #[test]
    fn the_round_trip_is_measured_anew() {
        let mut bbr = bbr();
        let mut cwnd = 10.0;
        let mut probed = 0;
        for step in 1..240 {
            let in_flight = if cwnd > LEAST_WINDOW { 40 } else { 4 };
            cwnd = round(&mut bbr, 50 * step, 856.0, in_flight, cwnd);
            if let Some((least, _)) = &mut bbr.round_trip {
                *least = TimeDelta::from_millis(49);
            }
            probed += u32::from(cwnd == LEAST_WINDOW);
        }
        assert!((4..=7).contains(&probed), "{probed}");
        assert!(cwnd > 80.0, "{cwnd}");
    }
}
