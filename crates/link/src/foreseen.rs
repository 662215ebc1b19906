//! A link whose future is known: a drop-tail queue, one rate for good, and a pipe that keeps the order.
//!
//! First in, first out at a constant rate: when a packet comes it is settled when its service begins and ends, and
//! when it arrives. Nothing has to be woken in between.

use crate::bucket::TokenBucket;
use crate::jitter::{Jitter, JitterConfig};
use crate::link::stream;
use crate::loss::{Loss, LossPlace};
use crate::node::{DropCause, Dropped, Packet};
use crate::plan::{CapacityPlan, LinkPlan};
use crate::queue::{Door, Limit, Transmitter};
use crate::statistics::{Count, Drops, LinkStatistics};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It leaves at the far end at this instant.
    Arrives(Timestamp),
    /// It goes no further.
    Dropped {
        /// When that happens.
        at: Timestamp,
        /// Why.
        cause: DropCause,
    },
}

/// What is known of a packet when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foresight {
    /// What becomes of it.
    pub fate: Fate,
    /// How long it waits until it is served.
    pub waits: TimeDelta,
}

/// A link that knows the fate of a packet when it comes.
#[derive(Debug, Clone)]
pub(crate) struct Foreseen<P> {
    rate: Bitrate,
    delay: TimeDelta,
    door: Door,
    policer: Option<TokenBucket>,
    jitter: Option<Jitter>,
    loss: Option<(Loss, LossPlace)>,
    /// Nothing can happen to a packet that finds nobody, and who waits is not measured in time or octets.
    is_plain: bool,
    /// Those that have not left yet, and as many that have as there is room for, in the order of their coming.
    passages: VecDeque<Passage>,
    /// How many of them are known to have begun to be served, and the size of the others.
    begun: usize,
    waiting: DataSize,
    /// When the last of them will have been sent.
    free_at: Timestamp,
    /// The size that was served last, its whole nanoseconds and what is left over: a division is dear.
    served: (DataSize, u64, u64),
    /// Work left undone because service ends on a whole nanosecond, in bit·ns/s: it goes to the next packet of the
    /// same busy period.
    remainder: u64,
    /// Packets that are on their way and the instants of their arrival.
    held: VecDeque<(Timestamp, Packet<P>)>,
    dropped: VecDeque<Dropped<P>>,
    /// Sums since the link was made, as if every passage were over; and what they stood at when the window began.
    sums: Sums,
    window: Window,
}

/// One packet's way through the link.
#[derive(Debug, Clone, Copy)]
struct Passage {
    starts: Timestamp,
    ends: Timestamp,
    /// When it arrives, or is lost.
    leaves: Timestamp,
    size: DataSize,
    is_lost: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    arrivals: Count,
    delivered: Count,
    drops: Drops,
    packet_nanos: u128,
    byte_nanos: u128,
    busy_nanos: u64,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Timestamp,
    before: Sums,
    carried_in: u64,
    max_packets: u64,
    max_size: DataSize,
}

impl<P> Foreseen<P> {
    /// The link that `plan` describes behind a queue with this `door`; `None` where its future depends on what comes
    /// later.
    pub(crate) fn new(plan: &LinkPlan, door: Option<Door>, seed: u64, name: &str) -> Option<Self> {
        let stream = |part| stream(seed, name, part);
        let CapacityPlan::Rates(schedule, _) = &plan.capacity else { return None };
        let keeps_order = !matches!(plan.jitter, Some(JitterConfig::Reordering { .. }));
        let is_constant =
            schedule.steps.is_empty() && plan.outages.is_empty() && schedule.initial > Bitrate::ZERO;
        if !(keeps_order && is_constant && plan.shaper.is_none()) {
            return None;
        }
        let door = door?;
        let is_plain = matches!(door.limit, Limit::Packets(1..))
            && plan.policer.is_none()
            && plan.jitter.is_none()
            && plan.loss.is_none();
        let before = Sums::default();
        let (since, max_size) = (Timestamp::ZERO, DataSize::ZERO);
        Some(Self {
            rate: schedule.initial,
            delay: plan.delay,
            door,
            policer: plan.policer.map(TokenBucket::new),
            jitter: plan.jitter.map(|model| Jitter::new(model, stream("jitter"))),
            loss: plan.loss.clone().map(|(model, place)| (Loss::new(model, stream("loss")), place)),
            is_plain,
            passages: VecDeque::new(),
            begun: 0,
            waiting: DataSize::ZERO,
            free_at: Timestamp::ZERO,
            served: (DataSize::ZERO, 0, 0),
            remainder: 0,
            held: VecDeque::new(),
            dropped: VecDeque::new(),
            sums: before,
            window: Window { since, before, carried_in: 0, max_packets: 0, max_size },
        })
    }

    /// The least that a packet takes.
    pub(crate) fn least_delay(&self) -> TimeDelta {
        self.delay + self.jitter.as_ref().map_or(TimeDelta::ZERO, Jitter::least)
    }

    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// What becomes of a packet that comes at `now`. Nobody looks at the books before `unseen_until`.
    #[inline(always)]
    pub(crate) fn foresee(&mut self, now: Timestamp, size: DataSize, unseen_until: Timestamp) -> Foresight {
        self.sums.arrivals.add(size);
        if self.free_at <= now {
            // All before it are served.
            (self.begun, self.waiting) = (self.passages.len(), DataSize::ZERO);
            if self.is_plain {
                return self.pass_through(now, size, unseen_until);
            }
        }
        self.foresee_any(now, size)
    }

    /// Nobody is there, and nothing can happen to it: it need not be remembered where it is through before anybody looks.
    #[inline(always)]
    fn pass_through(&mut self, now: Timestamp, size: DataSize, unseen_until: Timestamp) -> Foresight {
        let ends = self.serve(now, size, 0);
        self.sums.busy_nanos += ends.as_nanos() - now.as_nanos();
        self.sums.delivered.add(size);
        let leaves = ends + self.delay;
        if leaves > unseen_until {
            self.remember_begun(now, Passage { starts: now, ends, leaves, size, is_lost: false });
        }
        Foresight { fate: Fate::Arrives(leaves), waits: TimeDelta::ZERO }
    }

    // Apart, so that the short way above is inlined where links are asked.
    #[inline(never)]
    fn foresee_any(&mut self, now: Timestamp, size: DataSize) -> Foresight {
        let is_busy = self.free_at > now;
        if is_busy && self.may_peak(size) {
            self.pass(now);
        }
        if let Some(cause) = self.refusal(now, size) {
            return Foresight { fate: Fate::Dropped { at: now, cause }, waits: TimeDelta::ZERO };
        }
        let (starts, carried) = if is_busy { (self.free_at, self.remainder) } else { (now, 0) };
        let ends = self.serve(starts, size, carried);
        self.sums.busy_nanos += ends.as_nanos() - starts.as_nanos();
        let is_lost = self.loss.is_some() && self.loses(LossPlace::Exit, ends);
        let leaves = if is_lost { ends } else { self.arrival(ends, size) };
        self.remember(now, Passage { starts, ends, leaves, size, is_lost });
        let waits = TimeDelta::from_nanos((starts.as_nanos() - now.as_nanos()) as i64);
        if is_busy {
            self.sums.wait(waits, size);
            self.waiting += size;
            self.window.max_packets = self.window.max_packets.max((self.passages.len() - self.begun) as u64);
            self.window.max_size = self.window.max_size.max(self.waiting);
        } else {
            self.begun += 1;
        }
        if is_lost {
            self.sums.drops.channel += 1;
            return Foresight { fate: Fate::Dropped { at: ends, cause: DropCause::Channel }, waits };
        }
        self.sums.delivered.add(size);
        Foresight { fate: Fate::Arrives(leaves), waits }
    }

    #[inline(never)]
    fn remember_begun(&mut self, now: Timestamp, passage: Passage) {
        self.remember(now, passage);
        self.begun += 1;
    }

    #[inline]
    fn remember(&mut self, now: Timestamp, passage: Passage) {
        if self.passages.len() == self.passages.capacity() {
            self.forget(now);
        }
        self.passages.push_back(passage);
    }

    /// Whether one more packet may be too many, or more than ever waited in the window: then it matters who still waits.
    #[inline]
    fn may_peak(&self, size: DataSize) -> bool {
        let packets = (self.passages.len() - self.begun) as u64 + 1;
        let known = matches!(self.door.limit, Limit::Packets(limit) if packets < limit);
        !known || packets > self.window.max_packets || self.waiting + size > self.window.max_size
    }

    /// Notes who has begun to be served by `now`.
    fn pass(&mut self, now: Timestamp) {
        while let Some(passage) = self.passages.get(self.begun)
            && passage.starts <= now
        {
            self.waiting -= passage.size;
            self.begun += 1;
        }
    }

    /// Forgets who has left; where few have, makes room instead, so that it is seldom asked for.
    fn forget(&mut self, now: Timestamp) {
        self.pass(now);
        let begun = self.passages.iter().take(self.begun);
        let left = begun.take_while(|passage| passage.leaves <= now).count();
        self.passages.drain(..left);
        self.begun -= left;
        if left <= self.passages.capacity() / 4 {
            self.passages.reserve(self.passages.capacity().max(16));
        }
    }

    /// Why a packet does not even join those that wait.
    #[inline]
    fn refusal(&mut self, now: Timestamp, size: DataSize) -> Option<DropCause> {
        if self.loss.is_some() && self.loses(LossPlace::Entry, now) {
            self.sums.drops.channel += 1;
            return Some(DropCause::Channel);
        }
        if self.policer.as_mut().is_some_and(|policer| !policer.take(now, size)) {
            self.sums.drops.policer += 1;
            return Some(DropCause::Policer);
        }
        let packets = self.passages.len() - self.begun;
        // The common limit asks for no size.
        let holds = match self.door.limit {
            Limit::Packets(limit) => packets as u64 + 1 + u64::from(self.free_at > now) <= limit,
            _ => {
                let transmitter = Transmitter { in_service: self.in_service(now), rate: self.rate };
                self.door.admits(packets, self.waiting, size, transmitter)
            }
        };
        if !holds {
            self.sums.drops.tail += 1;
            return Some(DropCause::Tail);
        }
        None
    }

    /// The size of the packet that is being served.
    fn in_service(&self, now: Timestamp) -> Option<DataSize> {
        let newest = self.begun.checked_sub(1).and_then(|index| self.passages.get(index));
        newest.filter(|passage| passage.ends > now).map(|passage| passage.size)
    }

    fn loses(&mut self, here: LossPlace, at: Timestamp) -> bool {
        self.loss.as_mut().is_some_and(|(loss, place)| *place == here && loss.takes(at))
    }

    /// When service that begins at `starts` ends; the server is taken until then.
    #[inline(always)]
    fn serve(&mut self, starts: Timestamp, size: DataSize, carried: u64) -> Timestamp {
        if self.served.0 != size {
            self.served = self.service(size);
        }
        // What is carried is less than the rate.
        let (_, mut nanos, rest) = self.served;
        let (mut remainder, mut is_more) = rest.overflowing_add(carried);
        is_more |= remainder >= self.rate.as_bps();
        if is_more {
            nanos = nanos.saturating_add(1);
            remainder = remainder.wrapping_sub(self.rate.as_bps());
        }
        self.remainder = remainder;
        self.free_at = starts + TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
        self.free_at
    }

    /// A size, the whole nanoseconds it takes, and the work that is left over, in bit·ns/s.
    fn service(&self, size: DataSize) -> (DataSize, u64, u64) {
        let rate = self.rate.as_bps();
        // The first branch is a plain machine division; it holds for packets below 2 GB.
        match size.as_bits().checked_mul(1_000_000_000) {
            Some(work) => (size, work / rate, work % rate),
            None => {
                let work = u128::from(size.as_bits()) * 1_000_000_000;
                let nanos = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
                (size, nanos, (work % u128::from(rate)) as u64)
            }
        }
    }

    #[inline]
    fn arrival(&mut self, sent: Timestamp, size: DataSize) -> Timestamp {
        let unvaried = sent + self.delay;
        match &mut self.jitter {
            None => unvaried,
            Some(jitter) => jitter.arrival(unvaried, self.rate.time_to_send(size).unwrap_or_default()),
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Timestamp, mut packet: Packet<P>) {
        self.dropped.clear();
        let Foresight { fate, waits } = self.foresee(now, packet.size, now);
        packet.waited += waits;
        match fate {
            Fate::Arrives(arrival) => {
                debug_assert!(self.held.back().is_none_or(|(last, _)| *last <= arrival), "overtaken");
                self.held.push_back((arrival, packet));
            }
            Fate::Dropped { at, cause } => self.dropped.push_back(Dropped { at, cause, packet }),
        }
    }

    pub(crate) fn handle_timeout(&mut self, _now: Timestamp) {
        self.dropped.clear();
    }

    pub(crate) fn poll_packet(&mut self, now: Timestamp) -> Option<Packet<P>> {
        if self.poll_timeout()? > now {
            return None;
        }
        self.held.pop_front().map(|(_, packet)| packet)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.held.front().map(|(arrival, _)| *arrival)
    }

    pub(crate) fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }

    /// Packets and octets that wait at `now`, which is no earlier than the last arrival.
    pub(crate) fn waiting(&self, now: Timestamp) -> (u64, DataSize) {
        let waiting = self.passages.iter().skip(self.begun).filter(|passage| passage.starts > now);
        waiting.fold((0, DataSize::ZERO), |(packets, size), passage| (packets + 1, size + passage.size))
    }

    pub(crate) fn inside(&self, now: Timestamp) -> u64 {
        let inside = |passage: &&Passage| passage.leaves > now && !passage.is_lost;
        self.passages.iter().filter(inside).count() as u64
    }

    /// The sums up to `now`: what of each passage lies beyond is taken off.
    fn sums(&self, now: Timestamp) -> Sums {
        let mut sums = self.sums;
        for passage in &self.passages {
            let still_waits = passage.starts.since(now).as_nanos() as u128;
            sums.packet_nanos -= still_waits;
            sums.byte_nanos -= still_waits * u128::from(passage.size.as_bytes());
            sums.busy_nanos -= passage.ends.since(passage.starts.max(now)).as_nanos() as u64;
            if passage.leaves > now && !passage.is_lost {
                sums.delivered.packets -= 1;
                sums.delivered.size -= passage.size;
            }
        }
        sums
    }

    pub(crate) fn restart_statistics(&mut self, now: Timestamp) {
        let (max_packets, max_size) = self.waiting(now);
        let before = self.sums(now);
        self.window = Window { since: now, before, carried_in: self.inside(now), max_packets, max_size };
    }

    pub(crate) fn statistics(&self, now: Timestamp) -> LinkStatistics {
        let Window { since, before, carried_in, max_packets, max_size } = self.window;
        let until = now.max(since);
        let sums = self.sums(until);
        let span = until.since(since).as_nanos() as f64;
        let mean = |integral: u128| if span > 0.0 { integral as f64 / span } else { 0.0 };
        let rate = u128::from(self.rate.as_bps());
        let used = u128::from(sums.busy_nanos - before.busy_nanos) * rate;
        let offered = until.since(since).as_nanos() as u128 * rate;
        LinkStatistics {
            since,
            until,
            carried_in,
            arrivals: sums.arrivals.since(before.arrivals),
            delivered: sums.delivered.since(before.delivered),
            drops: sums.drops.since(before.drops),
            marks: 0,
            inside: self.inside(until),
            utilisation: if offered > 0 { used as f64 / offered as f64 } else { 0.0 },
            waiting_mean: mean(sums.packet_nanos - before.packet_nanos),
            waiting_max: max_packets,
            waiting_bytes_mean: mean(sums.byte_nanos - before.byte_nanos),
            waiting_bytes_max: max_size,
        }
    }
}

impl Sums {
    fn wait(&mut self, waits: TimeDelta, size: DataSize) {
        let waits = waits.as_nanos() as u128;
        self.packet_nanos += waits;
        self.byte_nanos += waits * u128::from(size.as_bytes());
    }
}
