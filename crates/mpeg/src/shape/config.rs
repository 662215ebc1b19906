//! What is asked of a shaper.

use super::requantize;
use seaway_units::Bitrate;
use std::num::{NonZeroU16, NonZeroUsize};

/// How the codes to drop are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Least distortion in the picture itself, past errors left out (S002, equations 2 to 8).
    Memoryless,
    /// Least distortion with the error that past pictures have left (S002, equations 9 to 11); two decoders run
    /// along.
    Causal,
    /// Every block keeps the same share of its bits (S002, 2.3).
    RateBased,
    /// Coarser quantiser scales, open loop.
    Requantize,
    /// One slope over a window of pictures; errors in pictures that others are predicted from weigh more.
    Window,
    /// Levels lowered and dropped, and scales made coarser, whatever gives the best picture for the rate; errors
    /// weigh as far as they spread along the vectors.
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
}

/// Which blocks share a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    /// `C(n)`: so many macroblocks in a row.
    Macroblocks(NonZeroU16),
    /// Each 8x8 block has its own.
    Block,
}

/// How much may come out. A target above the input leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A share of the input's bits, 0 to 1.
    Ratio(f64),
    /// A rate, reckoned by the pictures' display time.
    Rate(Bitrate),
}

/// What becomes of `vbv_delay`, and in MPEG-1 of `bit_rate`, which describe the old rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vbv {
    /// Left as they are.
    Keep,
    /// Declared variable (13818-2, C.3.2): the VBV fills at `bit_rate` whenever it is not full. No picture grows,
    /// so a stream that kept its buffer from underflow still does.
    Variable,
}

/// Everything a [`crate::shape::Shaper`] needs to know before it begins.
#[derive(Debug, Clone)]
pub struct Config {
    /// How to choose.
    pub method: Method,
    /// Which blocks share a breakpoint; `auto` has none.
    pub cluster: Cluster,
    /// The target to begin with.
    pub target: Target,
    /// Pictures that `window` and `auto` decide together, at most; a decision also ends before a group of pictures.
    pub window: NonZeroUsize,
    /// Threads that parse, decide and write. More than one makes `memoryless` and its like wait for a batch of pictures,
    /// and every method for three batches ([`Shaper::delay`](super::Shaper::delay)).
    pub threads: NonZeroUsize,
    /// What to do with the declared buffer.
    pub vbv: Vbv,
}

impl Config {
    /// `method` with its customary settings: one macroblock a cluster, except one block for `window`; a window
    /// of 36 pictures, three groups of 12 or two of 15 or 18; one thread; a declared variable rate.
    pub fn new(method: Method, target: Target) -> Self {
        Self {
            method,
            cluster: match method {
                Method::Window => Cluster::Block,
                _ => Cluster::Macroblocks(NonZeroU16::MIN),
            },
            target,
            window: const { NonZeroUsize::new(36).unwrap() },
            threads: NonZeroUsize::MIN,
            vbv: Vbv::Variable,
        }
    }

    /// How many pictures are decided together at most.
    pub(crate) fn batch(&self) -> usize {
        match (self.method.looks_ahead(), self.threads.get()) {
            _ if self.method == Method::Causal => 1,
            _ if self.method == Method::Requantize => requantize::BATCH,
            (true, _) => self.window.get(),
            (false, 1) => 1,
            (false, threads) => 4 * threads,
        }
    }
}
