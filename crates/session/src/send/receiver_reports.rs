//! Receiver reports as the only feedback: docs/models/feedback-formats.md, section "Receiver reports alone".

use super::Sender;
use super::reported_path::{Interval, ReportedPath};
use crate::event::{FeedbackKind, SenderEvent};
use crate::source_id::SourceId;
use crate::statistics::Count;
use seaway_control::{LocalSignal, PacketId};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::rtcp::ReportBlock;
use std::collections::BTreeMap;

/// Packets of one block at most: rule 1.
const LONGEST: u32 = 1 << 14;
/// A longer round trip is a forgery or a clock that jumped.
const LONGEST_RTT: TimeDelta = TimeDelta::from_secs(10);
/// A packet is not taken for arrived sooner than this after it left: rule 6.
const SOONEST: TimeDelta = TimeDelta::from_millis(50);
/// Reports count together until they are about so long.
const SHORTEST: TimeDelta = TimeDelta::from_secs(1);
/// A report interval may be so many times as long as another (RFC 3550 section 6.2) ...
const RANDOMISATION: i64 = 3;
/// ... but, with 5 s and their randomisation, is no longer than this, a round trip included.
const LONGEST_INTERVAL: TimeDelta = TimeDelta::from_millis(7500);

/// Receiver reports so far, and the path as they have it.
#[derive(Debug)]
pub(super) struct ReceiverReports {
    /// The most exact kind of feedback so far.
    kind: Option<FeedbackKind>,
    /// The last block of each source of the session.
    blocks: BTreeMap<SourceId, Reported>,
    path: ReportedPath,
    /// The next packet whose fate is to be inferred.
    next: PacketId,
    /// What the blocks since `since` count, and the newest packet that they report.
    span: Span,
    newest: PacketId,
    since: Since,
    /// All that left and that feedback is about.
    sent: Count,
    /// Reports are overdue from then on.
    overdue: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct Reported {
    highest: u32,
    lost: i32,
}

/// The packets that a block reports for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    packets: u32,
    lost: u32,
}

/// Where an interval of reports begins.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    at: Timestamp,
    /// The newest packet that was reported.
    newest: PacketId,
    /// All that had left and that feedback is about.
    sent: Count,
}

impl Span {
    /// Between the `last` block and this one. `None` where nothing is new.
    fn between(last: Reported, block: &ReportBlock) -> Option<Self> {
        let packets = block.highest_sequence.wrapping_sub(last.highest);
        if packets == 0 || packets > LONGEST {
            return None;
        }
        // Negative where what was late came after all.
        let lost = block.cumulative_lost.saturating_sub(last.lost).clamp(0, packets as i32) as u32;
        Some(Self { packets, lost })
    }
}

impl ReceiverReports {
    /// None came to a sender that begins `now` with the rate `start`.
    pub(super) fn new(now: Timestamp, start: Bitrate) -> Self {
        Self {
            kind: None,
            blocks: BTreeMap::new(),
            path: ReportedPath::new(start),
            next: PacketId(0),
            span: Span::default(),
            newest: PacketId(0),
            since: Since { at: now, ..Since::default() },
            sent: Count::default(),
            overdue: Timestamp::ZERO,
        }
    }

    /// A packet left that feedback is about.
    #[inline]
    pub(super) fn on_sent(&mut self, size: DataSize) {
        self.sent.add(size);
    }

    /// No other feedback came.
    pub(super) fn is_all(&self) -> bool {
        self.kind == Some(FeedbackKind::ReceiverReports)
    }

    /// Another receiver counts from its own beginning.
    pub(super) fn on_new_receiver(&mut self) {
        self.blocks.clear();
        self.path.on_new_receiver();
    }
}

impl Sender {
    /// Feedback of this kind came. False where a more exact one came before.
    pub(super) fn on_feedback_kind(&mut self, kind: FeedbackKind) -> bool {
        if self.config.plain.is_none() {
            return true;
        }
        let before = self.receiver_reports.kind;
        if before.is_none_or(|before| before < kind) {
            self.receiver_reports.kind = Some(kind);
            self.feedback.expect_slow_reports(kind == FeedbackKind::ReceiverReports);
            self.events.push(SenderEvent::FeedbackFound { kind });
        }
        before.is_none_or(|before| before <= kind)
    }

    /// A report block, as the feedback type of the controllers.
    pub(super) fn on_reported_block(
        &mut self,
        now: Timestamp,
        source: SourceId,
        block: &ReportBlock,
        rtt: Option<TimeDelta>,
    ) {
        let newest = self.numbers.find(source, block.highest_sequence as u16);
        let reports = &mut self.receiver_reports;
        if let Some((newest, rtt)) = newest.zip(rtt.filter(|rtt| *rtt <= LONGEST_RTT)) {
            let sent = self.feedback.sent(newest).map_or(now - rtt, |(sent, _)| sent);
            reports.path.on_round_trip(sent, rtt);
        }
        reports.newest = newest.map_or(reports.newest, |newest| newest.max(reports.newest));
        let reported = Reported { highest: block.highest_sequence, lost: block.cumulative_lost };
        let before = reports.blocks.insert(source, reported);
        // The first block has the packets since the beginning.
        let so_far = (reports.newest.0 - reports.since.newest.0).min(LONGEST.into()) as u32;
        let start = Reported { highest: reported.highest.wrapping_sub(so_far), lost: 0 };
        if let Some(span) = Span::between(before.unwrap_or(start), block) {
            reports.span.packets = reports.span.packets.saturating_add(span.packets);
            reports.span.lost = reports.span.lost.saturating_add(span.lost);
        }
        self.end_interval(now);
        self.infer(now, newest);
    }

    /// What the blocks of an interval say of the path, once it is long enough.
    fn end_interval(&mut self, now: Timestamp) {
        let reports = &mut self.receiver_reports;
        let sent = reports.sent;
        let Since { at, newest, sent: before } = reports.since;
        let span = now.since(at);
        if span < SHORTEST {
            return;
        }
        let size = (sent.size - before.size).as_bytes() / (sent.packets - before.packets).max(1);
        let left = DataSize::from_bytes((reports.newest.0 - newest.0) * size);
        let Span { packets: expected, lost } = std::mem::take(&mut reports.span);
        reports.path.on_interval(Interval { sent: left, expected, lost, span });
        reports.overdue = now + (span * RANDOMISATION).min(LONGEST_INTERVAL);
        reports.since = Since { at: now, newest: reports.newest, sent };
    }

    /// Between reports packets pass the path as the last reports have it. Call with each frame.
    pub(super) fn follow_receiver_reports(&mut self, now: Timestamp) {
        if !self.receiver_reports.is_all() || !self.infer(now, None) {
            return;
        }
        if let Some(interval) = self.feedback.on_feedback(now) {
            self.controller.on_signal(now, LocalSignal::FeedbackInterval(interval));
        }
        self.deliver_feedback(now);
    }

    /// Infers the fate of packets: of all up to the `reported` one, and of those that have passed the path by now, unless reports are
    /// overdue. True where there were such packets.
    fn infer(&mut self, now: Timestamp, reported: Option<PacketId>) -> bool {
        self.feedback.on_message(now);
        let reports = &mut self.receiver_reports;
        let first = reports.next.max(self.feedback.history.oldest());
        reports.next = first;
        if !reports.path.is_known() {
            return false;
        }
        let is_overdue = now > reports.overdue;
        let back = reports.path.base() / 2;
        for id in (first.0..self.feedback.next_id().0).map(PacketId) {
            let Some((sent, packet)) = self.feedback.sent(id) else { break };
            let is_reported = reported.is_some_and(|reported| id <= reported);
            let seen = reports.path.expected(sent, packet.size) + back;
            if !is_reported && (is_overdue || seen.max(sent + SOONEST) > now) {
                break;
            }
            reports.next = PacketId(id.0 + 1);
            let Some(passed) = reports.path.carry(sent, packet.size, now - back) else {
                self.feedback.on_lost(id);
                continue;
            };
            self.feedback.on_round_trip(packet.subflow, passed - sent + back);
            let at = RemoteTimestamp::from_nanos(passed.as_nanos());
            self.feedback.on_received(now, Some(id), Some(at), Ecn::NotEct);
        }
        reports.next > first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(last: (u32, i32), next: (u32, i32)) -> Option<Span> {
        let block =
            ReportBlock { highest_sequence: next.0, cumulative_lost: next.1, ..ReportBlock::default() };
        Span::between(Reported { highest: last.0, lost: last.1 }, &block)
    }

    #[test]
    fn hostile_blocks_report_nothing() {
        assert_eq!(span((100, 0), (100, 5)), None);
        assert_eq!(span((100, 0), (99, 0)), None, "the receiver began anew");
        assert_eq!(span((0, 0), (1 << 20, 0)), None);
        assert_eq!(span((0, 5), (10, 2)).unwrap().lost, 0, "late ones came");
        assert_eq!(span((0, i32::MIN), (10, i32::MAX)).unwrap().lost, 10);
    }
}
