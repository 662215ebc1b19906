//! Fast retransmit and fast recovery by duplicate acknowledgements: Reno (RFC 5681) and NewReno (RFC 6582).

use super::{Ack, DUPLICATE_THRESHOLD, RecoveryEvent, reduce};
use crate::tcp::congestion::Adjustment;
use crate::tcp::send_state::SendState;

/// Counts duplicates.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Duplicates {
    /// NewReno: an acknowledgement of part of the window does not end recovery.
    outlasts_partial: bool,
    count: u64,
    /// Segments sent on the first duplicates (RFC 3042).
    limited: u64,
    /// What duplicates add to the window in recovery: each means that a segment has left the network. Partial
    /// acknowledgements take from it.
    inflation: i64,
    /// In recovery: one above the highest segment sent when it began (`recover`).
    recover: Option<u64>,
    has_partial: bool,
    /// After a timeout and after recovery: duplicates up to here may come from segments sent twice, and belong to a window
    /// that has been reduced for (RFC 6582 sections 3.2 step 2 and 4.1). Reno, which RFC 5681 leaves free, keeps to it too, as
    /// in ns-2 (`bug_fix_`): the second loss of a window waits for the timer.
    deaf_until: Option<u64>,
    resend: bool,
}

impl Duplicates {
    pub(super) const fn new(outlasts_partial: bool) -> Self {
        Self {
            outlasts_partial,
            count: 0,
            limited: 0,
            inflation: 0,
            recover: None,
            has_partial: false,
            deaf_until: None,
            resend: false,
        }
    }

    pub(super) const fn is_active(&self) -> bool {
        self.recover.is_some()
    }

    pub(super) fn on_ack(
        &mut self,
        ack: Ack<'_>,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        match (ack.newly > 0, self.recover) {
            (false, _) if send.flight() == 0 => RecoveryEvent::Open,
            (false, None) => self.on_first_duplicates(ack, send, window),
            (false, Some(_)) => {
                self.inflation += 1;
                RecoveryEvent::Recovering { keeps_timer: true }
            }
            (true, Some(recover)) if self.outlasts_partial && send.una < recover => {
                self.on_partial(ack.newly as i64)
            }
            (true, Some(_)) => self.leave(send),
            (true, None) => {
                (self.count, self.limited) = (0, 0);
                RecoveryEvent::Open
            }
        }
    }

    fn on_first_duplicates(
        &mut self,
        ack: Ack<'_>,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        if self.deaf_until.is_some_and(|until| send.una <= until) {
            return RecoveryEvent::Open;
        }
        self.count += 1;
        if self.count < DUPLICATE_THRESHOLD {
            return RecoveryEvent::Open;
        }
        reduce(ack, self.limited, send, window);
        self.recover = Some(send.high);
        self.inflation = DUPLICATE_THRESHOLD as i64;
        (self.limited, self.has_partial, self.resend) = (0, false, true);
        RecoveryEvent::Entered
    }

    /// The next hole shows itself: fill it, and let a segment leave for each that has arrived but one (RFC 6582
    /// section 3.2 step 3). Only the first partial acknowledgement restarts the timer ("impatient").
    fn on_partial(&mut self, newly: i64) -> RecoveryEvent {
        self.resend = true;
        self.inflation -= newly - 1;
        let keeps_timer = std::mem::replace(&mut self.has_partial, true);
        RecoveryEvent::Recovering { keeps_timer }
    }

    fn leave(&mut self, send: &mut SendState) -> RecoveryEvent {
        let flight = send.flight() as f64;
        send.cwnd = send.ssthresh;
        if self.outlasts_partial {
            // Without a burst (RFC 6582 section 3.2 step 3, option 1).
            send.cwnd = send.cwnd.min(flight.max(1.0) + 1.0);
        } else {
            // To Reno the acknowledgement that ends recovery is one like any other, and the window grows by it (ns-2).
            send.cwnd += if send.in_slow_start() { 1.0 } else { 1.0 / send.cwnd };
        }
        self.deaf_until = self.recover;
        (self.recover, self.count, self.inflation, self.resend) = (None, 0, 0, false);
        RecoveryEvent::Left
    }

    pub(super) fn on_timeout(&mut self, send: &SendState) {
        *self = Self { deaf_until: Some(send.high), ..Self::new(self.outlasts_partial) };
    }

    pub(super) fn next_segment(&mut self, send: &mut SendState) -> Option<u64> {
        if std::mem::take(&mut self.resend) {
            return Some(send.una);
        }
        let window = (send.window() as i64 + self.inflation).max(1) as u64;
        if send.flight() < window {
            return send.take_next();
        }
        // A new segment for each of the first two duplicates (RFC 3042).
        let may_exceed = self.recover.is_none() && self.limited < self.count;
        if may_exceed && send.next == send.high && send.flight() < window + DUPLICATE_THRESHOLD - 1 {
            let segment = send.take_next()?;
            self.limited += 1;
            return Some(segment);
        }
        None
    }
}
