//! A cell with sources of packets around it.

use seaway_link::{Departure, DropCause, Node, Outbox, Packet, Port};
use seaway_sim::wlan::{AirStatistics, Guard, Position, RateChoice, Standard, Station, Wlan, WlanConfig};
use seaway_sim::{Addressed, Cell};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// What the packets of these tests carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) to: Port,
    pub(crate) source: usize,
    pub(crate) number: u64,
    pub(crate) sent: Timestamp,
}

impl Addressed for Load {
    fn leave_by(&self) -> Port {
        self.to
    }
}

/// Packets of one size, one behind the other at equal distances.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// UDP payload.
    pub(crate) payload: u64,
    pub(crate) interval: TimeDelta,
    pub(crate) start: TimeDelta,
    pub(crate) flow: u32,
}

impl Source {
    /// `rate` counts UDP payload.
    pub(crate) fn new(from: u16, to: u16, payload: u64, rate: Bitrate) -> Self {
        let interval = rate.time_to_send(DataSize::from_bytes(payload)).unwrap();
        Self { from, to, payload, interval, start: interval.mul_f64(f64::from(from + to) / 7.0), flow: 0 }
    }
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Timestamp,
    pub(crate) load: Load,
}

/// What a run saw of each source inside its window.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    pub(crate) received: u64,
    pub(crate) tail: u64,
    pub(crate) age: u64,
    pub(crate) mac: u64,
    pub(crate) delay_ms: Vec<f64>,
}

#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) cell: Wlan<Load>,
    sources: Vec<(Source, u64, Timestamp)>,
    wake: Option<Timestamp>,
    out: Outbox<Load>,
    now: Timestamp,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) keep: bool,
    pub(crate) from: Timestamp,
}

impl Bench {
    pub(crate) fn new(config: WlanConfig, seed: u64, sources: Vec<Source>) -> Self {
        let tallies = vec![Tally::default(); sources.len()];
        let sources =
            sources.into_iter().map(|source| (source.clone(), 0, Timestamp::ZERO + source.start)).collect();
        Self {
            cell: Wlan::new(config, seed, "cell").unwrap(),
            sources,
            wake: Some(Timestamp::ZERO),
            out: Outbox::default(),
            now: Timestamp::ZERO,
            tallies,
            arrivals: Vec::new(),
            keep: false,
            from: Timestamp::ZERO,
        }
    }

    pub(crate) fn run(&mut self, end: TimeDelta) {
        let end = Timestamp::ZERO + end;
        loop {
            let source = (0..self.sources.len()).min_by_key(|&index| self.sources[index].2);
            let arrival = source.map_or(end + TimeDelta::from_secs(1), |index| self.sources[index].2);
            let event = self.wake.unwrap_or(end + TimeDelta::from_secs(1));
            if arrival.min(event) > end {
                break;
            }
            assert!(arrival.min(event) >= self.now, "time ran back");
            if event <= arrival {
                self.now = event;
                self.advance();
            } else if let Some(index) = source {
                self.now = arrival;
                self.send(index);
            }
            self.settle();
        }
        self.now = end;
        self.advance();
        self.settle();
    }

    fn advance(&mut self) {
        self.wake = self.cell.run(self.now, self.now + TimeDelta::from_nanos(1), &mut self.out);
    }

    /// A packet enters at `from` now.
    pub(crate) fn enter(&mut self, from: Port, packet: Packet<Load>) {
        self.wake = self.cell.on_packet(self.now, from, packet, &mut self.out);
    }

    /// Runs for `warmup`, and again for `span`, which is what counts.
    pub(crate) fn measure(&mut self, warmup: TimeDelta, span: TimeDelta) {
        self.run(warmup);
        self.restart();
        self.run(warmup + span);
    }

    /// Forgets what was counted so far.
    pub(crate) fn restart(&mut self) {
        self.from = self.now;
        self.tallies.fill(Tally::default());
        self.cell.restart_statistics(self.now);
        self.settle();
    }

    pub(crate) fn air(&self) -> AirStatistics {
        self.cell.air()
    }

    fn send(&mut self, index: usize) {
        let now = self.now;
        let (source, number, next) = &mut self.sources[index];
        *next = now + source.interval;
        *number += 1;
        let load = Load { to: Port(source.to), source: index, number: *number, sent: now };
        let size = DataSize::from_bytes(source.payload + 28);
        let packet = Packet { flow: source.flow, ..Packet::new(size, Ecn::NotEct, load) };
        let from = Port(source.from);
        self.tallies[index].offered += 1;
        self.enter(from, packet);
    }

    fn settle(&mut self) {
        while let Some(dropped) = self.out.pop_dropped() {
            let tally = &mut self.tallies[dropped.packet.payload.source];
            match dropped.cause {
                DropCause::Tail => tally.tail += 1,
                DropCause::Age => tally.age += 1,
                _ => tally.mac += 1,
            }
        }
        while let Some(Departure { port, packet, .. }) = self.out.pop_departure(self.now) {
            let load = packet.payload;
            assert_eq!(port, load.to);
            let tally = &mut self.tallies[load.source];
            tally.received += 1;
            if load.sent >= self.from {
                tally.delay_ms.push(self.now.since(load.sent).as_millis_f64());
            }
            if self.keep {
                self.arrivals.push(Arrival { at: self.now, load });
            }
        }
    }

    /// UDP payload of a source, Mbit/s over `span`.
    pub(crate) fn goodput(&self, index: usize, span: TimeDelta) -> f64 {
        self.tallies[index].received as f64 * self.sources[index].0.payload as f64 * 8.0
            / span.as_secs_f64()
            / 1e6
    }

    pub(crate) fn total_goodput(&self, span: TimeDelta) -> f64 {
        (0..self.sources.len()).map(|index| self.goodput(index, span)).sum()
    }
}

/// 802.11ac with MCS 4, short guard interval, as S004.
pub(crate) fn ac(mcs: u8, width: u16, distances: &[f64]) -> WlanConfig {
    let station = distances
        .iter()
        .enumerate()
        .map(|(index, &x)| Station::at(format!("sta{index}"), Position { x, y: 0.0 }))
        .collect();
    WlanConfig {
        mcs: Some(RateChoice::Constant(mcs)),
        width: Some(width),
        guard: Some(Guard::Short),
        station,
        ..WlanConfig::new(Standard::Ac)
    }
}

/// `n` stations on a circle.
pub(crate) fn circle(config: WlanConfig, n: usize, radius: f64) -> WlanConfig {
    let station = (0..n)
        .map(|index| {
            let angle = std::f64::consts::TAU * index as f64 / n as f64;
            let at = Position { x: radius * libm::cos(angle), y: radius * libm::sin(angle) };
            Station::at(format!("sta{index}"), at)
        })
        .collect();
    WlanConfig { station, ..config }
}
