//! The quantities of bars, computed from the summary of a run.

use crate::scenario::Scenario;
use crate::scorecard::metrics;
use seaway_quality::fairness::jain;
use seaway_report::Unit;
use seaway_report::summary::{FlowSummary, Summary};

/// A number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Busy time of the busiest link or cell.
    Utilisation,
    /// The largest among the media flows: 95 of 100 packets wait no longer in queues.
    QueueP95,
    /// The longest that a packet of a media flow waited in queues.
    QueueMax,
    /// The largest among the media flows: 95 of 100 round trips of the path are no longer.
    RoundTripP95,
    /// The rate that the first media flow received.
    Received,
    /// The mean rate of the media flows over the mean rate of all.
    OurShare,
    /// The mean rate of the TCP flows over the mean rate of all.
    TheirShare,
    /// Jain's index of the media flows alone.
    Jain,
    /// The highest rate of a media flow over the lowest.
    MostOverLeast,
    /// Packets lost over those whose fate is known, of the media flow that lost most.
    Lost,
    /// The channel's loss, as the controller has it at the end.
    ChannelLoss,
    /// Repair over all that was sent.
    Repair,
    /// Luma PSNR of the picture on screen.
    Psnr,
    /// Part of the time in freezes.
    Frozen,
}

impl Quantity {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Utilisation => "utilisation",
            Self::QueueP95 => "queueing, 95 %",
            Self::QueueMax => "queueing, longest",
            Self::RoundTripP95 => "round trip, 95 %",
            Self::Received => "received",
            Self::OurShare => "our share",
            Self::TheirShare => "TCP's share",
            Self::Jain => "Jain's index",
            Self::MostOverLeast => "most over least",
            Self::Lost => "lost",
            Self::ChannelLoss => "channel loss reported",
            Self::Repair => "repair",
            Self::Psnr => "PSNR",
            Self::Frozen => "frozen",
        }
    }

    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::Utilisation | Self::Lost | Self::ChannelLoss | Self::Repair | Self::Frozen => Unit::Percent,
            Self::QueueP95 | Self::QueueMax | Self::RoundTripP95 => Unit::Milliseconds,
            Self::Received => Unit::MegabitsPerSecond,
            Self::OurShare | Self::TheirShare | Self::Jain | Self::MostOverLeast => Unit::One,
            Self::Psnr => Unit::Decibels,
        }
    }

    /// Its value in a run; `None` where it does not apply.
    pub(crate) fn of(self, scenario: &Scenario, summary: &Summary) -> Option<f64> {
        let media = || summary.flows.iter().filter(|flow| flow.kind == MEDIA);
        let largest = |of: fn(&FlowSummary) -> Option<f64>| media().filter_map(of).reduce(f64::max);
        let first = |of: fn(&FlowSummary) -> Option<f64>| media().next().and_then(of);
        match self {
            Self::Utilisation => metrics::utilisation(scenario, summary).map(|part| part * 100.0),
            Self::QueueP95 => largest(|flow| flow.queue_delay_ms.map(|delay| delay.p95)),
            Self::QueueMax => largest(|flow| flow.queue_delay_ms.map(|delay| delay.max)),
            Self::RoundTripP95 => largest(|flow| flow.path_rtt_ms.map(|rtt| rtt.p95)),
            Self::Received => first(|flow| flow.received_bps.map(|rate| rate * 1e-6)),
            Self::OurShare => share(summary, MEDIA),
            Self::TheirShare => share(summary, "tcp"),
            Self::Jain => jain(&rates(summary, MEDIA)),
            Self::MostOverLeast => {
                let rates = rates(summary, MEDIA);
                let least = rates.iter().copied().reduce(f64::min).filter(|&least| least > 0.0)?;
                Some(rates.into_iter().fold(0.0, f64::max) / least)
            }
            Self::Lost => largest(|flow| flow.loss_ratio.map(|part| part * 100.0)),
            Self::ChannelLoss => first(|flow| flow.channel_loss.map(|part| part * 100.0)),
            Self::Repair => first(|flow| {
                let sent = flow.sent_bps.filter(|&sent| sent > 0.0)?;
                flow.repair_bps.map(|repair| repair / sent * 100.0)
            }),
            Self::Psnr => first(|flow| flow.psnr_db.map(|psnr| psnr.value)),
            Self::Frozen => largest(|flow| {
                let freezes = flow.freezes.filter(|_| flow.measured_s > 0.0)?;
                Some(freezes.total_s * 100.0 / flow.measured_s)
            }),
        }
    }
}

const MEDIA: &str = "media";

fn rates(summary: &Summary, kind: &str) -> Vec<f64> {
    summary.flows.iter().filter(|flow| flow.kind == kind).filter_map(|flow| flow.received_bps).collect()
}

/// The mean rate of the flows of a kind over the mean rate of media and TCP flows.
fn share(summary: &Summary, kind: &str) -> Option<f64> {
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    let own = rates(summary, kind);
    let all: Vec<f64> = [MEDIA, "tcp"].iter().flat_map(|kind| rates(summary, kind)).collect();
    (!own.is_empty() && mean(&all) > 0.0).then(|| mean(&own) / mean(&all))
}
