//! Packets on their way out, in datagrams, each at its time.

use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A packet that is ready to leave.
#[derive(Debug, Clone)]
pub struct Departure {
    /// When its first octet came.
    pub arrival: Timestamp,
    /// When it is to leave.
    pub due: Timestamp,
    /// The transport packet.
    pub bytes: [u8; 188],
}

/// Packets of a datagram, at most: seven fit into an Ethernet frame (SMPTE 2022-2).
pub const PACKETS_A_DATAGRAM: usize = 7;
/// The longest stretch of the stream in one datagram.
const LONGEST_SPAN: TimeDelta = TimeDelta::from_millis(10);

/// Packets that wait for their departure. A datagram leaves when its first packet is due. What is late catches up at twice the rate
/// of the stream at most.
#[derive(Debug, Default)]
pub struct Departures {
    queue: VecDeque<Departure>,
    /// The next datagram leaves no earlier.
    not_before: Timestamp,
}

impl Departures {
    /// Adds the next packet of the stream.
    pub fn push(&mut self, departure: Departure) {
        self.queue.push_back(departure);
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True where none waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the next datagram is to leave; `None` where no packet waits.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.queue.front().map(|first| first.due.max(self.not_before))
    }

    /// The packets of the datagram that leaves now, and nothing where none is due.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Vec<Departure> {
        if self.poll_timeout().is_none_or(|due| due > now) {
            return Vec::new();
        }
        let first = self.queue[0].due;
        let waiting = self.queue.iter().take(PACKETS_A_DATAGRAM);
        let count = waiting.take_while(|packet| packet.due.since(first) < LONGEST_SPAN).count();
        let datagram: Vec<Departure> = self.queue.drain(..count).collect();
        let span = self.queue.front().map_or(TimeDelta::ZERO, |next| next.due.since(first));
        self.not_before = now + span.min(LONGEST_SPAN) / 2;
        datagram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: u64, interval: i64) -> Departures {
        let mut departures = Departures::default();
        for index in 0..count {
            let due = Timestamp::ZERO + TimeDelta::from_micros(index as i64 * interval);
            departures.push(Departure { arrival: Timestamp::ZERO, due, bytes: [index as u8; 188] });
        }
        departures
    }

    #[test]
    fn a_datagram_leaves_when_its_first_packet_is_due() {
        let mut departures = queue(20, 1000);
        assert_eq!(departures.poll_datagram(Timestamp::ZERO).len(), 7);
        let next = departures.poll_timeout().unwrap();
        assert_eq!(next, Timestamp::ZERO + TimeDelta::from_millis(7));
        assert!(departures.poll_datagram(Timestamp::ZERO + TimeDelta::from_millis(6)).is_empty());
        assert_eq!(departures.poll_datagram(next)[0].bytes[0], 7);
        // At a low rate a datagram is no longer than 10 ms.
        assert_eq!(queue(20, 4000).poll_datagram(Timestamp::ZERO).len(), 3);
    }

    #[test]
    fn what_is_late_catches_up_at_twice_the_rate() {
        let mut departures = queue(70, 1000);
        let mut now = Timestamp::ZERO + TimeDelta::from_secs(1);
        let begin = now;
        let mut sent = 0;
        while let Some(due) = departures.poll_timeout() {
            now = now.max(due);
            sent += departures.poll_datagram(now).len();
        }
        // 63 ms to the last datagram, in half the time.
        assert_eq!((sent, now.since(begin)), (70, TimeDelta::from_micros(31_500)));
    }
}
