//! Datagrams at a constant rate, and where they end.

use crate::agent::{Endpoint, PORT};
use crate::payload::Payload;
use crate::scenario::OnOffSchedule;
use crate::scenario::UdpFlow;
use crate::tag::Tag;
use seaway_link::{Outbox, Packet, Wake};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// Sends a datagram every `packet / rate` while its flow is on, or bursts of them.
#[derive(Debug)]
pub(crate) struct UdpSource {
    tag: Tag,
    bursts: Bursts,
    schedule: OnOffSchedule,
    /// The start of the present on-span and the packets sent in it: their product is exact where adding up
    /// rounded gaps would drift.
    since: Timestamp,
    sent: u64,
    due: Option<Timestamp>,
}

impl UdpSource {
    pub(crate) fn new(tag: Tag, flow: UdpFlow, schedule: OnOffSchedule) -> Self {
        let due = schedule.next_on(Timestamp::ZERO);
        let since = due.unwrap_or(Timestamp::ZERO);
        Self { tag, bursts: Bursts::of(flow), schedule, since, sent: 0, due }
    }

    fn schedule_next(&mut self) {
        let next = self.since + self.bursts.begins(self.sent);
        self.due = self.schedule.next_on(next);
        if let Some(due) = self.due.filter(|&due| due > next) {
            (self.since, self.sent) = (due, 0);
        }
    }
}

/// What is written at once: full datagrams and one with the rest.
#[derive(Debug)]
struct Bursts {
    rate: Bitrate,
    packet: DataSize,
    /// A burst in all, at least a datagram.
    burst: DataSize,
    /// Datagrams in it.
    packets: u64,
}

impl Bursts {
    fn of(flow: UdpFlow) -> Self {
        let (rate, packet) = (flow.rate, flow.packet);
        let burst = flow.every.map_or(packet, |every| rate.size_in(every).max(packet));
        Self { rate, packet, burst, packets: burst.as_bytes().div_ceil(packet.as_bytes()) }
    }

    /// After the first datagram of all, this one leaves.
    fn begins(&self, number: u64) -> TimeDelta {
        self.rate.time_to_send(self.burst * (number / self.packets)).unwrap_or(TimeDelta::MAX)
    }

    fn size(&self, number: u64) -> DataSize {
        self.packet.min(self.burst - self.packet * (number % self.packets))
    }
}

impl Endpoint for UdpSource {
    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        while self.due.is_some_and(|due| due <= now) {
            let size = self.bursts.size(self.sent);
            self.sent += 1;
            self.schedule_next();
            let packet = Packet::new(size, Ecn::NotEct, Payload::PADDING);
            out.send(now, PORT, Packet { flow: self.tag.number(), ..packet });
        }
        self.due
    }
}

/// Discards what arrives.
#[derive(Debug)]
pub(crate) struct UdpSink;

impl Endpoint for UdpSink {
    fn transmit(&mut self, _now: Timestamp, _until: Timestamp, _out: &mut Outbox<Payload>) -> Wake {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_at_once_is_cut_into_datagrams() {
        let (rate, packet) = (Bitrate::from_kbps(1_500), DataSize::from_bytes(1_000));
        let bursts = Bursts::of(UdpFlow { rate, packet, every: Some(TimeDelta::from_millis(30)) });
        // 5625 B: five full ones and the rest.
        let sizes: Vec<u64> = (0..7).map(|number| bursts.size(number).as_bytes()).collect();
        assert_eq!(sizes, [1000, 1000, 1000, 1000, 1000, 625, 1000]);
        let begins = [5, 6, 11, 12].map(|number| bursts.begins(number));
        assert_eq!(begins, [0, 30, 30, 60].map(TimeDelta::from_millis));
        let smooth = Bursts::of(UdpFlow { rate, packet, every: None });
        assert_eq!((smooth.packets, smooth.size(3)), (1, packet));
    }
}
