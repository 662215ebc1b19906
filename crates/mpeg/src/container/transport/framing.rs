//! How the packets of a transport stream are framed on disk, and the probe for it.

/// Bytes of a transport packet.
pub(super) const PACKET: usize = 188;

pub(super) const SYNC: u8 = 0x47;

/// Sync bytes in a row that identify a transport stream.
const SYNC_RUN: usize = 5;

/// What surrounds each transport packet of 188 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Nothing.
    Plain,
    /// Four bytes before it with the arrival time, 27 MHz in 30 bits (BDAV, M2TS).
    ArrivalTime,
    /// Sixteen bytes after it, the Reed-Solomon parity of EN 300 429 or filler.
    Parity,
}

impl Framing {
    /// Every framing, the usual one first.
    pub const ALL: [Framing; 3] = [Framing::Plain, Framing::ArrivalTime, Framing::Parity];

    /// Bytes from one packet to the next.
    pub fn stride(self) -> usize {
        match self {
            Framing::Plain => 188,
            Framing::ArrivalTime => 192,
            Framing::Parity => 204,
        }
    }

    /// Bytes before the sync byte.
    pub fn lead(self) -> usize {
        if self == Framing::ArrivalTime { 4 } else { 0 }
    }

    /// The framing whose sync bytes stand in a row in `head`, the one that starts earliest. Of a `complete` stream of
    /// fewer packets than [`SYNC_RUN`] every packet must have its sync byte.
    pub(in crate::container) fn probe(head: &[u8], complete: bool) -> Option<Framing> {
        let run = |start: usize, stride: usize| {
            head[start..].iter().step_by(stride).take(SYNC_RUN).take_while(|&&byte| byte == SYNC).count()
        };
        let synced = head.iter().enumerate().filter(|(_, byte)| **byte == SYNC);
        synced.flat_map(|(at, _)| Framing::ALL.map(|framing| (at, framing))).find_map(|(at, framing)| {
            let stride = framing.stride();
            let packets = (head.len() - at).div_ceil(stride);
            let whole = complete && at == framing.lead() && head.len() >= at + PACKET;
            let needed = if whole { SYNC_RUN.min(packets) } else { SYNC_RUN };
            (at >= framing.lead() && run(at, stride) >= needed).then_some(framing)
        })
    }
}
