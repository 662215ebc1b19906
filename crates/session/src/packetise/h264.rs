//! H.264 access units by RFC 6184, packetization mode 1, without copying slices.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::Error;
use seaway_wire::h264::{self, Packetizer, annex_b};

/// Octets before a fragment's data.
const FRAGMENT_HEAD: usize = 2;

/// Cuts an access unit in Annex B form.
pub(super) fn cut(frame: &Bytes, limit: usize, payloads: &mut Vec<Payload>) -> Result<(), Error> {
    let nals: Vec<&[u8]> = annex_b::nal_units(frame).collect();
    if nals.is_empty() {
        let (field, available) = ("H.264 access unit", frame.len());
        return Err(Error::Truncated { field, offset: 0, needed: available + 1, available });
    }
    for payload in Packetizer::new(&nals, limit)? {
        payloads.push(match payload {
            h264::Payload::Single(nal) => Payload::from(frame.slice_ref(nal)),
            h264::Payload::Fragment(fragment) => {
                // The head is written separately, so that the data stays a slice of the frame.
                let mut head = [0; FRAGMENT_HEAD + 1];
                let first = h264::Fragment { data: &fragment.data[..1], ..fragment };
                h264::Payload::Fragment(first).emit(&mut head)?;
                Payload::from(frame.slice_ref(fragment.data)).behind(&head[..FRAGMENT_HEAD])
            }
            aggregate @ h264::Payload::Aggregate(_) => {
                let mut octets = vec![0; aggregate.buffer_len()];
                aggregate.emit(&mut octets)?;
                Payload::from(Bytes::from(octets))
            }
        });
    }
    Ok(())
}

/// Reassembles an access unit in Annex B form; `None` where a payload is malformed or there is none.
pub(super) fn join<'a>(payloads: impl Iterator<Item = &'a Payload> + Clone) -> Option<Bytes> {
    super::join_annex_b(payloads, |payload, stream| {
        h264::Payload::parse(payload).ok()?.append_annex_b(stream);
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn access_unit(nals: &[Vec<u8>]) -> Bytes {
        nals.iter().flat_map(|nal| annex_b::START_CODE.iter().chain(nal)).copied().collect()
    }

    proptest! {
        #[test]
        fn access_units_come_back(
            nals in prop::collection::vec(
                (1u8..24, prop::collection::vec(1u8..255, 0..4000)).prop_map(|(first, mut rest)| {
                    rest.insert(0, first | 0x60);
                    rest
                }),
                1..8,
            ),
            limit in 20usize..1500,
        ) {
            let frame = access_unit(&nals);
            let mut payloads = Vec::new();
            cut(&frame, limit, &mut payloads).unwrap();
            prop_assert!(payloads.iter().all(|payload| payload.len() <= limit));
            prop_assert_eq!(join(payloads.iter()), Some(frame));
        }
    }

    #[test]
    fn what_is_no_access_unit_is_refused() {
        let mut payloads = Vec::new();
        let nothing = Error::Truncated { field: "H.264 access unit", offset: 0, needed: 4, available: 3 };
        assert_eq!(cut(&Bytes::from_static(&[1, 2, 3]), 1000, &mut payloads), Err(nothing));
        assert!(cut(&Bytes::from_static(&[0, 0, 1, 24, 1]), 1000, &mut payloads).is_err(), "an aggregate");
        let empty = Payload::default();
        assert_eq!(join([&empty].into_iter()), None);
    }
}
