//! A departing packet as a controller sees it.

use seaway_units::{DataSize, Ecn};

/// Counts the departures of a flow, all subflows together, from 0 and without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketId(pub u64);

/// A connection inside a flow. Most controllers have one; MULTFRC has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subflow(pub u8);

/// An encoder. One flow may carry several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u8);

/// A probe that a controller requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProbeId(pub u32);

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// A piece of a frame, for the first time.
    Media(StreamId),
    /// A piece of a frame once more.
    Retransmission(StreamId),
    /// Forward error correction.
    Fec(StreamId),
    /// Nothing: it fills a probe.
    Padding,
}

/// A packet that leaves now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    /// Its place among the departures of the flow.
    pub id: PacketId,
    /// The connection it leaves by.
    pub subflow: Subflow,
    /// Its place among the departures of its subflow, from 0 and without a gap: the number the peer sees.
    pub sequence: u64,
    /// The whole IP datagram, headers included.
    pub size: DataSize,
    /// What it carries.
    pub content: Content,
    /// The probe it belongs to.
    pub probe: Option<ProbeId>,
    /// What still waits behind it; zero means that the application has no more to send.
    pub backlog: DataSize,
}

impl SentPacket {
    /// Packet `number` of a flow with one subflow and one encoder: media, and nothing waits behind it.
    pub const fn new(number: u64, size: DataSize) -> Self {
        Self {
            id: PacketId(number),
            subflow: Subflow(0),
            sequence: number,
            size,
            content: Content::Media(StreamId(0)),
            probe: None,
            backlog: DataSize::ZERO,
        }
    }
}

/// What the controller writes on a departing packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marking {
    /// The codepoint of the IP header.
    pub ecn: Ecn,
    /// A number of the controller's own for its receiving half, such as CTFRC's virtual sequence number.
    pub tag: Option<u16>,
}
