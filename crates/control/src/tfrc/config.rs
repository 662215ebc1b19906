//! What can be set of TFRC.

use super::equation::{Equation, RetransmitTimeout, TimeoutEstimator};
use crate::estimators::{ArrivalRate, Scheme};
use crate::info::FlowConfig;
use crate::options::{OptionInfo, Options, Switch, join_options};
use crate::spec::SpecError;
use seaway_units::{DataSize, Ecn};
use std::str::FromStr;

/// Everything that can be set of one TFRC connection; both halves must have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Whose rules.
    pub profile: Profile,
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

pub(crate) const CONNECTION_OPTIONS: [OptionInfo; 11] = [
    OptionInfo {
        name: "profile",
        default: "rfc5348",
        range: "rfc5348 or rfc3448; ns2 for tfrc",
        about: "whose rules the connection follows",
    },
    OptionInfo {
        name: "equation",
        default: "full",
        range: "full, simple (k = 1.5) or simple(k) with k from 0.1 to 10",
        about: "the throughput equation",
    },
    OptionInfo {
        name: "t_rto",
        default: "4R",
        range: "4R, floor (4R, at least 1 s), coarse (ns-2's ticks of 0.1 s) or a time from 1 ms to 64 s",
        about: "the equation's retransmission timeout",
    },
    OptionInfo {
        name: "clamp",
        default: "off",
        range: "on or off",
        about: "limit the equation's factor 3 sqrt(3bp/8) to 1, as Padhye prints it (padhye_min_clamp)",
    },
    OptionInfo {
        name: "segment",
        default: "mean",
        range: "mean, per-packet or a size from 40 B to 64 kB",
        about: "the equation's segment size; per-packet spaces packets evenly whatever their size (S003)",
    },
    OptionInfo {
        name: "sp",
        default: "off",
        range: "on or off",
        about: "TFRC-SP for small packets (RFC 4828)",
    },
    OptionInfo {
        name: "damping",
        default: "on",
        range: "on or off",
        about: "oscillation reduction by the square root of the round-trip time",
    },
    OptionInfo {
        name: "discounting",
        default: "on",
        range: "on or off",
        about: "history discounting of old loss intervals",
    },
    OptionInfo {
        name: "loss",
        default: "receiver",
        range: "receiver or sender",
        about: "which side computes the loss event rate; a peer that sends none leaves it to the sender",
    },
    OptionInfo {
        name: "discriminate",
        default: "off",
        range: "off, biaz, mbiaz, spike, vtp, zigzag, zbs, trend or oracle",
        about: "leave out losses that this scheme takes for the channel's; the oracle is told by the simulator's links",
    },
    OptionInfo {
        name: "credit",
        default: "1 for rfc5348, 0 for rfc3448",
        range: "0 to 1",
        about: "unused sending slots that may be made up for, in round-trip times",
    },
];

const COUNT: OptionInfo = OptionInfo {
    name: "count",
    default: "1",
    range: "1 to 64",
    about: "parallel connections, each a whole TFRC (S003)",
};

pub(super) const OPTIONS: [OptionInfo; 12] = join_options(CONNECTION_OPTIONS, [COUNT]);

impl Config {
    /// The profile's defaults for a flow.
    pub const fn new(profile: Profile, flow: FlowConfig) -> Self {
        Self {
            profile,
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

    pub(crate) fn from_options(options: &Options<'_>, flow: FlowConfig) -> Result<Self, SpecError> {
        Self::of_profile(options.take("profile")?.unwrap_or(Profile::Rfc5348), options, flow)
    }

    /// The other options, over the defaults of `profile`.
    pub(super) fn of_profile(
        profile: Profile,
        options: &Options<'_>,
        flow: FlowConfig,
    ) -> Result<Self, SpecError> {
        let defaults = Self::new(profile, flow);
        let switch = |key, default| Ok(options.take::<Switch>(key)?.map_or(default, |switch| switch.0));
        let clamp = switch("clamp", false)?;
        let equation = match options.take("equation")?.unwrap_or(defaults.equation) {
            Equation::Full { .. } => Equation::Full { clamp },
            other => {
                // It has no timeout.
                options.refuse(&["clamp", "t_rto"], "does not apply to equation=simple")?;
                other
            }
        };
        if switch("sp", false)? {
            // RFC 4828 has a segment and a spacing of its own.
            options.refuse(&["segment", "credit"], "does not apply to sp=on")?;
        }
        Ok(Self {
            equation,
            retransmit_timeout: options.take("t_rto")?.unwrap_or(defaults.retransmit_timeout),
            segment: options.take("segment")?.unwrap_or(defaults.segment),
            small_packets: switch("sp", defaults.small_packets)?,
            damping: switch("damping", defaults.damping)?,
            discounting: switch("discounting", defaults.discounting)?,
            loss: options.take("loss")?.unwrap_or(defaults.loss),
            discriminate: match options.take::<String>("discriminate")?.as_deref() {
                None | Some("off") => None,
                Some(_) => options.take("discriminate")?,
            },
            credit: options
                .take_if("credit", |credit| (0.0..=1.0).contains(credit))?
                .unwrap_or(defaults.credit),
            ..defaults
        })
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

impl FromStr for Profile {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "rfc5348" => Ok(Self::Rfc5348),
            "rfc3448" => Ok(Self::Rfc3448),
            _ => Err("no such profile"),
        }
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

impl FromStr for LossSide {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "receiver" => Ok(Self::Receiver),
            "sender" => Ok(Self::Sender),
            _ => Err("no such side"),
        }
    }
}
