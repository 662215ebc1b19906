//! libwebrtc's congestion control as crate `goog_cc` ports it (libwebrtc of December 2024) as one of our controllers: departures and
//! reports in, a target, a pace and probes out.

use goog_cc::network_control::{NetworkControllerConfig, NetworkControllerInterface};
use goog_cc::transport::{
    NetworkAvailability, NetworkControlUpdate, PacedPacketInfo, PacketResult, ProbeClusterConfig,
    ProcessInterval, SentPacket as Departure, StreamsConfig, TargetRateConstraints, TransportPacketsFeedback,
};
use goog_cc::{GoogCcConfig, GoogCcNetworkController, units};
use seaway_control::{
    Allowance, ControllerInfo, ControllerPair, Fate, Feedback, FlowConfig, LocalSignal, Options,
    PacketReport, PeriodicFeedback, Probe, ProbeId, RateController, SentPacket, SpecError, Subflow, Target,
    pair,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::fmt;

pub const GOOG_CC: ControllerInfo = ControllerInfo::new("goog-cc", "libwebrtc, by crate goog_cc", build);

/// As often as our own `gcc` is reported to.
const FEEDBACK: TimeDelta = TimeDelta::from_millis(50);
/// `GoogCcNetworkController::get_process_interval`.
const PROCESS: TimeDelta = TimeDelta::from_millis(25);
/// Its clock may not be near zero: it takes differences to times before the first packet.
const ORIGIN_US: i64 = 1_000_000_000;

fn build(_: &Options<'_>, _: FlowConfig) -> Result<ControllerPair, SpecError> {
    Ok(pair(GoogCc::default(), PeriodicFeedback::new(FEEDBACK)))
}

/// The library boxes an estimator without saying that it may go to another thread.
struct Controller(GoogCcNetworkController);

// SAFETY: both estimators that the library can put into the box are plain data: version 0.1.4, which `Cargo.toml` pins, has neither shared
// ownership nor interior mutability, pointers or thread-local state anywhere.
unsafe impl Send for Controller {}
// SAFETY: it is reached by `&mut` alone.
unsafe impl Sync for Controller {}

#[derive(Default)]
struct GoogCc {
    /// From the first limits on.
    controller: Option<Controller>,
    next: Option<Timestamp>,
    target: Bitrate,
    pace: Bitrate,
    waiting: i64,
    in_flight: i64,
    /// Packets without report, by number, oldest first.
    open: VecDeque<(u64, Departure)>,
    /// What was reported and not handed on.
    results: Vec<PacketResult>,
    wanted: VecDeque<Probe>,
    clusters: HashMap<u32, PacedPacketInfo>,
}

fn instant(at: Timestamp) -> units::Timestamp {
    units::Timestamp::from_micros(ORIGIN_US + (at.as_nanos() / 1000) as i64)
}

fn rate(rate: Bitrate) -> units::DataRate {
    units::DataRate::from_bits_per_sec(rate.as_bps_f64() as i64)
}

fn bitrate(rate: units::DataRate) -> Bitrate {
    Bitrate::from_bps_f64(rate.bps_float())
}

impl GoogCc {
    fn begin(&mut self, now: Timestamp, constraints: TargetRateConstraints) {
        let stream_based_config = StreamsConfig {
            at_time: instant(now),
            requests_alr_probing: Some(true),
            max_total_allocated_bitrate: constraints.max_data_rate,
            ..StreamsConfig::default()
        };
        let config = NetworkControllerConfig { constraints, stream_based_config, ..Default::default() };
        let mut controller = GoogCcNetworkController::new(config, GoogCcConfig { feedback_only: true });
        let available = NetworkAvailability { at_time: instant(now), network_available: true };
        let update = controller.on_network_availability(available);
        self.controller = Some(Controller(controller));
        self.next = Some(now);
        self.take(update);
        self.handle_timeout(now);
    }

    fn take(&mut self, update: NetworkControlUpdate) {
        if let Some(target) = update.target_rate {
            self.target = bitrate(target.target_rate);
        }
        if let Some(pacer) = update.pacer_config {
            self.pace = bitrate(pacer.data_rate());
        }
        for cluster in update.probe_cluster_configs {
            self.want(&cluster);
        }
    }

    fn want(&mut self, cluster: &ProbeClusterConfig) {
        let id = cluster.id as u32;
        let octets =
            (cluster.target_data_rate.bps_float() / 8.0 * cluster.target_duration.seconds_float()) as i64;
        let info = PacedPacketInfo {
            send_bitrate: cluster.target_data_rate,
            ..PacedPacketInfo::new(cluster.id, i64::from(cluster.target_probe_count), octets)
        };
        self.clusters.insert(id, info);
        self.wanted.push_back(Probe {
            id: ProbeId(id),
            subflow: Subflow(0),
            rate: bitrate(cluster.target_data_rate),
            size: DataSize::from_bytes(octets.max(0) as u64),
            packets: u8::try_from(cluster.target_probe_count).unwrap_or(u8::MAX),
        });
    }

    /// The departure of a packet.
    fn departure(&self, number: u64) -> Option<Departure> {
        let first = self.open.front()?.0;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        let (_, departure) = *self.open.get(index)?;
        Some(departure)
    }

    fn result(&mut self, packet: &PacketReport) -> Option<PacketResult> {
        let receive_time = match packet.fate {
            Fate::Received { at, .. } => {
                units::Timestamp::from_micros(ORIGIN_US + (at?.as_nanos() / 1000) as i64)
            }
            Fate::Lost => units::Timestamp::plus_infinity(),
            // It was lost before.
            Fate::Late { .. } => return None,
        };
        let sent_packet = self.departure(packet.packet.id.0)?;
        self.in_flight -= sent_packet.size.bytes();
        Some(PacketResult { sent_packet, receive_time, ..PacketResult::default() })
    }
}

impl RateController for GoogCc {
    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let size = packet.size.as_bytes() as i64;
        let mut pacing_info = PacedPacketInfo::default();
        if let Some(cluster) = packet.probe.and_then(|probe| self.clusters.get_mut(&probe.0)) {
            pacing_info = *cluster;
            cluster.probe_cluster_bytes_sent += size;
        }
        let departure = Departure {
            send_time: instant(now),
            size: units::DataSize::from_bytes(size),
            pacing_info,
            sequence_number: packet.id.0 as i64,
            data_in_flight: units::DataSize::from_bytes(self.in_flight),
            ..Departure::default()
        };
        self.in_flight += size;
        self.open.push_back((packet.id.0, departure));
        if let Some(controller) = &mut self.controller {
            let update = controller.0.on_sent_packet(departure);
            self.take(update);
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        for packet in feedback.packets {
            let result = self.result(packet);
            self.results.extend(result);
        }
        let newest = feedback.packets.iter().map(|packet| packet.packet.id.0).max();
        // A report is about the last seconds.
        while self.open.front().zip(newest).is_some_and(|((first, _), newest)| first + 4096 < newest) {
            self.open.pop_front();
        }
        // Losses without an arrival beside them end the library.
        if !self.results.iter().any(PacketResult::is_received) {
            return;
        }
        let message = TransportPacketsFeedback {
            feedback_time: instant(now),
            data_in_flight: units::DataSize::from_bytes(self.in_flight),
            packet_feedbacks: std::mem::take(&mut self.results),
            sendless_arrival_times: Vec::new(),
        };
        if let Some(controller) = &mut self.controller {
            let update = controller.0.on_transport_packets_feedback(message);
            self.take(update);
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => {
                let constraints = TargetRateConstraints {
                    at_time: instant(now),
                    min_data_rate: Some(rate(min)),
                    max_data_rate: Some(rate(max)),
                    starting_rate: Some(rate(start)),
                };
                match &mut self.controller {
                    None => self.begin(now, constraints),
                    Some(controller) => {
                        let constraints = TargetRateConstraints { starting_rate: None, ..constraints };
                        let update = controller.0.on_target_rate_constraints(constraints);
                        self.take(update);
                    }
                }
            }
            LocalSignal::Backlog { waiting, .. } => self.waiting = waiting.as_bytes() as i64,
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.next.is_none_or(|due| now < due) {
            return;
        }
        self.next = Some(now + PROCESS);
        let pacer_queue = Some(units::DataSize::from_bytes(self.waiting));
        if let Some(controller) = &mut self.controller {
            let update =
                controller.0.on_process_interval(ProcessInterval { at_time: instant(now), pacer_queue });
            self.take(update);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.next
    }

    fn poll_probe(&mut self, _: Timestamp) -> Option<Probe> {
        self.wanted.pop_front()
    }

    fn allowance(&self, _: Subflow) -> Allowance {
        Allowance::paced(self.pace)
    }

    fn target(&self) -> Target {
        Target::new(self.target)
    }

    fn phase(&self) -> &'static str {
        "goog-cc"
    }
}

impl fmt::Debug for GoogCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogCc")
            .field("target", &self.target)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}
