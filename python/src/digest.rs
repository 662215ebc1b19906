//! What a report of feedback says, in a few numbers.

use seaway_control::{Fate, Feedback};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Transit};

/// The numbers of one report.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Digest {
    /// A fresh sample of the round-trip time.
    pub(crate) rtt: Option<TimeDelta>,
    /// Packets that arrived, late ones not counted.
    pub(crate) received: u32,
    /// Packets taken for lost.
    pub(crate) lost: u32,
    /// Packets taken for lost before, which arrived after all.
    pub(crate) late: u32,
    /// Packets that arrived with the mark of congestion (CE).
    pub(crate) marked: u32,
    /// Octets of the packets that arrived, as IP datagrams.
    pub(crate) received_size: DataSize,
    /// Octets of the packets that were lost.
    pub(crate) lost_size: DataSize,
    /// From the newest arrival of the report before to the newest of this one.
    pub(crate) span: Option<TimeDelta>,
    /// Mean one-way delay above the least of the flow.
    pub(crate) queue_delay: Option<TimeDelta>,
    /// One-way delay of the newest packet less that of the oldest.
    pub(crate) delay_change: Option<TimeDelta>,
}

/// Makes digests of the reports of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digester {
    least: Option<Transit>,
    newest: Option<RemoteTimestamp>,
}

impl Digester {
    /// The numbers of the next report.
    pub(crate) fn digest(&mut self, feedback: &Feedback<'_>) -> Digest {
        let mut digest = Digest { rtt: feedback.rtt, ..Digest::default() };
        let (mut first, mut last, mut excess, mut count) = (None, None, TimeDelta::ZERO, 0);
        for report in feedback.packets {
            match report.fate {
                Fate::Received { at, ecn } => {
                    digest.received += 1;
                    digest.received_size += report.packet.size;
                    digest.marked += u32::from(ecn == Ecn::Ce);
                    let Some(at) = at else { continue };
                    let transit = at.transit_from(report.sent);
                    self.least = Some(self.least.map_or(transit, |least| least.min(transit)));
                    // Against the first of this report, so that the sum needs no second pass.
                    excess += transit - *first.get_or_insert(transit);
                    last = Some((at, transit));
                    count += 1;
                }
                Fate::Lost => {
                    digest.lost += 1;
                    digest.lost_size += report.packet.size;
                }
                Fate::Late { .. } => digest.late += 1,
            }
        }
        if let (Some(first), Some((at, transit)), Some(least)) = (first, last, self.least) {
            digest.queue_delay = Some(excess / count + (first - least));
            digest.delay_change = Some(transit - first);
            let before = self.newest.replace(at);
            digest.span = before
                .filter(|before| *before < at)
                .map(|before| TimeDelta::from_nanos(at.as_nanos().saturating_sub(before.as_nanos()) as i64));
        }
        digest
    }
}

impl Digest {
    /// Octets that arrived over the time between arrivals, bit/s.
    pub(crate) fn receive_rate(&self) -> Option<f64> {
        self.received_size.over(self.span?).map(Bitrate::as_bps_f64)
    }

    /// Lost packets over those whose fate is known.
    pub(crate) fn loss_ratio(&self) -> f64 {
        f64::from(self.lost) / f64::from((self.lost + self.received).max(1))
    }
}
