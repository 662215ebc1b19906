//! A path between two ends: a delay each way, and losses by a generator.

use seaway_srt::{Delivery, Endpoint, Event, Settings};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::net::SocketAddr;

pub(crate) const STEP: TimeDelta = TimeDelta::from_millis(1);

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_millis(ms)
}

pub(crate) fn caller_address() -> SocketAddr {
    "192.0.2.1:40000".parse().unwrap()
}

pub(crate) fn listener_address() -> SocketAddr {
    "192.0.2.2:9000".parse().unwrap()
}

/// Xorshift, for losses that are the same each time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn falls(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

pub(crate) struct Path {
    pub(crate) now: Timestamp,
    pub(crate) caller: Endpoint,
    pub(crate) listener: Endpoint,
    pub(crate) loss_percent: u64,
    delay: TimeDelta,
    dice: Dice,
    /// To the listener, and to the caller.
    flying: [VecDeque<(Timestamp, Vec<u8>)>; 2],
    /// Datagrams of the listener to other callers.
    pub(crate) elsewhere: Vec<Vec<u8>>,
    pub(crate) delivered: Vec<(Timestamp, Delivery)>,
    pub(crate) events: [Vec<Event>; 2],
}

impl Path {
    pub(crate) fn new(caller: Settings, listener: Settings, delay_ms: i64) -> Self {
        let now = at(1000);
        Self {
            now,
            caller: Endpoint::caller(now, caller, &[1; 32], listener_address()),
            listener: Endpoint::listener(now, listener, &[2; 32]),
            loss_percent: 0,
            delay: TimeDelta::from_millis(delay_ms),
            dice: Dice(0x1234_5678_9abc_def1),
            flying: [VecDeque::new(), VecDeque::new()],
            elsewhere: Vec::new(),
            delivered: Vec::new(),
            events: [Vec::new(), Vec::new()],
        }
    }

    /// A millisecond passes.
    pub(crate) fn step(&mut self) {
        let now = self.now;
        for (way, end) in [&mut self.caller, &mut self.listener].into_iter().enumerate() {
            while let Some(transmit) = end.poll_datagram() {
                if ![caller_address(), listener_address()].contains(&transmit.to) {
                    self.elsewhere.push(transmit.datagram);
                } else if !self.dice.falls(self.loss_percent) {
                    self.flying[way].push_back((now + self.delay, transmit.datagram));
                }
            }
        }
        self.now += STEP;
        let now = self.now;
        let arrived = |flying: &mut VecDeque<(Timestamp, Vec<u8>)>| {
            let is_due = flying.front().is_some_and(|(due, _)| *due <= now);
            is_due.then(|| flying.pop_front().unwrap().1)
        };
        while let Some(datagram) = arrived(&mut self.flying[0]) {
            self.listener.on_datagram(now, caller_address(), &datagram);
        }
        while let Some(datagram) = arrived(&mut self.flying[1]) {
            self.caller.on_datagram(now, listener_address(), &datagram);
        }
        for (index, end) in [&mut self.caller, &mut self.listener].into_iter().enumerate() {
            if end.poll_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
            while let Some(delivery) = end.poll_delivery(now) {
                self.delivered.push((now, delivery));
            }
            self.events[index].extend(std::iter::from_fn(|| end.poll_event()));
        }
    }

    pub(crate) fn run(&mut self, ms: i64) {
        (0..ms).for_each(|_| self.step());
    }
}
