//! Packets that forward error correction recovers: docs/models/protection.md.

use crate::describe::SessionDescription;
use crate::fec::{FecDecoder, RepairPayload, SourceSymbol, Unusable};
use crate::message::RtpPacket;
use crate::source_id::SourceId;
use crate::statistics::Refused;
use seaway_control::{StreamId, Subflow};
use std::collections::VecDeque;

/// Packets that were recovered before their gap showed are remembered up to so many.
const EARLY: usize = 256;

/// So many media packets without a repair packet: none is sent any more.
const STALE: i16 = 64;

/// The decoders of a session.
#[derive(Debug)]
pub(super) struct Recovery {
    /// By stream; empty where no repair packets may come.
    decoders: Vec<Decoder>,
    /// What was recovered and not polled yet.
    ready: Vec<(SourceId, SourceSymbol)>,
    recovered: Vec<SourceSymbol>,
    early: VecDeque<(SourceId, u64)>,
}

#[derive(Debug)]
struct Decoder {
    decoder: FecDecoder,
    /// The first packet that the newest repair packet covers, and the one behind the last.
    covered: Option<(u16, u16)>,
    /// The newest media packet.
    newest: u16,
    /// Repair packets since it, and how many came together before.
    together: usize,
    before: usize,
}

impl Recovery {
    pub(super) fn new(description: &SessionDescription) -> Self {
        let packet = description.packet.as_bytes() as usize;
        let decoder =
            || Decoder { decoder: FecDecoder::new(packet), covered: None, newest: 0, together: 0, before: 0 };
        let streams = if description.fec { description.streams.len() } else { 0 };
        Self {
            decoders: std::iter::repeat_with(decoder).take(streams).collect(),
            ready: Vec::new(),
            recovered: Vec::new(),
            early: VecDeque::new(),
        }
    }

    /// True where repair packets may come.
    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        !self.decoders.is_empty()
    }

    /// A media packet came, by itself or by retransmission.
    #[inline]
    pub(super) fn on_media(&mut self, stream: StreamId, packet: &RtpPacket, refused: &mut Refused) {
        let Some(state) = self.decoders.get_mut(usize::from(stream.0)) else { return };
        let outcome = state.decoder.on_source(packet, &mut self.recovered);
        if let Some(marking) = packet.marking {
            state.newest = marking.sequence_number;
        }
        if state.together > 0 {
            state.before = std::mem::take(&mut state.together);
        }
        self.note(SourceId { stream, subflow: Subflow(0), repair: false }, outcome, refused);
    }

    /// A repair packet came.
    pub(super) fn on_repair(&mut self, source: SourceId, packet: &RtpPacket, refused: &mut Refused) {
        let mut octets = Vec::with_capacity(packet.payload.len());
        packet.payload.write(&mut octets);
        let state = self.decoders.get_mut(usize::from(source.stream.0));
        let (Some(state), Ok(repair)) = (state, RepairPayload::parse(&octets)) else {
            refused.malformed += 1;
            return;
        };
        let outcome = state.decoder.on_repair(&repair, &mut self.recovered);
        state.together += 1;
        if outcome.is_ok() {
            state.covered = Some((repair.first(), repair.first().wrapping_add(repair.window())));
        }
        self.note(source, outcome, refused);
    }

    fn note(&mut self, source: SourceId, outcome: Result<(), Unusable>, refused: &mut Refused) {
        match outcome {
            Ok(()) => {}
            Err(Unusable::OutOfRange) => refused.unmatched += 1,
            Err(Unusable::Contradictory) => refused.malformed += 1,
        }
        self.ready.extend(self.recovered.drain(..).map(|symbol| (source, symbol)));
    }

    /// The next packet that was recovered.
    #[inline]
    pub(super) fn poll(&mut self) -> Option<(SourceId, RtpPacket)> {
        let (source, symbol) = self.ready.pop()?;
        let packet = RtpPacket {
            marker: symbol.marking.end,
            sequence_number: symbol.sequence_number,
            timestamp: symbol.timestamp,
            marking: Some(symbol.marking),
            payload: symbol.payload,
            ..RtpPacket::default()
        };
        Some((source, packet))
    }

    /// A packet was recovered whose gap has not shown: it is not to be missed when it does. `unwrap` knows the numbers of a
    /// source.
    pub(super) fn note_early(&mut self, source: SourceId, unwrap: impl Fn(SourceId) -> Option<u64>) {
        let media = SourceId { repair: false, ..source };
        if let Some(sequence) = unwrap(media) {
            if self.early.len() == EARLY {
                self.early.pop_front();
            }
            self.early.push_back((media, sequence));
        }
    }

    /// True where this missing packet was recovered before its gap showed.
    pub(super) fn take_early(&mut self, source: SourceId, sequence: u64) -> bool {
        let place = self.early.iter().position(|early| *early == (source, sequence));
        place.is_some_and(|place| self.early.remove(place).is_some())
    }

    /// True where the repair packets of a picture, if as many come as for the last one, recover so many missing packets.
    pub(super) fn suffices(&self, stream: StreamId, missing: usize) -> bool {
        let state = self.decoders.get(usize::from(stream.0));
        state.is_some_and(|state| missing <= state.before.max(state.together))
            && self.recoverable_from(stream).is_some()
    }

    /// The first packet of a stream that repair packets to come may recover; `None` where none come at present.
    pub(super) fn recoverable_from(&self, stream: StreamId) -> Option<u16> {
        let state = self.decoders.get(usize::from(stream.0))?;
        let (first, end) = state.covered?;
        (state.newest.wrapping_sub(end).cast_signed() < STALE).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FeedbackFormat, Format, Stripe};
    use crate::describe::StreamDescription;
    use crate::fec::FecEncoder;
    use crate::payload::Payload;
    use bytes::Bytes;
    use seaway_units::{DataSize, Ecn, Timestamp};
    use seaway_wire::extension::FrameMarking;

    const STREAM: StreamId = StreamId(0);
    const REPAIR: SourceId = SourceId { stream: STREAM, subflow: Subflow(0), repair: true };
    const MEDIA: SourceId = SourceId { repair: false, ..REPAIR };

    fn description(fec: bool) -> SessionDescription {
        SessionDescription {
            session: 0,
            control: "fixed".parse().expect("a name"),
            ecn: Ecn::NotEct,
            packet: DataSize::from_bytes(1200),
            feedback: FeedbackFormat::default(),
            stripe: Stripe::Frame,
            lanes: false,
            fec,
            streams: vec![StreamDescription::video(Format::Opaque)],
        }
    }

    /// A sender's encoder, the receiver's decoders, and what these refused.
    struct Session {
        encoder: FecEncoder,
        recovery: Recovery,
        refused: Refused,
    }

    impl Session {
        fn new() -> Self {
            let description = description(true);
            let (encoder, recovery) = (FecEncoder::new(1200), Recovery::new(&description));
            Self { encoder, recovery, refused: Refused::default() }
        }

        /// A packet leaves, and comes if it is to.
        fn media(&mut self, number: u64, comes: bool) {
            let marking = FrameMarking {
                start: true,
                end: true,
                independent: false,
                discardable: false,
                frame: 0,
                sequence_number: number as u16,
            };
            let payload = Payload::from(Bytes::from(vec![number as u8; 50]));
            let packet = RtpPacket {
                marker: true,
                sequence_number: number as u16 + 7,
                timestamp: number as u32 * 3600,
                marking: Some(marking),
                payload,
                ..RtpPacket::default()
            };
            self.encoder.push(Timestamp::ZERO, number, &packet);
            if comes {
                self.recovery.on_media(STREAM, &packet, &mut self.refused);
            }
        }

        /// A repair packet leaves and comes.
        fn repair(&mut self) {
            let payload = self.encoder.encode().expect("a window");
            self.repair_of(Payload::from(payload));
        }

        fn repair_of(&mut self, payload: Payload) {
            let packet = RtpPacket { payload, ..RtpPacket::default() };
            self.recovery.on_repair(REPAIR, &packet, &mut self.refused);
        }
    }

    #[test]
    fn what_is_missing_is_recovered_whole() {
        let mut session = Session::new();
        assert!(session.recovery.is_enabled());
        for number in 0..4 {
            session.media(number, number != 2);
        }
        assert!(session.recovery.poll().is_none());
        session.repair();
        let (source, packet) = session.recovery.poll().expect("one is recovered");
        assert_eq!(
            (source, packet.sequence_number, packet.timestamp, packet.marker),
            (REPAIR, 9, 7200, true)
        );
        assert_eq!(packet.marking.map(|marking| marking.sequence_number), Some(2));
        assert_eq!(packet.payload, Payload::from(Bytes::from(vec![2; 50])));
        assert!(session.recovery.poll().is_none() && session.refused == Refused::default());
    }

    #[test]
    fn without_repair_packets_there_is_nothing_to_do() {
        let recovery = Recovery::new(&description(false));
        assert!(!recovery.is_enabled() && !recovery.suffices(STREAM, 0));
        assert_eq!(recovery.recoverable_from(STREAM), None);
    }

    #[test]
    fn what_is_no_repair_is_counted() {
        let mut session = Session::new();
        session.repair_of(Payload::from(Bytes::from_static(&[0; 7])));
        assert_eq!((session.refused.malformed, session.refused.unmatched), (1, 0));
        session.repair_of(Payload::from(Bytes::from_static(&[1; 3])));
        assert_eq!(session.refused.malformed, 2);
        // Packets far from those that came.
        session.media(0, true);
        session.repair_of(Payload::from(Bytes::from_static(&[0, 1, 0xF0, 4, 0, 0, 0x40, 0, 5])));
        assert_eq!((session.refused.malformed, session.refused.unmatched), (2, 1));
        assert_eq!(session.recovery.recoverable_from(STREAM), None, "it covers nothing that came");
        session.recovery.on_repair(
            SourceId { stream: StreamId(3), ..REPAIR },
            &RtpPacket::default(),
            &mut session.refused,
        );
        assert_eq!(session.refused.malformed, 3, "a stream that is not there");
    }

    /// What would be recovered is longer than a packet can be.
    #[test]
    fn what_contradicts_the_packets_is_counted() {
        let mut session = Session::new();
        session.media(0, true);
        session.repair_of(Payload::from(Bytes::from_static(&[0, 1, 0xF0, 1, 0, 0, 0, 1, 255, 255])));
        assert!(session.recovery.poll().is_none());
        assert_eq!((session.refused.malformed, session.refused.unmatched), (1, 0));
    }

    /// As many as came together, now or before the last media packet.
    #[test]
    fn so_many_as_come_together_suffice() {
        let mut session = Session::new();
        session.media(0, true);
        assert!(!session.recovery.suffices(STREAM, 0), "none came yet");
        session.repair();
        session.repair();
        assert!(session.recovery.suffices(STREAM, 2) && !session.recovery.suffices(STREAM, 3));
        session.media(1, true);
        assert!(session.recovery.suffices(STREAM, 2), "as before");
        session.media(2, true);
        assert!(session.recovery.suffices(STREAM, 2), "media packets do not forget it");
        session.repair();
        assert!(session.recovery.suffices(STREAM, 2) && !session.recovery.suffices(STREAM, 3));
        session.media(3, true);
        assert!(session.recovery.suffices(STREAM, 1) && !session.recovery.suffices(STREAM, 2));
    }

    #[test]
    fn repair_packets_that_stay_away_are_not_waited_for() {
        let mut session = Session::new();
        session.media(10, true);
        session.repair();
        assert_eq!(session.recovery.recoverable_from(STREAM), Some(10));
        // The window ends before 11; from 75 on it is 64 packets behind.
        session.media(74, true);
        assert_eq!(session.recovery.recoverable_from(STREAM), Some(10));
        session.media(75, true);
        assert_eq!(session.recovery.recoverable_from(STREAM), None);
        assert!(!session.recovery.suffices(STREAM, 1));
    }

    #[test]
    fn what_came_before_its_gap_showed_is_not_missed_once() {
        let mut session = Session::new();
        let recovery = &mut session.recovery;
        for sequence in 0..=EARLY as u64 {
            recovery.note_early(REPAIR, |source| (source == MEDIA).then_some(sequence));
        }
        recovery.note_early(REPAIR, |_| None);
        assert!(!recovery.take_early(MEDIA, 0), "the oldest was forgotten");
        assert!(!recovery.take_early(REPAIR, 1));
        assert!(recovery.take_early(MEDIA, 1));
        assert!(!recovery.take_early(MEDIA, 1), "once");
        assert!(recovery.take_early(MEDIA, EARLY as u64));
    }
}
