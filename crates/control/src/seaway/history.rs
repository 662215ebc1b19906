//! What was sent, and the queue it makes at a server of the estimated capacity: a Smith predictor.

use std::collections::VecDeque;

/// A packet that left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: f64,
    /// Octets that left before it since the session began, modulo 2^32: those of a full history are fewer than 2^31.
    pub(super) before: u32,
    size: f32,
    wait: f32,
    /// It left back to back behind another of its group.
    pub(super) grouped: bool,
    /// The sender had nothing more behind the packet before it, and a server of the capacity had served all: nothing waits with it.
    pub(super) alone: bool,
    reported: bool,
}

/// Departures of the last seconds, by their numbers.
#[derive(Debug, Clone)]
pub(super) struct SendHistory {
    packets: VecDeque<Sent>,
    /// The number of the oldest.
    first: u64,
    in_flight: f64,
    last: Option<Sent>,
    /// Octets that a server of the capacity has not served, whatever delay was measured. What arrived was.
    unserved: f64,
    /// Nothing waited behind the newest packet.
    is_limited: bool,
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departing {
    pub(super) id: u64,
    pub(super) size: f64,
    /// It leaves back to back behind another of its group.
    pub(super) grouped: bool,
    /// Nothing waits behind it.
    pub(super) is_limited: bool,
}

impl SendHistory {
    /// So many packets wait for a report at most: a third of a second at 1 Gbit/s.
    const CAPACITY: usize = 32_768;
    /// More than most flows need.
    const USUAL: usize = 512;

    pub(super) fn new() -> Self {
        Self {
            packets: VecDeque::with_capacity(Self::USUAL),
            first: 0,
            in_flight: 0.0,
            last: None,
            unserved: 0.0,
            is_limited: false,
        }
    }

    /// Bytes that left and were not reported.
    pub(super) const fn in_flight(&self) -> f64 {
        self.in_flight
    }

    /// When the newest packet left.
    pub(super) fn last_departure(&self) -> Option<f64> {
        self.last.map(|last| last.at)
    }

    /// A packet leaves at `at`.
    pub(super) fn on_sent(&mut self, at: f64, packet: Departing, capacity: f64) {
        let Departing { id, size, grouped, is_limited } = packet;
        if id != self.first + self.packets.len() as u64 {
            self.packets.clear();
            self.in_flight = 0.0;
            self.first = id;
        }
        let wait = self.last.map_or(0.0, |last| last.wait_behind(at, capacity));
        let before = self.last.map_or(0, |last| last.before.wrapping_add(last.size as u32));
        let passed = self.last.map_or(0.0, |last| at - last.at);
        let unserved = (self.unserved.min(self.in_flight) - passed * capacity / 8.0).max(0.0);
        let alone = std::mem::replace(&mut self.is_limited, is_limited) && unserved == 0.0;
        self.unserved = unserved + size;
        let (size32, wait) = (size as f32, wait as f32);
        let packet = Sent { at, before, size: size32, wait, grouped, alone, reported: false };
        self.packets.push_back(packet);
        self.in_flight += size;
        self.last = Some(packet);
        if self.packets.len() > Self::CAPACITY {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let Some(oldest) = self.packets.pop_front() else { return };
        self.first += 1;
        if !oldest.reported {
            self.in_flight = (self.in_flight - oldest.size()).max(0.0);
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<&Sent> {
        self.packets.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// A report on packet `id` came.
    pub(super) fn on_report(&mut self, id: u64) {
        let Some(index) = id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else {
            return;
        };
        if let Some(packet) = self.packets.get_mut(index)
            && !packet.reported
        {
            packet.reported = true;
            self.in_flight = (self.in_flight - packet.size()).max(0.0);
        }
    }

    /// Forgets the oldest packets before `id` that were reported.
    pub(super) fn forget_before(&mut self, id: u64) {
        while self.first < id && self.packets.front().is_some_and(|oldest| oldest.reported) {
            self.pop();
        }
    }

    /// Seconds that will wait at `t`, the last packet's own service left out.
    pub(super) fn expected_wait(&self, t: f64, capacity: f64) -> Option<f64> {
        let last = self.last?;
        let served = (t - last.at - last.size() * 8.0 / capacity).max(0.0);
        Some((last.wait() - served).max(0.0))
    }

    /// Runs the queue again from packet `id`, which was measured to wait for `wait`. With `rewrite` the later packets'
    /// predictions are replaced: the capacity they were made for was wrong.
    pub(super) fn rebase(&mut self, id: u64, wait: f64, capacity: f64, rewrite: bool) {
        let Some(start) = id.checked_sub(self.first).and_then(|start| usize::try_from(start).ok()) else {
            return;
        };
        if start >= self.packets.len() {
            return;
        }
        if rewrite {
            self.rewrite(start, wait, capacity);
        }
        self.last = self
            .packets
            .back()
            .map(|last| Sent { wait: self.wait_of_last(last, start, wait, capacity) as f32, ..*last });
    }

    /// Replaces the waits from the packet at `start` on.
    fn rewrite(&mut self, start: usize, mut wait: f64, capacity: f64) {
        let mut before: Option<Sent> = None;
        for packet in self.packets.range_mut(start..) {
            wait = before.map_or(wait, |before| before.wait_behind(packet.at, capacity));
            packet.wait = wait as f32;
            before = Some(*packet);
        }
    }

    /// The wait of the newest packet, `last`, where the one at `start` waits for `wait`. It is the longest that any packet
    /// since makes it wait, each with an empty queue before it (Lindley). None of these needs the others, so that several
    /// are computed at once: hundreds of packets are in flight.
    fn wait_of_last(&self, last: &Sent, start: usize, wait: f64, capacity: f64) -> f64 {
        let seconds = 8.0 / capacity;
        let since = |packet: &Sent| {
            let octets = last.before.wrapping_sub(packet.before).cast_signed();
            f64::from(octets) * seconds - (last.at - packet.at)
        };
        let (front, back) = self.packets.as_slices();
        let later = start + 1;
        let longest = [&front[later.min(front.len())..], &back[later.saturating_sub(front.len())..]]
            .into_iter()
            .map(|packets| most(packets, since))
            .fold(0.0, f64::max);
        longest.max(wait + since(&self.packets[start]))
    }
}

/// The greatest of `value` over `packets`; 0 at least.
fn most(packets: &[Sent], value: impl Fn(&Sent) -> f64) -> f64 {
    const LANES: usize = 8;
    let (chunks, rest) = packets.as_chunks::<LANES>();
    let mut most = [0.0_f64; LANES];
    for chunk in chunks {
        for (most, packet) in most.iter_mut().zip(chunk) {
            let value = value(packet);
            *most = if value > *most { value } else { *most };
        }
    }
    rest.iter().map(value).chain(most).fold(0.0, f64::max)
}

impl Sent {
    fn size(&self) -> f64 {
        f64::from(self.size)
    }

    /// What was measured to wait, less what is none: the service of a packet that is alone, at this capacity. The least delay has that
    /// of another rate or of a smaller packet.
    pub(super) fn true_wait(&self, measured: f64, capacity: f64) -> f64 {
        if self.alone && measured <= self.size() * 8.0 / capacity { 0.0 } else { measured }
    }

    /// How long it was predicted to wait.
    pub(super) fn wait(&self) -> f64 {
        f64::from(self.wait)
    }

    /// How long a packet that leaves at `at` waits behind this one.
    fn wait_behind(&self, at: f64, capacity: f64) -> f64 {
        (self.wait() + self.size() * 8.0 / capacity - (at - self.at)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u64, size: f64) -> Departing {
        Departing { id, size, grouped: false, is_limited: false }
    }

    /// At 1 Mbit/s, 1250 bytes each: two frames of two packets each 40 ms, and one that comes before the server is idle.
    #[test]
    fn the_first_packet_of_a_frame_is_alone_where_the_one_before_was_served() {
        let mut history = SendHistory::new();
        for (id, at, is_limited) in [
            (0, 0.0, false),
            (1, 0.009, true),
            (2, 0.040, false),
            (3, 0.049, true),
            (4, 0.059, true),
            (5, 0.070, true),
        ] {
            history.on_sent(at, Departing { is_limited, ..packet(id, 1250.0) }, 1e6);
        }
        let alone: Vec<_> = (0..6).map(|id| history.get(id).unwrap().alone).collect();
        assert_eq!(alone, [false, false, true, false, false, true]);
        let waits = [0.009, 0.011].map(|measured| history.get(2).unwrap().true_wait(measured, 1e6));
        assert_eq!((waits, history.get(3).unwrap().true_wait(0.009, 1e6)), ([0.0, 0.011], 0.009));
    }

    #[test]
    fn a_queue_is_what_the_server_has_not_served() {
        let mut history = SendHistory::new();
        // 1250 bytes take 10 ms at 1 Mbit/s.
        for (id, at) in [(0, 0.0), (1, 0.004), (2, 0.004)] {
            history.on_sent(at, packet(id, 1250.0), 1e6);
        }
        let waits: Vec<_> = (0..3).map(|id| (history.get(id).unwrap().wait() * 1e3).round()).collect();
        assert_eq!(waits, [0.0, 6.0, 16.0]);
        assert_eq!(history.in_flight(), 3750.0);
        history.on_report(1);
        history.on_report(1);
        assert_eq!(history.in_flight(), 2500.0);
        // Measured: the first one waited for 10 ms, and the server has half the capacity.
        history.rebase(0, 0.010, 0.5e6, true);
        let waits: Vec<_> = (0..3).map(|id| (history.get(id).unwrap().wait() * 1e3).round()).collect();
        assert_eq!(waits, [10.0, 26.0, 46.0]);
        assert_eq!((history.expected_wait(0.034, 0.5e6).unwrap() * 1e3).round(), 36.0);
    }

    #[test]
    fn the_newest_waits_as_by_running_the_queue_again() {
        for (capacity, wait) in [(0.2e6, 0.0), (0.8e6, 0.030), (1.1e6, 0.005), (40e6, 0.2)] {
            let mut history = SendHistory::new();
            for id in 0..200_u32 {
                let at = f64::from(id) * 0.010 + f64::from(id * 7 % 5) * 0.002;
                history.on_sent(at, packet(id.into(), f64::from(200 + id * 37 % 1000)), 1e6);
            }
            history.rebase(20, wait, capacity, true);
            let newest = history.get(199).unwrap().wait();
            assert!((newest - history.last.unwrap().wait()).abs() < 1e-5, "{capacity}");
        }
    }

    #[test]
    fn unknown_numbers_do_nothing() {
        let mut history = SendHistory::new();
        history.on_report(7);
        history.rebase(7, 1.0, 1e6, true);
        history.on_sent(0.0, packet(u64::MAX - 1, 100.0), 1e6);
        history.on_report(3);
        assert_eq!((history.in_flight(), history.get(3).is_none()), (100.0, true));
    }
}
