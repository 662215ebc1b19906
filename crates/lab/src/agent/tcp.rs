//! The two ends of a TCP flow.

use crate::agent::{Endpoint, PORT};
use crate::interval::IntervalCounters;
use crate::payload::Payload;
use crate::scenario::OnOffSchedule;
use crate::tag::Tag;
use seaway_link::{Outbox, Packet, Wake};
use seaway_quality::histogram::Histogram;
use seaway_sim::tcp::{Receiver, ReceiverConfig, ReceiverStatistics, SenderStatistics};
use seaway_sim::traffic::{TcpSource, TransferStatistics};
use seaway_units::{TimeDelta, Timestamp, earlier};

/// What the sending end has counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TcpCounters {
    pub(crate) sender: SenderStatistics,
    pub(crate) transfers: TransferStatistics,
}

/// The sending end. The application has data while the flow is on.
#[derive(Debug)]
pub(crate) struct TcpSender {
    tag: Tag,
    source: TcpSource,
    schedule: OnOffSchedule,
    /// When the flow is next switched on or off.
    change: Option<Timestamp>,
    interval: IntervalCounters<TcpCounters>,
    round_trips: Histogram,
}

impl TcpSender {
    pub(crate) fn new(
        tag: Tag,
        source: TcpSource,
        schedule: OnOffSchedule,
        interval: (Timestamp, Timestamp),
    ) -> Self {
        let change = schedule.next_on(Timestamp::ZERO);
        Self {
            tag,
            source,
            schedule,
            change,
            interval: IntervalCounters::new(interval),
            round_trips: Histogram::default(),
        }
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (TcpCounters, TcpCounters) {
        self.interval.at_ends(|| counters(&self.source))
    }

    /// The samples of the round-trip time.
    pub(crate) const fn round_trips(&self) -> &Histogram {
        &self.round_trips
    }

    /// Its smoothed round-trip time now.
    pub(crate) fn smoothed_rtt(&self) -> Option<TimeDelta> {
        self.source.sender().smoothed_rtt()
    }

    /// Its congestion window now, in segments.
    pub(crate) const fn congestion_window(&self) -> f64 {
        self.source.sender().congestion_window()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Timestamp> {
        earlier(self.change, self.source.poll_timeout())
    }

    fn before_input(&mut self, now: Timestamp) {
        let source = &self.source;
        self.interval.sample(now, || counters(source));
    }

    fn switch(&mut self, now: Timestamp) {
        if self.change.is_none_or(|at| now < at) {
            return;
        }
        match self.schedule.is_on(now) {
            true => self.source.resume(now),
            false => self.source.pause(),
        }
        self.change = self.schedule.next_change(now);
    }
}

fn counters(source: &TcpSource) -> TcpCounters {
    TcpCounters { sender: source.statistics(), transfers: source.transferred() }
}

impl Endpoint for TcpSender {
    #[inline]
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        packet.payload.take_segment(|segment| self.source.handle_segment(now, segment));
        if let Some(sample) = self.source.take_round_trip()
            && self.interval.contains(now)
        {
            self.round_trips.add(sample);
        }
    }

    #[inline]
    fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_none_or(|timeout| now < timeout) {
            return;
        }
        self.before_input(now);
        self.switch(now);
        self.source.handle_timeout(now);
    }

    #[inline]
    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        // One segment at a time: where the path takes no time, an acknowledgement may arrive before the next one.
        let Some(packet) = self.source.poll_transmit(now) else { return self.next_timeout() };
        out.send(now, PORT, Packet { flow: self.tag.number(), ..packet.map(Payload::of_segment) });
        Some(now)
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct TcpReceiver {
    tag: Tag,
    receiver: Receiver,
    interval: IntervalCounters<ReceiverStatistics>,
}

impl TcpReceiver {
    pub(crate) fn new(tag: Tag, config: ReceiverConfig, interval: (Timestamp, Timestamp)) -> Self {
        Self { tag, receiver: Receiver::new(config), interval: IntervalCounters::new(interval) }
    }

    /// What it took up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (ReceiverStatistics, ReceiverStatistics) {
        self.interval.at_ends(|| self.receiver.statistics())
    }

    fn before_input(&mut self, now: Timestamp) {
        let receiver = &self.receiver;
        self.interval.sample(now, || receiver.statistics());
    }
}

impl Endpoint for TcpReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        let ecn = packet.ecn;
        packet.payload.take_segment(|segment| self.receiver.handle_segment(now, ecn, segment));
    }

    #[inline]
    fn handle_timeout(&mut self, now: Timestamp) {
        if self.receiver.poll_timeout().is_some_and(|timeout| timeout <= now) {
            self.before_input(now);
            self.receiver.handle_timeout(now);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        while let Some(packet) = self.receiver.poll_transmit() {
            out.send(now, PORT, Packet { flow: self.tag.number(), ..packet.map(Payload::of_segment) });
        }
        self.receiver.poll_timeout()
    }
}
