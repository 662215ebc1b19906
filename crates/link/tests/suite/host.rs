//! A host for one link: feeds it, wakes it, and collects what comes out.

use seaway_link::{Departure, Dropped, Link, LinkConfig, LinkPlan, Node, Outbox, Packet};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// A link in virtual time. The payload is the number of the packet.
pub(crate) struct Host {
    pub(crate) link: Link<u64>,
    pub(crate) now: Timestamp,
    /// Instant and packet.
    pub(crate) delivered: Vec<(Timestamp, Packet<u64>)>,
    pub(crate) dropped: Vec<Dropped<u64>>,
    wake: Option<Timestamp>,
    out: Outbox<u64>,
    sent: u64,
}

impl Host {
    pub(crate) fn new(text: &str) -> Self {
        Self::seeded(text, 1)
    }

    pub(crate) fn seeded(text: &str, seed: u64) -> Self {
        let config: LinkConfig = toml::from_str(text).unwrap();
        Self::planned(&config.plan().unwrap(), seed)
    }

    pub(crate) fn planned(plan: &LinkPlan, seed: u64) -> Self {
        let link = Link::new(plan, seed, "link").unwrap();
        let (delivered, dropped) = (Vec::new(), Vec::new());
        Self { link, now: Timestamp::ZERO, delivered, dropped, wake: None, out: Outbox::default(), sent: 0 }
    }

    /// Runs to `at` and hands in one packet.
    pub(crate) fn send(&mut self, at: Timestamp, bytes: u64, ecn: Ecn) {
        self.send_flow(at, bytes, ecn, 0);
    }

    /// Runs to `at` and hands in one packet of this flow.
    pub(crate) fn send_flow(&mut self, at: Timestamp, bytes: u64, ecn: Ecn, flow: u32) {
        self.run_until(at);
        self.now = at;
        let packet = Packet { flow, ..Packet::new(DataSize::from_bytes(bytes), ecn, self.sent) };
        self.sent += 1;
        self.wake = self.link.on_packet(at, Link::<u64>::IN, packet, &mut self.out);
        self.drain();
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.wake.into_iter().chain(self.out.next_departure()).min()
    }

    /// Does all that is due strictly before `end`; what is due at `end` comes with the next input.
    pub(crate) fn run_until(&mut self, end: Timestamp) {
        while let Some(due) = self.next().filter(|&due| due < end) {
            assert!(due >= self.now, "time ran back from {} to {due}", self.now);
            self.now = due;
            self.run();
        }
    }

    /// Runs until the link has no event left.
    pub(crate) fn finish(&mut self) {
        self.run_until(Timestamp::from_nanos(u64::MAX));
    }

    /// Runs the link at the present instant, due or not.
    pub(crate) fn run(&mut self) {
        self.wake = self.link.run(self.now, self.now + TimeDelta::from_nanos(1), &mut self.out);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(Departure { port, packet, .. }) = self.out.pop_departure(self.now) {
            assert_eq!(port, Link::<u64>::OUT);
            self.delivered.push((self.now, packet));
        }
        while let Some(dropped) = self.out.pop_dropped() {
            self.dropped.push(dropped);
        }
        self.check_conservation();
    }

    pub(crate) fn check_conservation(&self) {
        let statistics = self.link.statistics(self.now);
        let out = statistics.delivered.packets + statistics.drops.total() + statistics.inside;
        assert_eq!(statistics.carried_in + statistics.arrivals.packets, out, "{statistics:?}");
    }

    /// Instants of delivery in nanoseconds.
    pub(crate) fn delivery_nanos(&self) -> Vec<u64> {
        self.delivered.iter().map(|(at, _)| at.as_nanos()).collect()
    }
}

pub(crate) fn at_millis(millis: f64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_secs_f64(millis / 1e3)
}
