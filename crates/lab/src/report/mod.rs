//! Fills the summary from the records of a run.

mod convergence;
mod media;
mod tcp;
mod window;

pub(crate) use convergence::Capacities;
pub use media::{buffer_summary, encoder_summary};

use crate::agent::Agent;
use crate::build::{QueueRef, World};
use crate::record::{BIN, FlowRecord, WIDE};
use crate::scenario::{Flow, FlowKind, Scenario};
use seaway_link::Node;
use seaway_quality::fairness::jain;
use seaway_report::summary::{
    Association, Fairness, FlowSummary, LinkDrops, LinkSummary, MeanMax, Packets, RateCov, Summary,
};
use seaway_sim::{Engine, Observer};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::fmt::Debug;

/// The summary of a run that has come to its end, or to where it was broken off.
pub(crate) fn summary(scenario: &Scenario, world: &World, capacities: &Capacities) -> Summary {
    let end = world.engine.now();
    let records = &world.engine.observer().flows;
    let converged = convergence::times(scenario, world, capacities);
    let flows: Vec<FlowSummary> = scenario
        .flows
        .iter()
        .zip(records)
        .zip(&world.endpoints)
        .zip(converged)
        .map(|(((flow, record), ends), convergence_s)| {
            let mut summary = FlowSummary { convergence_s, ..flow_summary(flow, record, end) };
            match (&flow.kind, world.engine.agent(ends.0), world.engine.agent(ends.1)) {
                (FlowKind::Media(media), Agent::MediaSender(sender), Agent::MediaReceiver(receiver)) => {
                    media::complete(&mut summary, media, sender, receiver, end);
                }
                (FlowKind::Tcp(tcp), Agent::TcpSender(sender), Agent::TcpReceiver(receiver)) => {
                    tcp::complete(&mut summary, tcp, sender, receiver);
                }
                (FlowKind::Window(_), Agent::WindowSource(source), Agent::WindowSink(sink)) => {
                    window::complete(&mut summary, source, sink);
                }
                _ => {}
            }
            summary
        })
        .collect();
    let mut summary = Summary {
        schema: Summary::SCHEMA,
        seaway: seaway_report::VERSION,
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        simulated_s: end.as_secs_f64(),
        events: world.engine.events(),
        timing: None,
        expect: Vec::new(),
        fairness: fairness(&flows),
        flows,
        links: world
            .links
            .iter()
            .filter_map(|(name, queue)| link_summary(name, *queue, &world.engine))
            .collect(),
    };
    summary.expect = crate::expectation::evaluate(scenario, &summary);
    summary
}

fn flow_summary(flow: &Flow, record: &FlowRecord, end: Timestamp) -> FlowSummary {
    let (from, to) = record.interval(end);
    let span = to - from;
    let per_second =
        |size: DataSize| (span > TimeDelta::ZERO).then(|| size.as_bits() as f64 / span.as_secs_f64());
    let lost = record.lost_queue + record.lost_channel;
    let known = lost + record.received.packets;
    FlowSummary {
        name: flow.name.clone(),
        kind: flow.kind.name(),
        control: match &flow.kind {
            FlowKind::Media(media) => Some(media.control.to_string()),
            FlowKind::Tcp(tcp) => Some(tcp.algorithm.to_string()),
            FlowKind::Window(_) => Some("window".to_owned()),
            FlowKind::Udp(_) => None,
        },
        measured_s: span.as_secs_f64(),
        sent_bps: per_second(record.sent.size),
        received_bps: per_second(record.received.size),
        packets: Packets {
            sent: record.sent.packets,
            received: record.received.packets,
            lost_queue: record.lost_queue,
            lost_channel: record.lost_channel,
            late: None,
            repaired: None,
        },
        loss_ratio: (known > 0).then(|| lost as f64 / known as f64),
        feedback_bps: match flow.kind {
            FlowKind::Udp(_) => None,
            _ => per_second(record.feedback.size),
        },
        path_rtt_ms: record.path_rtt.distribution(),
        path_delay_ms: record.path_delay.distribution(),
        path_jitter_ms: record.path_jitter.distribution(),
        path_rise_ms: (record.path_rise > TimeDelta::ZERO).then(|| record.path_rise.as_secs_f64() * 1e3),
        queue_delay_ms: record.queue_delay.distribution(),
        rate_cov: rate_cov(record, from, to),
        ..FlowSummary::default()
    }
}

/// Over the 0.5 s bins that lie wholly within the window.
fn rate_cov(record: &FlowRecord, from: Timestamp, to: Timestamp) -> Option<RateCov> {
    let bin = BIN.as_nanos() as u64 * WIDE;
    let wide = record.bins_per_wide();
    let (first, last) = (from.as_nanos().div_ceil(bin) as usize, (to.as_nanos() / bin) as usize);
    let cov = |octets: fn(crate::record::Bin) -> u64| {
        let sum = |index| record.bins(index * wide..(index + 1) * wide).map(octets).sum::<u64>() as f64;
        coefficient_of_variation(&(first..last.max(first)).map(sum).collect::<Vec<_>>())
    };
    let cov = RateCov { sent: cov(|bin| bin.sent), received: cov(|bin| bin.received) };
    (cov.sent.is_some() || cov.received.is_some()).then_some(cov)
}

/// Standard deviation over mean; `None` for fewer than two values, or a mean of zero.
fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (values.len() > 1 && mean > 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

/// Jain's index over the flows that answer congestion, where there are two or more with a rate.
fn fairness(flows: &[FlowSummary]) -> Option<Fairness> {
    let competing = flows.iter().filter(|flow| flow.kind != "udp");
    let (over, rates): (Vec<_>, Vec<_>) =
        competing.filter_map(|flow| Some((flow.name.clone(), flow.received_bps?))).unzip();
    if over.len() < 2 {
        return None;
    }
    Some(Fairness { jain: jain(&rates)?, over })
}

/// The numbers of a link or of a queue of a cell.
pub(crate) fn link_summary<P: Debug + Send, A: Node<P>, O: Observer<P>>(
    name: &str,
    queue: QueueRef,
    engine: &Engine<P, A, O>,
) -> Option<LinkSummary> {
    let statistics = queue.statistics(engine)?;
    let association = queue.association(engine).map(|found| Association {
        made: found.made,
        lost: found.lost,
        beacons_missed: found.beacons_missed,
        associated_s: found.nanos as f64 / 1e9,
    });
    Some(LinkSummary {
        name: name.to_owned(),
        utilisation: statistics.utilisation,
        drops: LinkDrops {
            queue: statistics.drops.queue(),
            aqm: statistics.drops.early,
            channel: statistics.drops.channel,
        },
        marks: statistics.marks,
        queue: MeanMax { mean: statistics.waiting_mean, max: statistics.waiting_max as f64 },
        association,
    })
}
