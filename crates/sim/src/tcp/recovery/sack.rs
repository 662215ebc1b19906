//! Recovery by selective acknowledgements (RFC 6675).

use super::{Ack, DUPLICATE_THRESHOLD, Outcome, reduce};
use crate::tcp::congestion::Adjustment;
use crate::tcp::ranges::Ranges;
use crate::tcp::track::Track;

/// The scoreboard and what follows from it.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct Sack {
    /// What has arrived beyond the cumulative acknowledgement.
    board: Ranges,
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
    /// After a timeout everything is sent again in order, but for what the board holds; no recovery before the
    /// point is acknowledged.
    Loss { point: u64 },
}

impl Sack {
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.state, State::Recovery { .. })
    }

    pub(super) fn on_ack(&mut self, ack: Ack<'_>, track: &mut Track, window: &mut Adjustment) -> Outcome {
        let has_news = self.update(ack, track);
        match self.state {
            State::Open => self.on_ack_open(ack, has_news, track, window),
            State::Recovery { point } if track.una >= point => {
                self.open(track);
                Outcome::Left
            }
            State::Recovery { .. } => {
                self.set_pipe(track);
                Outcome::Recovering { keeps_timer: ack.newly == 0 }
            }
            State::Loss { point } => {
                if track.una >= point {
                    self.open(track);
                } else {
                    self.pipe = self.board.missing(track.una..track.next);
                }
                Outcome::Open
            }
        }
    }

    /// Takes the blocks in; true where they tell of a segment not known to have arrived.
    fn update(&mut self, ack: Ack<'_>, track: &Track) -> bool {
        self.board.remove_below(track.una);
        let mut has_news = false;
        for block in ack.sacked.iter(track.una) {
            has_news |= self.board.insert(block.start..block.end.min(track.high));
        }
        has_news
    }

    fn on_ack_open(
        &mut self,
        ack: Ack<'_>,
        has_news: bool,
        track: &mut Track,
        window: &mut Adjustment,
    ) -> Outcome {
        if ack.newly > 0 {
            (self.duplicates, self.limited) = (0, 0);
        }
        self.duplicates += u64::from(has_news);
        let is_loss =
            self.duplicates >= DUPLICATE_THRESHOLD || self.lost_to().is_some_and(|to| track.una < to);
        if has_news && is_loss {
            reduce(ack, self.limited, track, window);
            self.state = State::Recovery { point: track.high };
            self.resend = true;
            self.resent_to = track.una + 1;
            self.rescue_beyond = self.resent_to;
            self.set_pipe(track);
            return Outcome::Entered;
        }
        self.resent_to = track.una;
        self.set_pipe(track);
        Outcome::Open
    }

    fn open(&mut self, track: &Track) {
        self.state = State::Open;
        (self.duplicates, self.limited) = (0, 0);
        self.resent_to = track.una;
        self.set_pipe(track);
    }

    pub(super) fn on_timeout(&mut self, track: &Track) {
        // The receiver might have dropped what it held (RFC 2018 section 8); it will tell again.
        let mut board = std::mem::take(&mut self.board);
        board.clear();
        *self = Self { board, state: State::Loss { point: track.high }, ..Self::default() };
    }

    /// Every missing segment below this is lost: three that arrived lie above it (`IsLost`, whole segments).
    fn lost_to(&self) -> Option<u64> {
        self.board.nth_highest(DUPLICATE_THRESHOLD)
    }

    /// Missing segments that are not lost, and missing segments that have been sent again (`SetPipe`).
    fn set_pipe(&mut self, track: &Track) {
        if self.board.is_empty() && !self.is_active() {
            self.pipe = track.flight();
            return;
        }
        let lost_to = self.lost_to().unwrap_or(track.una).max(track.una);
        self.pipe = self.board.missing(lost_to..track.high)
            + self.board.missing(track.una..self.resent_to.max(track.una));
    }

    pub(super) fn next_segment(&mut self, track: &mut Track) -> Option<u64> {
        if std::mem::take(&mut self.resend) {
            // The first is sent whatever the window says; the pipe has counted it.
            return Some(track.una);
        }
        if self.pipe >= track.window() {
            return None;
        }
        let segment = match self.state {
            State::Open => {
                let segment = track.take_next();
                self.limited += u64::from(segment.is_some() && self.duplicates > 0);
                segment
            }
            State::Loss { .. } => {
                track.next = self.board.first_gap(track.next);
                track.take_next()
            }
            State::Recovery { point } => self.next_in_recovery(point, track),
        }?;
        self.pipe += 1;
        Some(segment)
    }

    /// The four rules of `NextSeg`.
    fn next_in_recovery(&mut self, point: u64, track: &mut Track) -> Option<u64> {
        let hole = self.board.first_gap(self.resent_to.max(track.una));
        if self.lost_to().is_some_and(|to| hole < to) {
            self.resent_to = hole + 1;
            return Some(hole);
        }
        if let Some(new) = track.take_next() {
            return Some(new);
        }
        if self.board.end().is_some_and(|end| hole < end) {
            self.resent_to = hole + 1;
            return Some(hole);
        }
        if track.una > self.rescue_beyond {
            self.rescue_beyond = point;
            return self.board.last_gap_below(track.high).filter(|&last| last >= track.una);
        }
        None
    }
}
