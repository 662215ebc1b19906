//! One direction of a link.

use crate::capacity::{Capacity, Outages, earlier};
use crate::error::Error;
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::node::{DropCause, Dropped, Node, Packet, Port};
use crate::pipe::Pipe;
use crate::plan::{LinkPlan, LossPlace};
use crate::queue::{Nominal, Queue, Transmitter};
use crate::random::RandomStream;
use crate::server::Server;
use crate::statistics::{Drops, Level, LinkStatistics, Meter};
use seaway_units::{Bitrate, Timestamp};
use std::collections::VecDeque;

/// One direction of a link: a queue, a server that takes from it, and a pipe behind.
///
/// Packets come in at [`Link::IN`] and leave by [`Link::OUT`]. Everything happens at its own instant, however late
/// the host calls: end of service comes before a change of rate, and both before an arrival at the same instant.
/// Each packet's waiting time is added to [`Packet::waited`].
#[derive(Debug, Clone)]
pub struct Link<P> {
    queue: Queue<P>,
    server: Server<P>,
    pipe: Pipe<P>,
    loss: Option<(Loss, LossPlace)>,
    lost: VecDeque<Dropped<P>>,
    meter: Meter,
}

impl<P> Link<P> {
    /// The port where packets come in.
    pub const IN: Port = Port(0);
    /// The port by which packets leave.
    pub const OUT: Port = Port(1);

    /// The link that `plan` describes. Its queue, loss and jitter draw from the streams `name/queue`, `name/loss`
    /// and `name/jitter` of the run's `seed`, so that changing one leaves the others' luck alone.
    ///
    /// # Errors
    /// Where the plan's queue does not hold together with its rate.
    pub fn new(plan: &LinkPlan, seed: u64, name: &str) -> Result<Self, Error> {
        let stream = |part| RandomStream::new(seed, &format!("{name}/{part}"));
        let outages = Outages::new(plan.outages.clone());
        let server = Server::new(Capacity::new(plan.schedule.clone(), outages), plan.in_service);
        let jitter = plan.jitter.map(|model| Jitter::new(model, stream("jitter")));
        let idle = Level { packets: 0, size: Default::default(), rate: Bitrate::ZERO, is_busy: false };
        let nominal = Nominal { rate: plan.schedule.nominal(), delay: plan.delay };
        Ok(Self {
            queue: Queue::new(&plan.queue, nominal, stream("queue"))?,
            server,
            pipe: Pipe::new(plan.delay, jitter),
            loss: plan.loss.map(|(model, place)| (Loss::new(model, stream("loss")), place)),
            lost: VecDeque::new(),
            meter: Meter::new(Timestamp::ZERO, 0, idle),
        })
    }

    /// Books and averages of the window that began with the link or with [`Link::restart_statistics`], up to the
    /// last input.
    pub fn statistics(&self) -> LinkStatistics {
        let counts = self.queue.counts();
        let drops = Drops { tail: counts.tail, early: counts.early, age: counts.age, channel: 0 };
        self.meter.statistics(drops, counts.marks, self.inside())
    }

    /// Begins a new window at `now`, as at the end of a warm-up.
    pub fn restart_statistics(&mut self, now: Timestamp) {
        self.advance(now);
        self.queue.take_counts();
        self.meter = Meter::new(now, self.inside(), self.level());
    }

    /// The present rate; zero in an outage.
    pub fn rate(&self) -> Bitrate {
        self.server.rate()
    }

    /// The queue, for a look at its length.
    pub fn queue(&self) -> &Queue<P> {
        &self.queue
    }

    /// Packets waiting, in service, or flying.
    pub fn inside(&self) -> u64 {
        (self.queue.len() + usize::from(self.server.packet().is_some()) + self.pipe.len()) as u64
    }

    fn level(&self) -> Level {
        Level {
            packets: self.queue.len() as u64,
            size: self.queue.size(),
            rate: self.server.rate(),
            is_busy: self.server.packet().is_some(),
        }
    }

    /// Does all that is due up to `now`, each at its own instant.
    fn advance(&mut self, now: Timestamp) {
        loop {
            let ends = self.server.ends_at().filter(|&at| at <= now);
            let change = self.server.next_change().filter(|&at| at <= now);
            match (ends, change) {
                (Some(ends), change) if change.is_none_or(|change| ends <= change) => self.end_service(ends),
                (_, Some(change)) => self.change_rate(change),
                _ => break,
            }
        }
        self.meter.pass(now, self.level());
    }

    fn end_service(&mut self, now: Timestamp) {
        self.meter.pass(now, self.level());
        let Some((packet, rate)) = self.server.finish() else { return };
        if let Some(packet) = self.survivor(now, LossPlace::Exit, packet) {
            self.pipe.push(now, packet, rate);
        }
        self.start_service(now, false);
    }

    fn change_rate(&mut self, now: Timestamp) {
        self.meter.pass(now, self.level());
        self.server.change(now);
        self.start_service(now, true);
    }

    fn start_service(&mut self, now: Timestamp, was_idle: bool) {
        if self.server.is_free()
            && let Some(packet) = self.queue.dequeue(now)
        {
            self.server.start(now, packet, was_idle);
        }
    }

    /// The packet, unless the channel takes it at this place.
    fn survivor(&mut self, now: Timestamp, here: LossPlace, packet: Packet<P>) -> Option<Packet<P>> {
        let Some((loss, place)) = &mut self.loss else { return Some(packet) };
        if *place != here || !loss.takes(now) {
            return Some(packet);
        }
        self.meter.lost += 1;
        self.lost.push_back(Dropped { at: now, cause: DropCause::Channel, packet });
        None
    }

    fn forget_dropped(&mut self) {
        self.lost.clear();
        self.queue.forget_dropped();
    }
}

impl<P: std::fmt::Debug + Send> Node<P> for Link<P> {
    fn handle_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>) {
        debug_assert_eq!(port, Self::IN);
        self.forget_dropped();
        self.advance(now);
        self.meter.arrivals.add(packet.size);
        let Some(packet) = self.survivor(now, LossPlace::Entry, packet) else { return };
        let in_service = self.server.packet().map(|packet| packet.size);
        self.queue.enqueue(now, packet, Transmitter { in_service, rate: self.server.rate() });
        self.start_service(now, true);
        self.meter.peak(self.queue.len() as u64, self.queue.size());
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.forget_dropped();
        self.advance(now);
    }

    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<P>)> {
        let packet = self.pipe.pop(now)?;
        self.meter.delivered.add(packet.size);
        Some((Self::OUT, packet))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let is_idle = self.server.packet().is_none() && self.queue.is_empty();
        // An idle link takes its changes of rate when the next packet comes.
        let change = if is_idle { None } else { self.server.next_change() };
        earlier(earlier(self.server.ends_at(), change), self.pipe.next_arrival())
    }

    fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.queue.poll_dropped().or_else(|| self.lost.pop_front())
    }
}
