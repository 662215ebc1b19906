//! Foreign implementations' decisions beside ours, on the same reports. `logs/README.md` says how each log was made.

mod nada;
mod tfrc;

use seaway_control::{Content, Lane, PacketId, SentPacket, StreamId};
use seaway_units::DataSize;

/// Packet `number` of a saturated source.
fn packet(number: u64, octets: u64) -> SentPacket {
    SentPacket {
        id: PacketId(number),
        lane: Lane(0),
        sequence: number,
        size: DataSize::from_bytes(octets),
        content: Content::Media(StreamId(0)),
        probe: None,
        backlog: DataSize::from_bytes(10 * octets),
    }
}
