//! What leaves next, by which lane, and what is written on it.

use super::Sender;
use super::pacer::Pacer;
use super::queue::Queued;
use crate::config::FeedbackFormat;
use crate::feedback::history::{Stored, Written};
use crate::frame::FrameKind;
use crate::message::{ControlData, Message, RtpPacket, Transmit, payload_type};
use crate::payload::Payload;
use crate::source_id::SourceId;
use seaway_control::{
    Allowance, Content, Lane, Marking, PacketId, PacketReport, ProbeId, SentPacket, StreamId,
};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use seaway_wire::MicrosClock;
use seaway_wire::extension::FrameMarking;

/// A probe that is leaving.
#[derive(Debug)]
pub(super) struct ActiveProbe {
    id: ProbeId,
    pub(super) allowance: Allowance,
    size_left: DataSize,
    packets_left: u8,
    pub(super) pacer: Pacer,
}

/// What leaves next.
#[derive(Debug, Clone, Copy)]
pub(super) enum Departure {
    Repair(PacketId),
    Media,
    /// Of an endless source.
    Filling,
    Padding,
}

/// When which packet may leave by which lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) due: Timestamp,
    lane: Lane,
    departure: Departure,
    /// The credit of the lane's allowance by which it is due; `None` for a probe, which has an allowance of its own.
    credit: Option<TimeDelta>,
}

impl Sender {
    /// What a lane has to send, repair first, and its size; repairs of a lane that is gone go by another.
    #[inline]
    fn content(&self, lane: Lane) -> Option<(Departure, DataSize)> {
        if !self.repairs.is_empty() {
            let lanes = self.controller.lanes().max(1);
            if let Some(&(_, id)) = self.repairs.iter().find(|(of, _)| of.0 % lanes == lane.0) {
                return Some((Departure::Repair(id), self.config.packet));
            }
        }
        let endless =
            || (self.config.endless && !self.paused).then_some((Departure::Filling, self.config.packet));
        self.queue.front(lane).map(|queued| (Departure::Media, queued.size)).or_else(endless)
    }

    /// A lane's next packet and when it is due; `None` where nothing waits or may leave.
    #[inline]
    fn departure(&self, lane: Lane) -> Option<Transmission> {
        let (departure, size) = self.content(lane)?;
        let allowance = self.controller.allowance(lane);
        if allowance.window.is_some_and(|window| size > window) {
            return None;
        }
        let due = self.history.pacer(lane).due(allowance)?;
        Some(Transmission { due, lane, departure, credit: Some(allowance.credit) })
    }

    /// What leaves next, of all lanes: a probe before all else.
    #[inline]
    pub(super) fn next_transmission(&self) -> Option<Transmission> {
        if self.probe.is_some() {
            return self.next_probe_packet();
        }
        let mut first = self.departure(Lane(0));
        for lane in self.lanes().skip(1) {
            if let Some(next) = self.departure(lane)
                && first.as_ref().is_none_or(|first| next.due < first.due)
            {
                first = Some(next);
            }
        }
        first
    }

    fn next_probe_packet(&self) -> Option<Transmission> {
        let probe = self.probe.as_ref()?;
        let due = probe.pacer.due(probe.allowance)?;
        let busy = self.lanes().find_map(|lane| Some((lane, self.content(lane)?.0)));
        let (lane, departure) = busy.unwrap_or((Lane(0), Departure::Padding));
        Some(Transmission { due, lane, departure, credit: None })
    }

    pub(super) fn begin_probe(&mut self, now: Timestamp) {
        if self.probe.is_some() || self.paused {
            return;
        }
        let Some(probe) = self.controller.poll_probe(now) else { return };
        self.schedule.is_valid = false;
        self.probe = Some(ActiveProbe {
            id: probe.id,
            allowance: Allowance::paced(probe.rate),
            size_left: probe.size,
            packets_left: probe.packets,
            pacer: Pacer::default(),
        });
    }

    /// Writes what was next; `None` where it is there no more.
    pub(super) fn send(
        &mut self,
        now: Timestamp,
        next: Transmission,
        message: &mut Message,
    ) -> Option<Transmit> {
        let Transmission { departure, lane, .. } = next;
        self.schedule.is_valid = false;
        let (packet, source, content) = match departure {
            Departure::Repair(id) => self.repair_packet(lane, id)?,
            Departure::Media => {
                let queued = self.queue.pop(lane)?;
                if queued.end {
                    self.tell_demand(now, queued.stream);
                }
                self.media_packet(lane, queued)
            }
            Departure::Filling => {
                let (source, content) = self.fill(lane, message.rtp_mut());
                return Some(self.dispatch(now, next, source, content, message.rtp_mut()));
            }
            Departure::Padding => self.padding_packet(lane),
        };
        *message = Message::Rtp(packet);
        Some(self.dispatch(now, next, source, content, message.rtp_mut()))
    }

    fn blank(&mut self, source: SourceId) -> RtpPacket {
        let sequence = self.history.next_in_source(source, self.config.initial_sequence);
        RtpPacket {
            marker: false,
            payload_type: payload_type::PADDING,
            sequence_number: sequence as u16,
            timestamp: 0,
            ssrc: source.ssrc(self.config.session),
            control: None,
            marking: None,
            transport_sequence: None,
            payload: Payload::default(),
        }
    }

    fn media_packet(&mut self, lane: Lane, queued: Queued) -> (RtpPacket, SourceId, Content) {
        let source = SourceId { stream: queued.stream, lane, repair: false };
        let format = self.config.streams[usize::from(queued.stream.0)].format;
        let packet = RtpPacket {
            marker: queued.end,
            payload_type: payload_type::of(format),
            timestamp: queued.timestamp,
            marking: Some(FrameMarking {
                start: queued.start,
                end: queued.end,
                independent: queued.kind == FrameKind::Key,
                discardable: queued.kind == FrameKind::Discardable,
                frame: (queued.frame & 0x0FFF) as u16,
                sequence_number: queued.sequence as u16,
            }),
            payload: queued.payload,
            ..self.blank(source)
        };
        (packet, source, Content::Media(queued.stream))
    }

    /// The same packet behind its original number, with numbers of its own (RFC 4588 section 4).
    fn repair_packet(&mut self, lane: Lane, id: PacketId) -> Option<(RtpPacket, SourceId, Content)> {
        self.repairs.retain(|(_, waiting)| *waiting != id);
        let (_, _, stored) = self.history.stored(id)?;
        stored.repeats += 1;
        let original = stored.packet.clone();
        let stream = SourceId::of(original.ssrc, self.config.session)?.stream;
        let source = SourceId { stream, lane, repair: true };
        let blank = self.blank(source);
        let packet = RtpPacket {
            payload_type: payload_type::RTX,
            sequence_number: blank.sequence_number,
            ssrc: blank.ssrc,
            payload: original.payload.behind(&original.sequence_number.to_be_bytes()),
            ..original
        };
        Some((packet, source, Content::Retransmission(stream)))
    }

    fn padding_packet(&mut self, lane: Lane) -> (RtpPacket, SourceId, Content) {
        let source = SourceId { stream: StreamId(0), lane, repair: true };
        let packet = RtpPacket { payload: Payload::zeros(self.payload_limit()), ..self.blank(source) };
        (packet, source, Content::Padding)
    }

    /// A whole packet of what an endless source sends. On the wire it is padding: nobody puts it together.
    fn fill(&mut self, lane: Lane, packet: &mut RtpPacket) -> (SourceId, Content) {
        let stream = StreamId(0);
        let source = SourceId { stream, lane, repair: true };
        let transport_wide = self.config.feedback == FeedbackFormat::Twcc;
        let header = RtpPacket::header_len(self.tagged, false, transport_wide);
        let payload = self.room().saturating_sub(header).max(1);
        let sequence = self.history.next_in_source(source, self.config.initial_sequence);
        // Field by field, in the memory of an older one: this is the hot path of bulk data.
        packet.marker = false;
        packet.payload_type = payload_type::PADDING;
        packet.sequence_number = sequence as u16;
        packet.timestamp = 0;
        packet.ssrc = source.ssrc(self.config.session);
        packet.marking = None;
        packet.payload.set_zeros(u32::try_from(payload).unwrap_or(u32::MAX));
        (source, Content::Media(stream))
    }

    /// Stamps a packet, notes its departure everywhere and gives it out.
    fn dispatch(
        &mut self,
        now: Timestamp,
        next: Transmission,
        source: SourceId,
        content: Content,
        packet: &mut RtpPacket,
    ) -> Transmit {
        let lane = next.lane;
        let sequence = self.history.next_in_lane(lane);
        let id = self.history.next_id();
        packet.transport_sequence = (self.config.feedback == FeedbackFormat::Twcc).then_some(id.0 as u16);
        packet.control = Some(ControlData {
            sequence_number: sequence as u32,
            sent: MicrosClock::from_timestamp(now),
            rtt: self.round_trip.on_wire(),
            tag: None,
        });
        let endless = if self.config.endless { self.config.packet } else { DataSize::ZERO };
        let mut sent = SentPacket {
            id,
            lane,
            sequence,
            size: self.size_of(packet.wire_len()),
            content,
            probe: self.probe.as_ref().map(|probe| probe.id),
            backlog: self.queue.waiting() + self.config.packet * self.repairs.len() as u64 + endless,
        };
        let Marking { ecn, tag } = self.controller.marking(now, &sent);
        if let Some(control) = &mut packet.control {
            control.tag = tag;
            self.tagged |= tag.is_some();
        }
        let written = Written { tag, ends_frame: packet.marker };
        let stored = matches!(content, Content::Media(_)) && self.config.repair.is_some();
        let stored = stored.then(|| Stored { packet: packet.clone(), repeats: 0 });
        if tag.is_some() {
            sent.size = self.size_of(packet.wire_len());
        }
        self.note_departure(now, (next.due, next.credit), &sent, source, written, stored);
        Transmit { at: now, size: sent.size, ecn, lane }
    }

    fn note_departure(
        &mut self,
        now: Timestamp,
        (due, credit): (Timestamp, Option<TimeDelta>),
        sent: &SentPacket,
        source: SourceId,
        written: Written,
        stored: Option<Stored>,
    ) {
        let forgotten = self.history.push(now, sent, source, written, stored);
        let pacer = &mut self.history.lane(sent.lane).pacer;
        if let Some(probe) = &mut self.probe {
            // At a low rate the pauses behind a whole probe would silence the lane for tens of seconds.
            pacer.on_probed(now, sent.size);
            probe.pacer.on_sent(now, probe.allowance, sent.size);
            probe.size_left -= sent.size;
            probe.packets_left = probe.packets_left.saturating_sub(1);
            if probe.size_left.is_zero() && probe.packets_left == 0 {
                self.probe = None;
            }
        } else if let Some(credit) = credit {
            pacer.on_due_sent(now, Some(due), credit, sent.size);
        } else {
            pacer.on_sent(now, self.controller.allowance(sent.lane), sent.size);
        }
        self.statistics.sent.add(sent.size);
        match sent.content {
            Content::Media(_) => self.statistics.media.add(sent.size),
            Content::Retransmission(_) | Content::Fec(_) => self.statistics.repair.add(sent.size),
            Content::Padding => self.statistics.padding.add(sent.size),
        }
        if let Some(observer) = &mut self.observer {
            observer.on_sent(now, sent);
        }
        self.controller.on_sent(now, sent);
        self.report_forgotten(now, forgotten);
        self.follow_controller(now);
    }

    /// The memory was full: what was pushed out of it counts as lost.
    #[inline]
    fn report_forgotten(&mut self, now: Timestamp, forgotten: Option<PacketReport>) {
        if let Some(report) = forgotten {
            self.evidence.add_report(report);
            self.conclude(now);
        }
    }

    /// The IP datagram of a UDP payload of so many octets.
    pub(super) fn size_of(&self, payload: usize) -> DataSize {
        self.config.overhead + DataSize::from_bytes(payload as u64)
    }
}
