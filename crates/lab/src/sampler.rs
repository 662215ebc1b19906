//! Samples the time series of a run.

use crate::agent::{Agent, MediaSender, TcpSender, WindowSource};
use crate::build::World;
use crate::record::BIN;
use crate::scenario::Scenario;
use crate::series::{Series, Subject};
use crate::source::LiveSource;
use seaway_units::{Bitrate, Timestamp};

/// Samples everything at the end of each bin.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(crate) series: Series,
    flows: Vec<Subject>,
    links: Vec<Subject>,
}

impl Sampler {
    pub(crate) fn new(scenario: &Scenario, world: &World) -> Self {
        let mut series = Series::default();
        let flows = scenario.flows.iter().map(|flow| series.subject(&flow.name)).collect();
        let links = world.links.iter().map(|(name, _)| series.subject(name)).collect();
        Self { series, flows, links }
    }

    pub(crate) fn take(&mut self, world: &World) {
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
    if let Some(size) = sender.live().and_then(LiveSource::picture_size) {
        series.push(now, subject, "picture_rows", f64::from(size.height()), "rows");
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
