//! The closed-form FIFO link: a drop-tail queue, a constant rate, and a propagation path that keeps the order.
//!
//! The departure times follow from a recursion: a packet's service begins at the later of its arrival and the end of the
//! service before it. So its departure is computed when it arrives, and the link needs no events.

use crate::bucket::TokenBucket;
use crate::jitter::{Jitter, JitterConfig};
use crate::loss::{Loss, LossPlace};
use crate::node::DropCause;
use crate::plan::{CapacityPlan, LinkPlan};
use crate::queue::{Admission, Limit, Transmitter};
use crate::random::RandomStream;
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

/// A packet's way through the link, computed when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit {
    /// What becomes of it.
    pub fate: Fate,
    /// How long it waits before its service begins.
    pub wait: TimeDelta,
}

/// The closed-form FIFO link.
#[derive(Debug, Clone)]
pub(crate) struct ClosedForm {
    rate: Bitrate,
    delay: TimeDelta,
    admission: Admission,
    policer: Option<TokenBucket>,
    jitter: Option<Jitter>,
    loss: Option<(Loss, LossPlace)>,
    /// A packet that finds the link idle is never dropped nor delayed otherwise, and the limit counts packets.
    is_plain: bool,
    /// Packets that have not left yet, and some that have, in the order of their arrival.
    records: VecDeque<Record>,
    /// How many of them have begun service for certain, and the size of the others.
    begun: usize,
    waiting: DataSize,
    /// When the service of the last one ends.
    free_at: Timestamp,
    /// The size that was served last, its whole nanoseconds and the remainder: this saves a division.
    served: (DataSize, u64, u64),
    /// Work left undone because service ends on a whole nanosecond, in bit·ns/s: it is added to the next packet of the
    /// same busy period.
    remainder: u64,
    /// Sums since the link was made, as if every packet had left; and their values when the window began.
    sums: Sums,
    window: Window,
}

/// The instants of one packet.
#[derive(Debug, Clone, Copy)]
struct Record {
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

impl ClosedForm {
    /// The link that `plan` describes, with a queue of this `admission`; `None` where a departure may depend on later
    /// arrivals or on the time.
    pub(crate) fn new(plan: &LinkPlan, admission: Option<Admission>, seed: u64, name: &str) -> Option<Self> {
        let stream = |part| RandomStream::of_part(seed, name, part);
        let CapacityPlan::Rates(schedule, _) = &plan.capacity else { return None };
        let keeps_order = !matches!(plan.jitter, Some(JitterConfig::Reordering { .. }));
        let is_constant =
            schedule.steps.is_empty() && plan.outages.is_empty() && schedule.initial > Bitrate::ZERO;
        let is_constant = is_constant && plan.delay_steps.is_empty();
        if !(keeps_order && is_constant && plan.shaper.is_none()) {
            return None;
        }
        let admission = admission?;
        let is_plain = matches!(admission.limit, Limit::Packets(1..))
            && plan.policer.is_none()
            && plan.jitter.is_none()
            && plan.loss.is_none();
        let before = Sums::default();
        let (since, max_size) = (Timestamp::ZERO, DataSize::ZERO);
        Some(Self {
            rate: schedule.initial,
            delay: plan.delay,
            admission,
            policer: plan.policer.map(TokenBucket::new),
            jitter: plan.jitter.map(|model| Jitter::new(model, stream("jitter"))),
            loss: plan.loss.clone().map(|(model, place)| (Loss::new(model, stream("loss")), place)),
            is_plain,
            records: VecDeque::new(),
            begun: 0,
            waiting: DataSize::ZERO,
            free_at: Timestamp::ZERO,
            served: (DataSize::ZERO, 0, 0),
            remainder: 0,
            sums: before,
            window: Window { since, before, carried_in: 0, max_packets: 0, max_size },
        })
    }

    /// The least time that a packet spends in the link.
    pub(crate) fn least_delay(&self) -> TimeDelta {
        self.delay + self.jitter.as_ref().map_or(TimeDelta::ZERO, Jitter::least)
    }

    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// The way of a packet that arrives at `now`. Statistics are not read before `unread_until`.
    #[inline(always)]
    pub(crate) fn transit(&mut self, now: Timestamp, size: DataSize, unread_until: Timestamp) -> Transit {
        self.sums.arrivals.add(size);
        if self.free_at <= now {
            // All before it are served.
            (self.begun, self.waiting) = (self.records.len(), DataSize::ZERO);
            if self.is_plain {
                return self.transit_idle(now, size, unread_until);
            }
        }
        self.transit_any(now, size)
    }

    /// A packet that finds a plain link idle. No record is needed where it has left before statistics are read.
    #[inline(always)]
    fn transit_idle(&mut self, now: Timestamp, size: DataSize, unread_until: Timestamp) -> Transit {
        let ends = self.serve(now, size, 0);
        self.sums.busy_nanos += ends.as_nanos() - now.as_nanos();
        self.sums.delivered.add(size);
        let leaves = ends + self.delay;
        if leaves > unread_until {
            self.push_begun(now, Record { starts: now, ends, leaves, size, is_lost: false });
        }
        Transit { fate: Fate::Arrives(leaves), wait: TimeDelta::ZERO }
    }

    // Not inlined, so that the short function above is.
    #[inline(never)]
    fn transit_any(&mut self, now: Timestamp, size: DataSize) -> Transit {
        let is_busy = self.free_at > now;
        if is_busy && self.needs_exact_count(size) {
            self.note_begun(now);
        }
        if let Some(cause) = self.refusal(now, size) {
            return Transit { fate: Fate::Dropped { at: now, cause }, wait: TimeDelta::ZERO };
        }
        let (starts, carried) = if is_busy { (self.free_at, self.remainder) } else { (now, 0) };
        let ends = self.serve(starts, size, carried);
        self.sums.busy_nanos += ends.as_nanos() - starts.as_nanos();
        let is_lost = self.loss.is_some() && self.loses(LossPlace::Exit, ends);
        let leaves = if is_lost { ends } else { self.arrival(ends, size) };
        self.push(now, Record { starts, ends, leaves, size, is_lost });
        let wait = TimeDelta::from_nanos((starts.as_nanos() - now.as_nanos()) as i64);
        if is_busy {
            self.sums.wait(wait, size);
            self.waiting += size;
            self.window.max_packets = self.window.max_packets.max((self.records.len() - self.begun) as u64);
            self.window.max_size = self.window.max_size.max(self.waiting);
        } else {
            self.begun += 1;
        }
        if is_lost {
            self.sums.drops.channel += 1;
            return Transit { fate: Fate::Dropped { at: ends, cause: DropCause::Channel }, wait };
        }
        self.sums.delivered.add(size);
        Transit { fate: Fate::Arrives(leaves), wait }
    }

    #[inline(never)]
    fn push_begun(&mut self, now: Timestamp, record: Record) {
        self.push(now, record);
        self.begun += 1;
    }

    #[inline]
    fn push(&mut self, now: Timestamp, record: Record) {
        if self.records.len() == self.records.capacity() {
            self.drop_left(now);
        }
        self.records.push_back(record);
    }

    /// Whether one more packet may exceed the limit or the maximum of the window, so that `begun` must be exact.
    #[inline]
    fn needs_exact_count(&self, size: DataSize) -> bool {
        let packets = (self.records.len() - self.begun) as u64 + 1;
        let known = matches!(self.admission.limit, Limit::Packets(limit) if packets < limit);
        !known || packets > self.window.max_packets || self.waiting + size > self.window.max_size
    }

    /// Brings `begun` up to `now`.
    fn note_begun(&mut self, now: Timestamp) {
        while let Some(record) = self.records.get(self.begun)
            && record.starts <= now
        {
            self.waiting -= record.size;
            self.begun += 1;
        }
    }

    /// Drops packets that have left; grows the buffer when few have, so that the cost is amortised.
    fn drop_left(&mut self, now: Timestamp) {
        self.note_begun(now);
        let begun = self.records.iter().take(self.begun);
        let left = begun.take_while(|record| record.leaves <= now).count();
        self.records.drain(..left);
        self.begun -= left;
        if left <= self.records.capacity() / 4 {
            self.records.reserve(self.records.capacity().max(16));
        }
    }

    /// Why a packet is dropped on arrival.
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
        let packets = self.records.len() - self.begun;
        // The common limit needs no size.
        let holds = match self.admission.limit {
            Limit::Packets(limit) => packets as u64 + 1 + u64::from(self.free_at > now) <= limit,
            _ => {
                let transmitter = Transmitter { in_service: self.in_service(now), rate: self.rate };
                self.admission.admits(packets, self.waiting, size, transmitter)
            }
        };
        if !holds {
            self.sums.drops.tail += 1;
            return Some(DropCause::Tail);
        }
        None
    }

    /// The size of the packet in service.
    fn in_service(&self, now: Timestamp) -> Option<DataSize> {
        let newest = self.begun.checked_sub(1).and_then(|index| self.records.get(index));
        newest.filter(|record| record.ends > now).map(|record| record.size)
    }

    fn loses(&mut self, here: LossPlace, at: Timestamp) -> bool {
        self.loss.as_mut().is_some_and(|(loss, place)| *place == here && loss.takes(at))
    }

    /// When the service that begins at `starts` ends; the server is busy until then.
    #[inline(always)]
    fn serve(&mut self, starts: Timestamp, size: DataSize, carried: u64) -> Timestamp {
        if self.served.0 != size {
            self.served = self.service(size);
        }
        // `carried` is less than the rate.
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

    /// A size, the whole nanoseconds of its service, and the remainder of the work in bit·ns/s.
    fn service(&self, size: DataSize) -> (DataSize, u64, u64) {
        let rate = self.rate.as_bps();
        // Packets below 2 GB need only a machine division.
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
        let nominal = sent + self.delay;
        match &mut self.jitter {
            None => nominal,
            Some(jitter) => jitter.arrival(nominal, self.rate.time_to_send(size).unwrap_or_default()),
        }
    }

    /// Packets and octets that wait at `now`, which is no earlier than the last arrival.
    pub(crate) fn waiting(&self, now: Timestamp) -> (u64, DataSize) {
        let waiting = self.records.iter().skip(self.begun).filter(|record| record.starts > now);
        waiting.fold((0, DataSize::ZERO), |(packets, size), record| (packets + 1, size + record.size))
    }

    pub(crate) fn inside(&self, now: Timestamp) -> u64 {
        let inside = |record: &&Record| record.leaves > now && !record.is_lost;
        self.records.iter().filter(inside).count() as u64
    }

    /// The sums up to `now`, without the part of each record that lies after.
    fn sums(&self, now: Timestamp) -> Sums {
        let mut sums = self.sums;
        for record in &self.records {
            let still_waits = record.starts.since(now).as_nanos() as u128;
            sums.packet_nanos -= still_waits;
            sums.byte_nanos -= still_waits * u128::from(record.size.as_bytes());
            sums.busy_nanos -= record.ends.since(record.starts.max(now)).as_nanos() as u64;
            if record.leaves > now && !record.is_lost {
                sums.delivered.packets -= 1;
                sums.delivered.size -= record.size;
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
