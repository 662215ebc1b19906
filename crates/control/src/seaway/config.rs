//! Settings and constants of `seaway`. Inside this folder times are seconds, sizes bytes and rates bit/s.

use crate::info::FlowConfig;
use crate::options;
use crate::options::OptionTable;
use seaway_units::{Ecn, TimeDelta};

/// Settings of a `seaway` sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeawayConfig {
    /// From one feedback message to the next, until the peer says otherwise.
    pub interval: TimeDelta,
    /// The flow's weight against others of its kind, 1 by default.
    pub weight: f64,
    /// The largest packet, bytes.
    pub(super) packet: f64,
    pub(super) ecn: Ecn,
}

impl SeawayConfig {
    pub(super) const OPTIONS: OptionTable<Self> = options! { |config: &mut SeawayConfig, value|
        "weight" = "1", "0.1 to 10", "share of the flow against others of its kind":
            config.weight = value.within(0.1..=10.0)?;
    };

    /// The defaults for a flow.
    pub fn new(flow: FlowConfig) -> Self {
        Self {
            interval: TimeDelta::from_millis(20),
            weight: 1.0,
            packet: flow.packet.as_bytes_f64().max(1.0),
            ecn: flow.ecn,
        }
    }
}

/// The capacity never falls below, bit/s: at zero nothing would be sent, nor ever learnt.
pub(super) const LEAST_RATE: f64 = 10e3;
/// Added to the least round-trip time and the feedback interval: the delay of the control loop.
pub(super) const LOOP_SLACK: f64 = 0.005;
/// The least target queue of a flow of infinite rate.
pub(super) const LEAST_TARGET: f64 = 0.0035;
/// The target queue at 1 Mbit/s.
pub(super) const TARGET_AT_1_MBPS: f64 = 0.012;
/// A bound on the target that overflows teach is no less.
pub(super) const LEAST_QUEUE_BOUND: f64 = 0.0008;
/// The time in which the predicted queue is brought to the target.
pub(super) const QUEUE_TIME: f64 = 0.1;
/// The pace is above the capacity by no more than this share, and below it by no more than the other.
pub(super) const RISE: f64 = 0.15;
pub(super) const FALL: f64 = 0.8;
/// At once to less than this share, the capacity fell, and the queue that stands is drained at this share of the new one.
pub(super) const FALLEN: f64 = 0.9;
pub(super) const DRAIN_RATE: f64 = 0.05;
/// A packet that waits this much longer than predicted may be the first after a fall, where delay does not jitter, s.
pub(super) const SURPRISE: f64 = 0.010;
/// From one report to the next the loops move as if no more than this had passed, s.
pub(super) const LONGEST_STEP: f64 = 0.25;
/// Gain of the capacity observer.
pub(super) const OBSERVER_GAIN: f64 = 0.4;
/// How much faster the observer rises while nothing waits.
pub(super) const EMPTY_GAIN: f64 = 4.0;
/// Growth of the capacity, a second, where nothing was to wait and nothing did for a quarter of a second.
pub(super) const IDLE_GROWTH: f64 = 0.5;
/// Span of arrivals over which the least wait is taken.
pub(super) const DELAY_SPAN: f64 = 0.040;
/// Span of arrivals whose rate is the capacity once a queue has formed.
pub(super) const RATE_SPAN: f64 = 0.030;
/// A packet that leaves this soon after the one before it left back to back with it.
pub(super) const BACK_TO_BACK: f64 = 0.0004;
/// The share of the capacity at which the loops that test the path send.
pub(super) const TEST_RATE: f64 = 0.8;
/// Queue that is tolerated for a second of jitter beyond what is not tolerated at all, and at most.
pub(super) const TOLERANCE_GAIN: f64 = 6.6;
pub(super) const UNTOLERATED_JITTER: f64 = 0.000_93;
pub(super) const MOST_TOLERANCE: f64 = 0.060;
/// The same where packets are lost at the longest delays: these are of a queue.
pub(super) const TOLERANCE_OF_OVERFLOWS: f64 = 0.005;
/// The same where foreign packets come between ours: each of them changes the delay.
pub(super) const TOLERANCE_OF_OTHERS: f64 = 0.004;
