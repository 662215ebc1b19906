//! Receiver reports as the only feedback: docs/models/feedback-formats.md, section "Receiver reports alone".

use super::Sender;
use crate::event::{FeedbackKind, SenderEvent};
use crate::source_id::SourceId;
use seaway_control::{LocalSignal, PacketId, Subflow};
use seaway_units::{Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::rtcp::ReportBlock;
use std::collections::BTreeMap;

/// Packets of one block at most: rule 1.
const LONGEST: u32 = 1 << 14;
/// A longer round trip is a forgery or a clock that jumped.
const LONGEST_RTT: TimeDelta = TimeDelta::from_secs(10);
/// A packet is not taken for arrived sooner than this after it left: rule 4.
const SOONEST: TimeDelta = TimeDelta::from_millis(50);
/// Packets that may be taken for arrived after any report: rule 5.
const LEAST_CREDIT: u32 = 32;

/// The totals of receiver reports so far.
#[derive(Debug, Default)]
pub(super) struct ReceiverReports {
    /// The most exact kind of feedback so far.
    kind: Option<FeedbackKind>,
    /// The last block of each source of the session.
    blocks: BTreeMap<SourceId, Reported>,
    rtt: Option<TimeDelta>,
    /// The next packet whose fate is to be inferred.
    next: PacketId,
    /// Packets that may be taken for arrived before the next report.
    credit: u32,
    /// Reported losses that no packet was charged with yet, and the packets from one to the next.
    owed: u32,
    spacing: u32,
    /// Packets since the last that was charged.
    since_lost: u32,
    /// The latest arrival.
    arrived: u64,
}

#[derive(Debug, Clone, Copy)]
struct Reported {
    highest: u32,
    lost: i32,
}

/// The packets that a block reports for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    packets: u32,
    lost: u32,
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
    fn on_span(&mut self, span: Span) {
        self.credit = (span.packets + span.packets / 2).max(LEAST_CREDIT);
        self.owed += span.lost;
        self.spacing = span.packets.checked_div(span.lost).unwrap_or(self.spacing);
    }

    /// Whether the next packet is charged with a loss.
    fn charge(&mut self) -> bool {
        self.since_lost += 1;
        let is_lost = self.owed > 0 && self.since_lost >= self.spacing;
        if is_lost {
            self.owed -= 1;
            self.since_lost = 0;
        }
        is_lost
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
        let reports = &mut self.receiver_reports;
        let rtt = rtt.filter(|rtt| (TimeDelta::ZERO..=LONGEST_RTT).contains(rtt));
        reports.rtt = rtt.or(reports.rtt);
        let reported = Reported { highest: block.highest_sequence, lost: block.cumulative_lost };
        let before = reports.blocks.insert(source, reported);
        // The first block has the packets since the beginning.
        let span = before
            .map_or_else(|| Some(Span { packets: LEAST_CREDIT, lost: 0 }), |last| Span::between(last, block));
        span.into_iter().for_each(|span| reports.on_span(span));
        self.infer(now, self.numbers.find(source, block.highest_sequence as u16));
    }

    /// Between reports packets are taken for arrived as the last report has it. Call with each frame.
    pub(super) fn follow_receiver_reports(&mut self, now: Timestamp) {
        if self.receiver_reports.kind != Some(FeedbackKind::ReceiverReports) || !self.infer(now, None) {
            return;
        }
        if let Some(interval) = self.feedback.on_feedback(now) {
            self.controller.on_signal(now, LocalSignal::FeedbackInterval(interval));
        }
        self.deliver_feedback(now);
    }

    /// Infers the fate of packets: of all up to the `reported` one, and of those that are due while there is credit. True where
    /// there were such packets.
    fn infer(&mut self, now: Timestamp, reported: Option<PacketId>) -> bool {
        self.feedback.on_message(now);
        let rtt = self.receiver_reports.rtt.unwrap_or_default();
        let due = rtt.max(SOONEST);
        let (next, end) = (self.receiver_reports.next, self.feedback.next_id());
        let first = next.max(self.feedback.history.oldest());
        self.receiver_reports.next = first;
        for id in (first.0..end.0).map(PacketId) {
            let Some((sent, subflow)) = self.feedback.sent(id) else { break };
            let is_reported = reported.is_some_and(|reported| id <= reported);
            let reports = &mut self.receiver_reports;
            if !is_reported && (sent + due > now || reports.credit == 0) {
                break;
            }
            reports.credit -= u32::from(!is_reported);
            reports.next = PacketId(id.0 + 1);
            self.conclude(now, id, sent + rtt / 2, subflow);
        }
        self.receiver_reports.next > first
    }

    /// A packet arrived then, or is charged with a loss.
    fn conclude(&mut self, now: Timestamp, id: PacketId, at: Timestamp, subflow: Subflow) {
        let reports = &mut self.receiver_reports;
        if let Some(rtt) = reports.rtt {
            self.feedback.on_round_trip(subflow, rtt);
        }
        if reports.charge() {
            self.feedback.on_lost(id);
        } else {
            // Arrivals never go back.
            reports.arrived = reports.arrived.max(at.as_nanos());
            let at = RemoteTimestamp::from_nanos(reports.arrived);
            self.feedback.on_received(now, Some(id), Some(at), Ecn::NotEct);
        }
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
    fn losses_are_spread_over_the_packets_after_a_report() {
        let mut reports = ReceiverReports::default();
        reports.on_span(span((65_533, 7), (65_543, 10)).unwrap());
        assert_eq!((reports.credit, reports.owed, reports.spacing), (LEAST_CREDIT, 3, 3));
        let lost: Vec<u32> = (0..20).filter(|_| reports.charge()).collect();
        assert_eq!(lost.len(), 3, "{lost:?}");
        let mut reports = ReceiverReports::default();
        reports.on_span(Span { packets: 100, lost: 2 });
        assert_eq!(reports.credit, 150);
        let lost: Vec<u32> = (0..200).filter(|_| reports.charge()).collect();
        assert_eq!(lost, [49, 99]);
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
