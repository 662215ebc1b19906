//! What a cellular cell is made of.

use super::channel::{Fading, Radio};
use crate::cell::CellError;
use seaway_link::QueueConfig;
use seaway_units::{Bitrate, Probability, TimeDelta};

/// One cell of a cellular network: a base and its users.
#[derive(Debug, Clone)]
pub struct CellularConfig {
    /// The queue that the base holds for each user.
    pub base_queue: QueueConfig,
    /// Port *i* + 1 is user *i*'s.
    pub users: Vec<User>,
    /// Hybrid ARQ.
    pub harq: Harq,
    /// Memory of the proportional fair scheduler's averages.
    pub averaging: TimeDelta,
    /// Decoding and passing on, one way, behind the TTI.
    pub delay: TimeDelta,
    /// From the first packet of an idle user until it may send it: scheduling request and grant.
    pub access: TimeDelta,
    /// Others in the cell.
    pub background: Background,
}

/// A user of the cell.
#[derive(Debug, Clone)]
pub struct User {
    /// Its name in reports.
    pub name: String,
    /// From the base to the user.
    pub downlink: Radio,
    /// From the user to the base.
    pub uplink: Radio,
    /// The queue of what it sends.
    pub queue: QueueConfig,
}

/// Hybrid ARQ: blocks come with errors and are sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harq {
    /// Probability that a transmission fails, at most a half.
    pub error: Probability,
    /// From a transmission to the next of the same block.
    pub round_trip: TimeDelta,
    /// Transmissions of a block, from 1.
    pub attempts: u32,
    /// What becomes of a block after the last.
    pub residual: Residual,
}

/// What the layer above HARQ does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residual {
    /// It asks again (RLC acknowledged mode, the default bearer's): a status report later the block starts anew.
    #[default]
    Repaired,
    /// It goes on without (RLC unacknowledged mode): every packet with octets in the block is lost.
    Lost,
}

/// Users without packets, who only take their share: they come at random, stay and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Background {
    /// Arrivals a second into this cell.
    pub arrivals: f64,
    /// How long each stays; RFC 8869 section 3.1.2 has 30 s.
    pub stay: TimeDelta,
    /// What each asks for, one way; the same both ways.
    pub demand: Bitrate,
    /// Their channels, down and up, each fading by itself.
    pub channel: [Fading; 2],
}

impl CellularConfig {
    /// Whether the parts fit together.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn check(&self) -> Result<(), CellError> {
        let most = usize::from(u16::MAX) - 1;
        let count = self.users.len();
        let Harq { error, round_trip, attempts, .. } = self.harq;
        let Background { arrivals, stay, .. } = self.background;
        let time = |span: TimeDelta| !span.is_negative() && span <= TimeDelta::from_secs(10);
        let require = |key: &str, holds: bool, problem: String| {
            if holds { Ok(()) } else { Err(CellError::new(key, problem)) }
        };
        require("user", (1..=most).contains(&count), format!("found {count}: expected 1 to {most}"))?;
        require("harq.error", error.get() <= 0.5, format!("found {}: expected 0 to 0.5", error.get()))?;
        require(
            "harq.attempts",
            (1..=16).contains(&attempts),
            format!("found {attempts}: expected 1 to 16"),
        )?;
        let whole = round_trip > TimeDelta::ZERO && round_trip <= TimeDelta::from_millis(100);
        require("harq.round_trip", whole, format!("found {round_trip}: expected above 0 s, at most 100 ms"))?;
        for (key, span) in [("delay", self.delay), ("access", self.access)] {
            require(key, time(span), format!("found {span}: expected 0 s to 10 s"))?;
        }
        let averages = self.averaging >= TimeDelta::from_millis(1);
        require("averaging", averages, format!("found {}: expected at least 1 ms", self.averaging))?;
        for (index, user) in self.users.iter().enumerate() {
            for (key, radio, queue, queue_key) in [
                ("downlink", &user.downlink, &self.base_queue, "base.queue".to_owned()),
                ("uplink", &user.uplink, &user.queue, format!("user.{index}.queue")),
            ] {
                radio.check().map_err(|problem| CellError::new(format!("user.{index}.{key}"), problem))?;
                queue.check(radio.nominal()).map_err(|error| CellError::new(queue_key, error.to_string()))?;
            }
        }
        let others = arrivals * stay.as_secs_f64();
        let bearable = (0.0..=1000.0).contains(&others);
        require("background", bearable, format!("{others} others in the mean: expected at most 1000"))
    }
}
