//! The configuration of a shaper.

use seaway_units::{Bitrate, TimeDelta};
use std::num::{NonZeroU16, NonZeroUsize};

/// The share of the input below which `auto` codes pictures in a closed loop.
const CLOSED_BELOW: f64 = 0.65;
/// The same where B pictures are few: then errors go through more pictures.
const CLOSED_BELOW_WITH_FEW_B: f64 = 0.92;
/// The same where macroblocks may be predicted from fields: their vectors take more of the bits, and an open loop keeps them all.
const CLOSED_BELOW_WITH_FIELDS: f64 = 0.75;
/// B pictures are few below this share of all: with one or none between two reference pictures.
const FEW_B: f64 = 0.55;
/// Both without a choice of motion, as for live streams: with none. A closed loop takes much more time.
const CLOSED_BELOW_WITHOUT_MOTION: f64 = 0.9;
const FEW_B_WITHOUT_MOTION: f64 = 0.3;

/// How the codes to drop are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Least distortion in the picture itself; errors of earlier pictures are ignored (S002, equations 2 to 8).
    Memoryless,
    /// Least distortion including the error that earlier pictures left (S002, equations 9 to 11). A prediction loop
    /// follows it.
    Causal,
    /// Every block keeps the same share of its bits (S002, 2.3).
    RateBased,
    /// Coarser quantiser scales, and levels by rate-distortion cost, picture by picture in an open loop; in a closed one with
    /// [`ClosedLoop::Always`].
    Requantize,
    /// Truncation with one slope over a window of pictures. Errors are weighted by how far they propagate along the
    /// motion vectors.
    Window,
    /// Trellis requantisation over a window of pictures: levels are lowered or dropped and scales made coarser. Errors
    /// are weighted as with [`Method::Window`]. At low rates a closed loop corrects the errors of earlier pictures.
    Auto,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("memoryless", Self::Memoryless),
        ("causal", Self::Causal),
        ("rate-based", Self::RateBased),
        ("requantize", Self::Requantize),
        ("window", Self::Window),
        ("auto", Self::Auto),
    ];

    /// True where one decision covers a window of pictures.
    pub fn looks_ahead(self) -> bool {
        matches!(self, Self::Window | Self::Auto)
    }

    /// True where it knows a closed loop, as [`Config::closed_loop`] says.
    pub fn may_close_the_loop(self) -> bool {
        matches!(self, Self::Requantize | Self::Auto)
    }
}

/// Which blocks share a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    /// `C(n)`: n consecutive macroblocks.
    Macroblocks(NonZeroU16),
    /// Each 8x8 block has its own.
    Block,
}

/// The size of the output. A target above the input leaves it unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A share of the bits of the input, 0 to 1.
    Ratio(f64),
    /// A rate over the display time of the pictures.
    Rate(Bitrate),
}

impl Default for Target {
    /// Leaves the input unchanged.
    fn default() -> Self {
        Self::Ratio(1.0)
    }
}

/// How methods that shape single pictures share out the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Budget {
    /// I pictures are cut less than the mean and B pictures more, because errors in I pictures propagate longest.
    #[default]
    ByKind,
    /// Every picture is cut by the same share (S002, 2.2).
    Proportional,
}

/// Whether `auto` and `requantize` code pictures in a closed loop: there each corrects the errors that earlier ones left, in many times the
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClosedLoop {
    /// By `auto` where much is gained: at low rates, and the earlier the fewer B pictures and the more vectors a stream has.
    #[default]
    WhereItGains,
    /// In no picture.
    Never,
    /// In every picture that loses bits, where it may be
    /// ([`Shaper::allow_closed_loop`](super::Shaper::allow_closed_loop)). Runs that overflow a bucket `auto` writes again in an open loop.
    Always,
}

impl ClosedLoop {
    /// All choices with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("auto", Self::WhereItGains), ("open", Self::Never), ("closed", Self::Always)];
}

/// What a target in bit/s promises beside its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// Depth of a leaky bucket, as the time in which the rate passes as many bits. No run of pictures carries more bits
    /// than the rate passes in its display time and the bucket holds. Where the rate changes within the run, the larger
    /// of the buckets counts.
    pub bucket: TimeDelta,
    /// Each second of video, counted from the last change of the target, carries the bits of a second and at most 3 %
    /// more. Bits that a second leaves are lost.
    pub even_seconds: bool,
}

impl Ceiling {
    /// The bucket where none is named: one second.
    pub const BUCKET: TimeDelta = TimeDelta::from_secs(1);
}

/// The treatment of `vbv_delay`, and in MPEG-1 of `bit_rate`, which describe the old rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vbv {
    /// Unchanged.
    Keep,
    /// Declares a variable rate (13818-2, C.3.2): the VBV fills at `bit_rate` whenever it is not full. No picture grows,
    /// so a stream without underflow stays without.
    Variable,
}

/// The configuration of a [`Shaper`](super::Shaper).
#[derive(Debug, Clone)]
pub struct Config {
    /// How the codes to drop are chosen.
    pub method: Method,
    /// Which blocks share a breakpoint; ignored by `auto` and `requantize`.
    pub cluster: Cluster,
    /// The target at the start.
    pub target: Target,
    /// How cuts are shared out; ignored by `window` and `auto`.
    pub budget: Budget,
    /// The ceiling of a target in bit/s; `None` holds the mean alone.
    pub ceiling: Option<Ceiling>,
    /// The most pictures of a window of `window` and `auto`; a window also ends before a GOP that would not fit.
    pub window: NonZeroUsize,
    /// How much video is read ahead of each picture by the methods of single pictures, where the target is a rate without a
    /// plan of the whole stream: a second then takes its bits however its sizes differ from those before, and the end is
    /// known in time. Zero reads none ahead.
    pub lookahead: TimeDelta,
    /// Whether pictures are coded in a closed loop.
    pub closed_loop: ClosedLoop,
    /// The closed loop of `auto` may choose other motion for macroblocks of B pictures, and of P pictures of whole frames, and which are intra:
    /// better pictures at low rates, in 1.5 to 6 times the time.
    pub new_motion: bool,
    /// Threads that parse, shape and write. With more than one every method shapes pictures in batches, and holds three
    /// of them ([`Shaper::delay`](super::Shaper::delay)).
    pub threads: NonZeroUsize,
    /// The treatment of the declared buffer.
    pub vbv: Vbv,
}

impl Config {
    /// `method` with the usual settings: clusters of one macroblock, or of one block for `window`; a window of 36
    /// pictures, which is three GOPs of 12 or two of 15 or 18; one thread; a declared variable rate.
    pub fn new(method: Method, target: Target) -> Self {
        Self {
            method,
            cluster: match method {
                Method::Window => Cluster::Block,
                _ => Cluster::Macroblocks(NonZeroU16::MIN),
            },
            target,
            budget: Budget::ByKind,
            ceiling: None,
            lookahead: TimeDelta::ZERO,
            window: const { NonZeroUsize::new(36).unwrap() },
            closed_loop: ClosedLoop::WhereItGains,
            new_motion: true,
            threads: NonZeroUsize::MIN,
            vbv: Vbv::Variable,
        }
    }

    /// True where a share of the input may be met with less error if a first pass over the whole stream shares out its bits: by `auto`. Where
    /// the pass costs more time than it is worth, its first groups show that ([`FirstPass::is_needless`](crate::pipeline::FirstPass::is_needless)).
    pub fn gains_from_plan(&self) -> bool {
        self.method == Method::Auto && matches!(self.target, Target::Ratio(ratio) if ratio < 1.0)
    }

    /// The same without other motion.
    pub(crate) fn without_new_motion(&self) -> Config {
        Config { new_motion: false, ..self.clone() }
    }

    /// The share of the input below which a closed loop gains much, where so many pictures are B pictures, and where any may be predicted
    /// from fields.
    pub(crate) fn closed_below(&self, share_of_b: f64, with_fields: bool) -> f64 {
        let (few, closed_below) = match self.new_motion {
            true => (FEW_B, CLOSED_BELOW_WITH_FEW_B),
            false => (FEW_B_WITHOUT_MOTION, CLOSED_BELOW_WITHOUT_MOTION),
        };
        if share_of_b < few {
            closed_below
        } else if with_fields && self.new_motion {
            CLOSED_BELOW_WITH_FIELDS
        } else {
            CLOSED_BELOW
        }
    }

    /// The most pictures that are shaped together.
    pub(crate) fn batch(&self) -> usize {
        match (self.method.looks_ahead(), self.threads.get()) {
            _ if self.method == Method::Causal => 1,
            _ if self.method == Method::Requantize && self.closed_loop == ClosedLoop::Always => 1,
            _ if self.method == Method::Requantize => REQUANTIZE_BATCH,
            (true, _) => self.window.get(),
            (false, 1) => 1,
            (false, threads) => 4 * threads,
        }
    }
}

/// The batch of `requantize` in an open loop, whatever the number of threads.
const REQUANTIZE_BATCH: usize = 8;
