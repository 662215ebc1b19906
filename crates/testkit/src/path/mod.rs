//! A closed loop in virtual time: one controller and its receiving half over a path of fixed delay.
//!
//! No link model and of the session only its feedback adapter and its reading of clocks: packets are paced by the allowance, may queue before one
//! bottleneck, are lost as a function says, and are reported by the receiving half at its own times. Unit tests of
//! controllers close their loop with it.

mod gauges;
mod run;

pub use gauges::{gauge, gauge_names};
pub use run::PathRun;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use seaway_control::Feedback;
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::ops::AddAssign;

/// A path and what is sent over it.
pub struct Path {
    /// Size of every packet.
    pub packet: DataSize,
    /// What the application has to send: this rate, or always more than it may.
    pub source: Option<Bitrate>,
    /// An encoder that follows the target exactly and evenly, in place of `source`.
    pub obedient: bool,
    /// Propagation delay to the receiver.
    pub forward: TimeDelta,
    /// Delay of reports.
    pub back: TimeDelta,
    /// How long a packet takes to reach the bottleneck, in the order of sending all the same.
    pub overhead: Option<Overhead>,
    /// A server with a queue in front of the propagation delay.
    pub bottleneck: Option<Bottleneck>,
    /// How far the clock of the other end is ahead, as each end sees it.
    pub clock: TimeDelta,
    /// A playout buffer at the receiver.
    pub buffer: Option<PlayoutBuffer>,
    /// Alters the feedback of the controller.
    pub forge: Option<Forge>,
    /// What becomes of a packet behind the bottleneck, given how many passed it before.
    pub channel: Box<dyn FnMut(u64) -> Channel>,
}

/// Random delay of a packet before the bottleneck. Without it one flow on a drop-tail queue has its packets arrive at the same phase
/// of the service for ever, and losses fall as that phase has it (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
/// Gateways", 1992, section 4; ns-2's `overhead_`).
#[derive(Debug, Clone)]
pub struct Overhead {
    most: TimeDelta,
    random: SplitMix64,
}

impl Overhead {
    /// Between zero and `most`.
    pub fn new(most: TimeDelta, seed: u64) -> Self {
        Self { most, random: SplitMix64::seed_from_u64(seed) }
    }

    fn draw(&mut self) -> TimeDelta {
        let nanos = self.most.as_nanos().unsigned_abs();
        TimeDelta::from_nanos((self.random.next_u64() % (nanos + 1)) as i64)
    }
}

/// Alters a feedback message.
pub type Forge = Box<dyn FnMut(&mut Feedback<'_>)>;

/// A link of one rate with a drop-tail queue.
#[derive(Debug, Clone, Copy)]
pub struct Bottleneck {
    /// Its rate.
    pub rate: Bitrate,
    /// How long a packet may wait.
    pub queue: TimeDelta,
}

/// A playout buffer: it starts to play at a fifth, and refuses what it cannot hold.
#[derive(Debug, Clone, Copy)]
pub struct PlayoutBuffer {
    /// What it can hold.
    pub capacity: DataSize,
    /// What playing takes out of it.
    pub consume: Bitrate,
}

/// What the channel does to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// It arrives.
    Deliver,
    /// It is lost.
    Lose,
    /// It arrives with the CE mark, if it may carry one.
    Mark,
}

impl Path {
    /// A path with nothing but delay, half of `rtt` each way, for saturated packets of 1000 B.
    pub fn new(rtt: TimeDelta) -> Self {
        Self {
            packet: DataSize::from_bytes(1000),
            source: None,
            obedient: false,
            forward: rtt / 2,
            back: rtt - rtt / 2,
            overhead: None,
            bottleneck: None,
            clock: TimeDelta::ZERO,
            buffer: None,
            forge: None,
            channel: Box::new(|_| Channel::Deliver),
        }
    }

    /// Loses every `nth` packet.
    #[must_use]
    pub fn losing_every(mut self, nth: u64) -> Self {
        self.channel =
            Box::new(move |count| if count % nth == nth - 1 { Channel::Lose } else { Channel::Deliver });
        self
    }

    /// Loses packets independently with probability `p`.
    #[must_use]
    pub fn losing(mut self, p: f64, seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let threshold = (p * u64::MAX as f64) as u64;
        self.channel = Box::new(move |_| match random.next_u64() < threshold {
            true => Channel::Lose,
            false => Channel::Deliver,
        });
        self
    }
}

/// What happened since the counters were last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Packets that left.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that the queue refused.
    pub refused: u64,
    /// Packets that the channel lost.
    pub lost: u64,
    /// Packets that arrived and found the playout buffer full.
    pub overflowed: u64,
    /// Reports that came back.
    pub reports: u64,
    /// Sum of the round-trip times in them, seconds.
    pub rtt_sum: f64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.refused += other.refused;
        self.lost += other.lost;
        self.overflowed += other.overflowed;
        self.reports += other.reports;
        self.rtt_sum += other.rtt_sum;
    }
}
