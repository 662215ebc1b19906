//! The configuration of a remultiplexer.

use seaway_units::Bitrate;

/// The treatment of the room that smaller pictures leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplex {
    /// Keeps the multiplex rate: null packets or padding fill the room, and every other byte keeps its place.
    Keep,
    /// Closes the room, and drops the null packets of the input. Clock references keep their values, so the rate
    /// between two of them falls. In a transport stream a byte may come later than before, by less than the time
    /// between two references.
    Variable,
    /// Gives a transport stream this multiplex rate, counted in packets of 188 bytes, and restamps its clock
    /// references. The output lags the input by half a second. Other formats have no multiplex rate and are
    /// treated as with [`Multiplex::Variable`].
    Constant(Bitrate),
}

/// How a [`Remuxer`](super::Remuxer) works.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The treatment of the freed room; ignored for an elementary stream.
    pub multiplex: Multiplex,
    /// `program_number` of the programme whose video is shaped; `None` for the first with MPEG-1 or MPEG-2 video.
    pub program: Option<u16>,
    /// PID of the video of a transport stream, whatever its tables say; `None` for that of the programme by its tables.
    pub video_pid: Option<u16>,
    /// Bytes of input that may wait for replacements, approximately. Beyond it pictures are copied unchanged.
    pub memory: usize,
}

impl Default for Config {
    /// Keeps the multiplex rate, with 64 MiB.
    fn default() -> Config {
        Config { multiplex: Multiplex::Keep, program: None, video_pid: None, memory: 64 << 20 }
    }
}
