//! The controller whose rate an agent sets from outside, and what a step of it saw.

use crate::digest::{Digest, Digester};
use seaway_control::{
    ControllerInfo, Decision, DecisionLog, FEEDBACK_INTERVAL, Factory, Feedback, FlowConfig, Gauge,
    LocalSignal, OptionGroup, Options, PeriodicFeedback, RateController, Registry, SpecError, Target, pair,
};
use seaway_units::{Bitrate, DataSize, RateRange, TimeDelta, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Its name in a scenario.
pub(crate) const NAME: &str = "agent";

const OPTIONS: &[OptionGroup] = &[FEEDBACK_INTERVAL.group];

/// What the environment and the controller share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<State>>);

/// The state of a flow under an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The range of the rate, once the flow has begun.
    pub(crate) limits: Option<RateRange>,
    /// The rate in force.
    pub(crate) rate: Bitrate,
    /// The rate that the agent requested, until the controller takes it.
    pub(crate) requested: Option<Bitrate>,
    /// Reports so far.
    pub(crate) reports: u64,
    /// What came back since the step began.
    pub(crate) step: Step,
    /// The smallest sample of the round-trip time.
    pub(crate) least_rtt: Option<TimeDelta>,
    /// Octets sent since the step began.
    pub(crate) sent: DataSize,
    /// What waits in the send queue.
    pub(crate) backlog: DataSize,
}

/// Sums over the reports of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub(crate) received: u32,
    pub(crate) lost: u32,
    pub(crate) received_size: DataSize,
    rtt: (TimeDelta, i64),
    queue_delay: (TimeDelta, i64),
    delay_change: TimeDelta,
}

impl Step {
    fn add(&mut self, digest: &Digest) {
        self.received += digest.received;
        self.lost += digest.lost;
        self.received_size += digest.received_size;
        for (sum, sample) in [(&mut self.rtt, digest.rtt), (&mut self.queue_delay, digest.queue_delay)] {
            if let Some(sample) = sample {
                *sum = (sum.0 + sample, sum.1 + 1);
            }
        }
        self.delay_change += digest.delay_change.unwrap_or(TimeDelta::ZERO);
    }

    /// Mean round-trip time.
    pub(crate) fn rtt(&self) -> Option<TimeDelta> {
        mean(self.rtt)
    }

    /// Mean one-way delay above the least of the flow.
    pub(crate) fn queue_delay(&self) -> Option<TimeDelta> {
        mean(self.queue_delay)
    }

    /// Increase of the one-way delay.
    pub(crate) const fn delay_change(&self) -> TimeDelta {
        self.delay_change
    }

    /// Lost packets over those whose fate is known.
    pub(crate) fn loss_ratio(&self) -> f64 {
        f64::from(self.lost) / f64::from((self.lost + self.received).max(1))
    }
}

fn mean((sum, count): (TimeDelta, i64)) -> Option<TimeDelta> {
    (count > 0).then(|| sum / count)
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The built-in controllers and this one.
    pub(crate) fn registry(&self) -> Result<Registry, SpecError> {
        let build = |_: &Options<'_>, _: FlowConfig| Err(SpecError::new(NAME, "its factory makes it"));
        let info = ControllerInfo { options: OPTIONS, ..ControllerInfo::new(NAME, "an agent's rate", build) };
        let shared = self.clone();
        let factory: Factory = Arc::new(move |options, _| {
            let interval = options.read(&FEEDBACK_INTERVAL, PeriodicFeedback::INTERVAL)?;
            let agent =
                Agent { shared: shared.clone(), digester: Digester::default(), log: DecisionLog::new() };
            Ok(pair(agent, PeriodicFeedback::new(interval)))
        });
        Registry::builtin().with_factory(info, factory)
    }
}

/// Sends at the rate that the agent requests, inside the limits.
#[derive(Debug)]
struct Agent {
    shared: Shared,
    digester: Digester,
    log: DecisionLog,
}

impl Agent {
    fn take(&mut self, now: Timestamp) {
        let mut state = self.shared.lock();
        let Some(requested) = state.requested.take() else { return };
        let (before, after) = (state.rate, state.limits.unwrap_or(RateRange::ALL).clamp(requested));
        state.rate = after;
        if before != after {
            let signal = Gauge::new("action", requested.as_bps_f64(), "bit/s");
            let (cause, phase) = ("the agent's action", NAME);
            let threshold = f64::NAN;
            self.log.push(Decision { at: now, cause, signal, threshold, before, after, phase });
        }
    }
}

impl RateController for Agent {
    fn on_sent(&mut self, _now: Timestamp, packet: &seaway_control::SentPacket) {
        let mut state = self.shared.lock();
        state.sent += packet.size;
        state.backlog = packet.backlog;
    }

    fn on_feedback(&mut self, _now: Timestamp, feedback: &Feedback<'_>) {
        let digest = self.digester.digest(feedback);
        let mut state = self.shared.lock();
        state.reports += 1;
        state.step.add(&digest);
        if let Some(rtt) = digest.rtt {
            state.least_rtt = Some(state.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        let LocalSignal::Limits { min, start, max } = signal else { return };
        let limits = RateRange::new(min, max);
        let mut state = self.shared.lock();
        let rate = if state.limits.is_none() { start } else { state.rate };
        (state.limits, state.requested) = (Some(limits), Some(rate));
        drop(state);
        self.take(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.take(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        // Whatever the present is, it has come.
        self.shared.lock().requested.map(|_| Timestamp::ZERO)
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.log)
    }

    fn target(&self) -> Target {
        Target::new(self.shared.lock().rate)
    }

    fn phase(&self) -> &'static str {
        NAME
    }
}
