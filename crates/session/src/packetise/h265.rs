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
