//! When the pictures of an input begin, so that its sound begins with them.

use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Set by the threads that read and capture pictures, followed by those that capture sound.
#[derive(Debug, Clone, Default)]
pub(super) struct Cue {
    state: Arc<Mutex<State>>,
    /// The number of the one that follows.
    follower: usize,
}

#[derive(Debug)]
struct State {
    /// The instant of time zero.
    began: Option<Timestamp>,
    /// The times at which the input is repeated from its beginning, for each that follows.
    repeats: Vec<VecDeque<TimeDelta>>,
    /// The input began again at time zero so often.
    restarts: u32,
    ended: bool,
}

/// What the sound follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The instant of time zero.
    pub(super) began: Timestamp,
    /// The time at which the input is repeated next, as far as known.
    pub(super) repeat: Option<TimeDelta>,
    /// The input began again at time zero so often.
    pub(super) restarts: u32,
}

impl Default for State {
    fn default() -> Self {
        Self { began: None, repeats: vec![VecDeque::new()], restarts: 0, ended: false }
    }
}

impl Cue {
    /// The same for another that follows.
    pub(super) fn for_another(&self) -> Self {
        let follower = self.change(|state| {
            state.repeats.push(state.repeats[0].clone());
            state.repeats.len() - 1
        });
        Self { state: self.state.clone(), follower }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The instant of time zero, which may move.
    pub(super) fn begin(&self, began: Timestamp) {
        self.change(|state| state.began = Some(began));
    }

    /// The input begins again, with time zero at this instant.
    pub(super) fn restart(&self, began: Timestamp) {
        self.change(|state| {
            state.restarts += u32::from(state.began.is_some());
            state.began = Some(began);
        });
    }

    /// The input is repeated from its beginning at this time.
    pub(super) fn repeat_at(&self, time: TimeDelta) {
        self.change(|state| state.repeats.iter_mut().for_each(|repeats| repeats.push_back(time)));
    }

    /// The repetition that [`position`](Self::position) names has begun.
    pub(super) fn take_repeat(&self) {
        self.change(|state| state.repeats[self.follower].pop_front());
    }

    /// No picture follows.
    pub(super) fn end(&self) {
        self.change(|state| state.ended = true);
    }

    /// True where no picture follows.
    pub(super) fn has_ended(&self) -> bool {
        self.change(|state| state.ended)
    }

    /// `None` before the first picture.
    pub(super) fn position(&self) -> Option<Position> {
        self.change(|state| {
            let (repeat, restarts) = (state.repeats[self.follower].front().copied(), state.restarts);
            Some(Position { began: state.began?, repeat, restarts })
        })
    }
}
