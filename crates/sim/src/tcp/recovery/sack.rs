//! Recovery by selective acknowledgements (RFC 6675).

use super::{Ack, DUPLICATE_THRESHOLD, RecoveryEvent, reduce};
use crate::tcp::congestion::Adjustment;
use crate::tcp::ranges::Ranges;
use crate::tcp::send_state::SendState;

/// The scoreboard and what follows from it.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct Sack {
    /// What has arrived beyond the cumulative acknowledgement.
    scoreboard: Ranges,
    state: State,
    duplicates: u64,
    limited: u64,
    /// One above the highest segment sent again in this recovery (`HighRxt`).
    resent_to: u64,
    /// One above what must be acknowledged before a rescue (`RescueRxt`).
    rescue_beyond: u64,
    /// Segments on their way, as far as can be known.
    pipe: u64,
    resend: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Until everything below the point is acknowledged (`RecoveryPoint`).
    Recovery { point: u64 },
    /// After a timeout everything is sent again in order, but for what the scoreboard holds; no recovery before the
    /// point is acknowledged.
    Loss { point: u64 },
}

impl Sack {
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.state, State::Recovery { .. })
    }

    pub(super) fn on_ack(
        &mut self,
        ack: Ack<'_>,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        let is_new = self.update(ack, send);
        match self.state {
            State::Open => self.on_ack_open(ack, is_new, send, window),
            State::Recovery { point } if send.una >= point => {
                self.open(send);
                RecoveryEvent::Left
            }
            State::Recovery { .. } => {
                self.set_pipe(send);
                RecoveryEvent::Recovering { keeps_timer: ack.newly == 0 }
            }
            State::Loss { point } => {
                if send.una >= point {
                    self.open(send);
                } else {
                    self.pipe = self.scoreboard.missing(send.una..send.next);
                }
                RecoveryEvent::Open
            }
        }
    }

    /// Records the blocks; true where they report a segment not known to have arrived.
    fn update(&mut self, ack: Ack<'_>, send: &SendState) -> bool {
        self.scoreboard.remove_below(send.una);
        let mut is_new = false;
        for block in ack.sacked.iter(send.una) {
            is_new |= self.scoreboard.insert(block.start..block.end.min(send.high));
        }
        is_new
    }

    fn on_ack_open(
        &mut self,
        ack: Ack<'_>,
        is_new: bool,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        if ack.newly > 0 {
            (self.duplicates, self.limited) = (0, 0);
        }
        self.duplicates += u64::from(is_new);
        let is_loss =
            self.duplicates >= DUPLICATE_THRESHOLD || self.lost_to().is_some_and(|to| send.una < to);
        if is_new && is_loss {
            reduce(ack, self.limited, send, window);
            self.state = State::Recovery { point: send.high };
            self.resend = true;
            self.resent_to = send.una + 1;
            self.rescue_beyond = self.resent_to;
            self.set_pipe(send);
            return RecoveryEvent::Entered;
        }
        self.resent_to = send.una;
        self.set_pipe(send);
        RecoveryEvent::Open
    }

    fn open(&mut self, send: &SendState) {
        self.state = State::Open;
        (self.duplicates, self.limited) = (0, 0);
        self.resent_to = send.una;
        self.set_pipe(send);
    }

    pub(super) fn on_timeout(&mut self, send: &SendState) {
        // The receiver might have dropped what it held (RFC 2018 section 8); it will report again.
        let mut scoreboard = std::mem::take(&mut self.scoreboard);
        scoreboard.clear();
        *self = Self { scoreboard, state: State::Loss { point: send.high }, ..Self::default() };
    }

    /// Every missing segment below this is lost: three that arrived lie above it (`IsLost`, whole segments).
    fn lost_to(&self) -> Option<u64> {
        self.scoreboard.nth_highest(DUPLICATE_THRESHOLD)
    }

    /// Missing segments that are not lost, and missing segments that have been sent again (`SetPipe`).
    fn set_pipe(&mut self, send: &SendState) {
        if self.scoreboard.is_empty() && !self.is_active() {
            self.pipe = send.flight();
            return;
        }
        let lost_to = self.lost_to().unwrap_or(send.una).max(send.una);
        self.pipe = self.scoreboard.missing(lost_to..send.high)
            + self.scoreboard.missing(send.una..self.resent_to.max(send.una));
    }

    pub(super) fn next_segment(&mut self, send: &mut SendState) -> Option<u64> {
        if std::mem::take(&mut self.resend) {
            // The first is sent whatever the window says; the pipe has counted it.
            return Some(send.una);
        }
        if self.pipe >= send.window() {
            return None;
        }
        let segment = match self.state {
            State::Open => {
                let segment = send.take_next();
                self.limited += u64::from(segment.is_some() && self.duplicates > 0);
                segment
            }
            State::Loss { .. } => {
                send.next = self.scoreboard.first_gap(send.next);
                send.take_next()
            }
            State::Recovery { point } => self.next_in_recovery(point, send),
        }?;
        self.pipe += 1;
        Some(segment)
    }

    /// The four rules of `NextSeg`.
    fn next_in_recovery(&mut self, point: u64, send: &mut SendState) -> Option<u64> {
        let hole = self.scoreboard.first_gap(self.resent_to.max(send.una));
        if self.lost_to().is_some_and(|to| hole < to) {
            self.resent_to = hole + 1;
            return Some(hole);
        }
        if let Some(new) = send.take_next() {
            return Some(new);
        }
        if self.scoreboard.end().is_some_and(|end| hole < end) {
            self.resent_to = hole + 1;
            return Some(hole);
        }
        if send.una > self.rescue_beyond {
            self.rescue_beyond = point;
            return self.scoreboard.last_gap_below(send.high).filter(|&last| last >= send.una);
        }
        None
    }
}
