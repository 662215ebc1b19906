//! What fills probes: a packet that left before, as a retransmission (RFC 4588). Receivers drop a copy.

use bytes::{BufMut, BytesMut};
use rtc::rtp;

/// A packet that is older by so many is no longer sent again: far less than half the range of sequence numbers.
const OLDEST: u16 = 500;

/// The largest packet of late.
#[derive(Debug, Default)]
pub(super) struct Filler {
    kept: Option<rtp::Packet>,
    /// Sequence number of the last packet.
    last: u16,
}

impl Filler {
    /// A media packet leaves.
    pub(super) fn keep(&mut self, packet: &rtp::Packet) {
        self.last = packet.header.sequence_number;
        let is_largest = self.recent().is_none_or(|kept| kept.payload.len() <= packet.payload.len());
        if is_largest {
            self.kept = Some(packet.clone());
        }
    }

    fn recent(&self) -> Option<&rtp::Packet> {
        self.kept.as_ref().filter(|kept| self.last.wrapping_sub(kept.header.sequence_number) <= OLDEST)
    }

    /// Gives a packet of padding a content. `None` where nothing has left so far.
    pub(super) fn fill(&self, padding: &mut rtp::Packet) -> Option<()> {
        let kept = self.recent()?;
        let mut payload = BytesMut::with_capacity(2 + kept.payload.len());
        payload.put_u16(kept.header.sequence_number);
        payload.put_slice(&kept.payload);
        padding.payload = payload.freeze();
        padding.header.timestamp = kept.header.timestamp;
        padding.header.marker = kept.header.marker;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn packet(sequence_number: u16, len: usize) -> rtp::Packet {
        let header = rtp::Header { sequence_number, timestamp: 90, ..rtp::Header::default() };
        rtp::Packet { header, payload: Bytes::from(vec![7; len]) }
    }

    #[test]
    fn the_largest_recent_packet_is_sent_again() {
        let mut filler = Filler::default();
        let mut padding = packet(3, 0);
        assert!(filler.fill(&mut padding).is_none());
        filler.keep(&packet(65_000, 1000));
        filler.keep(&packet(65_001, 10));
        filler.fill(&mut padding).unwrap();
        assert_eq!((padding.payload.len(), &padding.payload[..2]), (1002, &65_000_u16.to_be_bytes()[..]));
        assert_eq!((padding.header.sequence_number, padding.header.timestamp), (3, 90));
        // The numbers wrap, and it has grown old.
        filler.keep(&packet(65_000_u16.wrapping_add(OLDEST + 1), 20));
        filler.fill(&mut padding).unwrap();
        assert_eq!(padding.payload.len(), 22);
    }
}
