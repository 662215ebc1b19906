//! What can be set of Google congestion control.

use super::loss_based::LossBasedConfig;
use crate::info::FlowConfig;
use crate::options::{OptionInfo, Options, Switch, feedback_interval};
use crate::spec::SpecError;
use seaway_units::DataSize;
use std::str::FromStr;

/// Everything that can be set of GCC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GccConfig {
    /// Whose rules.
    pub variant: Variant,
    /// The draft's detector compares its estimate times the groups seen, 60 at most, with the threshold, as
    /// libwebrtc did. Literally the threshold of 6 ms at least would need 6 ms of growth in each group.
    pub kalman_gain60: bool,
    /// Ask for probes, where the variant has them.
    pub probing: bool,
    /// The loss based estimator's constants, where the variant has it.
    pub loss_based: LossBasedConfig,
    /// Largest packet of the flow.
    pub packet: DataSize,
}

/// Whose rules a flow follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// libwebrtc's of January 2026: trendline, loss based estimator version 2, probing, application-limited
    /// regions.
    Current,
    /// draft-ietf-rmcat-gcc-02: Kalman filter and a loss controller.
    Draft,
}

/// How fast the threshold of over-use follows the signal, each ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThresholdGains {
    /// While the signal is above it.
    pub(super) above: f64,
    /// While the signal is below it.
    pub(super) below: f64,
    /// A longer pause counts for this, ms.
    pub(super) longest_step: f64,
    /// The time above the threshold suffices (draft section 4.4); libwebrtc also wants two readings there.
    pub(super) at_once: bool,
}

impl ThresholdGains {
    /// `K_u` and `K_d` (draft section 4.4).
    pub(super) const DRAFT: Self =
        Self { above: 0.01, below: 0.00018, longest_step: f64::INFINITY, at_once: true };
    /// libwebrtc's: the larger of the two is the other one.
    pub(super) const LIBWEBRTC: Self =
        Self { above: 0.0087, below: 0.039, longest_step: 100.0, at_once: false };
}

/// The signal stays above the threshold for so long before it is over-use (`overuse_time_th`), ms.
pub(super) const OVERUSE_TIME: f64 = 10.0;
/// `beta`: of the rate that arrived, what is kept at over-use.
pub(super) const DECREASE: f64 = 0.85;
/// Factor of the multiplicative increase in a second.
pub(super) const INCREASE: f64 = 1.08;
/// Frames a second assumed in the additive increase.
pub(super) const FRAME_RATE: f64 = 30.0;
/// Bits of a packet assumed there.
pub(super) const PACKET_BITS: f64 = 9600.0;
/// What a round-trip time is lengthened by to be the time of response, ms.
pub(super) const RESPONSE_TIME: f64 = 100.0;
/// The least step of a multiplicative increase, bit/s.
pub(super) const LEAST_INCREASE: f64 = 1000.0;
/// The estimate stays below so many times the rate that arrives,
pub(super) const HEADROOM: f64 = 1.5;
/// and never falls below, bit/s (libwebrtc).
pub(super) const LEAST_RATE: f64 = 5000.0;

pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "variant",
        default: "current",
        range: "current or draft",
        about: "whose rules: libwebrtc's of January 2026, or draft-ietf-rmcat-gcc-02",
    },
    OptionInfo { name: "probing", default: "on", range: "on or off", about: "ask for probes (current)" },
    OptionInfo {
        name: "loss",
        default: "2026",
        range: "2026 or 2024",
        about: "constants of the loss based estimator by year (current)",
    },
    OptionInfo {
        name: "tolerate",
        default: "0.05",
        range: "0.05 to 0.3",
        about: "loss that a path may have of its own (current)",
    },
    OptionInfo {
        name: "kalman",
        default: "gain60",
        range: "gain60 or literal",
        about: "compare the filter's estimate times the groups seen, 60 at most, or itself (draft)",
    },
    feedback_interval("50 ms"),
];

impl GccConfig {
    /// The defaults for a flow.
    pub const fn new(variant: Variant, flow: FlowConfig) -> Self {
        Self {
            variant,
            kalman_gain60: true,
            probing: true,
            loss_based: LossBasedConfig::JANUARY_2026,
            packet: flow.packet,
        }
    }

    pub(crate) fn from_options(options: &Options<'_>, flow: FlowConfig) -> Result<Self, SpecError> {
        let variant = options.take("variant")?.unwrap_or(Variant::Current);
        let defaults = Self::new(variant, flow);
        match variant {
            Variant::Current => options.refuse(&["kalman"], "does not apply to variant=current")?,
            Variant::Draft => {
                options.refuse(&["probing", "loss", "tolerate"], "does not apply to variant=draft")?;
            }
        }
        let kalman = options.take_if("kalman", |form: &String| form == "gain60" || form == "literal")?;
        let year = options.take_if("loss", |year: &u16| *year == 2026 || *year == 2024)?;
        let tolerated = options.take_if("tolerate", |loss: &f64| (0.05..=0.3).contains(loss))?;
        let loss_based =
            if year == Some(2024) { LossBasedConfig::YEAR_2024 } else { LossBasedConfig::JANUARY_2026 };
        Ok(Self {
            kalman_gain60: kalman.is_none_or(|form| form == "gain60"),
            probing: options.take::<Switch>("probing")?.map_or(defaults.probing, |switch| switch.0),
            loss_based: LossBasedConfig {
                tolerated_loss: tolerated.unwrap_or(loss_based.tolerated_loss),
                ..loss_based
            },
            ..defaults
        })
    }
}

impl FromStr for Variant {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "current" => Ok(Self::Current),
            "draft" => Ok(Self::Draft),
            _ => Err("no such variant"),
        }
    }
}
