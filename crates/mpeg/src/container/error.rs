//! What can be wrong with an input, and with a replacement.

use std::fmt;

use seaway_units::Bitrate;

/// Why a stream cannot be shaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The input is none of the formats this crate reads.
    Foreign {
        /// What it is, with its article.
        what: &'static str,
    },
    /// A container without MPEG-1 or MPEG-2 video.
    NoVideo {
        /// What stands in it instead.
        found: String,
    },
    /// The video is scrambled: it can only be passed on.
    Scrambled,
    /// A replacement larger than the picture it replaces: there is no room for it.
    Grew {
        /// The picture, counted from 0 in coding order.
        picture: u64,
        /// Its size before, in bytes.
        before: usize,
        /// The size of the replacement, in bytes.
        after: usize,
    },
    /// A replacement where no picture waits for one.
    NotPending,
    /// A constant multiplex rate was asked for, and the stream has no clock to hold it against.
    NoClock,
    /// The constant multiplex rate cannot hold what is in the stream, or is above 1 Gbit/s.
    RateUnfit {
        /// The rate asked for.
        rate: Bitrate,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Foreign { what } => write!(f, "expected MPEG-1 or MPEG-2 video, the input is {what}"),
            Error::NoVideo { found } => write!(f, "expected MPEG-1 or MPEG-2 video, found {found}"),
            Error::Scrambled => f.write_str("the video is scrambled"),
            Error::Grew { picture, before, after } => {
                write!(f, "picture {picture} may not grow from {before} B to {after} B")
            }
            Error::NotPending => f.write_str("a replacement where no picture waits for one"),
            Error::NoClock => f.write_str("no program clock reference to hold a multiplex rate against"),
            Error::RateUnfit { rate } => {
                write!(f, "a multiplex rate of {rate} is not between what the stream needs and 1 Gbit/s")
            }
        }
    }
}

impl std::error::Error for Error {}
