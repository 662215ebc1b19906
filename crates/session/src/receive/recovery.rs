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
