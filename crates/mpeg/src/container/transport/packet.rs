//! The transport packet (ISO/IEC 13818-1, 2.4.3.2) with its framing.

use super::framing::{Framing, PACKET, SYNC};
use super::reed_solomon;

/// Bytes of its fixed header.
const HEADER: usize = 4;

/// PID of null packets.
pub(super) const NULL_PID: u16 = 0x1fff;

/// Ticks of 27 MHz after which the PCR wraps.
pub(super) const PCR_WRAP: u64 = 300 << 33;

/// A transport packet with the bytes of its framing before or after it.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    bytes: [u8; 204],
    framing: Framing,
    /// The parity bytes were valid, so a changed packet gets new ones.
    parity: bool,
}

impl Packet {
    /// A packet of `framing.stride()` bytes.
    pub(super) fn new(wire: &[u8], framing: Framing) -> Packet {
        let mut bytes = [0; 204];
        bytes[..wire.len()].copy_from_slice(wire);
        let parity = framing == Framing::Parity && reed_solomon::parity(&wire[..PACKET]) == wire[PACKET..];
        Packet { bytes, framing, parity }
    }

    /// The bytes in the stream.
    pub(super) fn wire(&self) -> &[u8] {
        &self.bytes[..self.framing.stride()]
    }

    fn body(&self) -> &[u8; PACKET] {
        self.bytes[self.framing.lead()..].first_chunk().expect("a framed packet is whole")
    }

    fn body_mut(&mut self) -> &mut [u8; PACKET] {
        self.bytes[self.framing.lead()..].first_chunk_mut().expect("a framed packet is whole")
    }

    pub(super) fn pid(&self) -> u16 {
        let body = self.body();
        u16::from_be_bytes([body[1], body[2]]) & 0x1fff
    }

    pub(super) fn transport_error(&self) -> bool {
        self.body()[1] & 0x80 != 0
    }

    pub(super) fn payload_unit_start(&self) -> bool {
        self.body()[1] & 0x40 != 0
    }

    pub(super) fn scrambled(&self) -> bool {
        self.body()[3] & 0xc0 != 0
    }

    pub(super) fn continuity_counter(&self) -> u8 {
        self.body()[3] & 0x0f
    }

    pub(super) fn set_continuity_counter(&mut self, counter: u8) {
        let byte = &mut self.body_mut()[3];
        let changed = *byte & 0xf0 | counter & 0x0f;
        if *byte != changed {
            *byte = changed;
            self.renew_parity();
        }
    }

    pub(super) fn has_payload(&self) -> bool {
        self.body()[3] & 0x10 != 0
    }

    /// The adaptation field without its length byte; empty where there is none or it is malformed.
    pub(super) fn adaptation(&self) -> &[u8] {
        let body = self.body();
        if body[3] & 0x20 == 0 {
            return &[];
        }
        body.get(HEADER + 1..HEADER + 1 + usize::from(body[HEADER])).unwrap_or(&[])
    }

    /// Where the payload starts; `None` where there is none.
    pub(super) fn payload_at(&self) -> Option<usize> {
        let body = self.body();
        let at = match body[3] >> 4 & 0b11 {
            0b01 => HEADER,
            0b11 => HEADER + 1 + usize::from(body[HEADER]),
            _ => return None,
        };
        (at < PACKET).then_some(at)
    }

    pub(super) fn payload(&self) -> &[u8] {
        self.payload_at().map_or(&[], |at| &self.body()[at..])
    }

    pub(super) fn discontinuity(&self) -> bool {
        self.adaptation().first().is_some_and(|flags| flags & 0x80 != 0)
    }

    /// The program clock reference, 27 MHz.
    pub(super) fn pcr(&self) -> Option<u64> {
        let field = self.adaptation();
        let flagged = field.first().is_some_and(|flags| flags & 0x10 != 0);
        let bytes: &[u8; 6] = field.get(1..7)?.first_chunk()?;
        let base = u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) << 1
            | u64::from(bytes[4] >> 7);
        let extension = u64::from(bytes[4] & 1) << 8 | u64::from(bytes[5]);
        flagged.then_some(base * 300 + extension)
    }

    /// Replaces the PCR of a packet that has one.
    pub(super) fn set_pcr(&mut self, pcr: u64) {
        let (base, extension) = (pcr % PCR_WRAP / 300, pcr % 300);
        let field = &mut self.body_mut()[HEADER + 2..HEADER + 8];
        let reserved = field[4] & 0x7e;
        field[..4].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
        field[4] = (base as u8 & 1) << 7 | reserved | (extension >> 8) as u8;
        field[5] = extension as u8;
        self.renew_parity();
    }

    /// Shifts the arrival time of a BDAV packet by `ticks` of 27 MHz.
    pub(super) fn shift_arrival(&mut self, ticks: i64) {
        if self.framing == Framing::ArrivalTime {
            let word = u32::from_be_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]]);
            let time = (i64::from(word & 0x3fff_ffff) + ticks).rem_euclid(1 << 30) as u32;
            self.bytes[..4].copy_from_slice(&(word & 0xc000_0000 | time).to_be_bytes());
        }
    }

    /// True where the adaptation field is more than stuffing.
    pub(super) fn adaptation_matters(&self) -> bool {
        self.adaptation().first().is_some_and(|&flags| flags != 0)
    }

    /// Replaces the payload by one that is not longer, and stuffs the adaptation field. With an empty payload the packet
    /// has an adaptation field only.
    pub(super) fn set_payload(&mut self, payload: &[u8]) {
        let Some(at) = self.payload_at() else { return };
        debug_assert!(payload.len() <= PACKET - at);
        let start = PACKET - payload.len();
        let body = self.body_mut();
        if start > at {
            body[HEADER] = (start - HEADER - 1) as u8;
            // A new field begins with its byte of flags.
            let mut from = at.max(HEADER + 1);
            if from == HEADER + 1 && start > from {
                body[from] = 0;
                from += 1;
            }
            body[from..start].fill(0xff);
            body[3] = body[3] & 0xcf | if payload.is_empty() { 0x20 } else { 0x30 };
            if payload.is_empty() {
                body[1] &= !0x40; // payload_unit_start_indicator needs a payload
            }
        }
        body[start..].copy_from_slice(payload);
        self.renew_parity();
    }

    /// Turns it into a null packet.
    pub(super) fn make_null(&mut self) {
        let body = self.body_mut();
        body.fill(0xff);
        body[..HEADER].copy_from_slice(&[SYNC, (NULL_PID >> 8) as u8, NULL_PID as u8, 0x10]);
        self.renew_parity();
    }

    /// Turns it into a packet with a PCR only, of the same PID and continuity counter.
    pub(super) fn make_pcr_only(&mut self, pcr: u64) {
        let body = self.body_mut();
        body[1] &= 0x1f; // no error, unit start or priority
        body[3] = 0x20 | body[3] & 0x0f;
        body[HEADER..].fill(0xff);
        body[HEADER] = (PACKET - HEADER - 1) as u8;
        body[HEADER + 1] = 0x10;
        body[HEADER + 6] = 0x7e;
        self.set_pcr(pcr);
    }

    fn renew_parity(&mut self) {
        if self.parity {
            let parity = reed_solomon::parity(&self.bytes[..PACKET]);
            self.bytes[PACKET..].copy_from_slice(&parity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(adaptation: Option<&[u8]>, fill: u8) -> Packet {
        let mut bytes = vec![SYNC, 0x41, 0x00, 0x17];
        if let Some(field) = adaptation {
            bytes[3] |= 0x20;
            bytes.push(field.len() as u8);
            bytes.extend_from_slice(field);
        }
        bytes.resize(PACKET, fill);
        Packet::new(&bytes, Framing::Plain)
    }

    #[test]
    fn every_shorter_payload_is_read_back() {
        let pcr: &[u8] = &[0x50, 0, 0, 0, 0, 0x7e, 0];
        for field in [None, Some(&[][..]), Some(&[0x00][..]), Some(&[0x40, 0xff][..]), Some(pcr)] {
            let old = packet(field, 0xab);
            let room = old.payload().len();
            for len in 0..=room {
                let mut new = old.clone();
                let payload = vec![0xcd; len];
                new.set_payload(&payload);
                assert_eq!(new.payload(), payload);
                assert_eq!((new.pcr(), new.has_payload()), (old.pcr(), len > 0));
                let field = old.adaptation();
                assert!(new.adaptation().starts_with(field));
                assert!(new.adaptation().get(field.len().max(1)..).unwrap_or(&[]).iter().all(|&b| b == 0xff));
                if len < room {
                    assert_eq!(4 + 1 + new.adaptation().len() + len, PACKET);
                }
            }
        }
    }

    #[test]
    fn clock_references_round_trip() {
        let mut packet = packet(Some(&[0x10, 0, 0, 0, 0, 0x7e, 0]), 0);
        for pcr in [0, 299, 300, 27_000_000 * 3600 + 17, PCR_WRAP - 1] {
            packet.set_pcr(pcr);
            assert_eq!(packet.pcr(), Some(pcr));
            assert_eq!(packet.adaptation()[5] & 0x7e, 0x7e);
        }
    }

    #[test]
    fn a_pcr_only_packet_has_no_payload() {
        let mut packet = packet(Some(&[0x40, 0xff]), 0xab);
        packet.make_pcr_only(123_456_789);
        assert_eq!((packet.pcr(), packet.payload_at(), packet.pid()), (Some(123_456_789), None, 0x100));
        assert_eq!((packet.adaptation().len(), packet.continuity_counter()), (183, 7));
        assert!(!packet.payload_unit_start());
    }

    #[test]
    fn malformed_adaptation_fields_hold_nothing() {
        let mut bytes = [0xff; PACKET];
        bytes[..5].copy_from_slice(&[SYNC, 0x01, 0x00, 0x30, 200]);
        let packet = Packet::new(&bytes, Framing::Plain);
        assert_eq!((packet.payload_at(), packet.adaptation().len(), packet.pcr()), (None, 0, None));
    }

    #[test]
    fn arrival_times_wrap_at_thirty_bits() {
        let mut wire = vec![0xff, 0xff, 0xff, 0xf0];
        wire.extend([SYNC; PACKET]);
        let mut packet = Packet::new(&wire, Framing::ArrivalTime);
        packet.shift_arrival(0x20);
        assert_eq!(packet.wire()[..4], [0xc0, 0, 0, 0x10]);
        packet.shift_arrival(-0x20);
        assert_eq!(packet.wire()[..4], [0xff, 0xff, 0xff, 0xf0]);
    }

    #[test]
    fn valid_parity_is_updated_and_filler_is_kept() {
        let mut wire = packet(None, 0x33).wire().to_vec();
        wire.extend(reed_solomon::parity(&wire));
        let mut right = Packet::new(&wire, Framing::Parity);
        right.make_null();
        assert_eq!(reed_solomon::parity(&right.wire()[..PACKET]), right.wire()[PACKET..]);
        wire[PACKET..].fill(0);
        let mut filler = Packet::new(&wire, Framing::Parity);
        filler.make_null();
        assert_eq!(filler.wire()[PACKET..], [0; 16]);
    }
}
