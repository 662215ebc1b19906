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
    use crate::config::{Format, PlainReceiver, SenderConfig};
    use crate::{Frame, FrameData, FrameKind, Limits, Message};
    use bytes::Bytes;
    use seaway_control::policy::Direct;
    use seaway_control::{StreamId, Subflow};
    use std::time::Duration;

    fn span(last: (u32, i32), next: (u32, i32)) -> Option<Span> {
        let block =
            ReportBlock { highest_sequence: next.0, cumulative_lost: next.1, ..ReportBlock::default() };
        Span::between(Reported { highest: last.0, lost: last.1 }, &block)
    }

    fn sender() -> Sender {
        let kbps = Bitrate::from_kbps;
        let limits = Limits { min: kbps(150), start: kbps(300), max: kbps(900) };
        let plain = PlainReceiver { cname: "a".into(), wall_clock: Duration::ZERO, unreported: None };
        let config = SenderConfig {
            plain: Some(plain),
            ..SenderConfig::new(0x5EA0_0000, "gcc".parse().unwrap(), limits, Format::H264)
        };
        Sender::new(Timestamp::ZERO, config, Box::new(Direct::new())).unwrap()
    }

    /// Once something more exact came, receiver reports are no feedback.
    #[test]
    fn the_most_exact_feedback_counts() {
        use FeedbackKind::{Ccfb, ReceiverReports, Twcc};
        let mut sender = sender();
        let mut found = |kind| {
            let counts = sender.on_feedback_kind(kind);
            let events = std::iter::from_fn(|| sender.poll_event());
            let kinds = events.filter_map(|event| match event {
                SenderEvent::FeedbackFound { kind } => Some(kind),
                _ => None,
            });
            (counts, kinds.collect::<Vec<_>>())
        };
        assert_eq!(found(ReceiverReports), (true, vec![ReceiverReports]));
        assert_eq!(found(ReceiverReports), (true, vec![]));
        assert_eq!(found(Twcc), (true, vec![Twcc]));
        assert_eq!(found(ReceiverReports), (false, vec![]));
        assert_eq!(found(Ccfb), (true, vec![Ccfb]));
        assert_eq!((found(Twcc), found(Ccfb)), ((false, vec![]), (true, vec![])));
    }

    #[test]
    fn another_receiver_counts_from_its_own_beginning() {
        let mut sender = sender();
        let block = ReportBlock { highest_sequence: 9, ..ReportBlock::default() };
        sender.on_reported_block(Timestamp::ZERO, SOURCE, &block, Some(TimeDelta::from_millis(40)));
        assert_eq!(sender.receiver_reports.blocks.len(), 1);
        sender.receiver_reports.path.on_round_trip(Timestamp::ZERO, TimeDelta::from_millis(40));
        sender.receiver_reports.on_new_receiver();
        assert!(sender.receiver_reports.blocks.is_empty());
        assert_eq!(sender.receiver_reports.path.base(), TimeDelta::ZERO);
    }

    const SOURCE: SourceId = SourceId { stream: StreamId(0), subflow: Subflow(0), repair: false };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Rule 6, however short the way: and none where reports are overdue.
    #[test]
    fn packets_pass_after_fifty_milliseconds() {
        let mut sender = sender();
        let data = FrameData::Coded(Bytes::from_static(&[0, 0, 0, 1, 0x65, 0x88, 1, 2]));
        let frame = Frame::new(at(1000), FrameKind::Key, data, TimeDelta::from_millis(40));
        sender.handle_frame(at(1000), &frame).unwrap();
        let mut message = Message::default();
        while sender.poll_transmit(at(1000), at(1000), &mut message).is_some() {}
        assert!(sender.feedback.sent(PacketId(0)).is_some_and(|(sent, _)| sent == at(1000)));
        assert!(!sender.infer(at(1050), None), "nothing is known of the path");
        let reports = &mut sender.receiver_reports;
        reports.path.on_round_trip(Timestamp::ZERO, TimeDelta::from_millis(1));
        let (sent, span) = (DataSize::from_bytes(1_000_000), TimeDelta::from_secs(1));
        reports.path.on_interval(Interval { sent, expected: 100, lost: 0, span });
        reports.overdue = at(1049);
        assert!(!sender.infer(at(1050), None));
        sender.receiver_reports.overdue = at(1050);
        assert!(!sender.infer(at(1049), None));
        assert!(sender.infer(at(1050), None));
    }

    #[test]
    fn an_interval_is_a_second() {
        let is_known = |millis| {
            let mut sender = sender();
            sender.on_reported_block(at(millis), SOURCE, &ReportBlock::default(), None);
            sender.receiver_reports.path.is_known()
        };
        assert!(!is_known(999) && is_known(1000));
    }

    /// The first block of a source has what was reported since the last interval.
    #[test]
    fn a_first_block_has_the_packets_of_its_interval() {
        let mut sender = sender();
        let reports = &mut sender.receiver_reports;
        (reports.newest, reports.since.newest) = (PacketId(100), PacketId(90));
        let block = ReportBlock { highest_sequence: 5000, ..ReportBlock::default() };
        sender.on_reported_block(at(10), SOURCE, &block, None);
        assert_eq!(sender.receiver_reports.span, Span { packets: 10, lost: 0 });
    }

    #[test]
    fn hostile_blocks_report_nothing() {
        assert_eq!(span((100, 0), (100, 5)), None);
        assert_eq!(span((100, 0), (99, 0)), None, "the receiver began anew");
        assert_eq!(span((0, 0), (1 << 20, 0)), None);
        assert_eq!(span((7, 0), (8 + LONGEST, 0)), None);
        assert_eq!(span((7, 0), (7 + LONGEST, 0)).unwrap().packets, LONGEST);
        assert_eq!(span((0, 5), (10, 2)).unwrap().lost, 0, "late ones came");
        assert_eq!(span((0, i32::MIN), (10, i32::MAX)).unwrap().lost, 10);
    }
}
