//! Datagrams at a constant rate, and where they end.

use crate::activity::Activity;
use crate::agent::PORT;
use crate::cargo::Cargo;
use crate::record::Tag;
use crate::scenario::UdpFlow;
use seaway_link::{Node, Packet, Port};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// Sends a datagram every `packet / rate` while its flow is on.
#[derive(Debug)]
pub(crate) struct UdpSource {
    tag: Tag,
    packet: DataSize,
    rate: Bitrate,
    activity: Activity,
    /// The start of the present on-span and the packets sent in it: their product is exact where adding up
    /// rounded gaps would drift.
    since: Timestamp,
    sent: u64,
    due: Option<Timestamp>,
}

impl UdpSource {
    pub(crate) fn new(tag: Tag, flow: UdpFlow, activity: Activity) -> Self {
        let due = activity.next_on(Timestamp::ZERO);
        let since = due.unwrap_or(Timestamp::ZERO);
        Self { tag, packet: flow.packet, rate: flow.rate, activity, since, sent: 0, due }
    }

    fn schedule_next(&mut self) {
        let gaps = self.rate.time_to_send(self.packet * self.sent).unwrap_or(TimeDelta::MAX);
        let next = self.since + gaps;
        self.due = self.activity.next_on(next);
        if let Some(due) = self.due.filter(|&due| due > next) {
            (self.since, self.sent) = (due, 0);
        }
    }
}

impl Node<Cargo> for UdpSource {
    fn handle_packet(&mut self, _now: Timestamp, _port: Port, _packet: Packet<Cargo>) {}

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<Cargo>)> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.sent += 1;
        self.schedule_next();
        let packet =
            Packet { flow: self.tag.number(), ..Packet::new(self.packet, Ecn::NotEct, Cargo::FILLING) };
        Some((PORT, packet))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }
}

/// Takes what comes.
#[derive(Debug)]
pub(crate) struct UdpSink;

impl Node<Cargo> for UdpSink {
    fn handle_packet(&mut self, _now: Timestamp, _port: Port, _packet: Packet<Cargo>) {}

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_packet(&mut self, _now: Timestamp) -> Option<(Port, Packet<Cargo>)> {
        None
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
}
