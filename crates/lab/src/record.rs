//! Per-packet measurements of a run.

use crate::loss_notification::LossNotification;
use crate::payload::Payload;
use crate::pcap::Capture;
use crate::tag::Tag;
use seaway_link::{DropCause, Dropped, Packet};
use seaway_quality::histogram::Histogram;
use seaway_sim::{ElementId, Envelope, Observer};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::ops::Range;

/// The width of the bins in which rates are recorded for time series.
pub(crate) const BIN: TimeDelta = TimeDelta::from_millis(100);
/// Arrivals are processed in batches of this size, which keeps them in the processor's cache.
const BATCH: usize = 64;
/// The most arrivals that wait for earlier feedback to become known.
const MOST_WAITING: usize = 4096;
/// Bins in a wide bin. The variation of a rate is computed over wide bins; without time series only these are recorded.
pub(crate) const WIDE: u64 = 5;

/// The measurements of all flows.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) flows: Vec<FlowRecord>,
    /// Packets sent that have neither arrived nor been dropped.
    pub(crate) in_flight: u64,
    /// Writes the packets to a capture file.
    pub(crate) capture: Option<Capture>,
    /// Loss notification of the flows that use it.
    notifications: Vec<(usize, LossNotification)>,
}

/// The measurements of a flow.
#[derive(Debug)]
pub(crate) struct FlowRecord {
    interval: (Timestamp, Timestamp),
    pub(crate) sent: Count,
    pub(crate) received: Count,
    pub(crate) lost_queue: u64,
    pub(crate) lost_channel: u64,
    pub(crate) feedback: Count,
    pub(crate) path_rtt: Histogram,
    pub(crate) queue_delay: Histogram,
    pub(crate) path_delay: Histogram,
    /// Changes of the delay from packet to packet.
    pub(crate) path_jitter: Histogram,
    /// The largest increase of the delay from one packet to the next.
    pub(crate) path_rise: TimeDelta,
    /// The delay of the newest packet that arrived.
    there: Option<TimeDelta>,
    /// The delay of the newest feedback that had arrived by then.
    back: Option<TimeDelta>,
    /// The flow has feedback.
    is_answered: bool,
    /// Arrivals not yet processed, and how many start the next batch. The engine may run one end of a flow ahead of the
    /// other, so feedback that arrived before a packet may be recorded after it.
    arrivals: Vec<Arrival>,
    next_batch: usize,
    /// When feedback arrived, and its delay.
    returns: VecDeque<(Timestamp, TimeDelta)>,
    /// From the start of the run to the last bin with a packet.
    bins: Vec<Bin>,
    /// Number of bins of the whole run.
    most: usize,
    /// Width of a bin in nanoseconds.
    pub(crate) width: u64,
    /// Index and start in nanoseconds of the bin written last: saves a division for each packet.
    present: (usize, u64),
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Timestamp,
    size: DataSize,
    /// One-way delay.
    delay: TimeDelta,
    /// The part of the delay spent in queues.
    waited: TimeDelta,
}

/// Counts of a bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bin {
    /// Octets.
    pub(crate) sent: u64,
    /// Octets.
    pub(crate) received: u64,
    /// Packets.
    pub(crate) lost: u32,
}

/// Packets and their octets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) size: DataSize,
}

impl Count {
    fn add(&mut self, size: DataSize) {
        self.packets += 1;
        self.size += size;
    }
}

impl Recorder {
    /// A record for each flow, measured in its interval. Time `series` need narrow bins.
    pub(crate) fn new(intervals: &[(Timestamp, Timestamp)], duration: TimeDelta, series: bool) -> Self {
        let width = BIN.as_nanos() as u64 * if series { 1 } else { WIDE };
        let most = (duration.as_nanos() as u64 / width + 1) as usize;
        let record = |&interval: &(Timestamp, Timestamp)| FlowRecord {
            interval,
            sent: Count::default(),
            received: Count::default(),
            lost_queue: 0,
            lost_channel: 0,
            feedback: Count::default(),
            path_rtt: Histogram::default(),
            queue_delay: Histogram::default(),
            path_delay: Histogram::default(),
            path_jitter: Histogram::default(),
            path_rise: TimeDelta::ZERO,
            there: None,
            back: None,
            is_answered: true,
            arrivals: Vec::new(),
            next_batch: BATCH,
            returns: VecDeque::new(),
            bins: vec![Bin::default()],
            most,
            width,
            present: (0, 0),
        };
        Self {
            flows: intervals.iter().map(record).collect(),
            in_flight: 0,
            notifications: Vec::new(),
            capture: None,
        }
    }

    /// Processes all arrivals: no earlier feedback can be recorded any more.
    pub(crate) fn catch_up(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.catch_up(Timestamp::from_nanos(u64::MAX)));
    }

    /// Reports the channel's losses of a flow to `notifications`.
    pub(crate) fn notify(&mut self, flow: usize, notifications: LossNotification) {
        self.notifications.push((flow, notifications));
    }
}

impl FlowRecord {
    /// Whether the flow is measured at `now`.
    pub(crate) fn measures(&self, now: Timestamp) -> bool {
        self.interval.0 <= now && now < self.interval.1
    }

    /// The measurement interval of the flow in a run that ended at `end`; empty if it ended before.
    pub(crate) fn interval(&self, end: Timestamp) -> (Timestamp, Timestamp) {
        (self.interval.0.min(end), self.interval.1.min(end))
    }

    /// These bins.
    pub(crate) fn bins(&self, range: Range<usize>) -> impl Iterator<Item = Bin> {
        range.map(|index| self.bins.get(index).copied().unwrap_or_default())
    }

    /// Bins that make one of [`WIDE`].
    pub(crate) const fn bins_per_wide(&self) -> usize {
        (WIDE * BIN.as_nanos() as u64 / self.width) as usize
    }

    /// The flow has no feedback.
    pub(crate) fn skip_round_trips(&mut self) {
        self.is_answered = false;
    }

    fn note_arrival(&mut self, arrival: Arrival) {
        self.arrivals.push(arrival);
        if self.arrivals.len() >= self.next_batch {
            let reported_until = self.returns.back().map_or(Timestamp::ZERO, |(at, _)| *at);
            let is_complete = !self.is_answered || self.arrivals.len() >= MOST_WAITING;
            self.catch_up(if is_complete { Timestamp::from_nanos(u64::MAX) } else { reported_until });
            self.next_batch = self.arrivals.len() + BATCH;
        }
    }

    /// Processes what arrived before `until`, up to which all feedback is recorded.
    pub(crate) fn catch_up(&mut self, until: Timestamp) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let known = arrivals.partition_point(|arrival| arrival.at < until);
        for arrival in arrivals.drain(..known) {
            while let Some((_, back)) = self.returns.pop_front_if(|(at, _)| *at <= arrival.at) {
                self.back = Some(back);
            }
            self.process(&arrival);
        }
        self.arrivals = arrivals;
    }

    #[inline]
    fn process(&mut self, arrival: &Arrival) {
        let &Arrival { at, size, delay, waited } = arrival;
        self.bin(at).received += size.as_bytes();
        if !self.measures(at) {
            return;
        }
        self.received.add(size);
        self.queue_delay.add(waited);
        self.path_delay.add(delay);
        if let Some(former) = self.there.replace(delay) {
            let rise = delay - former;
            self.path_jitter.add(rise.abs());
            self.path_rise = self.path_rise.max(rise);
        }
        if let Some(back) = self.back {
            self.path_rtt.add(delay + back);
        }
    }

    #[inline]
    fn bin(&mut self, now: Timestamp) -> &mut Bin {
        if now.as_nanos().wrapping_sub(self.present.1) >= self.width {
            self.find_bin(now);
        }
        &mut self.bins[self.present.0]
    }

    #[inline(never)]
    fn find_bin(&mut self, now: Timestamp) {
        let bin = now.as_nanos() / self.width;
        let index = (bin as usize).min(self.most - 1);
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        self.present = (index, bin * self.width);
    }
}

impl Observer<Payload> for Recorder {
    fn on_sent(&mut self, now: Timestamp, packet: &Packet<Envelope<Payload>>) {
        self.in_flight += 1;
        let tag = Tag::of(packet.flow);
        let flow = &mut self.flows[tag.flow];
        if tag.is_reverse {
            if flow.measures(now) {
                flow.feedback.add(packet.size);
            }
            return;
        }
        if let Some(capture) = &mut self.capture {
            capture.note(now, tag, packet);
        }
        flow.bin(now).sent += packet.size.as_bytes();
        if flow.measures(now) {
            flow.sent.add(packet.size);
        }
    }

    fn on_delivered(&mut self, now: Timestamp, packet: &Packet<Envelope<Payload>>) {
        self.in_flight -= 1;
        let tag = Tag::of(packet.flow);
        let flow = &mut self.flows[tag.flow];
        let delay = now - packet.payload.sent();
        if tag.is_reverse {
            flow.returns.push_back((now, delay));
            if flow.returns.len() >= MOST_WAITING {
                flow.catch_up(now);
                flow.back = flow.returns.drain(..).next_back().map(|(_, back)| back);
            }
            if let Some(capture) = &mut self.capture {
                capture.note(now, tag, packet);
            }
            return;
        }
        flow.note_arrival(Arrival { at: now, size: packet.size, delay, waited: packet.waited });
    }

    fn on_dropped(&mut self, _element: ElementId, dropped: &Dropped<Envelope<Payload>>) {
        self.in_flight -= 1;
        let tag = Tag::of(dropped.packet.flow);
        let flow = &mut self.flows[tag.flow];
        if tag.is_reverse {
            return;
        }
        flow.bin(dropped.at).lost += 1;
        if let (DropCause::Channel | DropCause::Mac, Some((_, notifications))) =
            (dropped.cause, self.notifications.iter().find(|(index, _)| *index == tag.flow))
        {
            dropped
                .packet
                .payload
                .payload()
                .clone()
                .take_message(|message| notifications.push(std::mem::take(message)));
        }
        if !flow.measures(dropped.at) {
            return;
        }
        match dropped.cause {
            DropCause::Tail | DropCause::Early | DropCause::Age | DropCause::Policer => flow.lost_queue += 1,
            DropCause::Channel | DropCause::Mac => flow.lost_channel += 1,
        }
    }
}
