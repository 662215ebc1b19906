//! Options of TFRC.

use super::equation::{Equation, RetransmitTimeout, TimeoutEstimator};
use crate::estimators::{ArrivalRate, Scheme};
use crate::info::FlowConfig;
use crate::options;
use crate::options::{OptionError, OptionTable, Options, Value};
use crate::spec::SpecError;
use seaway_units::{DataSize, Ecn};
use std::str::FromStr;

/// Everything that can be set of one TFRC connection; both halves must have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Whose rules.
    pub profile: Profile,
    /// Packets, reports and timers as in ns-2 2.35.
    pub ns2: bool,
    /// Which throughput equation.
    pub equation: Equation,
    /// Its `t_RTO`.
    pub retransmit_timeout: RetransmitTimeout,
    /// Its segment size, and how packets are spaced.
    pub segment: Segment,
    /// TFRC-SP (RFC 4828).
    pub small_packets: bool,
    /// Oscillation reduction (RFC 5348 section 4.5).
    pub damping: bool,
    /// History discounting (RFC 5348 section 5.5).
    pub discounting: bool,
    /// Who computes the loss event rate and the receive rate.
    pub loss: LossSide,
    /// Leaves losses of the channel out of the loss event rate.
    pub discriminate: Option<Scheme>,
    /// Unused slots that may be made up for, in round-trip times from 0 to 1 (RFC 5348 section 4.6).
    pub credit: f64,
    /// Largest packet of the flow.
    pub packet: DataSize,
    /// Codepoint on its packets.
    pub ecn: Ecn,
}

/// Whose rules a connection follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// RFC 5348.
    Rfc5348,
    /// Its predecessor RFC 3448, which the papers of 2006 and before ran.
    Rfc3448,
}

/// Which size stands for `s`. All sizes and rates count whole IP datagrams: that multiplies `s` and `X` alike
/// and leaves packets a second as they are in the RFC, which counts neither with headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// The mean of the packets sent over four loss intervals at least (RFC 5348 section 4.1).
    Mean,
    /// S003: the packet about to be sent, so that packets a second, not bytes, follow the equation.
    PerPacket,
    /// One size.
    Fixed(DataSize),
}

/// Which side computes the loss event rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossSide {
    /// The receiving half, as in RFC 5348.
    Receiver,
    /// The sending half, from the fate of each packet.
    Sender,
}

/// Segment of the equation in TFRC-SP, bytes (RFC 4828 section 3).
pub(crate) const NOMINAL_SEGMENT: f64 = 1460.0;

impl Config {
    pub(crate) const OPTIONS: OptionTable<Self> = options! { |config: &mut Config, value|
        "profile" = "rfc5348", "rfc5348 or rfc3448; ns2 for tfrc", "whose rules the connection follows":
            *config = value.choose(&[
                ("rfc5348", *config),
                ("rfc3448", Self::new(Profile::Rfc3448, config.flow())),
                ("ns2", Self::ns2(config.flow())),
            ])?;
        "equation" = "full", "full, simple (k = 1.5) or simple(k) with k from 0.1 to 10",
            "the throughput equation":
            config.equation = value.read()?;
        "t_rto" = "4R",
            "4R, floor (4R, at least 1 s), coarse (ns-2's ticks of 0.1 s) or a time from 1 ms to 64 s",
            "the equation's retransmission timeout":
            config.retransmit_timeout =
                value.applies(config.equation.has_timeout(), "equation=simple")?.read()?;
        "clamp" = "off", "on or off",
            "limit the equation's factor 3 sqrt(3bp/8) to 1, as Padhye prints it (padhye_min_clamp)":
            config.equation = Equation::Full {
                clamp: value.applies(config.equation.has_timeout(), "equation=simple")?.switch()?,
            };
        "sp" = "off", "on or off", "TFRC-SP for small packets (RFC 4828)":
            config.small_packets = value.applies(!config.ns2, "profile=ns2")?.switch()?;
        "segment" = "mean", "mean, per-packet or a size from 40 B to 64 kB",
            "the equation's segment size; per-packet spaces packets evenly whatever their size (S003)":
            config.segment = config.without_sp(value)?.read()?;
        "damping" = "on", "on or off", "oscillation reduction by the square root of the round-trip time":
            config.damping = value.applies(!config.ns2, "profile=ns2")?.switch()?;
        "discounting" = "on", "on or off", "history discounting of old loss intervals":
            config.discounting = value.applies(!config.ns2, "profile=ns2")?.switch()?;
        "loss" = "receiver", "receiver or sender",
            "which side computes the loss event rate; a peer that sends none leaves it to the sender":
            config.loss = value
                .applies(!config.ns2, "profile=ns2")?
                .choose(&[("receiver", LossSide::Receiver), ("sender", LossSide::Sender)])?;
        "discriminate" = "off", "off, biaz, mbiaz, spike, vtp, zigzag, zbs, trend or oracle",
            "leave out losses that this scheme assigns to the channel; only the simulator's links feed the oracle":
            config.discriminate = value.applies(!config.ns2, "profile=ns2")?.unless_off()?;
        "credit" = "1 for rfc5348, 0 for rfc3448", "0 to 1",
            "unused sending slots that may be made up for, in round-trip times":
            config.credit = config.without_sp(value)?.within(0.0..=1.0)?;
    }
    .shared_as("TFRC connections");

    /// TFRC-SP has a segment and a spacing of its own (RFC 4828).
    fn without_sp<'a>(&self, value: Value<'a>) -> Result<Value<'a>, OptionError> {
        value.applies(!self.ns2, "profile=ns2")?.applies(!self.small_packets, "sp=on")
    }

    const fn flow(&self) -> FlowConfig {
        FlowConfig { packet: self.packet, ecn: self.ecn }
    }

    /// The profile's defaults for a flow.
    pub const fn new(profile: Profile, flow: FlowConfig) -> Self {
        Self {
            profile,
            ns2: false,
            equation: Equation::RFC,
            retransmit_timeout: RetransmitTimeout::FourRtts,
            segment: Segment::Mean,
            small_packets: false,
            damping: true,
            discounting: true,
            loss: LossSide::Receiver,
            discriminate: None,
            credit: match profile {
                Profile::Rfc5348 => 1.0,
                Profile::Rfc3448 => 0.0,
            },
            packet: flow.packet,
            ecn: flow.ecn,
        }
    }

    /// The configuration of a connection in the TFRC family.
    pub(crate) fn from_options(options: &Options<'_>, flow: FlowConfig) -> Result<Self, SpecError> {
        let config = options.read(&Self::OPTIONS, Self::new(Profile::Rfc5348, flow))?;
        if config.ns2 {
            return Err(SpecError::new("profile=ns2", "is for tfrc alone"));
        }
        Ok(config)
    }

    /// ns-2's coarse timeout and its clamped equation over RFC 3448.
    const fn ns2(flow: FlowConfig) -> Self {
        Self {
            ns2: true,
            equation: Equation::Full { clamp: true },
            retransmit_timeout: RetransmitTimeout::Coarse,
            ..Self::new(Profile::Rfc3448, flow)
        }
    }

    /// Floor of the discount factor (`THRESHOLD`).
    pub(crate) fn discount_floor(&self) -> f64 {
        match self.profile {
            _ if !self.discounting => 1.0,
            Profile::Rfc5348 => 0.25,
            Profile::Rfc3448 => 0.5,
        }
    }

    /// A rate of arrival in segments a second, the unit of the equation. Where the segment is the mean of the
    /// packets, packets are counted: the receiver need not know the size.
    pub(crate) fn segments(&self, rate: ArrivalRate) -> f64 {
        match self.segment {
            _ if self.small_packets => rate.bytes / NOMINAL_SEGMENT,
            Segment::Fixed(size) => rate.bytes / size.as_bytes_f64(),
            Segment::Mean | Segment::PerPacket => rate.packets,
        }
    }

    pub(crate) const fn timeout_estimator(&self) -> TimeoutEstimator {
        TimeoutEstimator::new(self.retransmit_timeout)
    }
}

impl FromStr for Segment {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Self::Mean),
            "per-packet" => Ok(Self::PerPacket),
            _ => {
                let size: DataSize =
                    text.parse().map_err(|error: seaway_units::ParseError| error.to_string())?;
                if (40..=64_000).contains(&size.as_bytes()) {
                    Ok(Self::Fixed(size))
                } else {
                    Err("out of range".to_owned())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowConfig = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };

    /// RFC 5348 section 5.5 and RFC 3448 section 5.5.
    #[test]
    fn old_intervals_keep_a_quarter_or_a_half_of_their_weight() {
        for (profile, floor) in [(Profile::Rfc5348, 0.25), (Profile::Rfc3448, 0.5)] {
            let config = Config::new(profile, FLOW);
            assert_eq!(config.discount_floor(), floor);
            assert_eq!(Config { discounting: false, ..config }.discount_floor(), 1.0);
        }
    }

    /// 29 200 B/s in packets of 100 B: by the nominal segment of 1460 B, by one of 1000 B, and by packets.
    #[test]
    fn what_arrives_is_counted_in_segments() {
        let rate = ArrivalRate { bytes: 29_200.0, packets: 292.0 };
        for (small_packets, segment, segments) in [
            (true, "mean", 20.0),
            (false, "1000 B", 29.2),
            (false, "mean", 292.0),
            (false, "per-packet", 292.0),
        ] {
            let segment = segment.parse().unwrap();
            let config = Config { small_packets, segment, ..Config::new(Profile::Rfc5348, FLOW) };
            assert_eq!(config.segments(rate), segments);
        }
    }

    #[test]
    fn segments_by_name() {
        assert_eq!("mean".parse(), Ok(Segment::Mean));
        assert_eq!("per-packet".parse(), Ok(Segment::PerPacket));
        assert_eq!("1000 B".parse(), Ok(Segment::Fixed(DataSize::from_bytes(1000))));
        for wrong in ["39 B", "64001 B", "median"] {
            assert!(wrong.parse::<Segment>().is_err(), "{wrong}");
        }
    }
}
