//! H.265 access units by RFC 7798, as other programs send them.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::h265;

/// Reassembles an access unit in Annex B form; `None` where a payload is malformed or there is none.
pub(super) fn join<'a>(payloads: impl Iterator<Item = &'a Payload> + Clone) -> Option<Bytes> {
    super::join_annex_b(payloads, |payload, stream| {
        h265::Payload::parse(payload).ok()?.append_annex_b(stream);
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_put_together() {
        let payload = |octets: &'static [u8]| Payload::from(Bytes::from_static(octets));
        // A single unit of type 1, then one of type 19 in two fragments.
        let payloads = [payload(&[2, 1, 7]), payload(&[0x62, 1, 0x93, 8]), payload(&[0x62, 1, 0x53, 9])];
        let whole = [0, 0, 0, 1, 2, 1, 7, 0, 0, 0, 1, 0x26, 1, 8, 9];
        assert_eq!(join(payloads.iter()).as_deref(), Some(&whole[..]));
        assert_eq!(join([payload(&[2]), payload(&[2, 1, 7])].iter()), None);
        assert_eq!(join([].iter()), None);
    }
}
