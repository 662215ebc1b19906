//! MAC queues: packets that wait, and packets in flight without acknowledgement (`docs/models/wlan.md`, sections
//! "Queue", "Service order", "A-MPDU and acknowledgement" and "Retries and lifetime").

use crate::wlan::config::Schedule;
use crate::wlan::medium::DeviceId;
use crate::wlan::mode::Nanos;
use crate::wlan::rate_adaptation::RateAdaptation;
use crate::wlan::reorder::{Reorder, SEQUENCES, WINDOW, distance};
use seaway_link::Packet;
use std::collections::VecDeque;

/// A packet in a queue.
#[derive(Debug, Clone)]
pub(crate) struct Mpdu<P> {
    /// Absent once the peer has it: then only its acknowledgement is missing.
    pub(crate) packet: Option<Packet<P>>,
    /// Octets of the MPDU.
    pub(crate) octets: u32,
    /// When it came.
    pub(crate) since: Nanos,
    /// Given when it is first sent.
    pub(crate) sequence: Option<u16>,
}

/// What one device sends another in one access category, and what the peer holds of it.
#[derive(Debug)]
pub(crate) struct Recipient<P> {
    pub(crate) to: DeviceId,
    mpdus: VecDeque<Mpdu<P>>,
    /// The first so many are in the air, or were and nothing is known of them.
    in_flight: usize,
    next_sequence: u16,
    pub(crate) peer: Reorder<Packet<P>>,
    pub(crate) adaptation: RateAdaptation,
}

/// What became of an MPDU that left its queue without an acknowledgement.
#[derive(Debug)]
pub(crate) struct Discarded<P> {
    /// Absent where the peer has it.
    pub(crate) packet: Option<Packet<P>>,
    pub(crate) octets: u32,
    pub(crate) was_sent: bool,
}

impl<P> Recipient<P> {
    pub(crate) fn new(to: DeviceId, adaptation: RateAdaptation) -> Self {
        Self {
            to,
            mpdus: VecDeque::new(),
            in_flight: 0,
            next_sequence: 0,
            peer: Reorder::default(),
            adaptation,
        }
    }

    /// The start of the originator's window (WinO).
    pub(crate) fn window_start(&self) -> u16 {
        self.mpdus.front().and_then(|mpdu| mpdu.sequence).unwrap_or(self.next_sequence)
    }

    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn waiting(&self) -> usize {
        self.mpdus.len() - self.in_flight
    }

    /// Packets here: those that the peer has not got.
    pub(crate) fn owned(&self) -> u64 {
        self.mpdus.iter().filter(|mpdu| mpdu.packet.is_some()).count() as u64
    }

    /// When the oldest that waits has come.
    fn head(&self) -> Option<Nanos> {
        self.mpdus.get(self.in_flight).map(|mpdu| mpdu.since)
    }

    /// Octets of the MPDUs that may go next, in order: those inside the window.
    pub(crate) fn sendable(&self) -> impl Iterator<Item = u32> {
        let start = self.window_start();
        let mut fresh = self.next_sequence;
        self.mpdus.iter().skip(self.in_flight).map_while(move |mpdu| {
            let sequence = mpdu.sequence.unwrap_or_else(|| {
                let given = fresh;
                fresh = (fresh + 1) % SEQUENCES;
                given
            });
            (distance(start, sequence) < WINDOW).then_some(mpdu.octets)
        })
    }

    /// The first `count` that wait go into the air; none may be there.
    fn launch(&mut self, count: usize) {
        debug_assert_eq!(self.in_flight, 0);
        for mpdu in self.mpdus.iter_mut().take(count) {
            if mpdu.sequence.is_none() {
                mpdu.sequence = Some(self.next_sequence);
                self.next_sequence = (self.next_sequence + 1) % SEQUENCES;
            }
        }
        self.in_flight = count;
    }

    /// The MPDU that is number `index` in the air.
    pub(crate) fn in_flight_mut(&mut self, index: usize) -> Option<&mut Mpdu<P>> {
        (index < self.in_flight).then(|| &mut self.mpdus[index])
    }

    /// Takes out, of those in the air, all that the peer has; the others wait again. How many it had, and octets.
    fn acknowledge(&mut self) -> (usize, u64) {
        let in_flight = std::mem::take(&mut self.in_flight);
        let (mut acknowledged, mut octets) = (0, 0);
        // Kept ones move up over the gaps, then the front is cut off.
        for index in (0..in_flight).rev() {
            if self.mpdus[index].packet.is_none() {
                acknowledged += 1;
                octets += u64::from(self.mpdus[index].octets);
            } else if acknowledged > 0 {
                self.mpdus.swap(index, index + acknowledged);
            }
        }
        self.mpdus.drain(..acknowledged);
        (acknowledged, octets)
    }

    /// Gives up the oldest.
    fn pop(&mut self, index: usize) -> Option<Discarded<P>> {
        let mpdu = self.mpdus.remove(index)?;
        self.in_flight -= usize::from(index < self.in_flight);
        Some(Discarded { packet: mpdu.packet, octets: mpdu.octets, was_sent: mpdu.sequence.is_some() })
    }
}

/// The queue of one device and access category: a recipient for each peer and one limit for all.
#[derive(Debug)]
pub(crate) struct WifiMacQueue<P> {
    pub(crate) recipients: Vec<Recipient<P>>,
    /// Requests for block acknowledgement that are to be sent, by recipient.
    requests: VecDeque<Request>,
    limit: usize,
    lifetime: Nanos,
    schedule: Schedule,
    last: usize,
    held: usize,
    /// Of those, in the air.
    in_flight: usize,
    /// None that waits has come before.
    oldest: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    recipient: usize,
    /// Of no use where nothing follows.
    only_with_data: bool,
}

impl<P> WifiMacQueue<P> {
    /// `lifetime` is how old a packet may become; `Nanos::MAX`: any age.
    pub(crate) fn new(limit: usize, lifetime: Nanos, schedule: Schedule) -> Self {
        let (recipients, requests) = (Vec::new(), VecDeque::new());
        Self { recipients, requests, limit, lifetime, schedule, last: 0, held: 0, in_flight: 0, oldest: 0 }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.held >= self.limit
    }

    /// Whether it wants to send anything.
    pub(crate) fn has_work(&self) -> bool {
        self.held > self.in_flight
            || self.has_request() && self.requests.iter().any(|request| !request.only_with_data)
    }

    pub(crate) fn push(&mut self, recipient: usize, now: Nanos, octets: u32, packet: Packet<P>) {
        let mpdu = Mpdu { packet: Some(packet), octets, since: now, sequence: None };
        self.recipients[recipient].mpdus.push_back(mpdu);
        self.held += 1;
        self.oldest = self.oldest.min(now);
    }

    /// Whose turn it is among those with something that waits.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        let recipient = match self.schedule {
            Schedule::OldestHead => {
                let heads = self.recipients.iter().enumerate();
                let heads = heads.filter_map(|(index, recipient)| Some((recipient.head()?, index)));
                heads.min().map(|(_, index)| index)
            }
            Schedule::RoundRobin => {
                let recipients = self.recipients.len();
                let order = (1..=recipients).map(|step| (self.last + step) % recipients);
                order.into_iter().find(|&index| self.recipients[index].waiting() > 0)
            }
        }?;
        self.last = recipient;
        Some(recipient)
    }

    /// Notes a request for block acknowledgement; a recipient has at most one, the newest.
    pub(crate) fn request(&mut self, recipient: usize, only_with_data: bool, first: bool) {
        self.requests.retain(|request| request.recipient != recipient);
        let request = Request { recipient, only_with_data };
        if first {
            self.requests.push_front(request);
        } else {
            self.requests.push_back(request);
        }
    }

    /// The next request to be sent.
    pub(crate) fn take_request(&mut self) -> Option<usize> {
        if !self.has_request() {
            return None;
        }
        let useful =
            |request: &Request| !request.only_with_data || self.recipients[request.recipient].waiting() > 0;
        let index = self.requests.iter().position(useful)?;
        self.requests.remove(index).map(|request| request.recipient)
    }

    pub(crate) fn has_request(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The first `count` that wait on a recipient go into the air; none may be there.
    pub(crate) fn launch(&mut self, recipient: usize, count: usize) {
        self.recipients[recipient].launch(count);
        self.in_flight += count;
    }

    /// Those of a recipient that are in the air wait again.
    pub(crate) fn recall(&mut self, recipient: usize) {
        let recipient = &mut self.recipients[recipient];
        self.in_flight -= std::mem::take(&mut recipient.in_flight);
        self.oldest = self.oldest.min(recipient.head().unwrap_or(Nanos::MAX));
    }

    /// What the peer has of those in the air leaves the queue; how many it had, and octets.
    pub(crate) fn acknowledge(&mut self, recipient: usize) -> (usize, u64) {
        self.in_flight -= self.recipients[recipient].in_flight;
        let recipient = &mut self.recipients[recipient];
        let (acknowledged, octets) = recipient.acknowledge();
        self.held -= acknowledged;
        self.oldest = self.oldest.min(recipient.head().unwrap_or(Nanos::MAX));
        (acknowledged, octets)
    }

    /// Gives up the oldest of a recipient.
    pub(crate) fn discard_first(&mut self, recipient: usize) -> Option<Discarded<P>> {
        let recipient = &mut self.recipients[recipient];
        self.in_flight -= usize::from(recipient.in_flight > 0);
        let discarded = recipient.pop(0)?;
        self.held -= 1;
        Some(discarded)
    }

    /// The next one that waits and is too old at `now` leaves the queue, with its recipient.
    pub(crate) fn expire(&mut self, now: Nanos) -> Option<(usize, Discarded<P>)> {
        let limit = now.checked_sub(self.lifetime)?;
        if self.oldest >= limit {
            return None;
        }
        let heads = self.recipients.iter().map(|recipient| recipient.head().unwrap_or(Nanos::MAX));
        let Some(recipient) = heads.clone().position(|since| since < limit) else {
            self.oldest = heads.min().unwrap_or(Nanos::MAX);
            return None;
        };
        let first = self.recipients[recipient].in_flight;
        let discarded = self.recipients[recipient].pop(first)?;
        self.held -= 1;
        Some((recipient, discarded))
    }

    /// The same for what is in the air on one recipient.
    pub(crate) fn expire_flying(&mut self, recipient: usize, now: Nanos) -> Option<Discarded<P>> {
        let limit = now.checked_sub(self.lifetime)?;
        let is_in_flight = self.recipients[recipient].in_flight > 0;
        let first = self.recipients[recipient].mpdus.front().filter(|_| is_in_flight)?;
        (first.since < limit).then_some(())?;
        self.discard_first(recipient)
    }
}
