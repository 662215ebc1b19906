//! A transmitter that serves at the present rate.

use crate::capacity::Capacity;
use crate::node::Packet;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// What a change of rate does to the packet in service. At rate zero it always freezes, and resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InService {
    /// It finishes at the rate it started with.
    KeepsItsRate,
    /// What is left of it goes on at the new rate, so that no more is served than the rate's integral.
    FollowsTheRate,
}

/// Serves one packet after the other at a rate.
#[derive(Debug, Clone)]
pub(crate) struct RateServer<P> {
    pub(crate) capacity: Capacity,
    in_service: InService,
    service: Option<Service<P>>,
    /// Work left undone because service ends on a whole nanosecond, in bit·ns/s; below the rate of the packet
    /// served last. It goes to the next packet of the same busy period.
    remainder: u64,
}

#[derive(Debug, Clone)]
struct Service<P> {
    packet: Packet<P>,
    rate: Bitrate,
    progress: Progress,
}

#[derive(Debug, Clone, Copy)]
enum Progress {
    /// Service ends at this instant.
    Ends(Timestamp),
    /// This much time at the packet's rate is left when service resumes.
    Frozen(TimeDelta),
}

impl<P> RateServer<P> {
    pub(crate) fn new(capacity: Capacity, in_service: InService) -> Self {
        Self { capacity, in_service, service: None, remainder: 0 }
    }

    pub(crate) fn rate(&self) -> Bitrate {
        self.capacity.rate()
    }

    pub(crate) fn packet(&self) -> Option<&Packet<P>> {
        self.service.as_ref().map(|service| &service.packet)
    }

    /// True where a packet can be taken into service.
    pub(crate) fn is_free(&self) -> bool {
        self.service.is_none() && self.rate() > Bitrate::ZERO
    }

    /// When the packet in service will have been sent; `None` where there is none or it is frozen.
    pub(super) fn ends_at(&self) -> Option<Timestamp> {
        match self.service.as_ref()?.progress {
            Progress::Ends(at) => Some(at),
            Progress::Frozen(_) => None,
        }
    }

    /// When the rate may change next.
    pub(super) fn next_change(&self) -> Option<Timestamp> {
        self.capacity.next_change()
    }

    /// Takes `packet` into service. A server that was idle until now has no remainder to carry.
    pub(crate) fn start(&mut self, now: Timestamp, packet: Packet<P>, was_idle: bool) {
        debug_assert!(self.is_free());
        let rate = self.rate();
        let carried = if was_idle { 0 } else { self.remainder };
        let work = u128::from(packet.size.as_bits()) * 1_000_000_000 + u128::from(carried);
        let ends = self.finish_work(now, work, rate);
        self.service = Some(Service { packet, rate, progress: Progress::Ends(ends) });
    }

    /// Gives back the packet whose service has ended, and the rate it was served at.
    pub(crate) fn finish(&mut self) -> Option<(Packet<P>, Bitrate)> {
        self.service.take().map(|service| (service.packet, service.rate))
    }

    /// Takes the next change of rate, which happens at `now`.
    pub(crate) fn change(&mut self, now: Timestamp) {
        self.capacity.change();
        let rate = self.rate();
        let Some(service) = &mut self.service else { return };
        let left = match service.progress {
            Progress::Ends(at) => at - now,
            Progress::Frozen(left) => left,
        };
        if rate == Bitrate::ZERO {
            service.progress = Progress::Frozen(left);
        } else if self.in_service == InService::KeepsItsRate || rate == service.rate {
            service.progress = Progress::Ends(now + left);
            self.remainder = if rate == service.rate { self.remainder } else { 0 };
        } else {
            let old_rate = std::mem::replace(&mut service.rate, rate);
            let left = left.as_nanos().max(0) as u128;
            let work = left * u128::from(old_rate.as_bps()) + u128::from(self.remainder);
            let ends = self.finish_work(now, work, rate);
            if let Some(service) = &mut self.service {
                service.progress = Progress::Ends(ends);
            }
        }
    }

    /// When `work` bit·ns/s begun at `now` are done at `rate`, rounded down; keeps the remainder.
    fn finish_work(&mut self, now: Timestamp, work: u128, rate: Bitrate) -> Timestamp {
        let rate = rate.as_bps();
        // The first branch is a plain machine division; it holds for packets below 2 GB.
        let (nanos, remainder) = match u64::try_from(work) {
            Ok(work) => (work / rate, work % rate),
            Err(_) => {
                let nanos = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
                (nanos, (work % u128::from(rate)) as u64)
            }
        };
        self.remainder = remainder;
        now + TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}
