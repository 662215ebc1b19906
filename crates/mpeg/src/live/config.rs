//! What a live shaper does, and how.

use crate::shape;
use seaway_units::TimeDelta;

/// The programmes that are shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// One: the first with MPEG-1 or MPEG-2 video, or the one of this number.
    One(Option<u16>),
    /// All with such video, 32 of them at most: they share the rate of the target, each second by how hard they are to code.
    All,
}

/// How a [`LiveShaper`](super::LiveShaper) works.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pictures are shaped. A window also ends where its first picture would leave too late.
    pub shaper: shape::Config,
    /// What is shaped.
    pub programs: Programs,
    /// 99 of 100 packets leave within this of their arrival; at least [`Config::LEAST_DELAY`].
    pub delay: TimeDelta,
    /// Null packets of the input and of the freed room are sent, so that the multiplex rate stays.
    pub null_packets: bool,
    /// Octets that may wait, for each programme. Beyond it pictures pass unchanged.
    pub memory: usize,
}

impl Config {
    /// The shortest delay.
    pub const LEAST_DELAY: TimeDelta = TimeDelta::from_millis(60);

    /// The shortest delay with a closed loop. Within a shorter one windows are a few pictures: where they ended earlier large pictures would
    /// not be complete, and a closed loop for one of them would not end in time.
    pub const LEAST_FOR_CLOSED_LOOP: TimeDelta = TimeDelta::from_millis(300);

    /// By how much packets are due before the delay has passed: a timer wakes its caller a little late.
    pub(super) const WAKE_UP: TimeDelta = TimeDelta::from_millis(1);

    /// What of the delay is for computing, and for packets that come late by less.
    pub(super) fn reserve(&self) -> TimeDelta {
        (self.delay / 4).max(TimeDelta::from_millis(20))
    }

    /// By how much packets may leave before the delay has passed, so that those that come early leave within it too: half of it, where
    /// the rest suffices for a picture to come in and to be shaped.
    pub(super) fn longest_lead(&self) -> TimeDelta {
        (self.delay / 2).min(self.delay - TimeDelta::from_millis(250)).max(TimeDelta::ZERO)
    }
}
