//! Opus by RFC 7587 section 4.2: the payload is one packet, as it is.

use crate::frame::FrameData;
use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::{Error, opus};

/// A packet as a payload; it cannot be cut.
pub(super) fn cut(packet: &Bytes, limit: usize) -> Result<Payload, Error> {
    opus::Packet::parse(packet)?;
    if packet.len() > limit {
        return Err(Error::TooLarge { field: "Opus packet", seen: packet.len() as u64, limit: limit as u64 });
    }
    Ok(Payload::from(packet.clone()))
}

/// The packet of a payload; `None` where it is malformed, or there is not one payload alone.
pub(super) fn join<'a>(mut payloads: impl Iterator<Item = &'a Payload>) -> Option<FrameData> {
    let (payload, None) = (payloads.next()?, payloads.next()) else { return None };
    let mut packet = Vec::with_capacity(payload.len());
    payload.write(&mut packet);
    opus::Packet::parse(&packet).ok()?;
    Some(FrameData::Coded(Bytes::from(packet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_a_packet() {
        let packet = Bytes::from_static(&[0xFC, 1, 2, 3]);
        let payload = cut(&packet, 4).unwrap();
        assert_eq!(payload, Payload::from(packet.clone()));
        assert_eq!(join([&payload].into_iter()), Some(FrameData::Coded(packet.clone())));
        assert_eq!(join([&payload, &payload].into_iter()), None);
        assert_eq!(join([&Payload::zeros(0)].into_iter()), None);
        assert!(cut(&packet, 3).is_err(), "a packet is not cut");
        assert!(cut(&Bytes::new(), 100).is_err());
    }
}
