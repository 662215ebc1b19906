//! The reference window: how it falls and grows (screamv2 sections 4.2.1.2 to 4.2.1.4).

use super::super::config::LEAST_WINDOW;
use super::VIRTUAL_RTT;

/// `BETA_LOSS` and `BETA_ECN`.
const LOSS_DECREASE: f64 = 0.7;
const MARK_DECREASE: f64 = 0.8;
/// `POST_CONGESTION_DELAY_RTT`.
const POST_CONGESTION: f64 = 100.0;
/// `MUL_INCREASE_FACTOR`.
const MULTIPLICATIVE: f64 = 0.02;
/// `BYTES_IN_FLIGHT_HEAD_ROOM`.
const HEADROOM: f64 = 1.5;
/// Below this part of the delay target a reaction to marks is scaled down.
const LOW_DELAY: f64 = 0.25;
const LEAST_SCALE: f64 = 0.1;
const LEAST_DOWN_SCALE: f64 = 0.25;

/// `ref_wnd` and the window at the last inflection, octets.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceWindow {
    pub(super) size: f64,
    /// `MSS`.
    pub(super) segment: f64,
    inflection: f64,
    /// It grew since the inflection was last set.
    grew: bool,
    /// When loss or a mark was last seen, and when it last reacted, s.
    congested_at: Option<f64>,
    reacted_at: Option<f64>,
}

/// What it reacts to. Seconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Congestion {
    Loss,
    /// An ECT(1) flow: the share of marked packets.
    Marks {
        share: f64,
    },
    /// An ECT(0) flow.
    ClassicMark,
    /// Average queueing delay above half the target.
    Delay {
        average: f64,
    },
}

/// The path as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub(super) now: f64,
    pub(super) rtt: f64,
    pub(super) delay: f64,
    pub(super) delay_target: f64,
    /// `D`: 1 on a calm path.
    pub(super) calm: f64,
    /// Greatest flight of this and the former round trip, octets.
    pub(super) flight: f64,
    pub(super) flight_before: f64,
}

impl ReferenceWindow {
    pub(super) const fn new(segment: f64) -> Self {
        Self {
            size: LEAST_WINDOW,
            segment,
            inflection: 1.0,
            grew: true,
            congested_at: None,
            reacted_at: None,
        }
    }

    /// How far the window is from its inflection: near it all is done slowly.
    pub(super) fn scale(&self) -> f64 {
        let distance = 8.0 * (self.size - self.inflection) / self.inflection;
        (distance * distance).clamp(LEAST_SCALE, 1.0)
    }

    /// `MSS / ref_wnd`, one at most.
    pub(super) fn segment_ratio(&self) -> f64 {
        (self.segment / self.size).min(1.0)
    }

    /// Loss or a mark was seen, whether or not it reacts.
    pub(super) const fn on_congestion(&mut self, now: f64) {
        self.congested_at = Some(now);
    }

    /// At most one reaction each virtual round-trip time, or a shorter real one.
    pub(super) fn may_react(&self, now: f64, rtt: f64) -> bool {
        self.reacted_at.is_none_or(|at| now - at >= VIRTUAL_RTT.min(rtt))
    }

    /// `scale` from before anything was touched.
    pub(super) fn reduce(&mut self, congestion: Congestion, scale: f64, path: &Path) {
        if self.grew {
            (self.inflection, self.grew) = (self.size, false);
        }
        let rounds = (path.rtt / VIRTUAL_RTT).max(1.0);
        self.size *= match congestion {
            Congestion::Loss => LOSS_DECREASE,
            Congestion::ClassicMark => MARK_DECREASE,
            Congestion::Marks { share } => {
                self.forget_unused(path);
                1.0 - mark_decrease(share, scale, path) / rounds
            }
            Congestion::Delay { average } => {
                let half = path.delay_target / 2.0;
                1.0 - ((average - half) / half).clamp(0.0, 1.0) / 2.0 / rounds
            }
        };
        self.size = self.size.max(LEAST_WINDOW);
        self.reacted_at = Some(path.now);
    }

    /// After long without a reaction the window may be far above what is used.
    fn forget_unused(&mut self, path: &Path) {
        let long = POST_CONGESTION * VIRTUAL_RTT.max(path.rtt);
        if self.reacted_at.is_some_and(|at| path.now - at > long) && path.flight_before > 0.0 {
            self.size = self.size.min(path.flight_before);
        }
    }

    /// `acked` octets came back unmarked; `scale` from before a reduction.
    pub(super) fn grow(&mut self, acked: f64, scale: f64, path: &Path) {
        let step = self.step(acked, scale, path);
        let most = self.segment + HEADROOM * path.flight.max(path.flight_before);
        if step > 0.0 && self.size + step <= most {
            self.size += step;
            self.grew = true;
        }
    }

    fn step(&self, acked: f64, scale: f64, path: &Path) -> f64 {
        let long = POST_CONGESTION * VIRTUAL_RTT.max(path.rtt);
        let post = self.congested_at.map_or(1.0, |at| ((path.now - at) / long).clamp(0.0, 1.0));
        let additive = acked
            * self.segment_ratio()
            * (path.rtt / VIRTUAL_RTT).min(1.0)
            * scale.max(LEAST_DOWN_SCALE)
            * path.calm.max(LEAST_SCALE);
        additive * (1.0 + MULTIPLICATIVE * self.size / self.segment * post * scale)
    }
}

/// The part a share of marks takes off, before it is spread over the virtual round-trip times in a real one.
fn mark_decrease(share: f64, scale: f64, path: &Path) -> f64 {
    let part = share / 2.0;
    if path.delay < LOW_DELAY * path.delay_target {
        part * scale.max(LEAST_DOWN_SCALE) * path.calm.max(LEAST_DOWN_SCALE)
    } else {
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        now: 1000.0,
        rtt: 0.05,
        delay: 0.03,
        delay_target: 0.06,
        calm: 1.0,
        flight: 1e6,
        flight_before: 1e6,
    };

    fn window() -> ReferenceWindow {
        ReferenceWindow { size: 30_000.0, ..ReferenceWindow::new(1000.0) }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }

    fn reduced(congestion: Congestion, scale: f64, path: &Path) -> f64 {
        let mut window = window();
        window.reduce(congestion, scale, path);
        window.size
    }

    /// screamv2 section 4.2.1.2, worked.
    #[test]
    fn reductions() {
        let marks = Congestion::Marks { share: 0.4 };
        near(reduced(marks, 1.0, &PATH), 27_000.0);
        near(reduced(marks, 0.1, &Path { delay: 0.01, ..PATH }), 29_250.0);
        near(reduced(marks, 1.0, &Path { rtt: 0.025, ..PATH }), 24_000.0);
        for (average, expected) in [(0.03, 30_000.0), (0.045, 26_250.0), (0.06, 22_500.0), (0.1, 22_500.0)] {
            near(reduced(Congestion::Delay { average }, 1.0, &PATH), expected);
        }
        near(reduced(Congestion::Loss, 1.0, &PATH), 21_000.0);
        near(reduced(Congestion::ClassicMark, 1.0, &PATH), 24_000.0);
    }

    /// screamv2 section 4.2.1.4, worked.
    #[test]
    fn increases() {
        near(window().step(3000.0, 1.0, &PATH), 160.0);
        let lately = ReferenceWindow { congested_at: Some(PATH.now), ..window() };
        near(lately.step(3000.0, 1.0, &PATH), 100.0);
        near(window().step(2000.0, 0.1, &Path { rtt: 0.01, ..PATH }), 7.07);
        let mut bounded = window();
        bounded.grow(3000.0, 1.0, &Path { flight: 19_000.0, flight_before: 0.0, ..PATH });
        near(bounded.size, 30_000.0);
    }

    /// screamv2 section 4.2.1.2: the inflection is the window before the first of several reductions.
    #[test]
    fn inflection() {
        let mut window = window();
        near(window.scale(), 1.0);
        window.reduce(Congestion::Loss, 1.0, &PATH);
        window.reduce(Congestion::Loss, 1.0, &PATH);
        near(window.inflection, 30_000.0);
        assert!(!window.may_react(PATH.now + 0.02, 0.05) && window.may_react(PATH.now + 0.026, 0.05));
        window.grow(3000.0, 1.0, &PATH);
        let before = window.size;
        window.reduce(Congestion::Loss, 1.0, &PATH);
        near(window.inflection, before);
    }
}
