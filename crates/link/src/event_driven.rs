//! The event-driven link: any queue, any server, any propagation path.

use crate::bucket::{Shaper, TokenBucket};
use crate::capacity::{Capacity, Outages};
use crate::error::Error;
use crate::jitter::Jitter;
use crate::loss::{Loss, LossPlace};
use crate::node::{DropCause, Dropped, Outbox, Packet, Port, Wake};
use crate::plan::{CapacityPlan, LinkPlan};
use crate::propagation::Propagation;
use crate::queue::{Admission, Nominal, Queue, Transmitter};
use crate::random::RandomStream;
use crate::server::{Calendar, Event, RateServer, Server, SlotServer};
use crate::statistics::{Drops, Level, LinkStatistics, Meter};
use seaway_units::{Bitrate, DataSize, Timestamp, earlier};
use std::collections::VecDeque;

/// The port by which packets leave.
pub(crate) const OUT: Port = Port(1);

/// A link whose queue decides at the time of each event.
#[derive(Debug, Clone)]
pub(crate) struct EventDriven<P> {
    policer: Option<TokenBucket>,
    queue: Queue<P>,
    shaper: Option<Shaper<P>>,
    server: Server<P>,
    propagation: Propagation<P>,
    loss: Option<(Loss, LossPlace)>,
    /// Dropped outside the queue and not yet read.
    dropped: VecDeque<Dropped<P>>,
    meter: Meter,
}

impl<P> EventDriven<P> {
    pub(crate) fn new(plan: &LinkPlan, seed: u64, name: &str) -> Result<Self, Error> {
        let stream = |part| RandomStream::of_part(seed, name, part);
        let outages = Outages::new(plan.outages.clone());
        let server = match &plan.capacity {
            CapacityPlan::Rates(schedule, in_service) => {
                Server::Rate(RateServer::new(Capacity::new(schedule.clone(), outages), *in_service))
            }
            CapacityPlan::Opportunities(opportunities) => {
                Server::Slots(SlotServer::new(Calendar::new(opportunities.clone(), outages)))
            }
        };
        let jitter = plan.jitter.map(|model| Jitter::new(model, stream("jitter")));
        let idle = Level { packets: 0, size: DataSize::ZERO, rate: Bitrate::ZERO, is_busy: false };
        let nominal = Nominal { rate: plan.nominal, delay: plan.delay };
        Ok(Self {
            policer: plan.policer.map(TokenBucket::new),
            shaper: plan.shaper.map(Shaper::new),
            queue: Queue::new(&plan.queue, nominal, stream("queue"))?,
            server,
            propagation: Propagation::new(plan.delay, plan.delay_steps.clone(), jitter),
            loss: plan.loss.clone().map(|(model, place)| (Loss::new(model, stream("loss")), place)),
            dropped: VecDeque::new(),
            meter: Meter::new(Timestamp::ZERO, 0, idle),
        })
    }

    pub(crate) fn statistics(&self, now: Timestamp) -> LinkStatistics {
        let counts = self.queue.counts();
        let drops = Drops { tail: counts.tail, early: counts.early, age: counts.age, ..Drops::default() };
        self.meter_at(now).statistics(drops, counts.marks, self.inside())
    }

    /// The meter, with the capacity that an idle link has not counted yet.
    fn meter_at(&self, now: Timestamp) -> Meter {
        let mut meter = self.meter.clone();
        let mut level = self.level();
        match &self.server {
            Server::Rate(server) => {
                let mut capacity = server.capacity.clone();
                while let Some(at) = capacity.next_change().filter(|&at| at <= now) {
                    meter.pass(at, level);
                    capacity.change();
                    level.rate = capacity.rate();
                }
            }
            Server::Slots(server) => {
                let mut calendar = server.calendar.clone();
                while let Some(at) = calendar.next().filter(|&at| at <= now) {
                    meter.offer(calendar.take(at).left(), DataSize::ZERO);
                }
            }
        }
        meter.pass(now, level);
        meter
    }

    pub(crate) fn restart_statistics(&mut self, now: Timestamp) {
        self.advance(now);
        self.queue.take_counts();
        self.meter = Meter::new(now, self.inside(), self.level());
    }

    pub(crate) fn rate(&self) -> Bitrate {
        self.server.rate()
    }

    /// The admission limit of the queue, where it is plain drop-tail.
    pub(crate) const fn admission(&self) -> Option<Admission> {
        self.queue.plain_admission()
    }

    /// Packets waiting, in service, or in flight.
    pub(crate) fn inside(&self) -> u64 {
        let at_server = [self.held(), self.server.packet()].into_iter().flatten().count();
        (self.queue.len() + at_server + self.propagation.len()) as u64
    }

    /// The packet that waits for tokens.
    fn held(&self) -> Option<&Packet<P>> {
        self.shaper.as_ref().and_then(Shaper::held)
    }

    /// Packets and octets that wait, for the server or for tokens.
    pub(crate) fn waiting(&self) -> (u64, DataSize) {
        let (packets, size) = (self.queue.len() as u64, self.queue.size());
        self.held().map_or((packets, size), |held| (packets + 1, size + held.size))
    }

    fn level(&self) -> Level {
        let (packets, size) = self.waiting();
        Level {
            packets,
            size,
            rate: match &self.server {
                Server::Rate(server) => server.rate(),
                // Opportunities are counted when they come.
                Server::Slots(_) => Bitrate::ZERO,
            },
            is_busy: self.server.packet().is_some(),
        }
    }

    /// Processes the events up to `now`, each at its own instant.
    fn advance(&mut self, now: Timestamp) {
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            self.meter.pass(at, self.level());
            match event {
                Event::ServiceEnds => self.end_service(at),
                Event::RateChanges => self.change_rate(at),
                Event::TokensSuffice => self.start_service(at, true),
                Event::Opportunity => self.take_opportunity(at),
            }
        }
        self.meter.pass(now, self.level());
    }

    /// The next event.
    fn next_event(&self) -> Option<(Timestamp, Event)> {
        let server = self.server.next_event();
        match &self.shaper {
            Some(shaper) if self.server.is_free() => {
                let tokens = shaper.due().map(|at| (at, Event::TokensSuffice));
                [server, tokens].into_iter().flatten().min_by_key(|(at, _)| *at)
            }
            _ => server,
        }
    }

    /// When the host must run the link for the sake of an event at `at`. Events are processed as of their own instant even
    /// when late: where each served packet arrives after a constant delay, its arrival is soon enough.
    fn wake_for(&self, at: Timestamp) -> Timestamp {
        let is_lossless = !matches!(self.loss, Some((_, LossPlace::Exit)));
        match self.propagation.constant_delay() {
            Some(delay) if is_lossless => at + delay,
            _ => at,
        }
    }

    fn end_service(&mut self, now: Timestamp) {
        let Server::Rate(server) = &mut self.server else { return };
        let Some((packet, rate)) = server.finish() else { return };
        self.send(now, packet, rate);
        self.start_service(now, false);
    }

    fn change_rate(&mut self, now: Timestamp) {
        let Server::Rate(server) = &mut self.server else { return };
        server.change(now);
        self.start_service(now, true);
    }

    fn start_service(&mut self, now: Timestamp, was_idle: bool) {
        let Server::Rate(server) = &mut self.server else { return };
        if !server.is_free() {
            return;
        }
        let packet = match &mut self.shaper {
            None => self.queue.dequeue(now),
            Some(shaper) => shaper.next(now, || self.queue.dequeue(now)),
        };
        if let Some(packet) = packet {
            server.start(now, packet, was_idle);
        }
    }

    /// Serves as many packets, and parts of them, as fit.
    fn take_opportunity(&mut self, now: Timestamp) {
        let Server::Slots(server) = &mut self.server else { return };
        let mut opportunity = server.calendar.take(now);
        let offered = opportunity.left();
        while opportunity.is_open() {
            let Server::Slots(server) = &mut self.server else { return };
            if server.packet().is_none() {
                match self.queue.dequeue(now) {
                    Some(packet) => server.start(packet),
                    None => break,
                }
            }
            let rate = server.mean_rate();
            if let Some(packet) = server.send(&mut opportunity) {
                self.send(now, packet, rate);
            }
        }
        self.meter.offer(offered, offered - opportunity.left());
    }

    /// Propagates a packet that has been served at `rate`, unless the channel loses it.
    fn send(&mut self, now: Timestamp, packet: Packet<P>, rate: Bitrate) {
        if let Some(packet) = self.survivor(now, LossPlace::Exit, packet) {
            self.propagation.push(now, packet, rate);
        }
    }

    /// The packet, unless the channel loses it at this place.
    fn survivor(&mut self, now: Timestamp, here: LossPlace, packet: Packet<P>) -> Option<Packet<P>> {
        let Some((loss, place)) = &mut self.loss else { return Some(packet) };
        if *place != here || !loss.takes(now) {
            return Some(packet);
        }
        self.meter.lose();
        self.dropped.push_back(Dropped { at: now, cause: DropCause::Channel, packet });
        None
    }

    /// The packet, unless the policer has no token for it.
    fn conforming(&mut self, now: Timestamp, packet: Packet<P>) -> Option<Packet<P>> {
        let Some(policer) = &mut self.policer else { return Some(packet) };
        if policer.take(now, packet.size) {
            return Some(packet);
        }
        self.meter.police();
        self.dropped.push_back(Dropped { at: now, cause: DropCause::Policer, packet });
        None
    }

    pub(crate) fn on_packet(&mut self, now: Timestamp, packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        self.advance(now);
        self.meter.arrive(packet.size);
        self.enqueue(now, packet);
        self.deliver(now, out)
    }

    fn enqueue(&mut self, now: Timestamp, packet: Packet<P>) {
        let Some(packet) = self.survivor(now, LossPlace::Entry, packet) else { return };
        let Some(packet) = self.conforming(now, packet) else { return };
        let in_service = self.server.packet().or(self.held()).map(|packet| packet.size);
        self.queue.enqueue(now, packet, Transmitter { in_service, rate: self.server.rate() });
        self.start_service(now, true);
        let (packets, size) = self.waiting();
        self.meter.peak(packets, size);
    }

    pub(crate) fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake {
        if now < until {
            self.advance(now);
        }
        self.deliver(now, out)
    }

    /// Puts what has arrived and what was dropped into the outbox. Returns when to run next.
    fn deliver(&mut self, now: Timestamp, out: &mut Outbox<P>) -> Wake {
        while let Some(dropped) = self.queue.poll_dropped().or_else(|| self.dropped.pop_front()) {
            out.drop(dropped);
        }
        while let Some((at, packet)) = self.propagation.pop(now) {
            self.meter.deliver(packet.size);
            out.send(at, OUT, packet);
        }
        let is_idle = self.server.packet().is_none() && self.waiting().0 == 0;
        // An idle link takes its changes of rate and its opportunities when the next packet comes.
        let event = if is_idle { None } else { self.next_event() };
        earlier(event.map(|(at, _)| self.wake_for(at)), self.propagation.next_arrival())
    }
}
