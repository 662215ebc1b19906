//! The rate of the bottleneck, from short trains of packets sent at the access speed (LDA's packet pairs).

use crate::packet::ProbeId;
use seaway_units::RemoteTimestamp;

/// The median of the latest trains.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bottleneck {
    train: Option<Train>,
    /// Bytes a second, newest last.
    estimates: [f64; Self::KEPT],
    count: usize,
}

#[derive(Debug, Clone, Copy)]
struct Train {
    id: ProbeId,
    arrived: u8,
    first: RemoteTimestamp,
    last: RemoteTimestamp,
    /// Behind the first packet.
    bytes: f64,
}

impl Bottleneck {
    /// Trains in the median. The authors cluster their estimates; how was not at hand.
    const KEPT: usize = 5;

    /// A packet of a train arrived.
    pub(super) fn on_arrival(&mut self, id: ProbeId, at: RemoteTimestamp, bytes: f64) {
        match &mut self.train {
            Some(train) if train.id == id => {
                train.arrived = train.arrived.saturating_add(1);
                train.last = train.last.max(at);
                train.bytes += bytes;
            }
            _ => self.train = Some(Train { id, arrived: 1, first: at, last: at, bytes: 0.0 }),
        }
    }

    /// The interval is over: its train counts if all of its `packets` arrived, one behind the other.
    pub(super) fn close(&mut self, packets: u8) {
        let Some(train) = self.train.take() else { return };
        let span = (train.last.as_nanos().saturating_sub(train.first.as_nanos())) as f64 / 1e9;
        if train.arrived < packets || span <= 0.0 || train.bytes <= 0.0 {
            return;
        }
        if self.count == Self::KEPT {
            self.estimates.copy_within(1.., 0);
            self.count -= 1;
        }
        self.estimates[self.count] = train.bytes / span;
        self.count += 1;
    }

    /// Bytes a second.
    pub(super) fn get(&self) -> Option<f64> {
        let mut sorted = self.estimates;
        let known = &mut sorted[..self.count];
        known.sort_unstable_by(f64::total_cmp);
        known.get(self.count / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(bottleneck: &mut Bottleneck, id: u32, spacing_us: u64, packets: u64) {
        for packet in 0..packets {
            let at = RemoteTimestamp::from_nanos(7_000_000_000 + packet * spacing_us * 1000);
            bottleneck.on_arrival(ProbeId(id), at, 1000.0);
        }
        bottleneck.close(6);
    }

    /// 1000 B each 2 ms are 4 Mbit/s; a disturbed train does not move the median, one with losses does not count.
    #[test]
    fn median_of_whole_trains() {
        let mut bottleneck = Bottleneck::default();
        assert_eq!(bottleneck.get(), None);
        train(&mut bottleneck, 0, 2000, 5);
        assert_eq!(bottleneck.get(), None);
        for (id, spacing) in [(1, 2000), (2, 9000), (3, 2000)] {
            train(&mut bottleneck, id, spacing, 6);
        }
        assert!((bottleneck.get().unwrap() - 500e3).abs() < 1e-6);
        for id in 4..9 {
            train(&mut bottleneck, id, 1000, 6);
        }
        assert!((bottleneck.get().unwrap() - 1e6).abs() < 1e-6);
    }
}
