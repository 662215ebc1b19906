//! Foreign implementations' decisions beside ours, on the same reports. `logs/README.md` says how each log was made.

mod gcc;
mod nada;
mod scream;
mod tfrc;

use seaway_control::{Content, PacketId, SentPacket, StreamId, Subflow};
use seaway_units::DataSize;

/// Packet `number` of a saturated source.
fn packet(number: u64, octets: u64) -> SentPacket {
    SentPacket {
        id: PacketId(number),
        subflow: Subflow(0),
        sequence: number,
        size: DataSize::from_bytes(octets),
        content: Content::Media(StreamId(0)),
        probe: None,
        backlog: DataSize::from_bytes(10 * octets),
    }
}

/// Of ratios that should be one, how far the middle one is off.
fn median_error(ratios: &[f64]) -> f64 {
    let mut errors: Vec<_> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}
