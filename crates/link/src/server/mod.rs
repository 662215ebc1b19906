//! The transmitter: one packet in service at a time.

mod rate;
mod slots;

pub(crate) use rate::{InService, RateServer};
pub(crate) use slots::{Calendar, FULL_DATAGRAM, Opportunities, SlotServer};

use crate::node::Packet;
use seaway_units::{Bitrate, Timestamp};

/// Serves packets, by a rate or by opportunities.
#[derive(Debug, Clone)]
pub(crate) enum Server<P> {
    Rate(RateServer<P>),
    Slots(SlotServer<P>),
}

/// What happens at a server by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The packet in service has been sent.
    ServiceEnds,
    /// The rate may change.
    RateChanges,
    /// There are tokens for the packet that a shaper holds.
    TokensSuffice,
    /// Octets may leave.
    Opportunity,
}

impl<P> Server<P> {
    /// The packet in service.
    pub(crate) fn packet(&self) -> Option<&Packet<P>> {
        match self {
            Self::Rate(server) => server.packet(),
            Self::Slots(server) => server.packet(),
        }
    }

    /// The present rate; the mean rate of opportunities.
    pub(crate) fn rate(&self) -> Bitrate {
        match self {
            Self::Rate(server) => server.rate(),
            Self::Slots(server) => server.mean_rate(),
        }
    }

    /// True where a packet can be taken into service between two opportunities.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            Self::Rate(server) => server.is_free(),
            Self::Slots(_) => false,
        }
    }

    /// What happens next and when. End of service comes before a change of rate at the same instant.
    pub(crate) fn next_event(&self) -> Option<(Timestamp, Event)> {
        match self {
            Self::Rate(server) => match (server.ends_at(), server.next_change()) {
                (Some(ends), Some(change)) if ends > change => Some((change, Event::RateChanges)),
                (Some(ends), _) => Some((ends, Event::ServiceEnds)),
                (None, change) => change.map(|at| (at, Event::RateChanges)),
            },
            Self::Slots(server) => server.calendar.next().map(|at| (at, Event::Opportunity)),
        }
    }
}
