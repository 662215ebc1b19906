//! Runs a scenario.

use crate::agent::{Agent, DecoderSink, MediaSender, TcpSender, WindowSource};
use crate::build::{BuildError, World};
use crate::options::RunOptions;
use crate::pcap::{self, Capture, CapturedFlow};
use crate::record::BIN;
use crate::report::{self, Capacities};
use crate::scenario::{Flow, FlowKind, Scenario};
use crate::series::{Series, Subject};
use crate::source::LiveSource;
use seaway_control::Decision;
use seaway_report::summary::Summary;
use seaway_sim::AgentId;
use seaway_sim::tcp::HEADERS;
use seaway_stream::sink::PictureScore;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::io::{self, Write};
use std::ops::ControlFlow;

/// The time between two samples of the capacities.
const SECOND: TimeDelta = TimeDelta::from_secs(1);

/// A recording of what a flow displayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The screen over virtual time, as MP4.
    pub mp4: Vec<u8>,
    /// The score of every picture, in the order of capture.
    pub scores: Vec<PictureScore>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its summary.
    pub summary: Summary,
    /// Its time series; empty unless requested.
    pub series: Series,
    /// Why rates changed, by flow; empty unless series were requested.
    pub decisions: Vec<(String, Vec<Decision>)>,
    /// Capture times of the displayed frames, by flow; empty unless series were requested.
    pub shown: Vec<(String, Vec<Timestamp>)>,
    /// The recording, if one was requested.
    pub recording: Option<Recording>,
    /// True if it was interrupted: the summary covers the time before.
    pub interrupted: bool,
}

/// Runs `scenario`. `progress` is called with the virtual time about once a second of it, and may interrupt the run.
///
/// # Errors
/// The scenario cannot be built, or a codec fails.
pub fn run(
    scenario: &Scenario,
    options: RunOptions,
    progress: &mut dyn FnMut(TimeDelta) -> ControlFlow<()>,
) -> Result<Outcome, BuildError> {
    run_world(scenario, options, World::new(scenario, options)?, progress)
}

/// As [`run`]; also writes the packets that pass the sending hosts to `capture`, in pcap format.
///
/// # Errors
/// As [`run`], or `capture` fails.
pub fn run_captured(
    scenario: &Scenario,
    options: RunOptions,
    capture: Box<dyn Write + Send>,
    progress: &mut dyn FnMut(TimeDelta) -> ControlFlow<()>,
) -> Result<Outcome, BuildError> {
    let mut world = World::new(scenario, options)?;
    let refused = |error: io::Error| BuildError::new(format!("capture: {error}"));
    world.engine.keep_order();
    world.engine.observer_mut().capture =
        Some(Capture::new(capture, captured_flows(scenario)).map_err(refused)?);
    run_world(scenario, options, world, progress)
}

fn captured_flows(scenario: &Scenario) -> Vec<CapturedFlow> {
    let nodes = scenario.nodes();
    let place = |node: &str| nodes.iter().position(|known| known == node).unwrap_or_default();
    let captured = |flow: &Flow| {
        let (port, full) = match &flow.kind {
            FlowKind::Media(_) => (pcap::RTP, DataSize::ZERO),
            FlowKind::Tcp(tcp) => (pcap::SINK, tcp.packet.saturating_sub(HEADERS)),
            FlowKind::Udp(_) => (pcap::DISCARD, DataSize::ZERO),
            FlowKind::Window(_) => (pcap::WINDOW, DataSize::ZERO),
        };
        CapturedFlow::new(place(&flow.from), place(&flow.to), port, full)
    };
    scenario.flows.iter().map(captured).collect()
}

fn run_world(
    scenario: &Scenario,
    options: RunOptions,
    mut world: World,
    progress: &mut dyn FnMut(TimeDelta) -> ControlFlow<()>,
) -> Result<Outcome, BuildError> {
    let mut capacities = Capacities::new(&world);
    let mut sampler = options.series.then(|| Sampler::new(scenario, &world));
    let warm = Timestamp::ZERO + scenario.warmup;
    let end = Timestamp::ZERO + scenario.duration;
    let mut interrupted = false;
    while world.engine.now() < end {
        let now = world.engine.now();
        let mut next = next_stop(now, options.series).min(end);
        if now < warm {
            next = next.min(warm);
        }
        world.engine.run_until(next);
        if next == warm {
            restart_statistics(&mut world, warm);
        }
        capacities.look(&world);
        if let Some(sampler) = &mut sampler
            && next.as_nanos().is_multiple_of(BIN.as_nanos() as u64)
        {
            world.engine.observer_mut().catch_up();
            sampler.take(&world);
        }
        if progress(next - Timestamp::ZERO).is_break() {
            interrupted = next < end;
            break;
        }
    }
    if cfg!(debug_assertions) {
        world.assert_conservation();
    }
    world.engine.observer_mut().catch_up();
    finish_display(&mut world);
    check_media(scenario, &world)?;
    if let Some(capture) = world.engine.observer_mut().capture.take() {
        capture.finish().map_err(|error| BuildError::new(format!("capture: {error}")))?;
    }
    let summary = report::summary(scenario, &world, &capacities);
    let series = sampler.map(|sampler| sampler.series).unwrap_or_default();
    let recording = take_recording(&mut world, options)?;
    let (decisions, shown) = (decisions(scenario, &world), shown(scenario, &world));
    Ok(Outcome { recording, summary, series, decisions, shown, interrupted })
}

/// Scores the frames that were due on the screen until now: no later arrival would.
fn finish_display(world: &mut World) {
    let now = world.engine.now();
    let receivers: Vec<AgentId> = world.endpoints.iter().map(|ends| ends.1).collect();
    for receiver in receivers {
        if let Agent::MediaReceiver(receiver) = world.engine.agent_mut(receiver) {
            receiver.finish_display(now);
        }
    }
}

fn take_recording(world: &mut World, options: RunOptions) -> Result<Option<Recording>, BuildError> {
    let Some(receiver) =
        options.record.and_then(|recording| world.endpoints.get(recording.flow)).map(|ends| ends.1)
    else {
        return Ok(None);
    };
    let end = world.engine.now();
    let recording = match world.engine.agent_mut(receiver) {
        Agent::MediaReceiver(receiver) => receiver.decoder_mut().map(|sink| sink.take_recording(end)),
        _ => None,
    };
    let recording =
        recording.transpose().map_err(|error| BuildError::new(format!("recording: {error}")))?.flatten();
    Ok(recording.map(|(mp4, scores)| Recording { mp4, scores }))
}

/// Fails if a codec failed: the numbers of its flow would be meaningless.
fn check_media(scenario: &Scenario, world: &World) -> Result<(), BuildError> {
    for (flow, ends) in scenario.flows.iter().zip(&world.endpoints) {
        let failure = match (world.engine.agent(ends.0), world.engine.agent(ends.1)) {
            (Agent::MediaSender(sender), Agent::MediaReceiver(receiver)) => {
                let source = sender.live().and_then(LiveSource::failure).map(ToString::to_string);
                source.or_else(|| receiver.decoder().and_then(DecoderSink::failure).map(ToString::to_string))
            }
            _ => None,
        };
        if let Some(failure) = failure {
            return Err(BuildError::new(format!("flow {}: {failure}", flow.name)));
        }
    }
    Ok(())
}

fn decisions(scenario: &Scenario, world: &World) -> Vec<(String, Vec<Decision>)> {
    let of = |(flow, ends): (&Flow, &(AgentId, AgentId))| match world.engine.agent(ends.0) {
        Agent::MediaSender(sender) if !sender.decisions().is_empty() => {
            Some((flow.name.clone(), sender.decisions().to_vec()))
        }
        _ => None,
    };
    scenario.flows.iter().zip(&world.endpoints).filter_map(of).collect()
}

fn shown(scenario: &Scenario, world: &World) -> Vec<(String, Vec<Timestamp>)> {
    let of = |(flow, ends): (&Flow, &(AgentId, AgentId))| match world.engine.agent(ends.1) {
        Agent::MediaReceiver(receiver) if !receiver.shown().is_empty() => {
            Some((flow.name.clone(), receiver.shown().to_vec()))
        }
        _ => None,
    };
    scenario.flows.iter().zip(&world.endpoints).filter_map(of).collect()
}

/// The end of the next step: that of a bin of the series, or the middle of a second without series. Each stop limits the
/// engine's lookahead.
fn next_stop(now: Timestamp, series: bool) -> Timestamp {
    let (every, first) = if series { (BIN, TimeDelta::ZERO) } else { (SECOND, SECOND / 2) };
    let (every, first) = (every.as_nanos() as u64, first.as_nanos() as u64);
    let stops = (now.as_nanos() + every - first) / every;
    Timestamp::from_nanos(stops * every + first)
}

fn restart_statistics(world: &mut World, now: Timestamp) {
    // All queues of a cell are one element.
    let mut elements: Vec<_> = world.links.iter().map(|(_, queue)| queue.element()).collect();
    elements.dedup();
    for element in elements {
        if let Some(link) = world.engine.link_mut(element) {
            link.restart_statistics(now);
        } else if let Some(cell) = world.engine.cell_mut(element) {
            cell.restart_statistics(now);
        }
    }
}

/// Samples everything at the end of each bin.
struct Sampler {
    series: Series,
    flows: Vec<Subject>,
    links: Vec<Subject>,
}

impl Sampler {
    fn new(scenario: &Scenario, world: &World) -> Self {
        let mut series = Series::default();
        let flows = scenario.flows.iter().map(|flow| series.subject(&flow.name)).collect();
        let links = world.links.iter().map(|(name, _)| series.subject(name)).collect();
        Self { series, flows, links }
    }

    fn take(&mut self, world: &World) {
        let now = world.engine.now();
        let bin = (now.as_nanos() / BIN.as_nanos() as u64).saturating_sub(1) as usize;
        let rate = |octets: u64| octets as f64 * 8.0 / BIN.as_secs_f64();
        for (subject, flow) in self.flows.iter().zip(&world.engine.observer().flows) {
            let Some(bin) = flow.bins(bin..bin + 1).next() else { continue };
            self.series.push(now, *subject, "sent_rate", rate(bin.sent), "bit/s");
            self.series.push(now, *subject, "received_rate", rate(bin.received), "bit/s");
            self.series.push(now, *subject, "lost", f64::from(bin.lost), "packets");
        }
        for (subject, ends) in self.flows.iter().zip(&world.endpoints) {
            match world.engine.agent(ends.0) {
                Agent::MediaSender(sender) => take_media(&mut self.series, now, *subject, sender),
                Agent::WindowSource(source) => take_window(&mut self.series, now, *subject, source),
                Agent::TcpSender(sender) => take_tcp(&mut self.series, now, *subject, sender),
                _ => {}
            }
            if let Agent::MediaReceiver(receiver) = world.engine.agent(ends.1)
                && let Some(held) = receiver.held()
            {
                self.series.push(now, *subject, "receiver_buffer", held.as_bytes_f64(), "B");
                if let Some(refused) = receiver.refused() {
                    self.series.push(now, *subject, "receiver_refused", refused.as_bytes_f64(), "B");
                }
            }
        }
        for (subject, (_, queue)) in self.links.iter().zip(&world.links) {
            let Some((rate, waiting)) = world.level(*queue) else { continue };
            self.series.push(now, *subject, "capacity", rate.as_bps_f64(), "bit/s");
            self.series.push(now, *subject, "queue", waiting as f64, "packets");
        }
    }
}

fn take_media(series: &mut Series, now: Timestamp, subject: Subject, sender: &MediaSender) {
    let Some(session) = sender.session() else { return };
    let controller = session.controller();
    let backlog = session.backlog().as_bytes_f64();
    series.push(now, subject, "target_rate", controller.target().rate.as_bps_f64(), "bit/s");
    let encoder_rate = sender.encoder_rate();
    if encoder_rate > Bitrate::ZERO {
        series.push(now, subject, "encoder_rate", encoder_rate.as_bps_f64(), "bit/s");
    }
    series.push(now, subject, "backlog", backlog, "B");
    let statistics = session.statistics();
    series.push(now, subject, "frames_skipped", statistics.frames.skipped as f64, "frames");
    if let Some(rtt) = statistics.last_rtt {
        series.push(now, subject, "rtt", rtt.as_millis_f64(), "ms");
    }
    controller
        // The session's own round-trip time is recorded above.
        .inspect(&mut |gauge| {
            if gauge.name != "rtt" {
                series.push(now, subject, gauge.name, gauge.value, gauge.unit);
            }
        });
}

fn take_window(series: &mut Series, now: Timestamp, subject: Subject, source: &WindowSource) {
    series.push(now, subject, "encoder_rate", source.rate().as_bps_f64(), "bit/s");
    series.push(now, subject, "backlog", source.occupancy().as_bytes_f64(), "B");
    series.push(now, subject, "frames_skipped", source.refused() as f64, "frames");
}

fn take_tcp(series: &mut Series, now: Timestamp, subject: Subject, sender: &TcpSender) {
    series.push(now, subject, "congestion_window", sender.congestion_window(), "packets");
    if let Some(rtt) = sender.smoothed_rtt() {
        series.push(now, subject, "rtt", rtt.as_millis_f64(), "ms");
    }
}
