//! Writes the packet that leaves next, and notes that it left.

use super::Sender;
use super::queue::Queued;
use super::repair::SentPicture;
use super::scheduler::{Class, Transmission};
use crate::config::{FeedbackFormat, Format};
use crate::describe::StreamDescription;
use crate::feedback::HeaderFields;
use crate::frame::FrameKind;
use crate::message::{ControlData, Message, RtpPacket, Transmit, payload_type};
use crate::source_id::SourceId;
use seaway_control::{Content, Marking, PacketId, SentPacket, StreamId, Subflow};
use seaway_units::{DataSize, Ecn, Timestamp};
use seaway_wire::MicrosClock;
use seaway_wire::extension::FrameMarking;

/// Octets of the payload of a packet that probes a lane.
const LANE_PROBE: usize = 16;

impl Sender {
    /// Writes the scheduled packet; `None` where it is there no more.
    pub(super) fn send(
        &mut self,
        now: Timestamp,
        next: Transmission,
        message: &mut Message,
    ) -> Option<Transmit> {
        self.schedule.is_valid = false;
        let subflow = next.subflow;
        let packet = message.rtp_mut();
        let (content, since) = match next.class {
            Class::Retransmission(id) => (self.write_retransmission(now, subflow, id, packet)?, now),
            Class::Fec(stream) => (self.write_repair(now, stream, subflow, packet)?, now),
            Class::Media => {
                let queued = self.scheduler.queue.pop(subflow)?;
                self.write_media(now, subflow, queued, packet)
            }
            Class::Waiting(place) => {
                let queued = self.scheduler.queue.take(place, subflow)?;
                self.write_media(now, subflow, queued, packet)
            }
            Class::LaneProbe => {
                self.write_zeros(subflow, LANE_PROBE, packet);
                (Content::Padding, now)
            }
            Class::Filler => (self.write_filler(subflow, packet), now),
            Class::Padding => (self.write_padding(subflow, packet), now),
        };
        Some(self.dispatch(now, &next, (content, since), packet))
    }

    /// The next number of a source.
    #[inline]
    fn assign_number(&mut self, source: SourceId) -> u16 {
        if self.is_unreported(source.stream) {
            return self.numbers.assign_unreported();
        }
        self.numbers.assign(source, self.feedback.next_id())
    }

    /// No feedback covers the packets of this stream.
    #[inline]
    pub(super) fn is_unreported(&self, stream: StreamId) -> bool {
        self.config.plain.as_ref().is_some_and(|plain| plain.unreported == Some(stream))
    }

    /// A media packet, and since when its frame was waiting. Field by field, in the memory of an older packet.
    fn write_media(
        &mut self,
        now: Timestamp,
        subflow: Subflow,
        queued: Queued,
        packet: &mut RtpPacket,
    ) -> (Content, Timestamp) {
        let (stream, since, number, ends) = (queued.stream, queued.since, queued.sequence, queued.end);
        let is_audio = self.is_audio(stream);
        let frames = &mut self.statistics.frames;
        if is_audio {
            self.statistics.audio.sent.add(queued.size);
        } else {
            if queued.start {
                frames.begun += 1;
                frames.waited += now.since(since);
            }
            if ends {
                frames.sent += 1;
                frames.took += now.since(since);
                self.signal_demand(now, stream);
            }
        }
        let source = SourceId { stream, subflow, repair: false };
        let StreamDescription { format, payload_type, .. } =
            self.config.streams[usize::from(stream.0)].description;
        // Of most sound it marks the end of silence (RFC 3551 section 4.1), of a transport stream a break of its clock (RFC 2250
        // section 2).
        packet.marker = queued.end
            && match format {
                Format::Mp2t => false,
                Format::Aac(_) => true,
                _ => !is_audio,
            };
        packet.payload_type = payload_type;
        packet.sequence_number = self.assign_number(source);
        packet.timestamp = queued.timestamp;
        packet.ssrc = source.ssrc(self.config.session);
        packet.marking = Some(FrameMarking {
            start: queued.start,
            end: queued.end,
            independent: queued.kind == FrameKind::Key,
            discardable: queued.kind == FrameKind::Discardable,
            frame: (queued.frame & 0x0FFF) as u16,
            sequence_number: queued.sequence as u16,
        });
        packet.payload = queued.payload;
        if !is_audio {
            self.protect(now, stream, (since, number, ends), packet);
        }
        (Content::Media(stream), since)
    }

    /// Repair packets cover the packet, and follow it where it ends a picture.
    fn protect(
        &mut self,
        now: Timestamp,
        stream: StreamId,
        (since, number, ends): (Timestamp, u64, bool),
        packet: &RtpPacket,
    ) {
        let Some(state) = self.protected.get_mut(usize::from(stream.0)) else { return };
        if let Some(fec) = &mut state.fec {
            fec.push(since, number, packet);
        }
        state.packets += 1;
        if ends {
            let packets = std::mem::take(&mut state.packets);
            let picture = SentPicture { packets, interval: state.interval, took: now.since(since) };
            let repairs = self.repair.on_picture(picture);
            self.scheduler.add_repairs(stream, repairs);
        }
    }

    /// A repair packet over what may still be of use; `None` where that is nothing.
    fn write_repair(
        &mut self,
        now: Timestamp,
        stream: StreamId,
        subflow: Subflow,
        packet: &mut RtpPacket,
    ) -> Option<Content> {
        let is_wanted = self.scheduler.take_repair(stream);
        let fec = self.protected.get_mut(usize::from(stream.0))?.fec.as_mut().filter(|_| is_wanted)?;
        fec.discard_before(self.repair.useful_since(now));
        let payload = fec.encode()?;
        let source = SourceId { stream, subflow, repair: true };
        *packet = RtpPacket {
            payload_type: payload_type::fec(stream),
            sequence_number: self.assign_number(source),
            ssrc: source.ssrc(self.config.session),
            payload: payload.into(),
            ..RtpPacket::default()
        };
        Some(Content::Fec(stream))
    }

    /// The same packet behind its original number, with numbers of its own (RFC 4588 section 4).
    fn write_retransmission(
        &mut self,
        now: Timestamp,
        subflow: Subflow,
        id: PacketId,
        packet: &mut RtpPacket,
    ) -> Option<Content> {
        let original = self.scheduler.retransmissions.take(now, self.repair.useful_since(now), id)?;
        let stream = SourceId::of(original.ssrc, self.config.session)?.stream;
        let source = SourceId { stream, subflow, repair: true };
        *packet = RtpPacket {
            payload_type: payload_type::retransmission(stream),
            sequence_number: self.assign_number(source),
            ssrc: source.ssrc(self.config.session),
            payload: original.payload.behind(&original.sequence_number.to_be_bytes()),
            ..original
        };
        Some(Content::Retransmission(stream))
    }

    fn write_padding(&mut self, subflow: Subflow, packet: &mut RtpPacket) -> Content {
        self.write_zeros(subflow, self.payload_limit(), packet);
        Content::Padding
    }

    /// A whole packet of an endless source. On the wire it is padding, which no receiver assembles.
    fn write_filler(&mut self, subflow: Subflow, packet: &mut RtpPacket) -> Content {
        let transport_wide = self.config.feedback == FeedbackFormat::Twcc;
        let header = RtpPacket::header_len(self.tagged, false, transport_wide);
        self.write_zeros(subflow, self.room().saturating_sub(header).max(1), packet);
        Content::Media(StreamId(0))
    }

    fn write_zeros(&mut self, subflow: Subflow, payload: usize, packet: &mut RtpPacket) {
        let source = SourceId { stream: StreamId(0), subflow, repair: true };
        packet.marker = false;
        packet.payload_type = payload_type::PADDING;
        packet.sequence_number = self.assign_number(source);
        packet.timestamp = 0;
        packet.ssrc = source.ssrc(self.config.session);
        packet.marking = None;
        packet.payload.set_zeros(u32::try_from(payload).unwrap_or(u32::MAX));
    }

    /// Stamps the packet and enters it in the history, the pacer, the controller and the statistics.
    fn dispatch(
        &mut self,
        now: Timestamp,
        next: &Transmission,
        (content, since): (Content, Timestamp),
        packet: &mut RtpPacket,
    ) -> Transmit {
        if let Content::Media(stream) = content
            && self.is_unreported(stream)
        {
            return self.dispatch_unreported(now, next.subflow, content, packet);
        }
        let subflow = next.subflow;
        let (id, sequence) = (self.feedback.next_id(), self.feedback.next_sequence(subflow));
        packet.transport_sequence = (self.config.feedback == FeedbackFormat::Twcc).then_some(id.0 as u16);
        packet.control = Some(ControlData {
            sequence_number: sequence as u32,
            sent: MicrosClock::from_timestamp(now),
            rtt: self.feedback.rtt_on_wire(subflow),
            tag: None,
        });
        if self.config.plain.is_some() {
            (packet.control, packet.marking) = (None, None);
        }
        let mut sent = SentPacket {
            id,
            subflow,
            sequence,
            size: self.size_of(packet.wire_len()),
            content,
            probe: self.scheduler.probe(),
            backlog: self.scheduler.backlog_of(self.controller.as_ref(), subflow),
        };
        let Marking { ecn, tag } = self.controller.marking(now, &sent);
        if let Some(control) = &mut packet.control {
            control.tag = tag;
            self.tagged |= tag.is_some();
        }
        let is_kept = matches!(content, Content::Media(_)) && self.scheduler.retransmissions.is_enabled();
        if tag.is_some() {
            sent.size = self.size_of(packet.wire_len());
        }
        let fields = HeaderFields { tag, ends_frame: packet.marker };
        let has_reports = self.feedback.on_sent(now, &sent, fields);
        self.scheduler.retransmissions.on_sent(since, is_kept.then_some(packet));
        match content {
            Content::Media(_) => self.repair.on_media_sent(sent.size),
            Content::Retransmission(_) | Content::Fec(_) => self.repair.on_repair_sent(sent.size),
            Content::Padding => {}
        }
        self.scheduler.on_sent(now, next, sent.size);
        if let Some(lanes) = &mut self.scheduler.lanes {
            let is_wanted = self.controller.target().rate < self.config.limits.max;
            lanes.on_sent(now, subflow, sent.size, (self.controller.target_of(subflow), is_wanted));
        }
        self.statistics.count_sent(content, sent.size);
        self.receiver_reports.on_sent(sent.size);
        if let Some(observer) = &mut self.observer {
            observer.on_sent(now, &sent);
        }
        self.controller.on_sent(now, &sent);
        if has_reports {
            self.deliver_feedback(now);
        }
        self.follow_controller(now);
        Transmit { at: now, size: sent.size, ecn, subflow }
    }

    /// Enters a packet that no feedback covers in the statistics alone.
    fn dispatch_unreported(
        &mut self,
        now: Timestamp,
        subflow: Subflow,
        content: Content,
        packet: &mut RtpPacket,
    ) -> Transmit {
        (packet.transport_sequence, packet.control, packet.marking) = (None, None, None);
        let size = self.size_of(packet.wire_len());
        self.statistics.count_sent(content, size);
        Transmit { at: now, size, ecn: Ecn::NotEct, subflow }
    }

    /// The IP datagram of a UDP payload of so many octets.
    pub(super) fn size_of(&self, payload: usize) -> DataSize {
        self.config.overhead + DataSize::from_bytes(payload as u64)
    }
}
