//! The traits of quinn.

use crate::bridge::Bridge;
use crate::clock::{self, Clock};
use crate::config::ControllerConfig;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use seaway_units::Bitrate;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A controller of ours behind quinn's trait. A transport's configuration takes a [`ControllerConfig`], which makes it.
///
/// The transport paces 1.25 windows over a smoothed round-trip time and has no rate, so the window follows the pace. It reports
/// batches of packets, and octets that were lost.
#[derive(Debug)]
pub struct QuinnController {
    config: Arc<ControllerConfig>,
    bridge: Bridge,
    clock: Clock,
    started: Instant,
}

impl QuinnController {
    fn new(config: Arc<ControllerConfig>, now: Instant, mtu: u16) -> Self {
        let bridge = config.bridge(mtu);
        Self { config, bridge, clock: Clock::new(now), started: now }
    }

    /// What media and its repair may use together, whole IP datagrams counted.
    pub fn target(&self) -> Bitrate {
        self.bridge.target()
    }
}

impl Controller for QuinnController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let (now, payload) = (self.clock.at(now), u64::from(self.bridge.payload()).max(1));
        let mut left = bytes;
        while left > 0 {
            let size = left.min(payload);
            self.bridge.on_sent(now, None, size);
            left -= size;
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        let (now, sent) = (self.clock.at(now), self.clock.at(sent));
        self.bridge.on_acknowledged(now, sent, None, bytes, clock::span(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.bridge.on_end_of_acknowledgement(self.clock.at(now), app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        _is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        // Congestion marks come with no octets.
        match lost_bytes {
            0 => self.bridge.on_marked(),
            octets => self.bridge.on_octets_lost(self.clock.at(now), self.clock.at(sent), octets),
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.bridge.set_payload(new_mtu);
    }

    fn window(&self) -> u64 {
        self.bridge.paced_window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = self.bridge.pace().map(Bitrate::as_bps);
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
        Box::new(QuinnController::new(self, now, current_mtu))
    }
}
