//! One cell of a cellular network.
//!
//! This is one cell and not the 21 of RFC 8869 section 3: neighbours neither interfere nor hand over. What it keeps
//! of them is what a rate controller meets: a capacity that fades from millisecond to millisecond and depends on
//! the other users, a queue for each user, delays in steps of a retransmission, and bursts.
//!
//! Time goes in TTIs of 1 ms, each direction by itself. A user's channel is a recording (Mahimahi's opportunities and
//! the other formats of a [`Trace`](seaway_link::Trace)) or fades by itself; it is known anew every 5 ms. In every TTI
//! the proportional fair scheduler serves the user with the best channel relative to its average rate, then the next,
//! until the TTI is full. A block may fail and is sent again a HARQ round trip later, ahead of new data; what a user
//! was sent arrives in order. Others come, take their share, and go.
//!
//! `docs/models/cellular.md` has the model and its constants.

mod background;
mod channel;
mod config;
mod side;
#[cfg(test)]
mod tests;

pub use channel::{Fading, Radio};
pub use config::{Background, CellularConfig, CellularPlan, Harq, Residual, User, UserConfig};

use crate::cell::{Addressed, Cell, CellError};
use crate::mac_queue::MacQueue;
use background::Others;
use channel::Channel;
use seaway_link::{LinkStatistics, Node, Outbox, Packet, Port, RandomStream, Wake};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use side::Side;

/// A cell. Port 0 is the base's, port *i* + 1 user *i*'s.
#[derive(Debug)]
pub struct Cellular<P> {
    names: Vec<String>,
    down: Side<P>,
    up: Side<P>,
    out: Outbox<P>,
}

/// The directions, in the order of [`Background::channel`].
const DOWN: usize = 0;
const UP: usize = 1;

impl<P> Cellular<P> {
    /// The base's port.
    pub const BASE: Port = Port(0);

    /// The cell that `config` describes. Every queue, channel and chance draws from a stream of its own of the run's
    /// `seed`, below `name`: a user's channel stays what it is whatever else changes.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn new(config: &CellularPlan, seed: u64, name: &str) -> Result<Self, CellError> {
        config.check()?;
        let side = |direction: usize| {
            let label = ["down", "up"][direction];
            let stream = |part: &str| RandomStream::new(seed, &format!("{name}/{part}/{label}"));
            let member = |user: &User| {
                let (radio, queue, key) = match direction {
                    DOWN => (&user.downlink, &config.base_queue, "base.queue"),
                    _ => (&user.uplink, &user.queue, "user.queue"),
                };
                let queue = MacQueue::new(queue, radio.nominal(), stream(&format!("{}/queue", user.name)));
                let queue = queue.map_err(|error| CellError::new(key, error.to_string()))?;
                Ok((queue, Channel::new(radio, stream(&format!("{}/channel", user.name)))))
            };
            let members = config.users.iter().map(member).collect::<Result<Vec<_>, CellError>>()?;
            let others = Others::new(config.background, direction, seed, name);
            let access = if direction == UP { config.access } else { TimeDelta::ZERO };
            Ok::<_, CellError>(Side::new(config, members, others, access, stream("harq")))
        };
        Ok(Self {
            down: side(DOWN)?,
            up: side(UP)?,
            names: config.users.iter().map(|user| user.name.clone()).collect(),
            out: Outbox::default(),
        })
    }

    fn advance(&mut self, now: Timestamp) {
        self.down.advance(now, &mut self.out);
        self.up.advance(now, &mut self.out);
    }

    /// Moves what has arrived and what was dropped into the outbox. Returns when to run next.
    fn deliver(&mut self, now: Timestamp, out: &mut Outbox<P>) -> Wake {
        while let Some((_, packet)) = self.up.poll_packet(now) {
            self.out.send(now, Self::BASE, packet);
        }
        while let Some((user, packet)) = self.down.poll_packet(now) {
            self.out.send(now, Port(u16::try_from(user + 1).unwrap_or(u16::MAX)), packet);
        }
        out.append(&mut self.out);
        let sides = [self.down.due(), self.up.due(), self.down.next_arrival(), self.up.next_arrival()];
        sides.into_iter().flatten().min()
    }

    /// The direction and the user of a queue.
    fn side(&self, queue: usize) -> (&Side<P>, usize) {
        (if queue.is_multiple_of(2) { &self.up } else { &self.down }, queue / 2)
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Node<P> for Cellular<P> {
    fn on_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        self.advance(now);
        let is_down = port == Self::BASE;
        let port = if is_down { packet.payload.leave_by() } else { port };
        let user = usize::from(port.0.saturating_sub(1)).min(self.names.len() - 1);
        let side = if is_down { &mut self.down } else { &mut self.up };
        side.enqueue(now, user, packet);
        while let Some(dropped) = side.poll_dropped(user) {
            self.out.drop(dropped);
        }
        self.deliver(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake {
        if now < until {
            self.advance(now);
        }
        self.deliver(now, out)
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Cell<P> for Cellular<P> {
    fn queue_names(&self) -> Vec<String> {
        queue_names(self.names.iter().map(String::as_str))
    }

    fn statistics(&self, queue: usize, now: Timestamp) -> LinkStatistics {
        let (side, user) = self.side(queue);
        side.queue(user).statistics(now)
    }

    fn restart_statistics(&mut self, now: Timestamp) {
        self.advance(now);
        self.down.restart_statistics(now);
        self.up.restart_statistics(now);
    }

    fn waiting(&self, queue: usize) -> u64 {
        let (side, user) = self.side(queue);
        side.queue(user).waiting()
    }

    fn rate(&self, queue: usize) -> Bitrate {
        let (side, user) = self.side(queue);
        side.rate(user)
    }
}

impl CellularPlan {
    /// The names of the queues in reports: `ue1/up`, `ue1/down`.
    pub fn queue_names(&self) -> Vec<String> {
        queue_names(self.users.iter().map(|user| user.name.as_str()))
    }
}

fn queue_names<'a>(users: impl Iterator<Item = &'a str>) -> Vec<String> {
    users.flat_map(|user| ["up", "down"].map(|direction| format!("{user}/{direction}"))).collect()
}
