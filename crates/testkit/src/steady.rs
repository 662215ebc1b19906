//! A controller in its steady state, and the feedback that keeps it there.

use crate::build;
use seaway_control::{
    Arrival, BufferLevel, Fate, Feedback, FeedbackSource, LocalSignal, PacketReport, PeerReport,
    RateController, SentPacket, Subflow,
};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets that leave together, and what the controller wrote on them.
type Batch = ([SentPacket; 10], [Option<u16>; 10]);

/// Both halves in a closed loop at 96 Mbit/s: ten packets each ms, 50 ms to and fro, a loss now and then.
#[derive(Debug)]
pub struct Steady {
    /// The sending half.
    pub controller: Box<dyn RateController>,
    /// The receiving half.
    pub source: Box<dyn FeedbackSource>,
    now: Timestamp,
    next: u64,
    /// What left in the last 50 ms.
    flying: VecDeque<Batch>,
    /// Of the packets that arrive now.
    tags: [Option<u16>; 10],
    peer: PeerReport,
}

/// Batches in flight.
const FLYING: usize = 50;

impl Steady {
    /// The controller that `spec` names, after ten seconds.
    ///
    /// # Panics
    /// Where there is none.
    pub fn new(spec: &str) -> Self {
        let (mut controller, source) = build(spec, DataSize::from_bytes(1200), Ecn::Ect1);
        let (min, max) = (Bitrate::from_kbps(150), Bitrate::from_mbps(200));
        controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: Bitrate::from_mbps(1), max });
        let now = Timestamp::ZERO + TimeDelta::from_secs(1);
        let flying = VecDeque::with_capacity(FLYING + 1);
        let (tags, peer) = ([None; 10], PeerReport::default());
        let mut steady = Self { controller, source, now, next: 0, flying, tags, peer };
        for _ in 0..FLYING {
            steady.depart();
        }
        for _ in 0..10_000 {
            steady.round();
        }
        steady
    }

    /// Ten packets leave, ten arrive, ten are reported.
    pub fn round(&mut self) {
        let packets = self.send();
        self.arrive(&packets);
        self.report(&packets);
    }

    /// Ten packets leave, and those that left 50 ms ago are there.
    pub fn send(&mut self) -> [SentPacket; 10] {
        self.depart();
        let (packets, tags) = self.flying.pop_front().expect("batches are always in flight");
        self.tags = tags;
        packets
    }

    fn depart(&mut self) {
        self.now += TimeDelta::from_millis(1);
        let first = self.next;
        self.next += 10;
        let packets = std::array::from_fn(|index| SentPacket {
            backlog: DataSize::from_bytes(2400),
            ..SentPacket::new(first + index as u64, DataSize::from_bytes(1200))
        });
        let mut tags = [None; 10];
        for (packet, tag) in packets.iter().zip(&mut tags) {
            *tag = self.controller.marking(self.now, packet).tag;
            self.controller.on_sent(self.now, packet);
        }
        if self.controller.poll_timeout().is_some_and(|due| due <= self.now) {
            self.controller.handle_timeout(self.now);
        }
        self.flying.push_back((packets, tags));
    }

    /// They arrive, all but the lost ones.
    pub fn arrive(&mut self, packets: &[SentPacket]) {
        let held = DataSize::from_bytes(8000);
        self.source.on_buffer(self.now, BufferLevel { held, capacity: DataSize::from_bytes(16_384) });
        let arriving = packets.iter().zip(self.tags).filter(|(packet, _)| packet.sequence % 97 != 0);
        for (packet, tag) in arriving {
            let arrival = Arrival {
                subflow: packet.subflow,
                sequence: packet.sequence,
                size: packet.size,
                ecn: Ecn::Ect1,
                tag,
                sent: RemoteTimestamp::from_nanos(self.now.as_nanos()),
                rtt: Some(TimeDelta::from_millis(50)),
                ends_frame: false,
            };
            self.source.on_arrival(self.now, &arrival);
        }
        self.source.handle_timeout(self.now);
        while let Some((_, peer)) = self.source.poll_report(self.now) {
            self.peer = peer;
        }
    }

    /// Their fate and the newest report come back.
    pub fn report(&mut self, packets: &[SentPacket; 10]) {
        let at = Some(RemoteTimestamp::from_nanos(self.now.as_nanos()));
        let reports = packets.map(|packet| PacketReport {
            packet,
            sent: self.now - TimeDelta::from_millis(50),
            fate: if packet.sequence % 97 == 0 { Fate::Lost } else { Fate::Received { at, ecn: Ecn::Ect1 } },
        });
        let rtt = Some(TimeDelta::from_millis(50));
        let feedback =
            Feedback { subflow: Subflow(0), rtt, packets: &reports, requested: &[], peer: self.peer };
        self.controller.on_feedback(self.now, &feedback);
        while self.controller.poll_decision().is_some() {}
        while self.controller.poll_probe(self.now).is_some() {}
    }

    /// The outputs that a session reads after each input: the rate and the next timeout.
    pub fn outputs(&self) -> (Bitrate, Option<Timestamp>) {
        let subflows = 0..self.controller.subflows();
        let rate = subflows.map(|subflow| self.controller.allowance(Subflow(subflow)).rate).sum::<Bitrate>();
        (rate.min(self.controller.target().rate), self.controller.poll_timeout())
    }
}
