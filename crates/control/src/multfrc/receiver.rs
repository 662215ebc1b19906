//! The receiving half of MULTFRC.

use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Lane;
use crate::tfrc::{Config, LaneReceiver};
use seaway_units::Timestamp;

/// A TFRC receiver for each connection. A connection that was closed and opened again is a new one: its
/// packets carry how often that happened, and it begins without a past.
#[derive(Debug, Clone)]
pub struct MultfrcReceiver {
    lanes: Vec<(u16, LaneReceiver)>,
}

impl MultfrcReceiver {
    /// For at most `lanes` connections; what arrives by another is ignored.
    pub fn new(config: Config, lanes: u8) -> Self {
        Self { lanes: vec![(0, LaneReceiver::new(config)); usize::from(lanes)] }
    }
}

impl FeedbackSource for MultfrcReceiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        let Some((epoch, lane)) = self.lanes.get_mut(usize::from(arrival.lane.0)) else { return };
        let carried = arrival.tag.unwrap_or(*epoch);
        let ahead = carried.wrapping_sub(*epoch);
        if ahead != 0 {
            if ahead > u16::MAX / 2 {
                // Of a connection that was closed since.
                return;
            }
            *epoch = carried;
            lane.reopen();
            lane.begin_at(now, arrival.sequence);
        }
        lane.on_arrival(now, arrival);
    }

    fn on_channel_loss(&mut self, lost: &Arrival) {
        if let Some((_, lane)) = self.lanes.get_mut(usize::from(lost.lane.0)) {
            lane.on_channel_loss(lost.sequence);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for (_, lane) in &mut self.lanes {
            lane.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.lanes.iter().filter_map(|(_, lane)| lane.poll_timeout()).min()
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Lane, PeerReport)> {
        let due = |(index, (_, lane)): (usize, &mut (u16, LaneReceiver))| {
            Some((Lane(index as u8), lane.take_report()?))
        };
        self.lanes.iter_mut().enumerate().find_map(due)
    }
}
