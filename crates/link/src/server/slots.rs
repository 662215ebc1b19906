//! A transmitter that may send only at given instants, so many octets each: Mahimahi's.

use crate::capacity::Outages;
use crate::node::Packet;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::sync::Arc;

/// What one opportunity carries, tunnel header included.
const OPPORTUNITY: u64 = 1504;
/// What Mahimahi's tunnel puts before every datagram.
const TUNNEL_HEADER: u64 = 4;
/// What one opportunity carries of a full datagram.
pub(crate) const FULL_DATAGRAM: DataSize = DataSize::from_bytes(OPPORTUNITY - TUNNEL_HEADER);

/// Instants at which octets may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opportunities {
    /// Ordered; not empty; the last is above zero.
    millis: Arc<[u64]>,
    /// Begins again when the last has passed: that one and a first at zero fall on one instant.
    repeats: bool,
}

impl Opportunities {
    pub(crate) fn new(millis: Vec<u64>, repeats: bool) -> Self {
        Self { millis: millis.into(), repeats }
    }

    pub(crate) fn mean_rate(&self) -> Bitrate {
        let size = FULL_DATAGRAM * self.millis.len() as u64;
        size.over(TimeDelta::from_millis(self.period_millis() as i64)).unwrap_or_default()
    }

    fn period_millis(&self) -> u64 {
        self.millis.last().copied().unwrap_or_default()
    }
}

/// A walk along [`Opportunities`] with outages laid over it.
#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    opportunities: Opportunities,
    outages: Outages,
    next: usize,
    period_start_millis: u64,
}

impl Calendar {
    pub(crate) fn new(opportunities: Opportunities, outages: Outages) -> Self {
        Self { opportunities, outages, next: 0, period_start_millis: 0 }
    }

    /// When octets may leave next; `None` when the trace is over.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let millis = self.opportunities.millis.get(self.next)?;
        Some(Timestamp::from_nanos((self.period_start_millis + millis).saturating_mul(1_000_000)))
    }

    /// Takes the next opportunity, which is at `now`: what it carries, nothing in an outage.
    pub(crate) fn take(&mut self, now: Timestamp) -> Opportunity {
        self.next += 1;
        if self.next == self.opportunities.millis.len() && self.opportunities.repeats {
            self.next = 0;
            self.period_start_millis += self.opportunities.period_millis();
        }
        while self.outages.next_change().is_some_and(|at| at <= now) {
            self.outages.change();
        }
        Opportunity { left: if self.outages.is_out() { 0 } else { OPPORTUNITY } }
    }
}

/// Serves packets at opportunities; a packet may take several, and several may share one.
#[derive(Debug, Clone)]
pub(crate) struct SlotServer<P> {
    pub(crate) calendar: Calendar,
    service: Option<Service<P>>,
}

/// A packet and what has not been sent of it, tunnel header included.
#[derive(Debug, Clone)]
struct Service<P> {
    packet: Packet<P>,
    left: u64,
}

impl<P> SlotServer<P> {
    pub(crate) fn new(calendar: Calendar) -> Self {
        Self { calendar, service: None }
    }

    pub(crate) fn packet(&self) -> Option<&Packet<P>> {
        self.service.as_ref().map(|service| &service.packet)
    }

    pub(crate) fn mean_rate(&self) -> Bitrate {
        self.calendar.opportunities.mean_rate()
    }

    /// Takes `packet` into service.
    pub(crate) fn start(&mut self, packet: Packet<P>) {
        debug_assert!(self.service.is_none());
        let left = packet.size.as_bytes() + TUNNEL_HEADER;
        self.service = Some(Service { packet, left });
    }

    /// Sends what fits of the packet in service, and gives it back when all of it has been sent.
    pub(crate) fn send(&mut self, opportunity: &mut Opportunity) -> Option<Packet<P>> {
        let service = self.service.as_mut()?;
        let sent = service.left.min(opportunity.left);
        service.left -= sent;
        opportunity.left -= sent;
        if service.left == 0 { self.service.take().map(|service| service.packet) } else { None }
    }
}

/// What may still leave at this instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opportunity {
    left: u64,
}

impl Opportunity {
    pub(crate) const fn is_open(self) -> bool {
        self.left > 0
    }

    /// What may still leave.
    pub(crate) const fn left(self) -> DataSize {
        DataSize::from_bytes(self.left)
    }
}
