//! Errors of a remultiplexer.

use seaway_units::Bitrate;

/// Why a stream cannot be shaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input is of another format.
    #[error("expected MPEG-1 or MPEG-2 video, the input is {what}")]
    NotMpeg {
        /// Its name, with an article.
        what: &'static str,
    },
    /// The container is known, but not in this form.
    #[error("{what} cannot be shaped")]
    Unsupported {
        /// Its name and what stands against it.
        what: &'static str,
    },
    /// The container has no MPEG-1 or MPEG-2 video.
    #[error("expected MPEG-1 or MPEG-2 video, found {found}")]
    NoVideo {
        /// Its content.
        found: String,
    },
    /// The video is scrambled.
    #[error("the video is scrambled")]
    Scrambled,
    /// A replacement is larger than its picture, so there is no room for it.
    #[error("picture {picture} may not grow from {before} B to {after} B")]
    Grew {
        /// The picture, counted from 0 in coding order.
        picture: u64,
        /// Its size before, in bytes.
        before: usize,
        /// The size of the replacement, in bytes.
        after: usize,
    },
    /// A replacement came, but every picture has one.
    #[error("no picture waits for a replacement")]
    NotPending,
    /// A constant multiplex rate needs clock references, and the stream has none.
    #[error("no program clock reference to hold a multiplex rate against")]
    NoPcr,
    /// The constant multiplex rate is too low for the stream, or above 1 Gbit/s.
    #[error("a multiplex rate of {rate} is not between what the stream needs and 1 Gbit/s")]
    MultiplexRate {
        /// The rate asked for.
        rate: Bitrate,
    },
}
