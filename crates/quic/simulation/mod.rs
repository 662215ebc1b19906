//! Two QUIC endpoints over simulated links, in virtual time: what the tests and the comparison share.

#![allow(unreachable_pub, reason = "tests and examples have this module as their own")]

pub mod network;
pub mod source;
pub mod stacks;

use network::Network;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use source::Source;
use stacks::{End, Transport};

/// What was seen of a transfer.
#[derive(Debug, Default)]
pub struct Record {
    /// Each packet that came out of the bottleneck: when, its octets, its wait in the queue, its round trip.
    pub packets: Vec<Passed>,
    /// The rate that the controller allows, where it says so, and the source's, every 10 ms.
    pub rates: Vec<(Timestamp, Option<Bitrate>, Bitrate)>,
    /// Octets of streams that the peer read.
    pub read: u64,
}

/// A packet behind the bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    pub arrived: Timestamp,
    pub size: DataSize,
    pub waited: TimeDelta,
    /// To the peer and, without a queue, back.
    pub round_trip: TimeDelta,
}

impl Record {
    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &Passed> {
        let (from, to) = (instant(from), instant(to));
        self.packets.iter().filter(move |packet| packet.arrived >= from && packet.arrived < to)
    }

    /// What passed the bottleneck between two instants in seconds.
    pub fn rate(&self, from: f64, to: f64) -> Bitrate {
        let size: DataSize = self.between(from, to).map(|packet| packet.size).sum();
        size.over(TimeDelta::from_secs_f64(to - from)).expect("time passes")
    }

    /// Of the waits in the queue, in ms.
    pub fn wait(&self, from: f64, to: f64, quantile: f64) -> f64 {
        percentile(self.between(from, to).map(|packet| packet.waited.as_millis_f64()).collect(), quantile)
    }

    /// Of the round trips, in ms.
    pub fn round_trip(&self, from: f64, to: f64, quantile: f64) -> f64 {
        percentile(self.between(from, to).map(|packet| packet.round_trip.as_millis_f64()).collect(), quantile)
    }
}

fn percentile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((quantile * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Seconds as an instant.
pub fn instant(seconds: f64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_secs_f64(seconds)
}

/// A client sends what `source` gives to a server until `end`.
pub fn run(transport: &mut dyn Transport, network: &mut Network, source: &mut Source, end: f64) -> Record {
    let (mut record, end) = (Record::default(), instant(end));
    let mut sample = Timestamp::ZERO;
    let mut now = Timestamp::ZERO;
    while now < end {
        network.deliver(now, transport, &mut record);
        for end in [End::Client, End::Server] {
            transport.run_timers(end, now);
        }
        record.read += transport.read_all();
        if transport.is_connected() {
            source.run(now, transport);
        }
        for end in [End::Client, End::Server] {
            while let Some(datagram) = transport.poll_datagram(end, now) {
                network.send(now, end, datagram);
            }
        }
        if now >= sample {
            record.rates.push((now, transport.allowed_rate(), source.rate()));
            sample += TimeDelta::from_millis(10);
        }
        let frame = source.next().filter(|_| transport.is_connected());
        let due = [network.next(), transport.next_timeout(), frame, Some(sample)];
        let next = due.into_iter().flatten().min().expect("there is a sample");
        now = next.max(now + TimeDelta::from_nanos(1));
    }
    record
}
