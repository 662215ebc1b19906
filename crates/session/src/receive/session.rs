//! The receiver's state of one session.

mod repairs;

use super::byte_buffer::ByteBuffer;
use super::jitter_buffer::RepairState;
use super::nack::{DOUBT, NackList, Wanted};
use super::plain::{PlainSource, SOUND};
use super::playout::PlayoutRule;
use super::playout_rule;
use super::reception::{ArrivalLog, Insertion};
use super::recovery::Recovery;
use super::reports::{SubflowEcho, TransportLog};
use super::stream::ReceiveStream;
use super::tail::TailWatch;
use crate::config::{Format, Playout, ReceiverConfig};
use crate::describe::{SessionDescription, StreamDescription};
use crate::event::{Events, Observer, ReceiverEvent};
use crate::feedback::DepartureClock;
use crate::message::{ControlData, RtpPacket, payload_type};
use crate::source_id::SourceId;
use crate::statistics::ReceiverStatistics;
use crate::unwrap::SequenceUnwrapper;
use bytes::Bytes;
use seaway_control::{
    Arrival, BufferLevel, FeedbackSource, FlowConfig, MOST_LANES, Registry, SpecError, StreamId, Subflow,
};
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp, earlier};
use seaway_wire::NtpShort;
use seaway_wire::rtcp::SenderReport;

/// Coded octets that the jitter buffers of all streams hold at most.
const HELD: DataSize = DataSize::from_bytes(12 << 20);
/// Between receiver reports.
const REPORT_INTERVAL: TimeDelta = TimeDelta::from_secs(1);

/// Before a round-trip time is measured, and with plain RTP, which measures none, requests assume this one.
const ASSUMED_RTT: TimeDelta = TimeDelta::from_millis(100);
/// A lane by which nothing came for so long, while others had packets, gets no requests.
const LANE_SILENCE: TimeDelta = TimeDelta::from_millis(100);

/// So long a missing packet of plain RTP may be on its way, where it cannot be requested: what links of several paths reorder.
const REORDERING: TimeDelta = TimeDelta::from_millis(50);

/// One sender's session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) description: SessionDescription,
    pub(super) source: Box<dyn FeedbackSource>,
    last_activity: Timestamp,
    /// The latest instant of the receiving half and the buffer; an arrival may be older than a timeout
    /// that was handled before it was read.
    present: Timestamp,
    closed: bool,
    /// By [`SourceId::index`].
    pub(super) logs: Vec<Option<Box<ArrivalLog>>>,
    /// By subflow.
    pub(super) subflows: Vec<SubflowState>,
    pub(super) transport: TransportLog,
    streams: Vec<ReceiveStream>,
    recovery: Recovery,
    nack_list: NackList,
    /// By stream; empty where nothing is requested before it is known to be missing.
    tails: Vec<TailWatch>,
    /// Packets to request with the next reports.
    pub(super) requests: Vec<(SourceId, u64)>,
    buffer: Option<ByteBuffer>,
    /// Media packets came, not retransmissions alone.
    has_media: bool,
    /// As of the last advance, no gap, frame or key frame waits for an instant.
    is_idle: bool,
    /// As of the last advance, when the first frame of all streams is to be released or given up.
    next_release: Option<Timestamp>,
    /// The earliest timer, that of the receiving half apart.
    due: Option<Timestamp>,
    /// The sender's clock, unwrapped.
    sent: Option<u64>,
    clock: DepartureClock,
    /// The sender's round-trip estimate.
    rtt: Option<TimeDelta>,
    /// The last sender report and when it came.
    pub(super) last_report: Option<(NtpShort, Timestamp)>,
    pub(super) next_report: Timestamp,
    /// Where the sender is none of this project.
    plain: Option<Box<PlainSource>>,
}

/// What a packet carries, as its payload type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketKind {
    Media,
    Retransmission,
    Repair,
    Padding,
}

impl PacketKind {
    /// `None` where the payload type is none of the stream's.
    fn of(payload_type: u8, media_type: u8, stream: StreamId) -> Option<Self> {
        match payload_type {
            own if own == media_type => Some(Self::Media),
            own if own == payload_type::retransmission(stream) => Some(Self::Retransmission),
            own if own == payload_type::fec(stream) => Some(Self::Repair),
            payload_type::PADDING => Some(Self::Padding),
            // It was offered and is not taken.
            payload_type::AAC => Some(Self::Padding),
            _ => None,
        }
    }
}

/// One subflow's numbers.
#[derive(Debug, Default)]
pub(super) struct SubflowState {
    sequence: Option<SequenceUnwrapper<32>>,
    pub(super) echo: Option<SubflowEcho>,
    pub(super) received: u64,
    first: u64,
    /// Of a lane: its sender's clock and round-trip time, and when its last packet came.
    clock: DepartureClock,
    rtt: Option<TimeDelta>,
    arrived: Timestamp,
}

impl SubflowState {
    /// The highest number, and how many below it are missing.
    pub(super) fn highest_and_lost(&self) -> (u32, u32) {
        let highest = self.sequence.map_or(0, |sequence| sequence.highest());
        let lost = (highest + 1).saturating_sub(self.first).saturating_sub(self.received);
        (highest as u32, lost as u32)
    }
}

impl Session {
    pub(super) fn new(
        now: Timestamp,
        description: SessionDescription,
        config: &ReceiverConfig,
        plain: Option<Box<PlainSource>>,
    ) -> Result<Self, SpecError> {
        let rule = playout_rule(config.playout);
        let streams = description.streams.iter().zip(0..);
        let stream = |(stream, id): (&StreamDescription, u8)| {
            // The pictures of a transport stream have times of their own, by which they wait.
            let waits = rule.waits && stream.format != Format::Mp2t;
            let stream = ReceiveStream::new(StreamId(id), *stream, PlayoutRule { waits, ..rule });
            match &plain {
                Some(source) if id == 0 => stream.unmarked(source.video.parameter_sets.clone()),
                Some(_) => stream.unmarked(Bytes::new()),
                None => stream,
            }
        };
        let repair = config.repair.filter(|_| plain.as_ref().is_none_or(|source| source.video.nack));
        let buffer = match config.playout {
            Playout::Bytes(buffer) => Some(ByteBuffer::new(buffer)),
            Playout::Adaptive { .. } | Playout::LowLatency { .. } => None,
        };
        Ok(Self {
            source: receiving_half(&description, &config.registry)?,
            last_activity: now,
            present: now,
            closed: false,
            logs: Vec::new(),
            subflows: Vec::new(),
            transport: TransportLog::default(),
            streams: streams.map(stream).collect(),
            recovery: Recovery::new(&description),
            tails: repairs::tail_watches(&description, repair.filter(|_| plain.is_none())),
            nack_list: match repair {
                Some(requests) => NackList::new(requests),
                None if plain.is_some() => NackList::of_reordering(REORDERING),
                None => NackList::without_requests(),
            },
            requests: Vec::new(),
            buffer,
            has_media: false,
            is_idle: false,
            next_release: None,
            due: None,
            sent: None,
            clock: DepartureClock::default(),
            rtt: None,
            last_report: None,
            next_report: now + REPORT_INTERVAL,
            plain,
            description,
        })
    }

    /// The sender waits for the first receiver report: it shows whether an offer is taken.
    pub(super) fn report_at(&mut self, now: Timestamp) {
        self.next_report = now;
    }

    /// What is not whole by then is given up from now on.
    pub(super) fn on_latency(&mut self, latency: TimeDelta) {
        self.nack_list.set_deadline(latency);
        self.streams.iter_mut().for_each(|stream| stream.set_latency(latency));
    }

    /// The session is of plain RTP.
    pub(super) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// Gives a packet of plain RTP the fields that the session needs. False where it is of another source.
    pub(super) fn adapt(&mut self, at: Timestamp, packet: &mut RtpPacket) -> bool {
        let Some(plain) = &mut self.plain else { return false };
        let is_taken = plain.adapt(at, packet);
        if let Some((at, report)) = plain.take_report() {
            self.on_sender_report(at, &report);
        }
        is_taken
    }

    /// The synchronisation source of this index on the wire.
    pub(super) fn ssrc(&self, index: usize) -> u32 {
        let own = self.plain.as_ref().and_then(|plain| plain.wire_ssrc(index));
        own.unwrap_or_else(|| self.description.session.wrapping_add(index as u32))
    }

    /// What the buffer of bytes holds, where there is one.
    pub(super) fn buffer_level(&self) -> Option<BufferLevel> {
        self.buffer.as_ref().map(ByteBuffer::level)
    }

    /// Fills in the values that are no counts.
    pub(super) fn complete(&self, statistics: &mut ReceiverStatistics) {
        statistics.rtt = self.rtt;
        statistics.held = self.streams.iter().map(ReceiveStream::held).sum();
        statistics.playout_delay =
            self.streams.iter().map(|stream| stream.playout().delay()).max().unwrap_or_default();
        statistics.jitter = self.logs.iter().flatten().map(|log| log.jitter()).max().unwrap_or_default();
        if let Some(buffer) = &self.buffer {
            statistics.buffer = Some(buffer.statistics());
            statistics.held = buffer.level().held;
        }
    }

    /// True where another sender may take over.
    pub(super) fn is_over(&self, now: Timestamp, lock: TimeDelta) -> bool {
        self.closed || now.since(self.last_activity) > lock
    }

    pub(super) fn on_activity(&mut self, at: Timestamp) {
        self.last_activity = self.last_activity.max(at);
    }

    /// The sender said goodbye. True where it had not before.
    pub(super) fn on_bye(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, true)
    }

    /// The same session under another controller.
    pub(super) fn on_description_changed(
        &mut self,
        description: SessionDescription,
        registry: &Registry,
    ) -> Result<(), SpecError> {
        if description.streams != self.description.streams {
            return Err(SpecError::new("streams", "a session keeps its streams"));
        }
        self.source = receiving_half(&description, registry)?;
        self.description = description;
        Ok(())
    }

    /// A sender report of one of the streams maps its media clock to the sender's clock.
    pub(super) fn on_sender_report(&mut self, at: Timestamp, report: &SenderReport<'_>) {
        let of_block = || {
            let source = SourceId::of(report.ssrc, self.description.session);
            source.filter(|source| source.subflow == Subflow(0) && !source.repair).map(|source| source.stream)
        };
        let stream = match &self.plain {
            Some(plain) => plain.stream_of(report.ssrc),
            None => of_block(),
        };
        let Some(id) = stream.filter(|stream| usize::from(stream.0) < self.streams.len()) else {
            self.plain.iter_mut().for_each(|plain| plain.keep_report(at, report));
            return;
        };
        self.streams[usize::from(id.0)].on_sender_report(report);
        if let Some(plain) = &mut self.plain {
            plain.clocks.on_report(id, report.ntp_time.to_remote().transit_from(at));
            let sound = self.streams.get_mut(usize::from(SOUND.0));
            sound.into_iter().for_each(|sound| sound.set_clock_shift(plain.clocks.shift_of_sound()));
        }
        self.last_report = Some((report.ntp_time.short(), at));
        self.on_activity(at);
    }

    pub(super) fn on_picture_lost(&mut self, now: Timestamp) {
        self.is_idle = false;
        self.streams.iter_mut().for_each(|stream| stream.on_picture_lost(now));
        self.note_due();
    }

    /// An RTP packet came.
    pub(super) fn handle_packet(
        &mut self,
        at: Timestamp,
        ecn: Ecn,
        size: DataSize,
        packet: &mut RtpPacket,
        statistics: &mut ReceiverStatistics,
        observer: Option<&mut (dyn Observer + 'static)>,
    ) {
        let refused = &mut statistics.refused;
        let source = SourceId::of(packet.ssrc, self.description.session);
        let Some(source) = source.filter(|source| usize::from(source.stream.0) < self.streams.len()) else {
            refused.unknown_ssrc += 1;
            return;
        };
        let media_type = self.streams[usize::from(source.stream.0)].description().payload_type;
        let kind = PacketKind::of(packet.payload_type, media_type, source.stream);
        let Some((control, kind)) = packet.control.zip(kind) else {
            refused.malformed += 1;
            return;
        };
        let (present, payload) = (self.present.max(at), DataSize::from_bytes(packet.payload.len() as u64));
        if self.buffer.as_mut().is_some_and(|buffer| buffer.refuses(present, payload)) {
            return;
        }
        let log = self.log(source, packet.sequence_number);
        let (sequence, missing) = match log.insert(packet.sequence_number, at, ecn) {
            Insertion::New { sequence, missing } => (sequence, missing),
            Insertion::Duplicate => {
                refused.duplicates += 1;
                return;
            }
            Insertion::Outside => {
                refused.unmatched += 1;
                return;
            }
        };
        if kind == PacketKind::Media {
            log.on_timestamp(at, packet.timestamp);
        }
        self.on_activity(at);
        statistics.received.add(size);
        statistics.ecn[usize::from(ecn.bits())] += 1;
        if !self.description.lanes {
            self.rtt = control.rtt.or(self.rtt);
        }
        let arrival = self.arrival(at, ecn, size, source, control, packet.marker);
        if self.description.lanes {
            self.rtt = self.best_lane().1.or(self.rtt);
        }
        self.present = self.present.max(at);
        self.source.on_arrival(self.present, &arrival);
        if let Some(observer) = observer {
            observer.on_arrival(at, &arrival);
        }
        if let Some(number) = packet.transport_sequence {
            let ssrc = self.ssrc(source.index());
            self.transport.on_arrival(at, ssrc, number);
        }
        match kind {
            PacketKind::Padding => statistics.padding.add(size),
            PacketKind::Retransmission => {
                statistics.repair.add(size);
                self.handle_retransmission(at, source, packet, statistics);
            }
            PacketKind::Repair => {
                statistics.repair.add(size);
                self.recovery.on_repair(source, packet, &mut statistics.refused);
                self.insert_recovered(at, statistics);
            }
            PacketKind::Media => {
                self.streams[usize::from(source.stream.0)].on_arrival(at, packet.timestamp);
                if let Some(tail) = self.tails.get_mut(usize::from(source.stream.0)) {
                    self.rtt.into_iter().for_each(|rtt| tail.on_round_trip(at, rtt));
                    let (picture, missing) = ((packet.timestamp, packet.marker), missing.end - missing.start);
                    tail.on_arrival(at, (source, sequence), picture, missing, self.nack_list.reorder());
                }
                if !missing.is_empty() || !self.nack_list.is_empty() {
                    self.note_gap(at, source, sequence, missing, packet.timestamp, statistics);
                }
                self.insert(at, source.stream, packet, statistics);
            }
        }
    }

    /// The quickest lane of those by which packets come, and its round-trip time. Without lanes the first subflow.
    pub(super) fn best_lane(&self) -> (Subflow, Option<TimeDelta>) {
        let newest = self.subflows.iter().map(|lane| lane.arrived).max().unwrap_or_default();
        let lanes = self.subflows.iter().zip(0..).filter(|(lane, _)| lane.arrived + LANE_SILENCE > newest);
        let quickest = lanes
            .filter(|(lane, _)| self.description.lanes && lane.received > 0)
            .min_by_key(|(lane, _)| lane.rtt.unwrap_or(TimeDelta::MAX));
        quickest.map_or((Subflow(0), None), |(lane, index)| (Subflow(index), lane.rtt))
    }

    /// A link reports that the channel lost this packet.
    pub(super) fn on_channel_loss(&mut self, packet: &RtpPacket) {
        let source = SourceId::of(packet.ssrc, self.description.session);
        let (Some(source), Some(control)) = (source, packet.control) else { return };
        // Before the first arrival of a subflow nothing is missing.
        let state = self.subflows.get(usize::from(source.subflow.0));
        let Some(unwrap) = state.and_then(|subflow| subflow.sequence) else { return };
        let lost = Arrival {
            subflow: source.subflow,
            sequence: unwrap.peek(control.sequence_number),
            size: DataSize::ZERO,
            ecn: Ecn::NotEct,
            tag: control.tag,
            sent: RemoteTimestamp::from_nanos(0),
            rtt: None,
            ends_frame: packet.marker,
        };
        self.source.on_channel_loss(&lost);
    }

    #[inline]
    fn log(&mut self, source: SourceId, number: u16) -> &mut ArrivalLog {
        let index = source.index();
        if self.logs.get(index).is_none_or(Option::is_none) {
            self.begin_log(source, number);
        }
        self.logs[index].as_mut().unwrap_or_else(|| unreachable!("made above"))
    }

    /// The first packet of a source came.
    #[cold]
    fn begin_log(&mut self, source: SourceId, number: u16) {
        let index = source.index();
        if self.logs.len() <= index {
            self.logs.resize_with(index + 1, || None);
        }
        self.has_media |= !source.repair;
        let rate = self.streams[usize::from(source.stream.0)].description().clock_rate;
        self.logs[index] = Some(Box::new(ArrivalLog::new(number, rate)));
        let sources = self.logs.iter().flatten().count();
        self.logs.iter_mut().flatten().for_each(|log| log.share_memory(sources));
    }

    #[inline]
    fn arrival(
        &mut self,
        at: Timestamp,
        ecn: Ecn,
        size: DataSize,
        source: SourceId,
        control: ControlData,
        marker: bool,
    ) -> Arrival {
        let first = u64::from(control.sent.bits()) * 1_000;
        let sent = self.sent.map_or(first, |known| control.sent.unwrap_near(known));
        self.sent = Some(sent);
        let index = usize::from(source.subflow.0);
        if self.subflows.len() <= index {
            self.subflows.resize_with(index + 1, SubflowState::default);
        }
        let subflow = &mut self.subflows[index];
        let number = control.sequence_number;
        let unwrap = subflow.sequence.get_or_insert_with(|| {
            subflow.first = number.into();
            SequenceUnwrapper::at(number.into())
        });
        let sequence = unwrap.next(number);
        subflow.received += 1;
        subflow.arrived = subflow.arrived.max(at);
        subflow.rtt = control.rtt.or(subflow.rtt);
        let is_newest = sequence == unwrap.highest();
        if is_newest {
            subflow.echo = Some(SubflowEcho { sent: control.sent, at });
        }
        let sent = RemoteTimestamp::from_nanos(sent);
        let sent = match self.description.lanes {
            // Lanes differ in delay by more than packets of one path do.
            true => subflow.clock.read(at, sent, subflow.rtt, is_newest),
            false => self.clock.read(at, sent, self.rtt, is_newest),
        };
        Arrival {
            subflow: source.subflow,
            sequence,
            size,
            ecn,
            tag: control.tag,
            sent,
            rtt: control.rtt,
            ends_frame: marker,
        }
    }

    /// A media packet that came, by itself or by retransmission. True where it was inserted.
    #[inline]
    fn insert(
        &mut self,
        at: Timestamp,
        stream: StreamId,
        packet: &mut RtpPacket,
        statistics: &mut ReceiverStatistics,
    ) -> bool {
        if !self.recovery.is_enabled() {
            return self.insert_media(at, stream, packet, statistics);
        }
        self.recovery.on_media(stream, packet, &mut statistics.refused);
        let is_inserted = self.insert_media(at, stream, packet, statistics);
        self.insert_recovered(at, statistics);
        is_inserted
    }

    #[inline]
    fn insert_media(
        &mut self,
        at: Timestamp,
        stream: StreamId,
        packet: &mut RtpPacket,
        statistics: &mut ReceiverStatistics,
    ) -> bool {
        let held: DataSize = self.streams.iter().map(ReceiveStream::held).sum();
        if held + DataSize::from_bytes(packet.payload.len() as u64) > HELD {
            statistics.refused.overflow += 1;
            return false;
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.insert(self.present, DataSize::from_bytes(packet.payload.len() as u64));
        }
        self.streams[usize::from(stream.0)].insert(at, packet, statistics)
    }

    /// Releases the frames that are due, and gives up those that cannot become whole.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        events: &mut Events<ReceiverEvent>,
        statistics: &mut ReceiverStatistics,
    ) {
        self.present = self.present.max(now);
        if self.source.poll_timeout().is_some_and(|due| due <= now) {
            self.source.handle_timeout(now);
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.advance(now);
            self.source.on_buffer(now, buffer.level());
        }
        self.request_tails(now);
        self.is_idle = self.nack_list.is_empty()
            && self.next_tail().is_none()
            && self.streams.iter().all(|stream| stream.is_idle(self.has_media));
        (self.next_release, self.due) = (None, None);
        if self.is_idle {
            return;
        }
        let rtt = self.request_rtt();
        if !self.nack_list.is_empty() {
            let (requests, streams, recovery) = (&mut self.requests, &mut self.streams, &self.recovery);
            let missing = self.nack_list.len();
            let gap = self.tails.iter().map(TailWatch::gap).max().unwrap_or_default();
            self.nack_list.poll(now, rtt, gap, |wanted| match wanted {
                Wanted::Packet(source, sequence) => requests.push((source, sequence)),
                // Repair packets need no round trip.
                Wanted::KeyFrame(source, left)
                    if left >= DOUBT && recovery.suffices(source.stream, missing) => {}
                Wanted::KeyFrame(source, _) => {
                    let stream = streams.get_mut(usize::from(source.stream.0));
                    stream.into_iter().for_each(|stream| stream.on_repair_in_doubt(now));
                }
            });
        }
        let (nack_list, subflows, recovery) = (&self.nack_list, self.subflows.len(), &self.recovery);
        let repair = |stream| RepairState {
            recoverable_from: recovery.recoverable_from(stream),
            awaited_until: nack_list.awaited_until(),
            deadline: nack_list.deadline(),
            subflows,
            abandoned_at: nack_list.abandoned_at(),
        };
        let pictures = self.streams.iter().filter(|stream| !stream.description().is_audio());
        if self.streams.len() > 1
            && let Some(latest) = pictures.filter_map(ReceiveStream::playout_transit).min()
        {
            self.streams.iter_mut().for_each(|stream| stream.follow_pictures(latest));
        }
        let mut next_request = None;
        for stream in &mut self.streams {
            self.next_release = earlier(self.next_release, stream.release(now, repair, events, statistics));
            stream.schedule_key_request(now, self.has_media);
            next_request = stream.earlier_of_key_request(next_request);
        }
        self.due = earlier(earlier(self.next_release, self.next_repair_request()), next_request);
    }

    fn note_due(&mut self) {
        let mut due = earlier(self.next_release, self.next_repair_request());
        for stream in &self.streams {
            due = stream.earlier_of_key_request(due);
        }
        self.due = due;
    }

    /// Gives the streams that request a key frame now.
    pub(super) fn poll_key_requests(&mut self, now: Timestamp, mut request: impl FnMut(StreamId)) {
        let is_taken = self.plain.as_ref().is_none_or(|plain| plain.video.pli);
        for (stream, id) in self.streams.iter_mut().zip(0..) {
            if stream.wants_key(now) {
                if is_taken {
                    request(StreamId(id));
                }
                stream.on_key_request(now, self.rtt);
            }
        }
        self.note_due();
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        let report = self.answers_reports().then_some(self.next_report);
        earlier(earlier(self.source.poll_timeout(), report), self.due)
    }

    /// Receiver reports answer sender reports; a sender of plain RTP may send none.
    fn answers_reports(&self) -> bool {
        (self.last_report.is_some() || self.is_plain()) && self.logs.iter().any(Option::is_some)
    }

    /// True where a report or a request may be due.
    #[inline]
    pub(super) fn has_reports(&self, now: Timestamp) -> bool {
        self.source.has_report(now) || self.has_requests(now)
    }

    /// True where a receiver report or a request is due.
    pub(super) fn has_requests(&self, now: Timestamp) -> bool {
        self.next_report <= now && self.answers_reports()
            || !self.requests.is_empty()
            || !self.is_idle && self.streams.iter().any(|stream| stream.wants_key(now))
    }

    /// The receiver report is due, and when it will be next.
    pub(super) fn take_report_turn(&mut self, now: Timestamp) -> bool {
        let due = self.next_report <= now && self.answers_reports();
        if due {
            self.next_report = now + REPORT_INTERVAL;
        }
        due
    }
}

fn receiving_half(
    description: &SessionDescription,
    registry: &Registry,
) -> Result<Box<dyn FeedbackSource>, SpecError> {
    let flow = FlowConfig { packet: description.packet, ecn: description.ecn };
    let pair = match description.lanes {
        true => registry.build_lanes(&description.control, flow, MOST_LANES),
        false => registry.build(&description.control, flow),
    };
    pair.map(|(_, source)| source)
}

impl SubflowEcho {
    /// How long ago the echoed packet came.
    pub(super) fn delay(&self, now: Timestamp) -> TimeDelta {
        now.since(self.at)
    }
}
