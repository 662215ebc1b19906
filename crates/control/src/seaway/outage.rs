//! Outage: reports are overdue, and nothing seems to arrive.

/// Whether there is one, and what it may be confused with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outage {
    pub(super) is_on: bool,
    /// When reports are overdue, s.
    pub(super) due: Option<f64>,
    run: Run,
    /// When the last burst of losses was reported, s.
    burst: Option<f64>,
}

/// Packets in a row that were lost.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    /// The one behind the last.
    next: u64,
    count: u32,
}

impl Outage {
    /// The most that is sent meanwhile, of the capacity, or a packet in so long, s, if that is more: only what arrives ends it.
    const RATE: f64 = 0.15;
    const PROBE: f64 = 0.1;
    /// Reports may be late by so much before it counts, s.
    const SLACK: f64 = 0.020;
    /// So much later where it may be a burst of losses, s.
    const BURST: f64 = 0.040;
    /// So many packets in a row are a burst, remembered for so long, s.
    const FEWEST: u32 = 8;
    const MEMORY: f64 = 60.0;

    /// The most that is sent meanwhile, bit/s, by the capacity and the size of packets, bytes.
    pub(super) fn rate(capacity: f64, packet: f64) -> f64 {
        (Self::RATE * capacity).max(packet * 8.0 / Self::PROBE)
    }

    pub(super) fn on_lost(&mut self, t: f64, id: u64) {
        let count = if id == self.run.next { self.run.count.saturating_add(1) } else { 1 };
        self.run = Run { next: id.saturating_add(1), count };
        if count >= Self::FEWEST {
            self.burst = Some(t);
        }
    }

    /// What seemed lost was overtaken.
    pub(super) fn on_late(&mut self) {
        (self.run, self.burst) = (Run::default(), None);
    }

    /// Reports are coming: the next are overdue at `due`, s.
    pub(super) fn restart(&mut self, due: f64) {
        (self.is_on, self.due) = (false, Some(due));
    }

    /// Reports may be late by so much. A burst of losses is silent as well, and lasts longer the less is sent; on a cell it is none.
    pub(super) fn slack(&self, t: f64, channel_loss: f64, cell: f64) -> f64 {
        let is_bursty = channel_loss > 0.0 && self.burst.is_some_and(|burst| t - burst < Self::MEMORY);
        Self::SLACK + if is_bursty { Self::BURST * (1.0 - cell) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1200 octets each 0.1 s, where the capacity is not much more.
    #[test]
    fn a_packet_may_leave_however_low_the_capacity() {
        assert!((Outage::rate(4e6, 1200.0) - 600e3).abs() < 1.0);
        assert!((Outage::rate(150e3, 1200.0) - 96e3).abs() < 1.0);
    }

    /// 20 ms, and 40 ms more for a minute after eight losses in a row on a channel that loses packets.
    #[test]
    fn a_burst_of_losses_is_given_time() {
        let mut outage = Outage::default();
        (0..7).chain(10..17).for_each(|id| outage.on_lost(1.0, id));
        assert_eq!(outage.slack(1.0, 0.02, 0.0), 0.020, "twice seven in a row");
        outage.on_lost(1.0, 17);
        assert!((outage.slack(1.0, 0.02, 0.0) - 0.060).abs() < 1e-12);
        assert_eq!(outage.slack(1.0, 0.0, 0.0), 0.020, "a queue's losses");
        assert_eq!(outage.slack(1.0, 0.02, 1.0), 0.020, "a cell");
        assert_eq!(outage.slack(61.0, 0.02, 0.0), 0.020, "forgotten");
        outage.on_late();
        assert_eq!(outage.slack(1.0, 0.02, 0.0), 0.020, "they were overtaken");
    }
}
