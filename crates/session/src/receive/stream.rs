//! One stream of a session at the receiver: its jitter buffer, playout, media clock and requests for key frames.

use super::freezes::FreezeWatch;
use super::jitter_buffer::{Assembled, Inserted, JitterBuffer, Released, RepairState};
use super::playout::{PlayoutClock, PlayoutRule};
use super::unmarked::{FrameMarks, Marked, Taken};
use crate::clock::ClockMapping;
use crate::config::Format;
use crate::describe::StreamDescription;
use crate::event::{Events, ReceiverEvent};
use crate::frame::{FrameData, FrameKind, ReceivedFrame};
use crate::message::RtpPacket;
use crate::statistics::{ReceivedFrames, ReceiverStatistics};
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_units::{DataSize, TimeDelta, Timestamp, Transit, earlier};
use seaway_wire::h264::{self, annex_b};
use seaway_wire::h265;
use seaway_wire::rtcp::SenderReport;

/// Least time between requests for a key frame; it doubles while none comes.
const KEY_INTERVAL: TimeDelta = TimeDelta::from_millis(100);
const LONGEST_KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(1);

#[derive(Debug)]
pub(super) struct ReceiveStream {
    id: StreamId,
    description: StreamDescription,
    jitter_buffer: JitterBuffer,
    /// Where the sender does not mark its frames.
    marks: Option<FrameMarks>,
    /// For key frames without them; empty where there are none.
    parameter_sets: Bytes,
    playout: PlayoutClock,
    /// The stream's media clock on the sender's clock.
    mapping: Option<ClockMapping>,
    /// From that clock to the one of the pictures.
    clock_shift: TimeDelta,
    freezes: FreezeWatch,
    keys: KeyRequests,
    /// The packets of a transport stream, which are no pictures.
    pieces: ReceivedFrames,
}

/// When to request a key frame again.
#[derive(Debug, Default)]
struct KeyRequests {
    due: Option<Timestamp>,
    interval: TimeDelta,
    /// The decoder requested it.
    forced: bool,
    /// Until when one that was requested early is awaited: before its picture was given up.
    early: Option<Timestamp>,
}

impl ReceiveStream {
    /// Nothing came yet.
    pub(super) fn new(id: StreamId, description: StreamDescription, rule: PlayoutRule) -> Self {
        Self {
            id,
            description,
            jitter_buffer: JitterBuffer::new(description.format),
            marks: None,
            parameter_sets: Bytes::new(),
            playout: PlayoutClock::new(description.clock_rate, rule),
            mapping: None,
            clock_shift: TimeDelta::ZERO,
            freezes: FreezeWatch::default(),
            keys: KeyRequests::default(),
            pieces: ReceivedFrames::default(),
        }
    }

    /// What is not whole so long after its earliest instant is given up.
    pub(super) fn set_latency(&mut self, latency: TimeDelta) {
        self.playout.set_max(latency);
    }

    /// Its sender does not mark frames; `parameter_sets` stand before key frames that have none.
    pub(super) fn unmarked(mut self, parameter_sets: Bytes) -> Self {
        self.marks = Some(FrameMarks::new(self.description.format));
        self.parameter_sets = parameter_sets;
        self
    }

    pub(super) fn description(&self) -> &StreamDescription {
        &self.description
    }

    pub(super) fn playout(&self) -> &PlayoutClock {
        &self.playout
    }

    /// Coded octets that are held.
    pub(super) fn held(&self) -> DataSize {
        self.jitter_buffer.held() + self.marks.as_ref().map_or(DataSize::ZERO, FrameMarks::held)
    }

    /// No frame waits, and no key frame is wanted.
    #[inline]
    pub(super) fn is_idle(&self, has_media: bool) -> bool {
        let wants_key = || self.keys.due.is_some() || self.keys.forced || has_media && self.needs_key();
        self.jitter_buffer.is_empty() && self.gap_since().is_none() && !wants_key()
    }

    /// Nothing can be shown before a key frame, and none is on its way. Every frame of sound is one.
    fn needs_key(&self) -> bool {
        !self.description.is_audio() && self.jitter_buffer.needs_key()
    }

    /// The time stamp of the newest frame, where its end has not come.
    pub(super) fn unended(&self) -> Option<u32> {
        self.jitter_buffer.unended()
    }

    /// A sender report maps the media clock to the sender's clock.
    pub(super) fn on_sender_report(&mut self, report: &SenderReport<'_>) {
        let (at, timestamp) = (report.ntp_time.to_remote(), report.rtp_timestamp);
        self.mapping = Some(ClockMapping { at, timestamp, rate: self.description.clock_rate });
    }

    /// Times on its sender's clock are this much before those of the pictures.
    pub(super) fn set_clock_shift(&mut self, shift: TimeDelta) {
        self.clock_shift = shift;
    }

    /// Capture on the sender's clock less playout on ours: the smaller, the later it is played. `None`
    /// before the first sender report and the first packet.
    pub(super) fn playout_transit(&self) -> Option<Transit> {
        let mapping = self.mapping.filter(|_| self.playout.has_begun())?;
        let due = self.playout.own_due(self.playout.media_time(mapping.timestamp));
        Some((mapping.at + self.clock_shift).transit_from(due))
    }

    /// Sound is played when the pictures are that were captured with it.
    pub(super) fn follow_pictures(&mut self, pictures: Transit) {
        if self.description.is_audio()
            && let Some(own) = self.playout_transit()
        {
            self.playout.stay_behind(own - pictures);
        }
    }

    /// A media packet arrived for the first time.
    pub(super) fn on_arrival(&mut self, at: Timestamp, timestamp: u32) {
        self.playout.on_arrival(at, timestamp);
    }

    /// A packet goes into the jitter buffer, its payload taken out. True where it was inserted.
    pub(super) fn insert(
        &mut self,
        at: Timestamp,
        packet: &mut RtpPacket,
        statistics: &mut ReceiverStatistics,
    ) -> bool {
        let payload = std::mem::take(&mut packet.payload);
        let timestamp = packet.timestamp;
        match (&mut self.marks, packet.marking) {
            (None, Some(marking)) => {
                self.insert_marked(Marked { at, timestamp, marking, payload }, statistics)
            }
            (Some(marks), _) => {
                let taken = marks.push(at, packet.sequence_number, timestamp, packet.marker, payload);
                statistics.refused.duplicates += u64::from(taken == Taken::Duplicate);
                statistics.refused.unmatched += u64::from(taken == Taken::Outside);
                self.insert_ready(statistics);
                taken == Taken::Held
            }
            (None, None) => {
                statistics.refused.malformed += 1;
                false
            }
        }
    }

    /// What has its marks by now goes into the jitter buffer.
    fn insert_ready(&mut self, statistics: &mut ReceiverStatistics) {
        while let Some(packet) = self.marks.as_mut().and_then(FrameMarks::poll) {
            self.insert_marked(packet, statistics);
        }
    }

    #[inline]
    fn insert_marked(&mut self, packet: Marked, statistics: &mut ReceiverStatistics) -> bool {
        let Marked { at, timestamp, marking, payload } = packet;
        match self.jitter_buffer.insert(at, timestamp, marking, payload, &self.playout) {
            Inserted::Held { completed } => {
                if completed {
                    self.playout.on_complete(at, timestamp);
                }
                return true;
            }
            Inserted::Late { whole } => {
                let frames = self.frames(statistics);
                frames.late += u64::from(whole);
                frames.lost -= u64::from(whole);
            }
            Inserted::Duplicate => statistics.refused.duplicates += 1,
            Inserted::Outside => statistics.refused.unmatched += 1,
        }
        false
    }

    /// Releases the frames that are due, and gives up those that cannot become whole. Gives the next instant for it.
    pub(super) fn release(
        &mut self,
        now: Timestamp,
        repair: impl Fn(StreamId) -> RepairState,
        events: &mut Events<ReceiverEvent>,
        statistics: &mut ReceiverStatistics,
    ) -> Option<Timestamp> {
        let stream = self.id;
        loop {
            let gap = self.gap_due(now, || repair(stream));
            if gap.is_some_and(|due| due <= now) {
                self.marks.iter_mut().for_each(FrameMarks::give_up_gap);
                self.insert_ready(statistics);
                continue;
            }
            let due = self.jitter_buffer.next_release(&self.playout, || repair(stream));
            if due.is_none_or(|due| due > now) {
                return earlier(due, gap);
            }
            match self.jitter_buffer.release(&self.playout)? {
                Released::Frame(frame) => {
                    let frame = self.deliver(now, frame, statistics);
                    events.push(ReceiverEvent::Frame(frame));
                }
                Released::Lost { frames, skipped, froze } => {
                    let counts = self.frames(statistics);
                    counts.lost += frames;
                    counts.skipped += skipped;
                    if frames > 0 {
                        events.push(ReceiverEvent::FramesLost { stream, frames });
                    }
                    if froze && !self.description.is_audio() {
                        events.push(ReceiverEvent::Frozen { stream });
                    }
                }
            }
        }
    }

    /// Its counters of frames.
    fn frames<'a>(&'a mut self, statistics: &'a mut ReceiverStatistics) -> &'a mut ReceivedFrames {
        match self.description.format {
            Format::Mp2t => &mut self.pieces,
            _ if self.description.is_audio() => &mut statistics.audio,
            _ => &mut statistics.frames,
        }
    }

    fn gap_since(&self) -> Option<Timestamp> {
        self.marks.as_ref().and_then(FrameMarks::gap_since)
    }

    /// When packets that are missing before unmarked ones are given up: once no repair is awaited.
    fn gap_due(&self, now: Timestamp, repair: impl FnOnce() -> RepairState) -> Option<Timestamp> {
        let since = self.gap_since()?;
        Some(repair().awaited_until.unwrap_or(now).min(since + self.playout.longest()))
    }

    fn deliver(
        &mut self,
        now: Timestamp,
        frame: Assembled,
        statistics: &mut ReceiverStatistics,
    ) -> ReceivedFrame {
        if !self.description.is_audio() {
            statistics.goodput += frame.data.size();
        }
        if !self.description.is_audio() && self.description.format != Format::Mp2t {
            self.freezes.on_displayed(now, &mut statistics.freezes);
        }
        let frames = self.frames(statistics);
        frames.displayed += 1;
        frames.held_up += u64::from(frame.due < now);
        frames.skipped += frame.skipped;
        ReceivedFrame {
            stream: self.id,
            timestamp: frame.timestamp,
            captured: self.mapping.map(|mapping| mapping.instant_of(frame.timestamp) + self.clock_shift),
            kind: frame.kind,
            data: with_parameter_sets(&self.parameter_sets, self.description.format, frame.kind, frame.data),
            first_arrival: frame.first_arrival,
            completed: frame.completed,
            due: frame.due,
        }
    }

    /// The decoder cannot go on without a key frame.
    pub(super) fn on_picture_lost(&mut self, now: Timestamp) {
        if self.description.is_audio() {
            return;
        }
        self.keys.forced = true;
        self.keys.due.get_or_insert(now);
    }

    /// A picture is likely to be lost: what repairs it would come late. To wait until it is given up costs pictures.
    pub(super) fn on_repair_in_doubt(&mut self, now: Timestamp) {
        if !self.description.is_audio() && !self.jitter_buffer.is_broken() && self.keys.early.is_none() {
            self.keys.due.get_or_insert(now);
            self.keys.early = Some(now + KEY_INTERVAL);
        }
    }

    /// A key frame is requested while one is needed and none is on its way.
    #[inline]
    pub(super) fn schedule_key_request(&mut self, now: Timestamp, has_media: bool) {
        let is_early = self.keys.early.is_some_and(|until| now < until);
        if self.needs_key() && has_media || self.keys.forced {
            self.keys.due.get_or_insert(now);
        } else if !is_early {
            self.keys = KeyRequests::default();
        }
    }

    /// The earlier of `other` and the next request for a key frame.
    #[inline]
    pub(super) fn earlier_of_key_request(&self, other: Option<Timestamp>) -> Option<Timestamp> {
        earlier(other, self.keys.due)
    }

    /// True where a key frame is to be requested now.
    #[inline]
    pub(super) fn wants_key(&self, now: Timestamp) -> bool {
        self.keys.due.is_some_and(|due| due <= now)
    }

    /// A key frame is requested now.
    pub(super) fn on_key_request(&mut self, now: Timestamp, rtt: Option<TimeDelta>) {
        let first = rtt.map_or(KEY_INTERVAL, |rtt| (rtt * 2).max(KEY_INTERVAL));
        let needs_key = self.needs_key();
        let keys = &mut self.keys;
        keys.early = keys.early.map(|_| now + first);
        if keys.forced && !needs_key {
            *keys = KeyRequests::default();
            return;
        }
        keys.interval = (keys.interval * 2).max(first).min(LONGEST_KEY_INTERVAL.max(first));
        keys.due = Some(now + keys.interval);
    }
}

/// A key frame behind the parameter sets of the session description, where it has none of its own.
fn with_parameter_sets(
    parameter_sets: &Bytes,
    format: Format,
    kind: FrameKind,
    data: FrameData,
) -> FrameData {
    let FrameData::Coded(frame) = &data else { return data };
    let is_sps = |nal: &[u8]| match format {
        Format::H265 => h265::NalHeader::of(nal).is_some_and(|nal| nal.nal_type() == h265::nal_type::SPS),
        _ => nal.first().is_some_and(|first| h264::NalHeader(*first).nal_type() == h264::nal_type::SPS),
    };
    if kind != FrameKind::Key || parameter_sets.is_empty() || annex_b::nal_units(frame).any(is_sps) {
        return data;
    }
    FrameData::Coded([parameter_sets.as_ref(), frame.as_ref()].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn stream(description: StreamDescription) -> ReceiveStream {
        let [min, max] = [0, 100].map(TimeDelta::from_millis);
        ReceiveStream::new(StreamId(0), description, PlayoutRule { min, max, waits: true })
    }

    /// In ms, for as long as none comes: 100 ms, or two round trips, then twice as long each time, up to a second.
    #[test]
    fn requests_for_a_key_frame_become_rarer() {
        for (rtt, instants) in [
            (None, [0, 100, 300, 700, 1500, 2500, 3500]),
            (Some(20), [0, 100, 300, 700, 1500, 2500, 3500]),
            (Some(150), [0, 300, 900, 1900, 2900, 3900, 4900]),
            (Some(700), [0, 1400, 2800, 4200, 5600, 7000, 8400]),
        ] {
            let mut stream = stream(StreamDescription::video(Format::H264));
            for instant in instants.map(at) {
                stream.schedule_key_request(instant, true);
                assert_eq!(stream.earlier_of_key_request(None), Some(instant), "{rtt:?}");
                assert!(stream.wants_key(instant) && !stream.is_idle(true));
                stream.on_key_request(instant, rtt.map(TimeDelta::from_millis));
                assert!(!stream.wants_key(instant));
            }
        }
    }

    #[test]
    fn a_key_frame_is_requested_where_pictures_need_one() {
        let mut video = stream(StreamDescription::video(Format::H264));
        video.schedule_key_request(at(0), false);
        assert!(video.earlier_of_key_request(None).is_none() && video.is_idle(false), "no packet of it came");
        assert!(!video.is_idle(true));
        // Doubt begins with a picture that can be shown.
        video.on_repair_in_doubt(at(5));
        assert_eq!(video.earlier_of_key_request(None), None);
        // The decoder is not asked for a reason.
        video.on_picture_lost(at(10));
        assert!(video.wants_key(at(10)) && !video.wants_key(at(9)) && !video.is_idle(false));
        let mut sound = stream(StreamDescription::opus());
        sound.on_picture_lost(at(10));
        sound.schedule_key_request(at(10), true);
        assert!(sound.earlier_of_key_request(None).is_none() && sound.is_idle(true));
    }

    /// A picture that can be shown; then two early requests, each good for 100 ms or two round trips.
    #[test]
    fn a_key_frame_may_be_requested_early() {
        let mut stream = stream(StreamDescription::video(Format::Opaque));
        let marking = seaway_wire::extension::FrameMarking {
            start: true,
            end: true,
            independent: true,
            discardable: false,
            frame: 0,
            sequence_number: 0,
        };
        let mut packet = RtpPacket { marking: Some(marking), ..RtpPacket::default() };
        let mut statistics = ReceiverStatistics::default();
        stream.on_arrival(at(0), 0);
        assert!(stream.insert(at(0), &mut packet, &mut statistics));
        let repair = |_| RepairState {
            awaited_until: None,
            recoverable_from: None,
            deadline: TimeDelta::ZERO,
            subflows: 1,
            abandoned_at: None,
        };
        stream.release(at(50), repair, &mut Events::default(), &mut statistics);
        assert_eq!((statistics.frames.displayed, statistics.frames.lost), (1, 0));
        stream.on_repair_in_doubt(at(60));
        assert!(stream.wants_key(at(60)));
        stream.schedule_key_request(at(159), true);
        assert!(stream.wants_key(at(159)));
        stream.on_key_request(at(159), Some(TimeDelta::from_millis(80)));
        // Until then it is awaited, and another doubt asks for no other.
        stream.on_repair_in_doubt(at(200));
        assert_eq!(stream.earlier_of_key_request(None), Some(at(319)));
        stream.schedule_key_request(at(319), true);
        assert_eq!(stream.earlier_of_key_request(None), None);
    }

    #[test]
    fn a_key_frame_without_parameter_sets_gets_those_of_the_description() {
        let sets = Bytes::from_static(&[0, 0, 0, 1, 0x67, 7]);
        let joined = |format, kind, frame: &'static [u8]| {
            let data = FrameData::Coded(Bytes::from_static(frame));
            match with_parameter_sets(&sets, format, kind, data) {
                FrameData::Coded(data) => data.len() - frame.len(),
                FrameData::Synthetic(_) => 0,
            }
        };
        use FrameKind::{Key, Reference};
        // Slices of H.264 and of H.265, and behind a parameter set.
        let [slice, with_set] = [&[0, 0, 0, 1, 0x65, 1][..], &[0, 0, 0, 1, 0x67, 9, 0, 0, 1, 0x65, 1]];
        assert_eq!((joined(Format::H264, Key, slice), joined(Format::H264, Key, with_set)), (6, 0));
        assert_eq!(joined(Format::H264, Reference, slice), 0);
        let [slice, with_set] =
            [&[0, 0, 0, 1, 0x26, 1, 1][..], &[0, 0, 0, 1, 0x42, 1, 9, 0, 0, 1, 0x26, 1, 1]];
        assert_eq!((joined(Format::H265, Key, slice), joined(Format::H265, Key, with_set)), (6, 0));
        let alone = FrameData::Coded(Bytes::from_static(slice));
        let same = with_parameter_sets(&Bytes::new(), Format::H264, Key, alone.clone());
        assert_eq!(same, alone);
    }
}
