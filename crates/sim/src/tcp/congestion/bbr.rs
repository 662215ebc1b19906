//! BBR, version 1: the window and the pace follow a model of the path, its bandwidth and its least round trip
//! (draft-cardwell-iccrg-bbr-congestion-control-00). Loss does not enter.
//!
//! What the draft has and this has not: marks of application-limited samples, packet conservation in the first round of
//! a recovery, and long-term bandwidth for policers. The cycle begins with its first neutral phase, not with a random one.

use super::{Acked, Cause, Delivery, WindowAdjustment};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// 2/ln 2: the least that doubles the rate each round trip (section 4.1.1).
const HIGH_GAIN: f64 = 2.885;
/// The window in bandwidth-delay products, for acknowledgements that come late or together (section 4.2.3.2).
const WINDOW_GAIN: f64 = 2.0;
/// The pacing gains of `ProbeBW`, a least round trip each (section 4.3.4.3).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const FIRST_PHASE: usize = 2;
/// Rounds over which the highest delivery rate counts.
const BANDWIDTH_ROUNDS: u64 = 10;
/// How long a least round-trip time is valid.
const ROUND_TRIP_LIFE: TimeDelta = TimeDelta::from_secs(10);
const PROBE_RTT_FOR: TimeDelta = TimeDelta::from_millis(200);
/// Segments (`BBRMinPipeCwnd`).
const LEAST_WINDOW: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Timestamp,
    },
    /// `until`: once no more than four segments are on their way.
    ProbeRtt {
        until: Option<Timestamp>,
    },
}

/// A segment on its way, and how much had been delivered when it left.
#[derive(Debug, Clone, Copy)]
struct Departure {
    number: u64,
    sent: Timestamp,
    delivered: u64,
    delivered_at: Timestamp,
    /// When the segment left that was delivered last before it.
    first_sent: Timestamp,
}

/// The model and what is done by it. Rates are in segments a second.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Bbr {
    mode: Mode,
    departures: VecDeque<Departure>,
    delivered: u64,
    delivered_at: Timestamp,
    first_sent: Timestamp,
    round: u64,
    /// A round ends with the first segment that left after so much was delivered.
    round_ends: u64,
    /// Falling rates with the round of each.
    rates: VecDeque<(u64, f64)>,
    round_trip: Option<(TimeDelta, Timestamp)>,
    /// The rate that the pipe was last thought to be filled at, and for how many rounds it has not grown by a quarter.
    full: (f64, u32),
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            departures: VecDeque::new(),
            delivered: 0,
            delivered_at: Timestamp::ZERO,
            first_sent: Timestamp::ZERO,
            round: 0,
            round_ends: 0,
            rates: VecDeque::new(),
            round_trip: None,
            full: (0.0, 0),
        }
    }
}

impl Bbr {
    fn bandwidth(&self) -> f64 {
        self.rates.front().map_or(0.0, |&(_, rate)| rate)
    }

    fn is_pipe_full(&self) -> bool {
        self.full.1 >= 3
    }

    /// In segments; none before the first sample.
    fn bandwidth_delay_product(&self) -> Option<f64> {
        let (round_trip, _) = self.round_trip?;
        Some(self.bandwidth() * round_trip.as_secs_f64()).filter(|&product| product > 0.0)
    }

    /// Forgets the departures up to the newest that arrived, and gives that one.
    fn arrived(&mut self, highest: u64) -> Option<Departure> {
        let mut newest = None;
        while let Some(&departure) = self.departures.front().filter(|departure| departure.number < highest) {
            newest = Some(departure);
            self.departures.pop_front();
        }
        newest
    }

    /// The delivery rate over the flight of a segment. True where a round begins.
    fn sample(&mut self, now: Timestamp, newest: Departure) -> bool {
        let is_round = newest.delivered >= self.round_ends;
        if is_round {
            self.round += 1;
            self.round_ends = self.delivered;
        }
        // The slower of the two: neither compressed acknowledgements nor a burst of ours is bandwidth.
        let interval = (now - newest.delivered_at).max(newest.sent - newest.first_sent).as_secs_f64();
        if interval > 0.0 {
            let rate = (self.delivered - newest.delivered) as f64 / interval;
            while self.rates.back().is_some_and(|&(_, other)| other <= rate) {
                self.rates.pop_back();
            }
            self.rates.push_back((self.round, rate));
        }
        while self.rates.len() > 1
            && self.rates.front().is_some_and(|&(round, _)| round + BANDWIDTH_ROUNDS <= self.round)
        {
            self.rates.pop_front();
        }
        is_round
    }

    /// Three rounds without growth by a quarter fill the pipe (section 4.3.2.2).
    fn check_full(&mut self) {
        let bandwidth = self.bandwidth();
        if bandwidth >= self.full.0 * 1.25 {
            self.full = (bandwidth, 0);
        } else {
            self.full.1 += 1;
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

    fn advance(&mut self, now: Timestamp, in_flight: f64) {
        let product = self.bandwidth_delay_product().unwrap_or(f64::INFINITY);
        match self.mode {
            Mode::Startup if self.is_pipe_full() => self.mode = Mode::Drain,
            Mode::Drain if in_flight <= product => {
                self.mode = Mode::ProbeBw { phase: FIRST_PHASE, since: now };
            }
            Mode::ProbeBw { phase, since } => {
                let is_over = self.round_trip.is_some_and(|(least, _)| now - since > least);
                let is_next = match phase {
                    0 => is_over && in_flight >= CYCLE[0] * product,
                    1 => is_over || in_flight <= product,
                    _ => is_over,
                };
                if is_next {
                    self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: now };
                }
            }
            Mode::ProbeRtt { until: None } if in_flight <= LEAST_WINDOW => {
                self.mode = Mode::ProbeRtt { until: Some(now + PROBE_RTT_FOR) };
            }
            Mode::ProbeRtt { until: Some(until) } if now >= until => {
                if let Some((_, at)) = &mut self.round_trip {
                    *at = now;
                }
                self.mode = match self.is_pipe_full() {
                    true => Mode::ProbeBw { phase: FIRST_PHASE, since: now },
                    false => Mode::Startup,
                };
            }
            _ => {}
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], WINDOW_GAIN),
            Mode::ProbeRtt { .. } => (1.0, WINDOW_GAIN),
        }
    }

    /// Section 4.2.3.2; three segments more for those that wait to be sent together.
    fn window(&self, cwnd: f64, newly: f64) -> f64 {
        let target = self.bandwidth_delay_product().map(|product| self.gains().1 * product + 3.0);
        let grown = cwnd + newly;
        let window = match target {
            Some(target) if self.is_pipe_full() => grown.min(target),
            Some(target) if cwnd >= target => cwnd,
            _ => grown,
        };
        match self.mode {
            Mode::ProbeRtt { .. } => LEAST_WINDOW,
            _ => window.max(LEAST_WINDOW),
        }
    }
}

impl WindowAdjustment for Bbr {
    /// The model sets the window, not growth.
    fn grow(&mut self, cwnd: f64, _: Acked) -> f64 {
        cwnd
    }

    /// Loss is no signal of the model.
    fn reduce(&mut self, cwnd: f64, _: f64, _: Cause) -> f64 {
        cwnd
    }

    fn on_departure(&mut self, now: Timestamp, number: u64, is_idle: bool) {
        if is_idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.departures.push_back(Departure {
            number,
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
    }

    fn on_delivery(&mut self, delivery: Delivery) -> Option<f64> {
        let Delivery { now, delivered, highest, in_flight, cwnd } = delivery;
        let newly = delivered.saturating_sub(self.delivered);
        self.delivered += newly;
        self.delivered_at = now;
        if let Some(newest) = self.arrived(highest) {
            self.first_sent = newest.sent;
            if self.sample(now, newest) && !self.is_pipe_full() {
                self.check_full();
            }
            let is_old = self.update_round_trip(now, now - newest.sent);
            if is_old && !matches!(self.mode, Mode::ProbeRtt { .. }) {
                self.mode = Mode::ProbeRtt { until: None };
            }
        }
        self.advance(now, in_flight as f64);
        Some(self.window(cwnd, newly as f64))
    }

    fn departure_gap(&self) -> Option<TimeDelta> {
        let rate = self.gains().0 * self.bandwidth();
        (rate > 0.0).then(|| TimeDelta::from_secs_f64(1.0 / rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    /// A path that serves a segment each 10 ms with a least round trip of 50 ms: 100 segments a second, a product of 5. The
    /// sender keeps `cwnd` on their way and leaves at the pace.
    fn run(bbr: &mut Bbr, millis: i64) -> f64 {
        let (mut cwnd, mut sent, mut delivered) = (10.0_f64, 0_u64, 0_u64);
        let mut served: VecDeque<i64> = VecDeque::new();
        let (mut free, mut next) = (0, 0.0);
        for now in 0..millis {
            while served.front().is_some_and(|&due| due <= now) {
                served.pop_front();
                delivered += 1;
                let in_flight = sent - delivered;
                let delivery = Delivery { now: at(now), delivered, highest: delivered, in_flight, cwnd };
                cwnd = bbr.on_delivery(delivery).unwrap();
            }
            while (served.len() as f64) < cwnd.floor() && next <= now as f64 {
                bbr.on_departure(at(now), sent, sent == delivered);
                sent += 1;
                free = now.max(free) + 10;
                served.push_back(free + 40);
                next = next.max(now as f64) + bbr.departure_gap().map_or(0.0, TimeDelta::as_millis_f64);
            }
        }
        cwnd
    }

    #[test]
    fn the_model_finds_bandwidth_and_round_trip() {
        let mut bbr = Bbr::default();
        let cwnd = run(&mut bbr, 5000);
        assert!((bbr.bandwidth() - 100.0).abs() < 3.0, "{}", bbr.bandwidth());
        let (round_trip, _) = bbr.round_trip.unwrap();
        assert!((50..=51).contains(&(round_trip.as_millis_f64().round() as i64)), "{round_trip}");
        assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
        // Two products and three segments.
        assert!((cwnd - 13.0).abs() < 0.7, "{cwnd}");
    }

    #[test]
    fn a_full_pipe_is_three_rounds_without_growth_by_a_quarter() {
        let mut bbr = Bbr::default();
        for (rate, is_full) in [(100.0, false), (130.0, false), (150.0, false), (155.0, false), (160.0, true)]
        {
            bbr.rates = VecDeque::from([(bbr.round, rate)]);
            bbr.check_full();
            assert_eq!(bbr.is_pipe_full(), is_full, "{rate}");
        }
    }

    #[test]
    fn the_gains_of_a_cycle_come_to_one() {
        assert_eq!(CYCLE.iter().sum::<f64>(), CYCLE.len() as f64);
    }

    /// After ten seconds without a lower round trip four segments are on their way for 200 ms.
    #[test]
    fn the_round_trip_is_measured_anew() {
        let mut bbr = Bbr::default();
        let mut lowest = f64::INFINITY;
        for millis in [9_000, 12_000] {
            let mut fresh = Bbr::default();
            lowest = run(&mut fresh, millis);
            bbr = fresh;
        }
        assert!(lowest > LEAST_WINDOW, "it is over");
        let (_, measured) = bbr.round_trip.unwrap();
        assert!(measured > at(10_000), "{measured:?}");
    }
}
