//! Recovery by time (RACK, RFC 8985), as Linux has it: a segment is lost where one that left later arrived, so a
//! retransmission that is lost is found as any other. Each acknowledgement gives a sample of the delivery rate
//! (draft-cheng-iccrg-delivery-rate-estimation-00), which models of the path live on.
//!
//! Left out: the reordering timer and the tail loss probe. The next acknowledgement finds what they would, or the timer.

use super::{Ack, DUPLICATE_THRESHOLD, RecoveryEvent, reduce};
use crate::tcp::congestion::{Adjustment, Delivery, RateSample};
use crate::tcp::ranges::Ranges;
use crate::tcp::send_state::SendState;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// What is known of each segment since the lowest that is not acknowledged, and what follows from it.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct Rack {
    segments: VecDeque<Sending>,
    /// The number of the first of them.
    base: u64,
    /// What has arrived beyond the cumulative acknowledgement.
    scoreboard: Ranges,
    state: State,
    /// Segments on their way, and segments that are lost and have not been sent again.
    pipe: u64,
    lost: u64,
    /// The latest departure that arrived (`RACK.xmit_ts` and `RACK.end_seq`), and its round trip (`RACK.rtt`).
    newest: Option<(Timestamp, u64)>,
    round_trip: TimeDelta,
    least_round_trip: Option<TimeDelta>,
    /// One above the highest segment that arrived (`RACK.fack`), and whether one below it came later.
    highest: u64,
    is_reordered: bool,
    /// The first retransmission leaves whatever the window says.
    resend: bool,
    clock: DeliveryClock,
    delivery: Option<Delivery>,
}

/// The last time that a segment was sent.
#[derive(Debug, Clone, Copy)]
struct Sending {
    at: Timestamp,
    fate: Fate,
    is_resent: bool,
    /// What the clock showed then.
    clock: DeliveryClock,
    /// The application had nothing more to send.
    is_limited: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    OnItsWay,
    Arrived,
    Lost,
}

/// How much was delivered and when last, and when that had left.
#[derive(Debug, Clone, Copy)]
struct DeliveryClock {
    delivered: u64,
    at: Timestamp,
    sent: Timestamp,
    /// Segments that leave before so much is delivered show the application's rate.
    limited_to: u64,
}

impl Default for DeliveryClock {
    fn default() -> Self {
        Self { delivered: 0, at: Timestamp::ZERO, sent: Timestamp::ZERO, limited_to: 0 }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Until everything below the point is acknowledged.
    Recovery { point: u64 },
    /// The same after a timeout: the window begins anew.
    Loss { point: u64 },
}

/// What one acknowledgement says is new.
#[derive(Debug, Clone, Copy, Default)]
struct NewlyAcked {
    delivered: u64,
    losses: u64,
    /// The one that left when most had been delivered.
    latest: Option<Sending>,
    round_trip: Option<TimeDelta>,
}

impl Rack {
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.state, State::Recovery { .. })
    }

    pub(super) fn on_ack(
        &mut self,
        ack: Ack<'_>,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        let (before, arrived) = (self.pipe, self.arrived());
        let mut newly = self.take(ack, send);
        newly.losses = self.find_losses(ack.now);
        let event = match self.state {
            State::Open if newly.losses > 0 => {
                // What arrived before this was replaced by new segments.
                reduce(ack, arrived.min(self.arrived()), send, window);
                self.state = State::Recovery { point: send.high };
                self.resend = true;
                RecoveryEvent::Entered
            }
            State::Recovery { point } if send.una < point => {
                RecoveryEvent::Recovering { keeps_timer: ack.newly == 0 }
            }
            State::Recovery { .. } => {
                self.state = State::Open;
                RecoveryEvent::Left
            }
            State::Loss { point } => {
                if send.una >= point {
                    self.state = State::Open;
                }
                RecoveryEvent::Open
            }
            State::Open => RecoveryEvent::Open,
        };
        self.delivery = Some(Delivery {
            now: ack.now,
            delivered: self.clock.delivered,
            newly: newly.delivered,
            losses: newly.losses,
            in_flight: self.pipe,
            was_in_flight: before,
            is_recovering: self.state != State::Open,
            sample: self.sample(ack.now, &newly),
            round_trip: newly.round_trip,
        });
        event
    }

    fn arrived(&self) -> u64 {
        self.segments.len() as u64 - self.pipe - self.lost
    }

    /// Marks what arrived, cumulatively and selectively.
    fn take(&mut self, ack: Ack<'_>, send: &SendState) -> NewlyAcked {
        let mut newly = NewlyAcked::default();
        while self.base < send.una {
            self.deliver(ack.now, 0, &mut newly);
            self.segments.pop_front();
            self.base += 1;
        }
        self.scoreboard.remove_below(send.una);
        for block in ack.sacked.iter(send.una) {
            let block = block.start..block.end.min(send.high);
            if self.scoreboard.insert(block.clone()) {
                for number in block {
                    self.deliver(ack.now, (number - self.base) as usize, &mut newly);
                }
            }
        }
        if newly.delivered > 0 {
            self.clock.at = ack.now;
        }
        newly
    }

    fn deliver(&mut self, now: Timestamp, index: usize, newly: &mut NewlyAcked) {
        let number = self.base + index as u64;
        let Some(segment) = self.segments.get_mut(index) else { return };
        match segment.fate {
            Fate::Arrived => return,
            Fate::OnItsWay => self.pipe -= 1,
            Fate::Lost => self.lost -= 1,
        }
        segment.fate = Fate::Arrived;
        let segment = *segment;
        self.clock.delivered += 1;
        newly.delivered += 1;
        if newly.latest.is_none_or(|latest| segment.clock.delivered >= latest.clock.delivered) {
            newly.latest = Some(segment);
            self.clock.sent = segment.at;
        }
        let round_trip = now - segment.at;
        if segment.is_resent {
            // What took less than a round trip is the acknowledgement of an earlier copy (RFC 8985 section 6.2, step 2).
            if self.least_round_trip.is_some_and(|least| round_trip < least) {
                return;
            }
        } else {
            self.least_round_trip =
                Some(self.least_round_trip.map_or(round_trip, |least| least.min(round_trip)));
            newly.round_trip = Some(newly.round_trip.map_or(round_trip, |other| other.min(round_trip)));
            self.is_reordered |= number < self.highest;
        }
        self.highest = self.highest.max(number + 1);
        if self.newest.is_none_or(|newest| (segment.at, number) > newest) {
            (self.newest, self.round_trip) = (Some((segment.at, number)), round_trip);
        }
    }

    /// Segments that left before the latest that arrived, and should have arrived by now (section 6.2, step 5). Gives how
    /// many.
    fn find_losses(&mut self, now: Timestamp) -> u64 {
        let Some(newest) = self.newest.filter(|_| self.arrived() > 0 || self.state != State::Open) else {
            return 0;
        };
        let allowance = self.round_trip + self.reordering_window();
        let mut losses = 0;
        for (number, segment) in (self.base..).zip(&mut self.segments) {
            if segment.fate == Fate::OnItsWay
                && (segment.at, number) < newest
                && segment.at + allowance <= now
            {
                segment.fate = Fate::Lost;
                losses += 1;
            }
        }
        self.pipe -= losses;
        self.lost += losses;
        losses
    }

    /// Section 6.2, step 4, without the adaptation by DSACK.
    fn reordering_window(&self) -> TimeDelta {
        let is_sure = self.state != State::Open || self.arrived() >= DUPLICATE_THRESHOLD;
        match self.least_round_trip {
            Some(least) if self.is_reordered || !is_sure => least / 4,
            _ => TimeDelta::ZERO,
        }
    }

    /// The delivery rate over the flight of the latest segment: the slower of departures and arrivals, so that neither
    /// compressed acknowledgements nor a burst of ours is bandwidth.
    fn sample(&self, now: Timestamp, newly: &NewlyAcked) -> Option<RateSample> {
        let latest = newly.latest?;
        let interval = (now - latest.clock.at).max(latest.at - latest.clock.sent);
        let is_whole = self.least_round_trip.is_none_or(|least| interval >= least);
        (is_whole && interval > TimeDelta::ZERO).then(|| RateSample {
            rate: (self.clock.delivered - latest.clock.delivered) as f64 / interval.as_secs_f64(),
            delivered_before: latest.clock.delivered,
            is_limited: latest.is_limited,
        })
    }

    pub(super) fn take_delivery(&mut self) -> Option<Delivery> {
        self.delivery.take()
    }

    /// The first is lost, and so is what should have arrived by now.
    pub(super) fn on_timeout(&mut self, now: Timestamp, send: &mut SendState) {
        let allowance = self.round_trip + self.least_round_trip.unwrap_or_default() / 4;
        let mut is_first = true;
        for segment in &mut self.segments {
            if segment.fate == Fate::OnItsWay && (is_first || segment.at + allowance <= now) {
                segment.fate = Fate::Lost;
                self.pipe -= 1;
                self.lost += 1;
            }
            is_first = false;
        }
        self.state = State::Loss { point: send.high };
        self.resend = false;
        send.cwnd = self.pipe as f64 + 1.0;
    }

    pub(super) fn next_segment(&mut self, send: &mut SendState) -> Option<u64> {
        if self.pipe >= send.window() && !(self.resend && self.lost > 0) {
            return None;
        }
        self.resend = false;
        if self.lost > 0 {
            let index = self.segments.iter().position(|segment| segment.fate == Fate::Lost)?;
            return Some(self.base + index as u64);
        }
        let segment = send.take_next();
        if segment.is_none() {
            self.clock.limited_to = (self.clock.delivered + self.pipe).max(1);
        }
        segment
    }

    /// A segment leaves, for the first time or once more.
    pub(super) fn on_sent(&mut self, now: Timestamp, number: u64) {
        let is_idle = self.segments.is_empty();
        if is_idle {
            self.base = number;
            (self.clock.at, self.clock.sent) = (now, now);
        }
        let is_limited = self.clock.delivered < self.clock.limited_to;
        let index = (number - self.base) as usize;
        let is_resent = index < self.segments.len();
        let sending = Sending { at: now, fate: Fate::OnItsWay, is_resent, clock: self.clock, is_limited };
        if is_resent {
            self.lost -= u64::from(self.segments[index].fate == Fate::Lost);
            self.segments[index] = sending;
        } else {
            self.segments.push_back(sending);
        }
        self.pipe += 1;
    }
}
