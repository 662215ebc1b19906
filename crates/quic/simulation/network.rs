//! The two directions of a path.

use super::stacks::{Datagram, End, Transport};
use super::{Passed, Record};
use seaway_link::{Link, LinkConfig, Node, Outbox, Packet, Wake};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// The IP (v4) and UDP headers.
const HEADERS: u64 = 28;

/// A bottleneck to the server and a link back.
#[derive(Debug)]
pub struct Network {
    there: Direction,
    back: Direction,
    /// Of a packet without a queue on its way back.
    way_back: TimeDelta,
}

#[derive(Debug)]
struct Direction {
    link: Link<(Timestamp, Vec<u8>)>,
    out: Outbox<(Timestamp, Vec<u8>)>,
    wake: Wake,
}

impl Direction {
    fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        let plan = config.plan().expect("the link holds together");
        let link = Link::new(&plan, seed, name).expect("the link holds together");
        Self { link, out: Outbox::default(), wake: None }
    }

    fn send(&mut self, now: Timestamp, datagram: Datagram) {
        let size = DataSize::from_bytes(datagram.payload.len() as u64 + HEADERS);
        let ecn = if datagram.is_capable { Ecn::Ect0 } else { Ecn::NotEct };
        let packet = Packet::new(size, ecn, (now, datagram.payload));
        self.wake = self.link.on_packet(now, Link::<(Timestamp, Vec<u8>)>::IN, packet, &mut self.out);
    }

    fn run(&mut self, now: Timestamp) {
        while self.wake.is_some_and(|wake| wake <= now) {
            self.wake = self.link.run(now, now + TimeDelta::from_nanos(1), &mut self.out);
        }
        while self.out.pop_dropped().is_some() {}
    }

    fn next(&self) -> Option<Timestamp> {
        self.wake.into_iter().chain(self.out.next_departure()).min()
    }
}

impl Network {
    /// Both directions; random losses and jitter by this seed.
    pub fn new(there: &LinkConfig, back: &LinkConfig, seed: u64) -> Self {
        let way_back = back.delay;
        Self {
            there: Direction::new(there, seed, "there"),
            back: Direction::new(back, seed, "back"),
            way_back,
        }
    }

    pub fn send(&mut self, now: Timestamp, from: End, datagram: Datagram) {
        match from {
            End::Client => self.there.send(now, datagram),
            End::Server => self.back.send(now, datagram),
        }
    }

    /// Gives the endpoints what has arrived.
    pub fn deliver(&mut self, now: Timestamp, transport: &mut dyn Transport, record: &mut Record) {
        for (direction, to) in [(&mut self.there, End::Server), (&mut self.back, End::Client)] {
            direction.run(now);
            while let Some(departure) = direction.out.pop_departure(now) {
                let Packet { size, ecn, waited, payload: (sent, payload), .. } = departure.packet;
                if to == End::Server {
                    let round_trip = departure.at.since(sent) + self.way_back;
                    record.packets.push(Passed { arrived: departure.at, size, waited, round_trip });
                }
                transport.handle(to, now, &payload, ecn);
            }
        }
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.there.next().into_iter().chain(self.back.next()).min()
    }
}
