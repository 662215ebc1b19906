//! Management frames that wait (`docs/models/wlan.md`, section "Beacons and association").

use crate::wlan::medium::DeviceId;
use crate::wlan::mode::{Band, Nanos, Standard};
use std::collections::VecDeque;

/// The kinds of management frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ManagementKind {
    AssociationRequest,
    AssociationResponse,
}

impl ManagementKind {
    /// Octets, for a network's name of five letters.
    pub(crate) const fn octets(self, standard: Standard, band: Band) -> u32 {
        let (request, response) = match (standard, band) {
            (Standard::Ac, _) => (104, 150),
            (Standard::N, Band::Ghz5) => (83, 122),
            (Standard::N, Band::Ghz2) => (87, 129),
            (Standard::A, _) => (49, 44),
            (Standard::G, _) => (55, 53),
            (Standard::B, _) => (45, 40),
        };
        match self {
            Self::AssociationRequest => request,
            Self::AssociationResponse => response,
        }
    }
}

/// A frame that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Management {
    pub(crate) to: DeviceId,
    pub(crate) kind: ManagementKind,
    since: Nanos,
    /// The peer has it: then only its acknowledgement is missing.
    received: bool,
}

/// Frames of one device, at most one of a kind for each peer, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManagementQueue {
    frames: VecDeque<Management>,
}

impl ManagementQueue {
    /// Room for `peers`.
    pub(crate) fn of(peers: usize) -> Self {
        Self { frames: VecDeque::with_capacity(peers) }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A frame to be sent; it takes the place of one that waits.
    pub(crate) fn push(&mut self, to: DeviceId, kind: ManagementKind, now: Nanos) {
        let frame = Management { to, kind, since: now, received: false };
        let same = |known: &&mut Management| known.to == to && known.kind == kind;
        match self.frames.iter_mut().find(same) {
            Some(known) => *known = frame,
            None => self.frames.push_back(frame),
        }
    }

    /// The frame that is sent next, or is in the air.
    pub(crate) fn first(&self) -> Option<Management> {
        self.frames.front().copied()
    }

    /// The peer has received the first. False where it had it before.
    pub(crate) fn receive_first(&mut self) -> bool {
        self.frames.front_mut().is_some_and(|frame| !std::mem::replace(&mut frame.received, true))
    }

    pub(crate) fn take_first(&mut self) -> Option<Management> {
        self.frames.pop_front()
    }

    /// The first leaves where it is older than `lifetime`.
    pub(crate) fn expire(&mut self, now: Nanos, lifetime: Nanos) -> Option<Management> {
        let first = self.frames.front()?;
        if now.saturating_sub(first.since) > lifetime { self.frames.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_the_place_of_one_that_waits() {
        let mut queue = ManagementQueue::of(2);
        queue.push(1, ManagementKind::AssociationResponse, 0);
        queue.push(2, ManagementKind::AssociationResponse, 10);
        assert!(
            queue.receive_first() && !queue.receive_first(),
            "a repetition is acknowledged, not answered"
        );
        queue.push(1, ManagementKind::AssociationResponse, 500);
        assert!(queue.receive_first(), "a new one");
        assert_eq!(queue.expire(900, 400), None);
        assert_eq!(queue.expire(901, 400).map(|frame| frame.to), Some(1));
        assert_eq!(queue.take_first().map(|frame| (frame.to, frame.since)), Some((2, 10)));
        assert!(queue.is_empty());
    }
}
