//! AV1 temporal units by AOM's payload format, as other programs send them.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::av1::{self, Obu, obu_type};

/// Reassembles a temporal unit: OBUs with their sizes, without temporal delimiters, as MP4 has it. `None` where a payload is malformed,
/// an OBU is not whole, or there is none.
pub(super) fn join<'a>(payloads: impl Iterator<Item = &'a Payload> + Clone) -> Option<Bytes> {
    let mut stream = Vec::with_capacity(payloads.clone().map(Payload::len).sum());
    let (mut obu, mut is_open) = (Vec::new(), false);
    for payload in payloads {
        let octets = payload.contents();
        let payload = av1::Payload::parse(&octets).ok()?;
        if payload.continues != is_open {
            return None;
        }
        let mut elements = payload.elements().peekable();
        while let Some(element) = elements.next() {
            obu.extend_from_slice(element);
            is_open = payload.continued && elements.peek().is_none();
            if !is_open {
                let whole = Obu::parse(&obu).ok()?;
                if whole.obu_type() != obu_type::TEMPORAL_DELIMITER {
                    whole.append_sized(&mut stream);
                }
                obu.clear();
            }
        }
    }
    (!is_open && !stream.is_empty()).then(|| Bytes::from(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(payloads: &[&'static [u8]]) -> Option<Vec<u8>> {
        let payloads: Vec<Payload> =
            payloads.iter().map(|octets| Payload::from(Bytes::from_static(octets))).collect();
        join(payloads.iter()).map(Vec::from)
    }

    #[test]
    fn temporal_units_of_several_packets() {
        // A temporal delimiter, a sequence header, and a frame in three parts.
        let parts: [&[u8]; 3] = [&[0x78, 1, 0x10, 2, 0x08, 7, 0x30, 1], &[0xD0, 2, 3], &[0x90, 4]];
        assert_eq!(joined(&parts).unwrap(), [0x0A, 1, 7, 0x32, 4, 1, 2, 3, 4]);
        // What is missing within shows by the sequence numbers, before.
        for missing in [0, 2] {
            let rest: Vec<_> = (0..3).filter(|index| *index != missing).map(|index| parts[index]).collect();
            assert_eq!(joined(&rest), None, "{missing}");
        }
        assert_eq!(joined(&[&[0x10, 0x10]]), None, "a temporal delimiter alone");
    }
}
