//! The intake of plain RTP: which source is taken, and how its packets become those of a session.

use super::recognition::Recognition;
use crate::config::{FeedbackFormat, Stripe};
use crate::describe::{PlainRtp, PlainVideo, SessionDescription, StreamDescription};
use crate::message::{ControlData, RtpPacket, payload_type};
use seaway_control::{SpecError, StreamId};
use seaway_units::{DataSize, Ecn, Timestamp};
use seaway_wire::MicrosClock;

/// Packets in sequence before a source is accepted (RFC 3550 appendix A.1, MIN_SEQUENTIAL).
const PROBATION: usize = 2;
/// Packets that are kept while a source is learned. The parameter sets come with a key frame, of which there may be one in
/// ten seconds.
const PENDING: usize = 4096;
/// And their octets.
const PENDING_OCTETS: DataSize = DataSize::from_bytes(8 << 20);
/// The largest packet of another sender, as an IP datagram: what an Ethernet frame holds.
const PACKET: DataSize = DataSize::from_bytes(1500);

/// A packet and how it came.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) at: Timestamp,
    pub(super) ecn: Ecn,
    pub(super) size: DataSize,
    pub(super) packet: RtpPacket,
}

/// Finds the source to receive.
#[derive(Debug)]
pub(super) struct Intake {
    expected: PlainRtp,
    candidate: Option<Candidate>,
    /// The payload type that was last found not to be understood.
    puzzling: Option<u8>,
}

#[derive(Debug)]
struct Candidate {
    ssrc: u32,
    payload_type: u8,
    next: u16,
    in_sequence: usize,
    recognition: Recognition,
    pending: Vec<Arrived>,
    /// The octets of these.
    held: DataSize,
}

/// What a packet of an unknown source leads to.
#[derive(Debug)]
pub(super) enum Verdict {
    /// More packets are needed.
    Learning,
    /// Its source is to be received, beginning with these packets.
    Found(Box<PlainSource>, Vec<Arrived>),
    /// It carries something that is not understood; reported once for a payload type.
    NotUnderstood,
}

/// The source of a plain session.
#[derive(Debug)]
pub(super) struct PlainSource {
    pub(super) video: PlainVideo,
    ssrc: u32,
    /// The source of its retransmissions, once one came.
    repair_ssrc: Option<u32>,
    packets: u32,
}

impl Intake {
    pub(super) fn new(expected: PlainRtp) -> Self {
        Self { expected, candidate: None, puzzling: None }
    }

    /// A packet of a source that is not received yet.
    pub(super) fn on_packet(&mut self, arrived: Arrived) -> Verdict {
        let packet = &arrived.packet;
        let (ssrc, payload_type, number) = (packet.ssrc, packet.payload_type, packet.sequence_number);
        let is_retransmission =
            self.expected.video.as_ref().is_some_and(|video| video.retransmission == Some(payload_type));
        if is_retransmission {
            return Verdict::Learning;
        }
        let is_candidate =
            |candidate: &Candidate| candidate.ssrc == ssrc && candidate.payload_type == payload_type;
        if !self.candidate.as_ref().is_some_and(is_candidate) {
            self.candidate = Some(Candidate::new(ssrc, payload_type, number));
        }
        let Some(candidate) = &mut self.candidate else { return Verdict::Learning };
        candidate.push(arrived);
        let is_refused = match &self.expected.video {
            Some(video) => payload_type != video.payload_type,
            None => candidate.recognition.is_hopeless(),
        };
        if is_refused {
            self.candidate = None;
            let is_new = self.puzzling.replace(payload_type) != Some(payload_type);
            return if is_new { Verdict::NotUnderstood } else { Verdict::Learning };
        }
        let recognised = || candidate.recognition.format().map(|format| PlainVideo::of(format, payload_type));
        let Some(video) = self.expected.video.clone().or_else(recognised) else { return Verdict::Learning };
        if candidate.in_sequence < PROBATION {
            return Verdict::Learning;
        }
        let source = PlainSource { video, ssrc, repair_ssrc: None, packets: 0 };
        let pending = self.candidate.take().map(|candidate| candidate.pending);
        self.puzzling = None;
        Verdict::Found(Box::new(source), pending.unwrap_or_default())
    }
}

impl Candidate {
    fn new(ssrc: u32, payload_type: u8, number: u16) -> Self {
        Self {
            ssrc,
            payload_type,
            next: number,
            in_sequence: 0,
            recognition: Recognition::default(),
            pending: Vec::new(),
            held: DataSize::ZERO,
        }
    }

    fn push(&mut self, arrived: Arrived) {
        let packet = &arrived.packet;
        let is_next = packet.sequence_number == self.next;
        self.in_sequence = if is_next { self.in_sequence + 1 } else { 1 };
        self.next = packet.sequence_number.wrapping_add(1);
        let before = self.recognition.format();
        let mut octets = Vec::with_capacity(packet.payload.len());
        packet.payload.write(&mut octets);
        self.recognition.on_payload(packet.payload_type, &octets);
        if self.recognition.format() != before {
            // What came before cannot be decoded.
            self.forget();
        }
        if self.pending.len() == PENDING || self.held + arrived.size > PENDING_OCTETS {
            self.forget();
        }
        self.held += arrived.size;
        self.pending.push(arrived);
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.held = DataSize::ZERO;
    }
}

impl PlainSource {
    /// What the session of this source is.
    ///
    /// # Errors
    /// The controller by whose receiving half reports are timed does not exist.
    pub(super) fn description(&self) -> Result<SessionDescription, SpecError> {
        let PlainVideo { format, clock_rate, feedback, .. } = self.video;
        Ok(SessionDescription {
            session: self.ssrc,
            // Its receiving half sets when arrivals are reported, and computes nothing.
            control: "gcc".parse()?,
            ecn: Ecn::NotEct,
            packet: PACKET,
            feedback: feedback.unwrap_or(FeedbackFormat::Computed),
            stripe: Stripe::Packet,
            lanes: false,
            fec: false,
            streams: vec![StreamDescription { clock_rate, ..StreamDescription::video(format) }],
        })
    }

    /// Whether packets can be requested.
    pub(super) fn can_request(&self) -> bool {
        self.video.nack
    }

    /// The synchronisation source of retransmissions on the wire.
    pub(super) fn repair_ssrc(&self) -> Option<u32> {
        self.repair_ssrc
    }

    /// Gives a packet the fields that a session needs. False where it is not of this source.
    pub(super) fn adapt(&mut self, at: Timestamp, packet: &mut RtpPacket) -> bool {
        if Some(packet.payload_type) == self.video.retransmission && packet.ssrc != self.ssrc {
            if *self.repair_ssrc.get_or_insert(packet.ssrc) != packet.ssrc {
                return false;
            }
            packet.ssrc = self.ssrc.wrapping_add(1);
            packet.payload_type = payload_type::retransmission(StreamId(0));
        } else if packet.ssrc == self.ssrc && packet.payload_type == self.video.payload_type {
            packet.payload_type = payload_type::of(self.video.format);
        } else {
            return false;
        }
        self.packets = self.packets.wrapping_add(1);
        let (sequence_number, sent) = (self.packets, MicrosClock::from_timestamp(at));
        packet.control = Some(ControlData { sequence_number, sent, rtt: None, tag: None });
        packet.marking = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReceiverConfig;
    use crate::payload::Payload;
    use crate::{FrameData, Message, ReceivedFrame, Receiver, ReceiverEvent};
    use bytes::Bytes;
    use seaway_units::TimeDelta;

    /// Slices without parameter sets, in the largest datagrams.
    #[test]
    fn what_waits_for_parameter_sets_is_bounded() {
        let mut intake = Intake::new(PlainRtp::default());
        for number in 0..5000 {
            let payload = Payload::from(Bytes::from(vec![0x41; 60_000]));
            let packet =
                RtpPacket { payload_type: 96, sequence_number: number, payload, ..RtpPacket::default() };
            let size = DataSize::from_bytes(60_040);
            let arrived = Arrived { at: Timestamp::ZERO, ecn: Ecn::NotEct, size, packet };
            assert!(matches!(intake.on_packet(arrived), Verdict::Learning));
            let candidate = intake.candidate.as_ref().unwrap();
            let held: DataSize = candidate.pending.iter().map(|arrived| arrived.size).sum();
            assert!(held == candidate.held && held <= PENDING_OCTETS);
        }
    }

    /// Packets of a transport stream, whose numbers come in this order, 2 ms apart: the frames that come out by number, and how
    /// many are lost.
    fn transported(numbers: impl Iterator<Item = u16>) -> (Vec<u8>, u64) {
        let config = ReceiverConfig { plain: Some(PlainRtp::default()), ..ReceiverConfig::new(9) };
        let mut receiver = Receiver::new(Timestamp::ZERO, config);
        let (mut frames, mut lost, mut now) = (Vec::new(), 0, Timestamp::ZERO);
        for number in numbers.map(Some).chain([None; 100]) {
            now += TimeDelta::from_millis(2);
            if let Some(number) = number {
                let mut octets = vec![number as u8; 2 * seaway_wire::mp2t::PACKET];
                octets.iter_mut().step_by(seaway_wire::mp2t::PACKET).for_each(|first| *first = 0x47);
                let packet = RtpPacket {
                    payload_type: payload_type::MP2T,
                    sequence_number: number,
                    timestamp: u32::from(number) * 180,
                    payload: Bytes::from(octets).into(),
                    ..RtpPacket::default()
                };
                receiver.handle_message(now, now, Ecn::NotEct, &mut Message::Rtp(packet));
            } else {
                receiver.handle_timeout(now);
            }
            while let Some(event) = receiver.poll_event() {
                match event {
                    ReceiverEvent::Frame(ReceivedFrame { data: FrameData::Coded(octets), .. }) => {
                        frames.push(octets[1]);
                    }
                    ReceiverEvent::FramesLost { frames, .. } => lost += frames,
                    _ => {}
                }
            }
        }
        assert_eq!(receiver.statistics().frames, crate::ReceivedFrames::default(), "packets are no pictures");
        (frames, lost)
    }

    #[test]
    fn packets_of_a_transport_stream_come_in_order() {
        let all: Vec<u8> = (0..60).collect();
        assert_eq!(transported(0..60), (all.clone(), 0));
        // One packet comes twenty milliseconds late, another never.
        let late = |number: &u16| *number != 20;
        let order = (0..30).filter(late).chain([20]).chain(30..60);
        assert_eq!(transported(order), (all.clone(), 0));
        let rest: Vec<u8> = all.into_iter().filter(|number| *number != 20).collect();
        assert_eq!(transported((0..60).filter(late)), (rest, 1));
    }
}
