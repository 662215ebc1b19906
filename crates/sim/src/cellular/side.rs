//! One direction of the cell: scheduling of each TTI, HARQ and arrivals.

use super::background::Others;
use super::channel::{Channel, REPORT, TTI};
use super::config::{CellularPlan, Harq, Residual};
use crate::mac_queue::{Completed, MacQueue};
use seaway_link::{DropCause, Dropped, Outbox, Packet, RandomStream};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// From the last failure of HARQ until the block starts anew. Reading: an RLC status report.
const STATUS: TimeDelta = TimeDelta::from_millis(40);
/// Averages do not fall below this, in octets a TTI, so that no metric is infinite.
const LEAST_AVERAGE: f64 = 1e-3;

/// One direction of a cell.
#[derive(Debug)]
pub(super) struct Side<P> {
    users: Vec<Member<P>>,
    others: Others,
    /// The next TTI.
    tti: u64,
    /// Parts of the TTIs to come that retransmissions take, the next TTI's first.
    reserved: VecDeque<f64>,
    harq: Harq,
    random: RandomStream,
    delay: TimeDelta,
    access: TimeDelta,
    /// Weight of a TTI in the averages.
    gain: f64,
    arriving: BinaryHeap<Reverse<Arrival<P>>>,
    count: u64,
    /// Users with something that waits.
    waiting: usize,
    /// The participants of this TTI by falling scheduling metric: metric and number; others behind the users.
    order: Vec<(f64, usize)>,
}

/// A user in this direction.
#[derive(Debug)]
struct Member<P> {
    queue: MacQueue<P>,
    channel: Channel,
    octets: f64,
    average: f64,
    /// It may send from then on.
    granted: Timestamp,
    /// When the newest of its packets arrives: they stay in order.
    last: Timestamp,
}

/// A packet in the air.
#[derive(Debug)]
struct Arrival<P> {
    at: Timestamp,
    number: u64,
    user: usize,
    packet: Packet<P>,
}

impl<P> Side<P> {
    pub(super) fn new(
        config: &CellularPlan,
        queues: Vec<(MacQueue<P>, Channel)>,
        others: Others,
        access: TimeDelta,
        random: RandomStream,
    ) -> Self {
        let member = |(queue, channel)| Member {
            queue,
            channel,
            octets: 0.0,
            average: 0.0,
            granted: Timestamp::ZERO,
            last: Timestamp::ZERO,
        };
        Self {
            users: queues.into_iter().map(member).collect(),
            others,
            tti: 0,
            reserved: VecDeque::new(),
            harq: config.harq,
            random,
            delay: config.delay,
            access,
            gain: TTI.ratio(config.averaging).min(1.0),
            arriving: BinaryHeap::new(),
            count: 0,
            waiting: 0,
            order: Vec::new(),
        }
    }

    pub(super) fn enqueue(&mut self, now: Timestamp, user: usize, packet: Packet<P>) {
        let member = &mut self.users[user];
        let was_empty = member.queue.waiting() == 0;
        member.queue.enqueue(now, packet);
        if was_empty && member.queue.waiting() > 0 {
            member.granted = now + self.access;
            self.waiting += 1;
        }
    }

    pub(super) fn poll_dropped(&mut self, user: usize) -> Option<Dropped<P>> {
        self.users[user].queue.poll_dropped()
    }

    /// Processes the TTIs that begin up to `now`.
    pub(super) fn advance(&mut self, now: Timestamp, out: &mut Outbox<P>) {
        while self.next_tti() <= now {
            let at = self.next_tti();
            if self.tti.is_multiple_of(REPORT) {
                self.report(at);
            }
            self.serve(at, out);
            self.tti += 1;
        }
    }

    fn next_tti(&self) -> Timestamp {
        Timestamp::ZERO + TTI * i64::try_from(self.tti).unwrap_or(i64::MAX)
    }

    fn report(&mut self, at: Timestamp) {
        for member in &mut self.users {
            member.octets = member.channel.octets(self.tti);
        }
        self.others.report(at, self.tti);
    }

    /// One TTI: retransmissions first, then participants by falling metric, until the TTI is full.
    fn serve(&mut self, now: Timestamp, out: &mut Outbox<P>) {
        self.others.grow();
        let taken = self.reserved.pop_front().unwrap_or_default();
        // What does not fit is sent in the next.
        if taken > 1.0 {
            self.reserve(0, taken - 1.0);
        }
        let mut left = (1.0 - taken).max(0.0);
        self.rank(now);
        for index in 0..self.order.len() {
            let (_, participant) = self.order[index];
            left -= match participant.checked_sub(self.users.len()) {
                Some(other) => self.serve_other(other, left),
                None => self.serve_user(now, participant, left, out),
            };
        }
        for member in &mut self.users {
            member.average *= 1.0 - self.gain;
            member.queue.offer(member.octets as u64, 0);
        }
        for other in &mut self.others.present {
            other.average *= 1.0 - self.gain;
        }
    }

    /// Proportional fair: what the channel gives now over what was given so far.
    fn rank(&mut self, now: Timestamp) {
        self.order.clear();
        if self.waiting == 0 && self.others.present.is_empty() {
            return;
        }
        let users = self.users.iter().map(|user| {
            let wants = user.octets > 0.0 && user.queue.waiting() > 0 && user.granted <= now;
            (wants, user.octets, user.average)
        });
        let others = self.others.present.iter().map(|other| {
            let wants = other.octets > 0.0 && other.backlog > 0.0;
            (wants, other.octets, other.average)
        });
        let all = users.chain(others).enumerate();
        let claims = all.filter(|(_, (wants, ..))| *wants);
        self.order
            .extend(claims.map(|(index, (_, octets, average))| (octets / average.max(LEAST_AVERAGE), index)));
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    /// Gives one of the others what it wants of `left` of the TTI; gives the part it took.
    fn serve_other(&mut self, other: usize, left: f64) -> f64 {
        let other = &mut self.others.present[other];
        // Its retransmissions are counted as if they fell into the same TTI.
        let room = left * other.octets * (1.0 - self.harq.error.get());
        let served = other.backlog.min(room);
        other.backlog -= served;
        other.average += self.gain * served;
        if room > 0.0 { left * served / room } else { 0.0 }
    }

    /// Sends one block of a user in `left` of the TTI; gives the part it took.
    fn serve_user(&mut self, now: Timestamp, user: usize, left: f64, out: &mut Outbox<P>) -> f64 {
        let octets = self.users[user].octets;
        let mut room = (left * octets) as u64;
        if room == 0 {
            return 0.0;
        }
        let (arrives, is_lost, again) = self.transmit(now);
        let member = &mut self.users[user];
        let mut sent = 0;
        while room > 0 {
            let Some(fragment) = member.queue.take(now, room, |_| is_lost) else { break };
            room -= fragment.octets;
            sent += fragment.octets;
            match fragment.completed {
                Some(Completed::Sent(packet)) => {
                    member.last = member.last.max(arrives);
                    self.count += 1;
                    let arrival = Arrival { at: member.last, number: self.count, user, packet };
                    self.arriving.push(Reverse(arrival));
                }
                Some(Completed::Lost(packet)) => {
                    out.drop(Dropped { at: now, cause: DropCause::Channel, packet });
                }
                None => {}
            }
        }
        while let Some(early) = member.queue.poll_dropped() {
            out.drop(early);
        }
        member.queue.offer(0, sent);
        member.average += self.gain * sent as f64;
        if member.queue.waiting() == 0 {
            self.waiting -= 1;
        }
        let part = sent as f64 / octets;
        let trip = (self.harq.round_trip.ratio(TTI) as usize).max(1);
        for attempt in 1..=again {
            self.reserve(attempt as usize * trip - 1, part);
        }
        part
    }

    /// How a block of this TTI fares: when it has come, whether it is lost, and how often it is sent again.
    fn transmit(&mut self, now: Timestamp) -> (Timestamp, bool, u32) {
        let mut at = now + TTI + self.delay;
        let mut again = 0;
        loop {
            for attempt in 0..self.harq.attempts {
                if !self.random.chance(self.harq.error.get()) {
                    return (at, false, again);
                }
                if attempt + 1 < self.harq.attempts {
                    again += 1;
                    at += self.harq.round_trip;
                }
            }
            match self.harq.residual {
                Residual::Lost => return (at, true, again),
                Residual::Repaired => at += STATUS,
            }
        }
    }

    /// Keeps a part of the TTI that comes after `ahead` others.
    fn reserve(&mut self, ahead: usize, part: f64) {
        if self.reserved.len() <= ahead {
            self.reserved.resize(ahead + 1, 0.0);
        }
        self.reserved[ahead] += part;
    }

    /// The next packet that has arrived by `now`, and its user.
    pub(super) fn poll_packet(&mut self, now: Timestamp) -> Option<(usize, Packet<P>)> {
        if self.next_arrival().is_none_or(|at| at > now) {
            return None;
        }
        let Reverse(Arrival { user, packet, .. }) = self.arriving.pop()?;
        self.users[user].queue.deliver(packet.size);
        Some((user, packet))
    }

    pub(super) fn next_arrival(&self) -> Option<Timestamp> {
        self.arriving.peek().map(|Reverse(arrival)| arrival.at)
    }

    /// When a user may be served next.
    pub(super) fn due(&self) -> Option<Timestamp> {
        (self.waiting > 0).then(|| self.next_tti())
    }

    pub(super) fn queue(&self, user: usize) -> &MacQueue<P> {
        &self.users[user].queue
    }

    pub(super) fn restart_statistics(&mut self, now: Timestamp) {
        self.users.iter_mut().for_each(|member| member.queue.restart_statistics(now));
    }

    /// What a TTI would carry for a user now, were the cell its own.
    pub(super) fn rate(&self, user: usize) -> Bitrate {
        DataSize::from_bytes(self.users[user].octets as u64).over(TTI).unwrap_or_default()
    }
}

impl<P> Ord for Arrival<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<P> PartialOrd for Arrival<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Arrival<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Arrival<P> {}
