//! Background users of the cell, which only take their share of it.

use super::channel::{Channel, Radio, TTI};
use super::config::Background;
use seaway_link::RandomStream;
use seaway_units::{TimeDelta, Timestamp};

/// What waits for one of them at most, as a time at its demand (RFC 8867 section 4.1's queue).
const QUEUE_SECONDS: f64 = 0.3;

/// Background users in one direction of the cell. Arrivals are Poisson; the first to arrive leaves first.
#[derive(Debug)]
pub(super) struct Others {
    config: Background,
    radio: Radio,
    arrivals: RandomStream,
    next: Option<Timestamp>,
    count: u64,
    seed: u64,
    name: String,
    pub(super) present: Vec<Other>,
}

#[derive(Debug)]
pub(super) struct Other {
    leaves: Timestamp,
    channel: Channel,
    /// Octets a TTI in this report period.
    pub(super) octets: f64,
    /// Octets that wait.
    pub(super) backlog: f64,
    /// Octets a TTI, averaged.
    pub(super) average: f64,
}

impl Others {
    /// Both directions draw the same arrivals: `name` without the direction.
    pub(super) fn new(config: Background, direction: usize, seed: u64, name: &str) -> Self {
        let mut arrivals = RandomStream::new(seed, &format!("{name}/background"));
        let next = (config.arrivals > 0.0).then(|| Timestamp::ZERO + gap(&mut arrivals, config.arrivals));
        Self {
            radio: Radio::Fading(config.channel[direction]),
            config,
            arrivals,
            next,
            count: 0,
            seed,
            name: format!("{name}/background/{direction}"),
            present: Vec::new(),
        }
    }

    /// Arrivals and departures up to `now`, when report period `first` begins.
    pub(super) fn report(&mut self, now: Timestamp, first: u64) {
        self.present.retain(|other| other.leaves > now);
        while let Some(at) = self.next.filter(|&at| at <= now) {
            self.next = Some(at + gap(&mut self.arrivals, self.config.arrivals));
            self.count += 1;
            let stream = RandomStream::new(self.seed, &format!("{}/{}", self.name, self.count));
            let (leaves, channel) = (at + self.config.stay, Channel::new(&self.radio, stream));
            self.present.push(Other { leaves, channel, octets: 0.0, backlog: 0.0, average: 0.0 });
        }
        for other in &mut self.present {
            other.octets = other.channel.octets(first);
        }
    }

    /// A TTI passes: they want more.
    pub(super) fn grow(&mut self) {
        let demand = self.config.demand.as_bytes_per_second();
        let (more, most) = (demand * TTI.as_secs_f64(), demand * QUEUE_SECONDS);
        for other in &mut self.present {
            other.backlog = (other.backlog + more).min(most);
        }
    }
}

fn gap(stream: &mut RandomStream, per_second: f64) -> TimeDelta {
    TimeDelta::from_secs_f64(stream.exponential(1.0 / per_second))
}
