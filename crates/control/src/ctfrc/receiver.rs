//! The receiving half of CTFRC.

use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use crate::tfrc::{Config, SubflowReceiver};
use seaway_units::Timestamp;

/// A TFRC receiver over the virtual flow: losses, their intervals and the first of these count virtual packets;
/// the receive rate counts all. A congestion mark on any packet is a loss of the virtual flow.
#[derive(Debug, Clone)]
pub struct CtfrcReceiver {
    subflow: SubflowReceiver,
    /// The highest virtual number so far, unwrapped.
    highest: Option<u64>,
}

impl CtfrcReceiver {
    /// Nothing arrived.
    pub fn new(config: Config) -> Self {
        Self { subflow: SubflowReceiver::new(config), highest: None }
    }

    /// The virtual number in full: the nearest to the highest so far that ends in these 16 bits.
    fn peek(&self, number: u16) -> u64 {
        let highest = self.highest.unwrap_or(u64::from(number));
        let ahead = i64::from(number.wrapping_sub(highest as u16) as i16);
        highest.saturating_add_signed(ahead)
    }

    fn unwrap(&mut self, number: u16) -> u64 {
        let sequence = self.peek(number);
        self.highest = self.highest.max(Some(sequence));
        sequence
    }
}

impl FeedbackSource for CtfrcReceiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        if arrival.subflow != Subflow(0) {
            return;
        }
        match arrival.tag {
            Some(number) => {
                let sequence = self.unwrap(number);
                self.subflow.on_arrival(now, &Arrival { sequence, ..*arrival });
            }
            None => self.subflow.on_outsider(now, arrival),
        }
    }

    fn on_channel_loss(&mut self, lost: &Arrival) {
        if let (Some(number), Some(_)) = (lost.tag, self.highest) {
            let sequence = self.peek(number);
            self.subflow.on_channel_loss(sequence);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.subflow.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.subflow.poll_timeout()
    }

    fn has_report(&self, _now: Timestamp) -> bool {
        self.subflow.has_report()
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        self.subflow.take_report().map(|report| (Subflow(0), report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::tfrc::Profile;
    use seaway_units::{DataSize, Ecn};

    #[test]
    fn virtual_numbers_unwrap() {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };
        let mut receiver = CtfrcReceiver::new(Config::new(Profile::Rfc5348, flow));
        for (number, sequence) in
            [(65_000, 65_000), (65_535, 65_535), (0, 65_536), (65_534, 65_534), (3, 65_539), (40_000, 40_000)]
        {
            assert_eq!(receiver.unwrap(number), sequence);
        }
    }
}
