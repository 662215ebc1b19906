//! The sending end: what waits for its acknowledgement, and is sent again.

use crate::statistics::Counts;
use crate::{KeyFlag, LossList, Sequence};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets that may wait for their acknowledgement.
pub(crate) const WINDOW: usize = 16_384;
/// Retransmissions that may be sent at once; each new packet permits one more.
const CREDIT: u32 = 2048;
/// What libsrt gives a packet beyond the latency before the sender drops it, and the least of it (section 4.6).
const DROP_MARGIN: TimeDelta = TimeDelta::from_millis(20);
const LEAST_DROP: TimeDelta = TimeDelta::from_secs(1);
/// What is added to the round-trip time before packets without acknowledgement are sent again: this share of the latency, within
/// bounds. A busy receiver acknowledges late; a last packet that was lost has to be there in time.
const MARGIN_OF_LATENCY: f64 = 0.4;
const MARGIN: [TimeDelta; 2] = [TimeDelta::from_millis(30), TimeDelta::from_millis(200)];
/// The longest wait for that.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_secs(1);

/// A packet that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) key: KeyFlag,
    pub(crate) message: u32,
    pub(crate) timestamp: u32,
    pub(crate) payload: Vec<u8>,
    at: Timestamp,
    last: Timestamp,
    again: u32,
}

impl Sent {
    pub(crate) fn new(now: Timestamp, key: KeyFlag, message: u32, timestamp: u32, payload: Vec<u8>) -> Self {
        Self { key, message, timestamp, payload, at: now, last: now, again: 0 }
    }
}

/// Packets without acknowledgement.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    first: Sequence,
    packets: VecDeque<Sent>,
    credit: u32,
    keep: TimeDelta,
    margin: TimeDelta,
    /// The last time that the peer acknowledged more, or all was sent again.
    progress: Timestamp,
    /// Doubles with each time that nothing was acknowledged.
    backoff: i64,
    pub(crate) counts: Counts,
}

impl SendBuffer {
    pub(crate) fn new(now: Timestamp, first: Sequence, latency: TimeDelta) -> Self {
        Self {
            first,
            packets: VecDeque::new(),
            credit: CREDIT,
            keep: latency.max(LEAST_DROP) + DROP_MARGIN,
            margin: latency.mul_f64(MARGIN_OF_LATENCY).clamp(MARGIN[0], MARGIN[1]),
            progress: now,
            backoff: 1,
            counts: Counts::default(),
        }
    }

    /// The first packet that is kept.
    pub(crate) fn first(&self) -> Sequence {
        self.first
    }

    /// The number of the next packet.
    pub(crate) fn next(&self) -> Sequence {
        self.first + self.packets.len() as u32
    }

    pub(crate) fn push(&mut self, now: Timestamp, packet: Sent) {
        if self.packets.is_empty() {
            self.progress = now;
        }
        if self.packets.len() == WINDOW {
            self.drop_first();
        }
        self.packets.push_back(packet);
        self.credit = (self.credit + 1).min(CREDIT);
        self.counts.packets += 1;
    }

    fn drop_first(&mut self) {
        self.packets.pop_front();
        self.first = self.first + 1;
        self.counts.dropped += 1;
    }

    /// The peer has all packets before `next`.
    pub(crate) fn on_acknowledgement(&mut self, now: Timestamp, next: Sequence) {
        let count = next.since(self.first);
        if count <= 0 || count as usize > self.packets.len() {
            return;
        }
        self.packets.drain(..count as usize);
        self.first = next;
        (self.progress, self.backoff) = (now, 1);
    }

    /// The packets of a loss report that are sent again now, and whether some are here no longer.
    pub(crate) fn on_loss_report(
        &mut self,
        now: Timestamp,
        rtt: TimeDelta,
        list: LossList<'_>,
    ) -> (Vec<Sequence>, bool) {
        let mut chosen = Vec::new();
        let mut is_gone = false;
        // A report may name the same packets many times: it is read as far as a true one would go.
        let mut left = WINDOW;
        for (first, last) in list.ranges() {
            is_gone |= first.since(self.first) < 0;
            let begin = first.since(self.first).max(0) as usize;
            let end = (i64::from(last.since(self.first)) + 1).clamp(0, self.packets.len() as i64) as usize;
            for offset in (begin..end).take(left) {
                left -= 1;
                self.counts.lost += 1;
                if self.may_repeat(now, rtt, offset) {
                    chosen.push(self.first + offset as u32);
                }
            }
        }
        (chosen, is_gone)
    }

    /// Takes the credit for a retransmission. The second one waits for a round-trip time.
    fn may_repeat(&mut self, now: Timestamp, rtt: TimeDelta, offset: usize) -> bool {
        let Some(packet) = self.packets.get_mut(offset) else { return false };
        if self.credit == 0 || (packet.again > 0 && now.since(packet.last) < rtt) {
            return false;
        }
        self.credit -= 1;
        packet.again += 1;
        packet.last = now;
        self.counts.retransmitted += 1;
        true
    }

    pub(crate) fn get(&self, sequence: Sequence) -> Option<&Sent> {
        self.packets.get(usize::try_from(sequence.since(self.first)).ok()?)
    }

    /// When the peer should have acknowledged something.
    pub(crate) fn timeout(&self, rtt: TimeDelta) -> Option<Timestamp> {
        self.packets.front()?;
        Some(self.progress + ((rtt + self.margin) * self.backoff).min(LONGEST_WAIT))
    }

    /// All that the peer should have acknowledged by now: its last packets may be lost without a report.
    pub(crate) fn on_timeout(&mut self, now: Timestamp, rtt: TimeDelta) -> Vec<Sequence> {
        let old = |packet: &Sent| now.since(packet.last) >= rtt + self.margin;
        let due: Vec<usize> = (0..self.packets.len()).filter(|&offset| old(&self.packets[offset])).collect();
        (self.progress, self.backoff) = (now, (self.backoff * 2).min(64));
        let first = self.first;
        due.into_iter()
            .filter(|&offset| self.may_repeat(now, rtt, offset))
            .map(|offset| first + offset as u32)
            .collect()
    }

    /// Drops what can not arrive in time any more (section 4.6).
    pub(crate) fn drop_late(&mut self, now: Timestamp) {
        while self.packets.front().is_some_and(|packet| now.since(packet.at) > self.keep) {
            self.drop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    const RTT: TimeDelta = TimeDelta::from_millis(10);

    fn buffer(count: u32) -> SendBuffer {
        let mut buffer = SendBuffer::new(at(0), Sequence::new(0x7fff_ffff), TimeDelta::from_millis(120));
        for n in 0..count {
            buffer.push(at(n.into()), Sent::new(at(n.into()), KeyFlag::Plain, n, n, vec![1]));
        }
        buffer
    }

    fn report(buffer: &mut SendBuffer, now: i64, ranges: &[(u32, u32)]) -> (Vec<u32>, bool) {
        let list = LossList::write(ranges.iter().map(|&(a, b)| (Sequence::new(a), Sequence::new(b))));
        let (chosen, is_gone) = buffer.on_loss_report(at(now), RTT, LossList::of(&list));
        (chosen.into_iter().map(Sequence::value).collect(), is_gone)
    }

    #[test]
    fn acknowledged_packets_go_and_lost_ones_are_sent_again() {
        let mut buffer = buffer(5);
        assert_eq!(buffer.next(), Sequence::new(4));
        assert_eq!(report(&mut buffer, 10, &[(0, 1), (3, 900)]), (vec![0, 1, 3], false));
        // Not twice within a round-trip time.
        assert_eq!(report(&mut buffer, 15, &[(0, 1)]), (vec![], false));
        assert_eq!(report(&mut buffer, 20, &[(0, 1)]), (vec![0, 1], false));
        buffer.on_acknowledgement(at(20), Sequence::new(1));
        // Neither what is behind all nor what is before the first one.
        buffer.on_acknowledgement(at(20), Sequence::new(9));
        buffer.on_acknowledgement(at(20), Sequence::new(0));
        assert_eq!(report(&mut buffer, 50, &[(0, 1)]), (vec![1], true));
        assert!(buffer.get(Sequence::new(0)).is_none());
        assert_eq!(buffer.get(Sequence::new(3)).unwrap().message, 4);
        assert_eq!((buffer.counts.packets, buffer.counts.retransmitted), (5, 6));
    }

    #[test]
    fn the_last_packets_are_sent_again_without_a_report() {
        let mut buffer = buffer(3);
        let due = buffer.timeout(RTT).unwrap();
        // 10 ms, and 0.4 of 120 ms.
        assert_eq!(due, at(58));
        assert_eq!(buffer.on_timeout(at(60), RTT).len(), 3);
        assert_eq!(buffer.timeout(RTT), Some(at(60 + 2 * 58)));
        buffer.on_acknowledgement(at(70), Sequence::new(2));
        assert_eq!(buffer.timeout(RTT), None);
    }

    #[test]
    fn old_packets_and_too_many_are_dropped() {
        let mut buffer = buffer(3);
        buffer.drop_late(at(1021));
        assert_eq!((buffer.packets.len(), buffer.counts.dropped), (2, 1));
        for _ in 0..2 * WINDOW {
            buffer.push(at(1021), Sent::new(at(1021), KeyFlag::Plain, 0, 0, vec![1]));
        }
        assert_eq!((buffer.packets.len(), buffer.counts.dropped), (WINDOW, WINDOW as u64 + 3));
    }

    /// A peer that reports everything as lost, again and again, gets little more than the stream once more.
    #[test]
    fn retransmissions_are_bounded() {
        let mut buffer = buffer(10_000);
        let mut sent = 0;
        for now in 0..1000 {
            let everything = [(0x7fff_ffff, 0x3fff_0000); 100];
            sent += report(&mut buffer, 10_000 + 20 * now, &everything).0.len();
        }
        assert_eq!(sent, CREDIT as usize);
    }
}
