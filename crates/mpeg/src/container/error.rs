//! Errors of a remultiplexer.

use std::fmt;

use seaway_units::Bitrate;

/// Why a stream cannot be shaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The input is of another format.
    NotMpeg {
        /// What it is, with its article.
        what: &'static str,
    },
    /// The container has no MPEG-1 or MPEG-2 video.
    NoVideo {
        /// What it has instead.
        found: String,
    },
    /// The video is scrambled.
    Scrambled,
    /// A replacement is larger than its picture, so there is no room for it.
    Grew {
        /// The picture, counted from 0 in coding order.
        picture: u64,
        /// Its size before, in bytes.
        before: usize,
        /// The size of the replacement, in bytes.
        after: usize,
    },
    /// A replacement came, but every picture has one.
    NotPending,
    /// A constant multiplex rate needs clock references, and the stream has none.
    NoPcr,
    /// The constant multiplex rate is too low for the stream, or above 1 Gbit/s.
    MultiplexRate {
        /// The rate asked for.
        rate: Bitrate,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotMpeg { what } => write!(f, "expected MPEG-1 or MPEG-2 video, the input is {what}"),
            Error::NoVideo { found } => write!(f, "expected MPEG-1 or MPEG-2 video, found {found}"),
            Error::Scrambled => f.write_str("the video is scrambled"),
            Error::Grew { picture, before, after } => {
                write!(f, "picture {picture} may not grow from {before} B to {after} B")
            }
            Error::NotPending => f.write_str("no picture waits for a replacement"),
            Error::NoPcr => f.write_str("no program clock reference to hold a multiplex rate against"),
            Error::MultiplexRate { rate } => {
                write!(f, "a multiplex rate of {rate} is not between what the stream needs and 1 Gbit/s")
            }
        }
    }
}

impl std::error::Error for Error {}
