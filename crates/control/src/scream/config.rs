//! Options of SCReAM.

use crate::info::FlowConfig;
use crate::options;
use crate::options::{OptionError, OptionTable, Value};
use seaway_units::{Ecn, TimeDelta};

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

impl ScreamConfig {
    pub(super) const OPTIONS: OptionTable<Self> = options! { |config: &mut ScreamConfig, value|
        "version" = "2", "1 or 2", "whose rules: RFC 8298, or its successor's draft with L4S":
            config.set_version(value.choose(&[("1", Version::One), ("2", Version::Two)])?);
        "delay_low" = "60 ms (version 1: 100 ms)", "5 ms to 1 s", "queueing delay aimed at": {
            let low = value.within(TimeDelta::from_millis(5)..=TimeDelta::from_secs(1))?.as_secs_f64();
            config.delay_target_low = low;
            config.delay_target_high = config.delay_target_high.max(low);
        };
        "competing" = "off", "on or off", "raise the delay target against flows that fill queues":
            config.competing = value.switch()?;
        "delay_high" = "400 ms", "delay_low to 2 s",
            "the same against flows that fill queues (competing=on)": {
            let low = TimeDelta::from_secs_f64(config.delay_target_low);
            config.delay_target_high = value
                .applies(config.competing, "competing=off")?
                .within(low..=TimeDelta::from_secs(2))?
                .as_secs_f64();
        };
        "jitter" = "off", "on or off", "be gentler where delay jitters (version 2)":
            config.jitter = config.only_version_2(value)?.switch()?;
        "loss_filter" = "on", "on or off",
            "let loss pass while it is rare and comes without delay (version 2)":
            config.loss_filter = config.only_version_2(value)?.switch()?;
        "policer" = "off", "on or off", "stay below the rate at which a policer drops (version 2)":
            config.policer = config.only_version_2(value)?.switch()?;
    };

    fn only_version_2<'a>(&self, value: Value<'a>) -> Result<Value<'a>, OptionError> {
        value.applies(self.version == Version::Two, "version=1")
    }

    /// The version and its defaults.
    const fn set_version(&mut self, version: Version) {
        self.version = version;
        (self.delay_target_low, self.loss_filter) = match version {
            Version::One => (0.1, false),
            Version::Two => (0.06, true),
        };
    }

    /// The version's defaults for a flow.
    pub fn new(version: Version, flow: FlowConfig) -> Self {
        let mut config = Self {
            version,
            delay_target_low: 0.0,
            delay_target_high: 0.4,
            competing: false,
            jitter: false,
            loss_filter: false,
            policer: false,
            segment: flow.packet.as_bytes_f64().max(100.0),
            ecn: flow.ecn,
        };
        config.set_version(version);
        config
    }
}
