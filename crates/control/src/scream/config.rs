//! What can be set of SCReAM.

use crate::info::FlowConfig;
use crate::options::{OptionInfo, Options, Switch};
use crate::spec::SpecError;
use seaway_units::{Ecn, TimeDelta};
use std::str::FromStr;

/// Everything that can be set of SCReAM; both halves must have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScreamConfig {
    /// Whose rules.
    pub version: Version,
    /// `QDELAY_TARGET_LO`, s.
    pub delay_target_low: f64,
    /// `QDELAY_TARGET_HI`, s.
    pub delay_target_high: f64,
    /// Raise the delay target against flows that fill queues (RFC 8298 section 4.1.2.1). Optional there, and off
    /// here: alone on a link the rule takes the flow's own queue for another's and raises the target to its top.
    pub competing: bool,
    /// Be gentler where delay jitters (version 2, optional there).
    pub jitter: bool,
    /// Let random loss pass while it is rare and without delay (version 2; optional in its draft, always so in the
    /// authors' code).
    pub loss_filter: bool,
    /// Bound the window below a rate policer (version 2, optional there).
    pub policer: bool,
    /// `MSS`, octets: the flow's largest packet (1000 in the RFC's and the draft's examples).
    pub segment: f64,
    /// Codepoint on its packets.
    pub ecn: Ecn,
}

/// Whose rules a flow follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 8298.
    One,
    /// draft-ietf-ccwg-rfc8298bis-screamv2.
    Two,
}

/// `MIN_CWND` and `MIN_REF_WND`, octets.
pub(super) const LEAST_WINDOW: f64 = 3000.0;
/// `RATE_PACE_MIN`, bit/s.
pub(super) const LEAST_PACE: f64 = 50e3;
/// The media rate is never computed below, bit/s (ours: from `TARGET_BITRATE_MIN` zero it could not grow).
pub(super) const LEAST_RATE: f64 = 10e3;
/// The round-trip time before the first sample, s.
pub(super) const FIRST_RTT: f64 = 0.025;

pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "version",
        default: "2",
        range: "1 or 2",
        about: "whose rules: RFC 8298, or its successor's draft with L4S",
    },
    OptionInfo {
        name: "delay_low",
        default: "60 ms (version 1: 100 ms)",
        range: "5 ms to 1 s",
        about: "queueing delay aimed at",
    },
    OptionInfo {
        name: "delay_high",
        default: "400 ms",
        range: "delay_low to 2 s",
        about: "the same against flows that fill queues (competing=on)",
    },
    OptionInfo {
        name: "competing",
        default: "off",
        range: "on or off",
        about: "raise the delay target against flows that fill queues",
    },
    OptionInfo {
        name: "jitter",
        default: "off",
        range: "on or off",
        about: "be gentler where delay jitters (version 2)",
    },
    OptionInfo {
        name: "loss_filter",
        default: "on",
        range: "on or off",
        about: "let loss pass while it is rare and comes without delay (version 2)",
    },
    OptionInfo {
        name: "policer",
        default: "off",
        range: "on or off",
        about: "stay below the rate at which a policer drops (version 2)",
    },
];

impl ScreamConfig {
    /// The version's defaults for a flow.
    pub fn new(version: Version, flow: FlowConfig) -> Self {
        let (delay_target_low, loss_filter) = match version {
            Version::One => (0.1, false),
            Version::Two => (0.06, true),
        };
        Self {
            version,
            delay_target_low,
            delay_target_high: 0.4,
            competing: false,
            jitter: false,
            loss_filter,
            policer: false,
            segment: flow.packet.as_bytes_f64().max(100.0),
            ecn: flow.ecn,
        }
    }

    pub(crate) fn from_options(options: &Options<'_>, flow: FlowConfig) -> Result<Self, SpecError> {
        let version = options.take("version")?.unwrap_or(Version::Two);
        let defaults = Self::new(version, flow);
        if version == Version::One {
            options.refuse(&["jitter", "loss_filter", "policer"], "does not apply to version=1")?;
        }
        let switch = |key, default| Ok(options.take::<Switch>(key)?.map_or(default, |switch| switch.0));
        let span = |key, least: f64, most: f64, default: f64| {
            let within = |span: &TimeDelta| (least..=most).contains(&span.as_secs_f64());
            Ok(options.take_if(key, within)?.map_or(default, TimeDelta::as_secs_f64))
        };
        let competing = switch("competing", defaults.competing)?;
        if !competing {
            options.refuse(&["delay_high"], "does not apply to competing=off")?;
        }
        let low = span("delay_low", 0.005, 1.0, defaults.delay_target_low)?;
        Ok(Self {
            delay_target_low: low,
            delay_target_high: span("delay_high", low, 2.0, defaults.delay_target_high.max(low))?,
            competing,
            jitter: switch("jitter", defaults.jitter)?,
            loss_filter: switch("loss_filter", defaults.loss_filter)?,
            policer: switch("policer", defaults.policer)?,
            ..defaults
        })
    }
}

impl FromStr for Version {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1" => Ok(Self::One),
            "2" => Ok(Self::Two),
            _ => Err("no such version"),
        }
    }
}
