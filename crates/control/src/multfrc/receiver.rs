//! The receiving half of MULTFRC.

use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use crate::tfrc::{Config, SubflowReceiver};
use seaway_units::Timestamp;

/// A TFRC receiver for each connection. A connection that was closed and opened again is a new one: its
/// packets carry how often that happened, and it begins without a past.
#[derive(Debug, Clone)]
pub struct MultfrcReceiver {
    subflows: Vec<(u16, SubflowReceiver)>,
}

impl MultfrcReceiver {
    /// For at most `subflows` connections; what arrives by another is ignored.
    pub fn new(config: Config, subflows: u8) -> Self {
        Self { subflows: vec![(0, SubflowReceiver::new(config)); usize::from(subflows)] }
    }
}

impl FeedbackSource for MultfrcReceiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        let Some((epoch, subflow)) = self.subflows.get_mut(usize::from(arrival.subflow.0)) else { return };
        let carried = arrival.tag.unwrap_or(*epoch);
        let ahead = carried.wrapping_sub(*epoch);
        if ahead != 0 {
            if ahead > u16::MAX / 2 {
                // Of a connection that was closed since.
                return;
            }
            *epoch = carried;
            subflow.reopen();
            subflow.begin_at(now, arrival.sequence);
        }
        subflow.on_arrival(now, arrival);
    }

    fn on_channel_loss(&mut self, lost: &Arrival) {
        if let Some((_, subflow)) = self.subflows.get_mut(usize::from(lost.subflow.0)) {
            subflow.on_channel_loss(lost.sequence);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for (_, subflow) in &mut self.subflows {
            subflow.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.subflows.iter().filter_map(|(_, subflow)| subflow.poll_timeout()).min()
    }

    fn has_report(&self, _now: Timestamp) -> bool {
        self.subflows.iter().any(|(_, subflow)| subflow.has_report())
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let due = |(index, (_, subflow)): (usize, &mut (u16, SubflowReceiver))| {
            Some((Subflow(index as u8), subflow.take_report()?))
        };
        self.subflows.iter_mut().enumerate().find_map(due)
    }
}
