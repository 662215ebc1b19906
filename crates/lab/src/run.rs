//! Runs a scenario.

use crate::build::BuildError;
use crate::options::RunOptions;
use crate::pcap::{self, Capture, CapturedFlow};
use crate::scenario::{Flow, FlowKind, Scenario};
use crate::series::Series;
use crate::simulation::Simulation;
use seaway_control::Decision;
use seaway_report::summary::Summary;
use seaway_sim::tcp::HEADERS;
use seaway_stream::sink::PictureScore;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::io::{self, Write};
use std::ops::ControlFlow;

/// A recording of what a flow displayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The screen over virtual time, as MP4.
    pub mp4: Vec<u8>,
    /// The score of every picture, in the order of capture.
    pub scores: Vec<PictureScore>,
}

/// A frame that was displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownFrame {
    /// When it was captured.
    pub captured: Timestamp,
    /// When it was displayed.
    pub displayed: Timestamp,
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
    /// The displayed frames, by flow; empty unless series were requested.
    pub shown: Vec<(String, Vec<ShownFrame>)>,
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
    drive(Simulation::new(scenario, options)?, progress)
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
    let mut simulation = Simulation::new(scenario, options)?;
    let refused = |error: io::Error| BuildError::new(format!("capture: {error}"));
    simulation.capture(Capture::new(capture, captured_flows(scenario)).map_err(refused)?);
    drive(simulation, progress)
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

fn drive(
    mut simulation: Simulation,
    progress: &mut dyn FnMut(TimeDelta) -> ControlFlow<()>,
) -> Result<Outcome, BuildError> {
    let end = simulation.duration();
    while !simulation.is_over() {
        let now = simulation.step(end);
        if progress(now).is_break() {
            break;
        }
    }
    simulation.finish()
}
