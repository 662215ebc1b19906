//! The traits of noq.

use crate::bridge::Bridge;
use crate::clock::{self, Clock};
use crate::config::ControllerConfig;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use seaway_units::{Bitrate, Timestamp};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A controller of ours behind noq's trait. A transport's configuration takes a [`ControllerConfig`], which makes it.
///
/// The transport paces by [`ControllerMetrics::pacing_rate`] and bounds the flight by the window. An application reads the
/// rate that it may use from `bandwidth_estimate` of the path's statistics.
#[derive(Debug)]
pub struct NoqController {
    config: Arc<ControllerConfig>,
    bridge: Bridge,
    clock: Clock,
    started: Instant,
    /// Of the last input.
    now: Timestamp,
}

impl NoqController {
    fn new(config: Arc<ControllerConfig>, now: Instant, mtu: u16) -> Self {
        let bridge = config.bridge(mtu);
        Self { config, bridge, clock: Clock::new(now), started: now, now: Timestamp::ZERO }
    }

    /// What media and its repair may use together, whole IP datagrams counted.
    pub fn target(&self) -> Bitrate {
        self.bridge.target()
    }
}

impl Controller for NoqController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        // A larger packet probes the path's MTU; its loss is no congestion (RFC 9000 section 14.4).
        if bytes <= self.bridge.payload() {
            self.bridge.on_sent(self.clock.at(now), Some(pn), bytes.into());
        }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.clock.at(now), self.clock.at(sent));
        self.now = now;
        self.bridge.on_acknowledged(now, sent, Some(pn), bytes, clock::span(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.bridge.on_end_of_acknowledgement(self.clock.at(now), app_limited);
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        if is_ecn {
            self.bridge.on_marked();
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.bridge.on_lost(self.clock.at(now), pn, lost_bytes.into());
    }

    fn on_spurious_congestion_event(&mut self) {
        self.bridge.on_spurious_losses(self.now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.bridge.set_payload(new_mtu);
    }

    fn window(&self) -> u64 {
        self.bridge.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = self.bridge.pace().map(|pace| pace.as_bps() / 8);
        metrics.bandwidth_estimate = Some(self.target().as_bps());
        metrics
    }

    /// Of a path to the same peer: it begins anew at the present rate.
    fn clone_box(&self) -> Box<dyn Controller> {
        let mut config = ControllerConfig::clone(&self.config);
        config.limits.start = self.target();
        Box::new(Self::new(Arc::new(config), self.started, self.bridge.payload()))
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for ControllerConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(NoqController::new(self, now, current_mtu))
    }
}
