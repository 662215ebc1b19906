//! Options of Google congestion control.

use super::loss_based::LossBasedConfig;
use crate::info::FlowConfig;
use crate::options;
use crate::options::{OptionError, OptionTable, Value};
use seaway_units::DataSize;

/// Everything that can be set of GCC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GccConfig {
    /// Whose rules.
    pub variant: Variant,
    /// The draft's detector compares its estimate times the groups seen, 60 at most, with the threshold, as
    /// libwebrtc did. Literally the threshold of 6 ms at least would need 6 ms of growth in each group.
    pub kalman_gain60: bool,
    /// Send probes, where the variant has them.
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
    /// The time above the threshold suffices (draft section 4.4); libwebrtc also requires two samples there.
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

impl GccConfig {
    pub(super) const OPTIONS: OptionTable<Self> = options! { |config: &mut GccConfig, value|
        "variant" = "current", "current or draft",
            "whose rules: libwebrtc's of January 2026, or draft-ietf-rmcat-gcc-02":
            config.variant = value.choose(&[("current", Variant::Current), ("draft", Variant::Draft)])?;
        "probing" = "on", "on or off", "send probes (current)":
            config.probing = config.only_current(value)?.switch()?;
        "loss" = "2026", "2026 or 2024", "constants of the loss based estimator by year (current)":
            config.loss_based = config.only_current(value)?.choose(&[
                ("2026", LossBasedConfig::JANUARY_2026),
                ("2024", LossBasedConfig::YEAR_2024),
            ])?;
        "tolerate" = "0.05", "0.05 to 0.3", "loss that a path may have of its own (current)":
            config.loss_based.tolerated_loss = config.only_current(value)?.within(0.05..=0.3)?;
        "kalman" = "gain60", "gain60 or literal",
            "compare the filter's estimate times the groups seen, 60 at most, or itself (draft)":
            config.kalman_gain60 = value
                .applies(config.variant == Variant::Draft, "variant=current")?
                .choose(&[("gain60", true), ("literal", false)])?;
    };

    fn only_current<'a>(&self, value: Value<'a>) -> Result<Value<'a>, OptionError> {
        value.applies(self.variant == Variant::Current, "variant=draft")
    }

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
}
