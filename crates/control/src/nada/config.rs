//! What can be set of NADA, and its constants (RFC 8698 Table 2).

use crate::info::FlowConfig;
use crate::options::{OptionInfo, Options, Switch, feedback_interval};
use crate::spec::SpecError;
use seaway_units::{Ecn, TimeDelta};
use std::str::FromStr;

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
/// `RMAX` where nobody said what the encoders could use (RFC 8698 Table 2), bit/s.
pub(super) const UNKNOWN_MAX: f64 = 3e6;
/// The reference rate never falls below, bit/s: at zero nothing would be sent, nor ever learnt (ours; RFC 8698's
/// `RMIN` may be zero).
pub(super) const LEAST_RATE: f64 = 10e3;

pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "variant",
        default: "rfc8698",
        range: "rfc8698 or draft",
        about: "whose rules: the RFC, or the draft as ns3-rmcat and S004 ran it",
    },
    OptionInfo {
        name: "side",
        default: "receiver (draft: always sender)",
        range: "receiver or sender",
        about: "where congestion signals are aggregated; a peer that reports none leaves it to the sender",
    },
    OptionInfo {
        name: "prio",
        default: "1",
        range: "0.01 to 100",
        about: "weight of the flow against others",
    },
    OptionInfo { name: "xref", default: "10 ms", range: "1 ms to 1 s", about: "reference congestion level" },
    OptionInfo {
        name: "qth",
        default: "50 ms",
        range: "1 ms to 10 s",
        about: "queueing delay above which delay is warped while losses are seen; more on noisy paths",
    },
    OptionInfo {
        name: "xmax",
        default: "500 ms",
        range: "50 ms to 3277 ms, the RFC's field",
        about: "bound on the congestion signal",
    },
    OptionInfo {
        name: "ploss_clock",
        default: "report",
        range: "report or packet",
        about: "when loss and mark ratios are smoothed (draft: always report)",
    },
    OptionInfo {
        name: "expiry",
        default: "on",
        range: "on or off",
        about: "off: the open loss interval counts in the mean (RFC 5348), and delay is warped ever after (draft: always)",
    },
    feedback_interval("100 ms"),
];

impl NadaConfig {
    /// The RFC's defaults for a flow.
    pub const fn new(variant: Variant, flow: FlowConfig) -> Self {
        Self {
            variant,
            side: match variant {
                Variant::Rfc8698 => Side::Receiver,
                Variant::Draft => Side::Sender,
            },
            ratio_clock: RatioClock::Report,
            expiry: true,
            priority: 1.0,
            reference_delay: 10.0,
            warp_threshold: 50.0,
            ceiling: 500.0,
            interval: INTERVAL,
            ecn: match variant {
                Variant::Rfc8698 => flow.ecn,
                // It does not answer marks.
                Variant::Draft => Ecn::NotEct,
            },
        }
    }

    pub(crate) fn from_options(options: &Options<'_>, flow: FlowConfig) -> Result<Self, SpecError> {
        let defaults = Self::new(options.take("variant")?.unwrap_or(Variant::Rfc8698), flow);
        if defaults.variant == Variant::Draft {
            options.refuse(&["side", "ploss_clock", "expiry"], "does not apply to variant=draft")?;
        }
        let millis = |key, least, most| {
            let within = move |span: &TimeDelta| (least..=most).contains(&span.as_millis());
            Ok(options.take_if(key, within)?.map(TimeDelta::as_millis_f64))
        };
        Ok(Self {
            side: options.take("side")?.unwrap_or(defaults.side),
            ratio_clock: options.take("ploss_clock")?.unwrap_or(defaults.ratio_clock),
            expiry: options.take("expiry")?.map_or(defaults.expiry, |Switch(expiry)| expiry),
            priority: options
                .take_if("prio", |weight| (0.01..=100.0).contains(weight))?
                .unwrap_or(defaults.priority),
            reference_delay: millis("xref", 1, 1000)?.unwrap_or(defaults.reference_delay),
            warp_threshold: millis("qth", 1, 10_000)?.unwrap_or(defaults.warp_threshold),
            ceiling: millis("xmax", 50, 3277)?.unwrap_or(defaults.ceiling),
            interval: options.feedback_interval()?.unwrap_or(defaults.interval),
            ..defaults
        })
    }
}

impl FromStr for Variant {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "rfc8698" => Ok(Self::Rfc8698),
            "draft" => Ok(Self::Draft),
            _ => Err("no such variant"),
        }
    }
}

impl FromStr for Side {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "receiver" => Ok(Self::Receiver),
            "sender" => Ok(Self::Sender),
            _ => Err("no such side"),
        }
    }
}

impl FromStr for RatioClock {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "report" => Ok(Self::Report),
            "packet" => Ok(Self::Packet),
            _ => Err("no such clock"),
        }
    }
}
