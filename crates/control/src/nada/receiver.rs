//! The receiving half: aggregates what arrives and reports 48 bits (RFC 8698 section 5.3).

use super::aggregate::{Aggregator, Observed};
use super::config::NadaConfig;
use crate::feedback::{Congestion, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use seaway_units::{Bitrate, Ecn, RemoteTimestamp, TimeDelta, Timestamp};

/// The receiving half of NADA. It reports every `DELTA`, while packets arrive.
#[derive(Debug, Clone)]
pub struct NadaReceiver {
    aggregator: Aggregator,
    interval: TimeDelta,
    last_report: Option<Timestamp>,
    /// Something arrived since the last report.
    fresh: bool,
}

impl NadaReceiver {
    /// A receiver for a sending half of the same configuration.
    pub const fn new(config: NadaConfig) -> Self {
        Self {
            interval: config.interval,
            aggregator: Aggregator::new(config),
            last_report: None,
            fresh: false,
        }
    }
}

impl FeedbackSource for NadaReceiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        // It is one connection; what else arrives is none of its own.
        if arrival.subflow != Subflow(0) {
            return;
        }
        self.last_report.get_or_insert(now);
        self.fresh = true;
        // The clocks change places here: it is their difference that counts.
        let sent = Timestamp::from_nanos(arrival.sent.as_nanos());
        self.aggregator.on_packet(&Observed {
            at: now,
            sequence: arrival.sequence,
            size: arrival.size,
            marked: arrival.ecn == Ecn::Ce,
            transit: RemoteTimestamp::from_nanos(now.as_nanos()).transit_from(sent),
            rtt: arrival.rtt,
        });
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.last_report.filter(|_| self.fresh).map(|last| last + self.interval)
    }

    fn has_report(&self, now: Timestamp) -> bool {
        self.poll_timeout().is_some_and(|due| due <= now)
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)> {
        if !self.has_report(now) {
            return None;
        }
        self.last_report = Some(now);
        self.fresh = false;
        let signal = self.aggregator.signal(now)?;
        let delay = TimeDelta::from_secs_f64(signal.delay / 1e3);
        let report = PeerReport {
            congestion: Some(Congestion { delay, ramp_up: signal.ramp_up }),
            receive_rate: Some(Bitrate::from_bps_f64(signal.receive_rate)),
            ..PeerReport::default()
        };
        Some((Subflow(0), report))
    }
}
