//! When to probe, and how fast (libwebrtc).

use crate::allowance::Probe;
use crate::packet::{ProbeId, Subflow};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// Requests probes: at the start, while they find more, in application-limited regions and after a drop.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeController {
    queue: [Option<f64>; 2],
    next_id: u32,
    /// A result above this causes another probe, until the instant.
    awaited: Option<(f64, Timestamp)>,
    last_probe: Option<Timestamp>,
    /// The estimate before a large drop, and when it fell.
    dropped: Option<(f64, Timestamp)>,
    estimate: f64,
}

/// What it goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// bit/s.
    pub(super) estimate: f64,
    /// What the encoders could use, bit/s.
    pub(super) wanted: f64,
    /// Since when the application is the limit.
    pub(super) limited_since: Option<Timestamp>,
    /// It is, or was until lately.
    pub(super) limited_lately: bool,
    /// Why not to probe, or how far.
    pub(super) permission: Permission,
}

/// What the estimators say of probing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Free,
    /// The loss based estimate is the limit and grows: only a little above it.
    LossLimited,
    /// Delay rises, or loss limits.
    Denied,
}

const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
/// Of a probe's rate, what its result must exceed for a further one.
const FURTHER_THRESHOLD: f64 = 0.7;
const LONGEST_WAIT: TimeDelta = TimeDelta::from_secs(1);
const INTERVAL: TimeDelta = TimeDelta::from_secs(5);
/// An estimate that falls below this part of itself dropped.
const DROP: f64 = 0.66;
/// Of the estimate before the drop.
const AFTER_DROP: f64 = 0.85;
/// How long after a region's end it still counts as one.
pub(super) const REGION_ENDED: TimeDelta = TimeDelta::from_secs(3);
/// Above the estimate while loss limits it; times the uncertainty of a result.
const LOSS_LIMITED: f64 = 1.5 * 1.05;
/// No probe above so many times what is wanted, or the estimate in a region.
const MOST: f64 = 2.0;
const LEAST_RATE: f64 = 5000.0;
const SPAN: f64 = 0.015;
const LEAST_PACKETS: u8 = 5;

impl ProbeController {
    pub(super) const fn new() -> Self {
        Self { queue: [None; 2], next_id: 0, awaited: None, last_probe: None, dropped: None, estimate: 0.0 }
    }

    /// A flow begins, or begins anew after silence.
    pub(super) fn start(&mut self, now: Timestamp, start: f64, wanted: f64) {
        self.estimate = start;
        self.request(now, FIRST.map(|factor| Some(factor * start)), wanted, true);
    }

    /// Requests a probe where the state calls for one.
    pub(super) fn update(&mut self, now: Timestamp, state: &State) {
        if state.estimate < DROP * self.estimate {
            self.dropped = Some((self.estimate, now));
        }
        self.estimate = state.estimate;
        if self.awaited.is_some_and(|(_, until)| now > until) {
            self.awaited = None;
        }
        if state.permission == Permission::Denied {
            return;
        }
        self.after_drop(now, state);
        let rested = self.last_probe.is_none_or(|at| now.since(at) >= INTERVAL);
        let long_limited = state.limited_since.is_some_and(|since| now.since(since) >= INTERVAL);
        if rested && long_limited && state.wanted > state.estimate {
            let rates = [1.0, 2.0].map(|factor| Some(factor * state.wanted));
            self.request(now, rates, self.cap(state).min(MOST * state.estimate), true);
        }
    }

    /// A probe measured `rate`, which may now be the estimate. Another follows while the measured rate grows.
    pub(super) fn on_result(&mut self, now: Timestamp, rate: f64, state: &State) {
        let further = self.awaited.take_if(|(threshold, _)| rate > *threshold);
        if further.is_some() && state.permission != Permission::Denied {
            self.request(now, [Some(FURTHER * rate), None], self.cap(state), true);
        }
    }

    fn after_drop(&mut self, now: Timestamp, state: &State) {
        let Some((before, at)) = self.dropped else { return };
        let rested = self.last_probe.is_none_or(|at| now.since(at) >= INTERVAL);
        if now.since(at) > INTERVAL {
            self.dropped = None;
        } else if state.limited_lately && rested {
            self.dropped = None;
            self.request(now, [Some(AFTER_DROP * before), None], self.cap(state), false);
        }
    }

    fn cap(&self, state: &State) -> f64 {
        let most = MOST * state.wanted;
        match state.permission {
            Permission::LossLimited => most.min(LOSS_LIMITED * state.estimate),
            Permission::Free | Permission::Denied => most,
        }
    }

    /// Queues probes, none above `most`; the last one's result is awaited where more may follow.
    fn request(&mut self, now: Timestamp, rates: [Option<f64>; 2], most: f64, further: bool) {
        self.queue = rates.map(|rate| rate.map(|rate| rate.min(most)).filter(|rate| *rate >= LEAST_RATE));
        if self.queue[0] == self.queue[1] {
            self.queue[1] = None;
        }
        let Some(last) = self.queue.into_iter().flatten().last() else { return };
        self.last_probe = Some(now);
        self.awaited = (further && last < most).then(|| (FURTHER_THRESHOLD * last, now + LONGEST_WAIT));
    }

    /// The next probe.
    pub(super) fn poll(&mut self) -> Option<Probe> {
        let rate = self.queue.iter_mut().find_map(Option::take)?;
        let id = ProbeId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        Some(Probe {
            id,
            subflow: Subflow(0),
            rate: Bitrate::from_bps_f64(rate),
            size: DataSize::from_bytes((rate * SPAN / 8.0) as u64),
            packets: LEAST_PACKETS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    fn rates(controller: &mut ProbeController) -> Vec<u64> {
        std::iter::from_fn(|| controller.poll()).map(|probe| probe.rate.as_bps() / 1000).collect()
    }

    fn state(estimate: f64, limited: Option<i64>) -> State {
        State {
            estimate,
            wanted: 5e6,
            limited_since: limited.map(at),
            limited_lately: limited.is_some(),
            permission: Permission::Free,
        }
    }

    #[test]
    fn start_and_further() {
        let mut controller = ProbeController::new();
        controller.start(at(0), 300e3, 10e6);
        assert_eq!(rates(&mut controller), [900, 1800]);
        controller.on_result(at(100), 1.2e6, &state(1.2e6, None));
        assert!(rates(&mut controller).is_empty(), "no more than 0.7 of the faster one");
        controller.on_result(at(200), 1.7e6, &state(1.7e6, None));
        assert_eq!(rates(&mut controller), [3400]);
        controller.on_result(at(1300), 3.3e6, &state(3.3e6, None));
        assert_eq!(rates(&mut controller), [6600]);
        controller.update(at(3000), &state(3.3e6, None));
        controller.on_result(at(3000), 6e6, &state(6e6, None));
        assert!(rates(&mut controller).is_empty(), "waited too long");
    }

    #[test]
    fn application_limited_regions_and_drops() {
        let mut controller = ProbeController::new();
        controller.start(at(0), 300e3, 10e6);
        rates(&mut controller);
        controller.update(at(5000), &state(1e6, Some(100)));
        assert!(rates(&mut controller).is_empty());
        controller.update(at(5100), &state(1e6, Some(100)));
        assert_eq!(rates(&mut controller), [2000], "both at twice the estimate: one");
        controller.update(at(9000), &state(0.6e6, Some(100)));
        assert!(rates(&mut controller).is_empty(), "too soon after the last");
        let mut denied = state(0.6e6, Some(100));
        denied.permission = Permission::Denied;
        controller.update(at(10_100), &denied);
        assert!(rates(&mut controller).is_empty());
        denied.permission = Permission::LossLimited;
        controller.update(at(10_200), &denied);
        assert_eq!(rates(&mut controller), [850]);
    }
}
