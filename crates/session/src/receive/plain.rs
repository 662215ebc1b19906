//! The intake of plain RTP: which source is taken, and how its packets become those of a session.

use super::recognition::Recognition;
use crate::config::{FeedbackFormat, Stripe};
use crate::describe::{PlainRtp, PlainSound, PlainVideo, SessionDescription, StreamDescription};
use crate::message::{ControlData, RtpPacket, payload_type};
use crate::source_id::SourceId;
use seaway_control::{SpecError, StreamId, Subflow};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp, Transit};
use seaway_wire::rtcp::SenderReport;
use seaway_wire::{MicrosClock, NtpTime};
use std::collections::VecDeque;

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
    /// The sound, and its source once a packet came.
    sound: Option<PlainSound>,
    sound_ssrc: Option<u32>,
    /// Reports of sources that are not known yet.
    early: VecDeque<EarlyReport>,
    pub(super) clocks: ReportClocks,
    packets: u32,
}

/// Reports that are kept for sources that are not known yet: the next ones may come in five seconds.
const EARLY_REPORTS: usize = 4;

/// A sender report that came before the packets of its source.
#[derive(Debug)]
struct EarlyReport {
    at: Timestamp,
    ssrc: u32,
    ntp_time: NtpTime,
    rtp_timestamp: u32,
}

/// Reports of the two streams whose clocks are so far apart are not of one clock: media servers write such ones. libwebrtc's
/// synchronisation has the same bound.
const ONE_CLOCK: TimeDelta = TimeDelta::from_secs(10);

/// How the sender's clock stood against ours when its last reports came, by the reports of each stream.
#[derive(Debug, Default)]
pub(super) struct ReportClocks {
    pictures: Option<Transit>,
    sound: Option<Transit>,
}

impl ReportClocks {
    pub(super) fn on_report(&mut self, stream: StreamId, clock: Transit) {
        *if stream == SOUND { &mut self.sound } else { &mut self.pictures } = Some(clock);
    }

    /// What is to be added to the times of sound so that they are on the clock of the pictures. Reports on one clock need nothing;
    /// others are taken for simultaneous where they arrive together.
    pub(super) fn shift_of_sound(&self) -> TimeDelta {
        let apart = self.pictures.zip(self.sound).map(|(pictures, sound)| pictures - sound);
        apart.filter(|apart| apart.abs() > ONE_CLOCK).unwrap_or_default()
    }
}

/// The stream of the sound in the session; the pictures are the first.
pub(super) const SOUND: StreamId = StreamId(1);
/// Its place among the sources of a session.
const SOUND_SOURCE: SourceId = SourceId { stream: SOUND, subflow: Subflow(0), repair: false };

impl Intake {
    pub(super) fn new(expected: PlainRtp) -> Self {
        Self { expected, candidate: None, puzzling: None }
    }

    /// A packet of a source that is not received yet.
    pub(super) fn on_packet(&mut self, arrived: Arrived) -> Verdict {
        let packet = &arrived.packet;
        let (ssrc, payload_type, number) = (packet.ssrc, packet.payload_type, packet.sequence_number);
        let retransmission = self.expected.video.as_ref().and_then(|video| video.retransmission);
        let sound = self.expected.sound.as_ref().map(PlainSound::session_type);
        if [retransmission, sound].contains(&Some(payload_type)) {
            // By the pictures a source is found.
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
        let sound = self.expected.sound.clone();
        let clocks = ReportClocks::default();
        let source = PlainSource {
            video,
            ssrc,
            repair_ssrc: None,
            sound,
            sound_ssrc: None,
            early: VecDeque::new(),
            clocks,
            packets: 0,
        };
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
        let video = StreamDescription { clock_rate, ..StreamDescription::video(format) };
        let sound = self.sound.as_ref().map(PlainSound::description);
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
            streams: [video].into_iter().chain(sound).collect(),
        })
    }

    /// Whether packets can be requested.
    pub(super) fn can_request(&self) -> bool {
        self.video.nack
    }

    /// The synchronisation source on the wire of the session's source with this index, where that is none of the session's block.
    pub(super) fn wire_ssrc(&self, index: usize) -> Option<u32> {
        match index {
            1 => self.repair_ssrc,
            _ if index == SOUND_SOURCE.index() => self.sound_ssrc,
            _ => None,
        }
    }

    /// The stream of a synchronisation source on the wire.
    pub(super) fn stream_of(&self, ssrc: u32) -> Option<StreamId> {
        match Some(ssrc) {
            ssrc if ssrc == Some(self.ssrc) => Some(StreamId(0)),
            ssrc if ssrc == self.sound_ssrc => Some(SOUND),
            _ => None,
        }
    }

    /// A sender report of another source came, which may be that of the sound.
    pub(super) fn keep_report(&mut self, at: Timestamp, report: &SenderReport<'_>) {
        if self.sound.is_none() || self.sound_ssrc.is_some() {
            return;
        }
        let SenderReport { ssrc, ntp_time, rtp_timestamp, .. } = *report;
        self.early.retain(|early| early.ssrc != ssrc);
        if self.early.len() == EARLY_REPORTS {
            self.early.pop_front();
        }
        self.early.push_back(EarlyReport { at, ssrc, ntp_time, rtp_timestamp });
    }

    /// The report of the sound that came before its first packet, once that is there.
    pub(super) fn take_report(&mut self) -> Option<(Timestamp, SenderReport<'static>)> {
        if self.early.is_empty() || self.sound_ssrc.is_none() {
            return None;
        }
        let mut kept = std::mem::take(&mut self.early).into_iter();
        let EarlyReport { at, ssrc, ntp_time, rtp_timestamp } =
            kept.find(|early| Some(early.ssrc) == self.sound_ssrc)?;
        Some((at, SenderReport { ssrc, ntp_time, rtp_timestamp, ..SenderReport::default() }))
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
        } else if let Some(sound) =
            self.sound.as_ref().filter(|sound| sound.session_type() == packet.payload_type)
            && packet.ssrc != self.ssrc
        {
            if *self.sound_ssrc.get_or_insert(packet.ssrc) != packet.ssrc {
                return false;
            }
            packet.ssrc = SOUND_SOURCE.ssrc(self.ssrc);
            packet.payload_type = payload_type::of(sound.format);
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
    use crate::config::{Format, ReceiverConfig};
    use crate::payload::Payload;
    use crate::{FrameData, Message, ReceivedFrame, Receiver, ReceiverEvent};
    use bytes::Bytes;
    use seaway_units::RemoteTimestamp;

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

    const VIDEO_SSRC: u32 = 77;
    const SOUND_SSRC: u32 = 5;

    /// A picture, and sound of the same instant; then the sender reports, whose clock for sound is so many seconds ahead. Gives when
    /// pictures and sound were captured.
    fn captured(ahead: u64) -> [Vec<RemoteTimestamp>; 2] {
        const SECOND: TimeDelta = TimeDelta::from_secs(1);
        let video = PlainVideo { nack: true, ..PlainVideo::of(Format::H264, 96) };
        let sound = PlainSound { format: Format::Opus, payload_type: 111, port: None };
        let plain = PlainRtp { video: Some(video), sound: Some(sound), left_out: Vec::new() };
        let mut receiver =
            Receiver::new(Timestamp::ZERO, ReceiverConfig { plain: Some(plain), ..ReceiverConfig::new(9) });
        let (mut seen, mut now) = ([vec![], vec![]], Timestamp::ZERO);
        for number in 0..5_u16 {
            now += SECOND;
            let clock = NtpTime::from_timestamp(now).bits();
            let streams = [
                (VIDEO_SSRC, 96, 90_000, 0, [0x65, 0x80, 1, 2]),
                (SOUND_SSRC, 111, 48_000, ahead, [0xFC, 1, 2, 3]),
            ];
            for (ssrc, payload_type, rate, ahead, payload) in streams {
                let packet = RtpPacket {
                    ssrc,
                    payload_type,
                    sequence_number: number,
                    timestamp: u32::from(number) * rate,
                    marker: true,
                    payload: Bytes::copy_from_slice(&payload).into(),
                    ..RtpPacket::default()
                };
                receiver.handle_message(now, now, Ecn::NotEct, &mut Message::Rtp(packet));
                let report = SenderReport {
                    ssrc,
                    ntp_time: NtpTime::from_bits(clock + (ahead << 32)),
                    rtp_timestamp: u32::from(number) * rate,
                    ..SenderReport::default()
                };
                let mut octets = vec![0; report.buffer_len()];
                report.emit(&mut octets).unwrap();
                receiver.handle_message(now, now, Ecn::NotEct, &mut Message::Rtcp(octets.into()));
            }
            while let Some(event) = receiver.poll_event() {
                if let ReceiverEvent::Frame(frame) = event {
                    seen[usize::from(frame.stream.0)].extend(frame.captured);
                }
            }
        }
        seen
    }

    #[test]
    fn sound_of_a_media_server_is_on_the_clock_of_the_pictures() {
        // Sound that comes before the first picture is not received.
        let [pictures, sound] = captured(0);
        assert!(pictures.len() >= 3 && sound.len() >= 3, "{pictures:?} {sound:?}");
        assert!(sound.iter().all(|at| pictures.contains(at)), "{pictures:?} {sound:?}");
        // By the clock of its own: half a day later, and a few seconds later.
        assert_eq!(captured(43_200)[1].last(), sound.last());
        assert_ne!(captured(3)[1].last(), sound.last(), "a sender that says so");
    }

    /// FFmpeg reports before the first packet, and again after five seconds.
    #[test]
    fn a_report_before_the_sound_counts() {
        let sound = PlainSound { format: Format::Opus, payload_type: 97, port: Some(5006) };
        let mut intake = Intake::new(PlainRtp {
            video: Some(PlainVideo::of(Format::H264, 96)),
            sound: Some(sound),
            left_out: Vec::new(),
        });
        let mut arrive = |ssrc, payload_type, number| {
            let packet = RtpPacket { ssrc, payload_type, sequence_number: number, ..RtpPacket::default() };
            let (at, size) = (Timestamp::ZERO, DataSize::from_bytes(100));
            intake.on_packet(Arrived { at, ecn: Ecn::NotEct, size, packet })
        };
        assert!(matches!(arrive(SOUND_SSRC, 97 | PlainSound::OWN_PORT, 7), Verdict::Learning));
        assert!(matches!(arrive(VIDEO_SSRC, 96, 7), Verdict::Learning));
        let Verdict::Found(mut source, _) = arrive(VIDEO_SSRC, 96, 8) else { panic!("two in sequence") };
        for ssrc in [SOUND_SSRC, 1, 2, 3, SOUND_SSRC] {
            let report = SenderReport { ssrc, rtp_timestamp: ssrc, ..SenderReport::default() };
            source.keep_report(Timestamp::ZERO, &report);
        }
        assert!(source.take_report().is_none());
        // The payload types of the other port are no matter.
        let mut packet = |payload_type| {
            let mut packet = RtpPacket { ssrc: SOUND_SSRC, payload_type, ..RtpPacket::default() };
            source.adapt(Timestamp::ZERO, &mut packet).then_some(packet.payload_type)
        };
        assert_eq!((packet(97), packet(97 | PlainSound::OWN_PORT)), (None, Some(payload_type::OPUS)));
        let report = source.take_report().map(|(_, report)| report.rtp_timestamp);
        assert_eq!((report, source.take_report().is_some()), (Some(SOUND_SSRC), false));
    }

    fn arrived(ssrc: u32, payload_type: u8, number: u16, payload: &'static [u8]) -> Arrived {
        let payload = Payload::from(Bytes::from_static(payload));
        let packet =
            RtpPacket { ssrc, payload_type, sequence_number: number, payload, ..RtpPacket::default() };
        Arrived { at: Timestamp::ZERO, ecn: Ecn::NotEct, size: DataSize::from_bytes(100), packet }
    }

    /// Packets of two sources in turn are not in sequence, though their numbers are.
    #[test]
    fn a_source_is_found_by_packets_of_its_own() {
        let mut intake = Intake::new(PlainRtp::default());
        for number in 0..10 {
            let ssrc = u32::from(number % 2);
            assert!(matches!(intake.on_packet(arrived(ssrc, 96, number, &[0x67, 0x42])), Verdict::Learning));
        }
        assert!(matches!(intake.on_packet(arrived(1, 96, 10, &[0x67, 0x42])), Verdict::Found(..)));
    }

    #[test]
    fn what_is_not_understood_is_reported_once() {
        let mut intake = Intake::new(PlainRtp::default());
        let mut is_reported = |payload_type, number| {
            let verdict = intake.on_packet(arrived(7, payload_type, number, &[0xFF, 0xFF]));
            assert!(!matches!(verdict, Verdict::Found(..)));
            matches!(verdict, Verdict::NotUnderstood)
        };
        assert!(is_reported(50, 0) && !is_reported(50, 1) && !is_reported(50, 2));
        assert!(is_reported(51, 3) && !is_reported(51, 4));
    }

    /// The source of video with payload type 96, retransmissions with 97.
    fn found(sound: Option<PlainSound>) -> Box<PlainSource> {
        let video =
            PlainVideo { retransmission: Some(97), clock_rate: 48_000, ..PlainVideo::of(Format::H264, 96) };
        let mut intake = Intake::new(PlainRtp { video: Some(video), sound, left_out: Vec::new() });
        assert!(matches!(intake.on_packet(arrived(VIDEO_SSRC, 96, 1, &[])), Verdict::Learning));
        let Verdict::Found(source, _) = intake.on_packet(arrived(VIDEO_SSRC, 96, 2, &[])) else {
            panic!("two in sequence")
        };
        source
    }

    fn opus() -> Option<PlainSound> {
        Some(PlainSound { format: Format::Opus, payload_type: 111, port: None })
    }

    /// The first source of retransmissions and of sound is the only one; others cannot take their places.
    #[test]
    fn packets_of_other_sources_are_not_taken() {
        let mut source = found(opus());
        let index = SOUND_SOURCE.index();
        assert_eq!([0, 1, index].map(|index| source.wire_ssrc(index)), [None; 3]);
        assert_eq!((source.stream_of(VIDEO_SSRC), source.stream_of(SOUND_SSRC)), (Some(StreamId(0)), None));
        let mut adapted = |ssrc, payload_type| {
            let mut packet = arrived(ssrc, payload_type, 1, &[]).packet;
            source.adapt(Timestamp::ZERO, &mut packet).then_some((packet.ssrc, packet.payload_type))
        };
        let retransmission = payload_type::retransmission(StreamId(0));
        assert_eq!(adapted(VIDEO_SSRC, 97), None);
        assert_eq!(adapted(78, 97), Some((VIDEO_SSRC + 1, retransmission)));
        assert_eq!((adapted(79, 97), adapted(78, 97)), (None, Some((VIDEO_SSRC + 1, retransmission))));
        assert_eq!(adapted(VIDEO_SSRC, 96), Some((VIDEO_SSRC, payload_type::H264)));
        assert_eq!((adapted(79, 96), adapted(VIDEO_SSRC, 98), adapted(VIDEO_SSRC, 111)), (None, None, None));
        let sound = Some((SOUND_SOURCE.ssrc(VIDEO_SSRC), payload_type::OPUS));
        assert_eq!(
            (adapted(SOUND_SSRC, 111), adapted(79, 111), adapted(SOUND_SSRC, 111)),
            (sound, None, sound)
        );
        assert_eq!([0, 1, index].map(|index| source.wire_ssrc(index)), [None, Some(78), Some(SOUND_SSRC)]);
        assert_eq!((source.stream_of(SOUND_SSRC), source.stream_of(79)), (Some(SOUND), None));
    }

    #[test]
    fn a_session_is_as_its_description_has_it() {
        let mut source = found(opus());
        let streams = source.description().unwrap().streams;
        assert_eq!((streams.len(), streams[0].clock_rate), (2, 48_000));
        assert!(!source.can_request());
        source.video.nack = true;
        assert!(source.can_request());
    }

    #[test]
    fn few_early_reports_are_kept() {
        let report = |ssrc, rtp_timestamp| SenderReport {
            ssrc,
            ntp_time: NtpTime::from_bits(u64::from(rtp_timestamp) << 32),
            rtp_timestamp,
            ..SenderReport::default()
        };
        let mut source = found(opus());
        for (ssrc, time) in [(1, 10), (2, 20), (3, 30), (SOUND_SSRC, 40), (SOUND_SSRC, 50), (4, 60)] {
            source.keep_report(Timestamp::ZERO, &report(ssrc, time));
        }
        let kept: Vec<_> = source.early.iter().map(|early| (early.ssrc, early.rtp_timestamp)).collect();
        assert_eq!(kept, [(2, 20), (3, 30), (SOUND_SSRC, 50), (4, 60)]);
        assert!(source.adapt(Timestamp::ZERO, &mut arrived(SOUND_SSRC, 111, 1, &[]).packet));
        source.keep_report(Timestamp::ZERO, &report(9, 70));
        assert_eq!(source.early.len(), EARLY_REPORTS, "the sound is known");
        assert_eq!(source.take_report(), Some((Timestamp::ZERO, report(SOUND_SSRC, 50))));
        let mut silent = found(None);
        silent.keep_report(Timestamp::ZERO, &report(9, 70));
        assert!(silent.early.is_empty());
    }

    #[test]
    fn reports_of_other_clocks_are_known() {
        let at =
            |seconds: u64| RemoteTimestamp::from_nanos(seconds * 1_000_000_000).transit_from(Timestamp::ZERO);
        let mut clocks = ReportClocks::default();
        clocks.on_report(SOUND, at(50_000));
        assert_eq!(clocks.shift_of_sound(), TimeDelta::ZERO, "nothing to compare with");
        clocks.on_report(StreamId(0), at(100));
        assert_eq!(clocks.shift_of_sound(), -TimeDelta::from_secs(49_900));
        clocks.on_report(SOUND, at(110));
        assert_eq!(clocks.shift_of_sound(), TimeDelta::ZERO);
    }
}
