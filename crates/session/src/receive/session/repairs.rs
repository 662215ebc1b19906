//! What is missing of a session: it is noted, requested, and put in its place when it comes after all.

use super::super::nack::Found;
use super::super::tail::{TailRequest, TailWatch};
use super::{ASSUMED_RTT, REORDERING, SOUND, Session};
use crate::config::RepairRequests;
use crate::describe::SessionDescription;
use crate::message::RtpPacket;
use crate::source_id::SourceId;
use crate::statistics::ReceiverStatistics;
use seaway_control::Subflow;
use seaway_units::{TimeDelta, Timestamp, earlier};

impl Session {
    /// Numbers of a media source are missing, or one of them came after all.
    pub(super) fn note_gap(
        &mut self,
        at: Timestamp,
        source: SourceId,
        sequence: u64,
        missing: std::ops::Range<u64>,
        timestamp: u32,
        statistics: &mut ReceiverStatistics,
    ) {
        statistics.missing += missing.end - missing.start;
        let list = &mut self.nack_list;
        if list.on_overtaken(at, source, sequence) {
            statistics.reordered += 1;
        }
        // Sound of a media server cannot be requested, and is no longer waited for than it may be on its way.
        let stream = &self.streams[usize::from(source.stream.0)];
        let deadline = |timestamp| match self.plain {
            Some(_) if source.stream == SOUND => at + REORDERING,
            _ => stream.playout().deadline(timestamp, list.deadline()),
        };
        let deadlines = (deadline(stream.unended().unwrap_or(timestamp)), deadline(timestamp));
        for sequence in missing {
            if self.recovery.take_early(source, sequence) {
                continue;
            }
            if !list.on_gap(at, source, sequence, deadlines) {
                statistics.refused.overflow += 1;
            }
        }
        list.on_arrival(at, source, sequence);
    }

    /// A retransmission: the original number, then the original payload (RFC 4588 section 4).
    pub(super) fn handle_retransmission(
        &mut self,
        at: Timestamp,
        source: SourceId,
        packet: &mut RtpPacket,
        statistics: &mut ReceiverStatistics,
    ) {
        let Some(original) = packet.payload.peek().map(u16::from_be_bytes) else {
            statistics.refused.malformed += 1;
            return;
        };
        packet.payload.advance(2);
        packet.sequence_number = original;
        match self.forget_missing(source, original, |found| found.requested) {
            Some(found) => self.nack_list.on_answer(at, self.rtt.unwrap_or(ASSUMED_RTT), found),
            None => self.note_early(source, original),
        }
        if self.insert(at, source.stream, packet, statistics) {
            statistics.repaired += 1;
        }
    }

    /// A media packet with this number came by `source`, which need not have the subflow of the original: all are tried
    /// until the missing packet `is_it`.
    fn forget_missing(
        &mut self,
        source: SourceId,
        number: u16,
        is_it: impl Fn(&Found) -> bool,
    ) -> Option<Found> {
        let subflows = self.subflows.len() as u8;
        let media = SourceId { repair: false, ..source };
        let mut candidates = (0..subflows)
            .map(|subflow| SourceId { subflow: Subflow((source.subflow.0 + subflow) % subflows), ..media });
        candidates.find_map(|candidate| {
            let log = self.logs.get(candidate.index()).and_then(Option::as_ref)?;
            self.nack_list.on_found(candidate, log.unwrap(number)).filter(&is_it)
        })
    }

    /// A repair came before its gap showed.
    fn note_early(&mut self, source: SourceId, number: u16) {
        self.recovery.note_early(source, |source| {
            let log = self.logs.get(source.index()).and_then(Option::as_ref)?;
            Some(log.unwrap(number)).filter(|sequence| *sequence >= log.end())
        });
    }

    /// What forward error correction recovered goes the way of a retransmission.
    pub(super) fn insert_recovered(&mut self, at: Timestamp, statistics: &mut ReceiverStatistics) {
        while let Some((source, mut packet)) = self.recovery.poll() {
            let number = packet.sequence_number;
            if self.forget_missing(source, number, |_| true).is_none() {
                self.note_early(source, number);
            }
            if self.insert_media(at, source.stream, &mut packet, statistics) {
                statistics.repaired += 1;
                statistics.recovered += 1;
            }
        }
    }

    /// Requests what should have come.
    pub(super) fn request_tails(&mut self, now: Timestamp) {
        let rtt = self.rtt.unwrap_or(ASSUMED_RTT);
        let (list, streams) = (&self.nack_list, &mut self.streams);
        for (tail, stream) in self.tails.iter_mut().zip(streams) {
            let deadline = |timestamp| stream.playout().deadline(timestamp, list.deadline());
            let Some(request) = tail.poll(now, rtt, list.requests().reorder, deadline) else { continue };
            let TailRequest { source, numbers, key_frame } = request;
            self.requests.extend(numbers.map(|number| (source, number)));
            if key_frame {
                stream.on_repair_in_doubt(now);
            }
        }
    }

    /// When the end of a picture is requested.
    #[inline]
    pub(super) fn next_tail(&self) -> Option<Timestamp> {
        self.tails.iter().filter_map(TailWatch::poll_timeout).min()
    }

    /// The round-trip time by which packets are requested; none where they cannot be.
    pub(super) fn request_rtt(&self) -> Option<TimeDelta> {
        let can_request = self.plain.as_ref().is_none_or(|plain| plain.can_request());
        self.rtt.or(can_request.then_some(ASSUMED_RTT))
    }

    /// When a packet is requested, or given up.
    #[inline]
    pub(super) fn next_repair_request(&self) -> Option<Timestamp> {
        let listed =
            if self.nack_list.is_empty() { None } else { self.nack_list.poll_timeout(self.request_rtt()) };
        earlier(listed, self.next_tail())
    }
}

/// One for each stream that repair packets protect, where packets may be requested: there a repair counts only if it is quick. Lanes
/// reorder.
pub(super) fn tail_watches(
    description: &SessionDescription,
    requests: Option<RepairRequests>,
) -> Vec<TailWatch> {
    let is_watched =
        description.fec && !description.lanes && requests.is_some_and(|requests| requests.repeats > 0);
    let streams = description.streams.iter().filter(|_| is_watched);
    streams.map(|_| TailWatch::default()).collect()
}
