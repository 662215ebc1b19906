//! Options of NADA, and its constants (RFC 8698 Table 2).

use crate::info::FlowConfig;
use crate::options;
use crate::options::{OptionError, OptionTable, Value};
use seaway_units::{Ecn, TimeDelta};

/// Everything that can be set of NADA; both halves must have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NadaConfig {
    /// Whose rules.
    pub variant: Variant,
    /// Which side aggregates the congestion signals.
    pub side: Side,
    /// When the loss and mark ratios are smoothed.
    pub ratio_clock: RatioClock,
    /// Losses expire. RFC 8698 takes its mean loss interval from RFC 5348 section 5.4, which counts the open interval where
    /// that makes the mean longer: seven times such a mean is always ahead of what must pass, and warping never ends.
    pub expiry: bool,
    /// `PRIO`: weight of the flow, above zero.
    pub priority: f64,
    /// `XREF`: reference congestion level, ms, above zero.
    pub reference_delay: f64,
    /// `QTH`: from this queueing delay on, ms, delay is warped while losses are seen. RFC 8698 section 4.2 has it
    /// raised on paths with noisy delay.
    pub warp_threshold: f64,
    /// `XMAX`: the congestion signal counts for no more, ms. RFC 8698 has no bound but its field of 3276.7 ms, and
    /// then a burst of loss has the signal fall by hundreds of ms a report for seconds, each fall raising the
    /// rate through the change term: at a narrowed link it cycles between its limits. ns3-rmcat has 500 ms.
    pub ceiling: f64,
    /// `DELTA`: target interval of feedback. RFC 8698 section 5.3 keeps it below 250 ms, for stability.
    pub interval: TimeDelta,
    /// Codepoint on its packets.
    pub ecn: Ecn,
}

/// Whose rules a flow follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// RFC 8698.
    Rfc8698,
    /// The draft's fifth version as the ns-3 module ns3-rmcat runs it, and with it the simulations of S004.
    Draft,
}

/// Where the congestion signals are aggregated (RFC 8698 section 4.2: at the receiver; section 6.1 allows both).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At the receiver, which reports 48 bits.
    Receiver,
    /// At the sender, from the fate of each packet.
    Sender,
}

/// When the loss and mark ratios are smoothed; RFC 8698 gives equation 10 no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioClock {
    /// Once a report, as ns3-rmcat does.
    Report,
    /// With each packet.
    Packet,
}

/// `KAPPA`: scaling of the gradual update.
pub(super) const GAIN: f64 = 0.5;
/// `ETA`: weight of a change of the signal against its offset.
pub(super) const CHANGE_GAIN: f64 = 2.0;
/// `TAU`: upper bound of the round-trip time, ms.
pub(super) const LONGEST_RTT: f64 = 500.0;
/// `DELTA` where it is not given.
pub(super) const INTERVAL: TimeDelta = TimeDelta::from_millis(100);
const MS: TimeDelta = TimeDelta::from_millis(1);
/// `LOGWIN`: observation window.
pub(super) const WINDOW: TimeDelta = TimeDelta::from_millis(500);
/// `QEPS`: delay build-up that ends accelerated ramp-up, ms.
pub(super) const BUILD_UP: f64 = 10.0;
/// `DFILT`: bound on the delay of filtering, ms.
pub(super) const FILTER_DELAY: f64 = 120.0;
/// `GAMMA_MAX`: largest step of accelerated ramp-up.
pub(super) const LARGEST_STEP: f64 = 0.5;
/// `QBOUND`: bound on the queueing delay that ramp-up inflicts on itself, ms.
pub(super) const SELF_INFLICTED: f64 = 50.0;
/// `MULTILOSS`: so many mean loss intervals without a loss, and losses have expired.
pub(super) const LOSS_EXPIRY: f64 = 7.0;
/// `LAMBDA`: exponent of the warping.
pub(super) const WARP_EXPONENT: f64 = 0.5;
/// `PLRREF` and `PMRREF`: loss and mark ratio at which the penalties below are paid.
pub(super) const REFERENCE_RATIO: f64 = 0.01;
/// `DLOSS`, ms.
pub(super) const LOSS_PENALTY: f64 = 10.0;
/// `DMARK`, ms.
pub(super) const MARK_PENALTY: f64 = 2.0;
/// `FPS`: frames a second assumed in rate shaping.
pub(super) const FRAME_RATE: f64 = 30.0;
/// `BETA_S` and `BETA_V`: how strongly a backlog raises the sending rate and lowers the encoder's.
pub(super) const SHAPING: f64 = 0.1;
/// Rate shaping moves neither rate by more (RFC 8698 section 5.2.2).
pub(super) const SHAPING_BOUND: f64 = 0.05;
/// `ALPHA`: smoothing of the loss and mark ratios.
pub(super) const RATIO_GAIN: f64 = 0.1;
/// Taps of the minimum filter on delays and round-trip times (RFC 8698 section 5.1.1).
pub(super) const TAPS: usize = 15;
/// `RMAX` where the limits are unknown (RFC 8698 Table 2), bit/s.
pub(super) const UNKNOWN_MAX: f64 = 3e6;
/// The reference rate never falls below, bit/s: at zero nothing would be sent, nor ever learnt (ours; RFC 8698's
/// `RMIN` may be zero).
pub(super) const LEAST_RATE: f64 = 10e3;

impl NadaConfig {
    pub(super) const OPTIONS: OptionTable<Self> = options! { |config: &mut NadaConfig, value|
        "variant" = "rfc8698", "rfc8698 or draft",
            "whose rules: the RFC, or the draft as ns3-rmcat and S004 ran it":
            *config = value.choose(&[("rfc8698", *config), ("draft", config.draft())])?;
        "side" = "receiver (draft: always sender)", "receiver or sender",
            "where congestion signals are aggregated; a peer that reports none leaves it to the sender":
            config.side = config
                .only_rfc(value)?
                .choose(&[("receiver", Side::Receiver), ("sender", Side::Sender)])?;
        "prio" = "1", "0.01 to 100", "weight of the flow against others":
            config.priority = value.within(0.01..=100.0)?;
        "xref" = "10 ms", "1 ms to 1 s", "reference congestion level":
            config.reference_delay = value.within(MS..=MS * 1000)?.as_millis_f64();
        "qth" = "50 ms", "1 ms to 10 s",
            "queueing delay above which delay is warped while losses are seen; more on noisy paths":
            config.warp_threshold = value.within(MS..=MS * 10_000)?.as_millis_f64();
        "xmax" = "500 ms", "50 ms to 3277 ms, the RFC's field", "bound on the congestion signal":
            config.ceiling = value.within(MS * 50..=MS * 3277)?.as_millis_f64();
        "ploss_clock" = "report", "report or packet",
            "when loss and mark ratios are smoothed (draft: always report)":
            config.ratio_clock = config
                .only_rfc(value)?
                .choose(&[("report", RatioClock::Report), ("packet", RatioClock::Packet)])?;
        "expiry" = "on", "on or off",
            "off: the open loss interval counts in the mean (RFC 5348), and delay is warped ever after (draft: always)":
            config.expiry = config.only_rfc(value)?.switch()?;
    };

    fn only_rfc<'a>(&self, value: Value<'a>) -> Result<Value<'a>, OptionError> {
        value.applies(self.variant == Variant::Rfc8698, "variant=draft")
    }

    /// The same flow under the draft: the sender aggregates, and there is no response to marks.
    const fn draft(self) -> Self {
        Self { variant: Variant::Draft, side: Side::Sender, ecn: Ecn::NotEct, ..self }
    }

    /// The queue that a flow lets stand at `RMAX`.
    pub(super) const fn stands(&self) -> TimeDelta {
        TimeDelta::from_micros((1e3 * self.priority * self.reference_delay) as i64)
    }

    /// The variant's defaults for a flow.
    pub const fn new(variant: Variant, flow: FlowConfig) -> Self {
        let rfc = Self {
            variant: Variant::Rfc8698,
            side: Side::Receiver,
            ratio_clock: RatioClock::Report,
            expiry: true,
            priority: 1.0,
            reference_delay: 10.0,
            warp_threshold: 50.0,
            ceiling: 500.0,
            interval: INTERVAL,
            ecn: flow.ecn,
        };
        match variant {
            Variant::Rfc8698 => rfc,
            Variant::Draft => rfc.draft(),
        }
    }
}
