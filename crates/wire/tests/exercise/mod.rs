//! What must hold of any bytes whatever: nothing panics, and what is understood is written back to bytes that
//! are understood the same. The fuzz targets and the tests call these functions.

#![allow(dead_code, reason = "each user calls some of them")]

use seaway_units::{Bitrate, TimeDelta, Timestamp};
use seaway_wire::extension::{
    AbsoluteSendTime, CtfrcData, Elements, Form, FrameMarking, TfrcData, TransportSequence,
    Writer as ExtensionWriter,
};
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{self, Ccfb, Message, Packet, Twcc, ccfb};
use seaway_wire::{Error, aac, av1, h264, h265, mpv, opus, rtp, window};

/// Writes with `emit` into a buffer of exactly `len` octets, and shows that one octet less is refused.
pub(crate) fn emitted(len: usize, emit: impl Fn(&mut [u8]) -> Result<usize, Error>) -> Vec<u8> {
    let mut buffer = vec![0xEE; len];
    assert_eq!(emit(&mut buffer), Ok(len));
    if let Some((_, short)) = buffer.clone().split_last_mut() {
        assert!(emit(short).is_err(), "{len} octets fit into one less");
    }
    buffer
}

/// An RTP packet, its extension elements, and its payload taken as each payload format.
pub(crate) fn rtp(bytes: &[u8]) {
    let Ok(packet) = rtp::Packet::parse(bytes) else { return };
    let again = emitted(packet.buffer_len(), |buffer| packet.emit(buffer));
    assert_eq!(again.len(), bytes.len());
    assert_eq!(rtp::Packet::parse(&again), Ok(packet));
    if let Some(extension) = packet.header.extension {
        elements(&extension);
    }
    h264_payload(packet.payload);
    h265_payload(packet.payload);
    av1_payload(packet.payload);
    aac_payload(packet.payload);
    opus_packet(packet.payload);
    mpeg_video(packet.payload);
}

/// A header extension of the profile the first two octets name.
pub(crate) fn extension(bytes: &[u8]) {
    if let Some((&profile, data)) = bytes.split_first_chunk() {
        elements(&rtp::Extension { profile: u16::from_be_bytes(profile), data });
    }
}

fn elements(extension: &rtp::Extension<'_>) {
    let understood = || extension.elements().map_while(Result::ok);
    let Some(form) = Form::of_profile(extension.profile) else {
        assert_eq!(understood().count(), 0);
        return;
    };
    let mut buffer = vec![0; extension.data.len()];
    let mut writer = ExtensionWriter::new(form, &mut buffer);
    for element in understood() {
        writer.push(element.id, element.data).unwrap();
        assert!(extension.find(element.id).is_some());
        let _ = TfrcData::parse(element.data).map(|data| assert_eq!(data.to_bytes(), element.data[..12]));
        let _ = FrameMarking::parse(element.data).map(|data| assert_eq!(data.to_bytes(), element.data[..4]));
        let _ = CtfrcData::parse(element.data)
            .map(|data| assert_eq!(CtfrcData::parse(&data.to_bytes()), Ok(data)));
        let _ =
            TransportSequence::parse(element.data).map(|data| assert_eq!(data.to_bytes(), element.data[..2]));
        let _ =
            AbsoluteSendTime::parse(element.data).map(|data| assert_eq!(data.to_bytes(), element.data[..3]));
    }
    let again = writer.finish();
    let again = again.as_ref().map(rtp::Extension::elements);
    assert!(again.into_iter().flat_map(Elements::flatten).eq(understood()));
}

/// A datagram of RTCP packets.
pub(crate) fn rtcp(bytes: &[u8]) {
    let mut octets = 0;
    for packet in rtcp::packets(bytes).map_while(Result::ok) {
        octets += packet.bytes().len();
        if let Ok(message) = Message::parse(packet) {
            rtcp_message(&message);
        }
    }
    assert!(octets <= bytes.len());
}

/// A body behind a good RTCP header of this type and count.
pub(crate) fn rtcp_body(packet_type: u8, count: u8, body: &[u8]) {
    let words = body.len() / 4;
    let mut packet = vec![0x80 | count, packet_type];
    packet.extend_from_slice(&u16::try_from(words).unwrap_or(u16::MAX).to_be_bytes());
    packet.extend_from_slice(&body[..4 * words.min(u16::MAX.into())]);
    rtcp(&packet);
}

fn rtcp_message(message: &Message<'_>) {
    macro_rules! again {
        ($report:expr) => {{
            let bytes = emitted($report.buffer_len(), |buffer| $report.emit(buffer));
            assert_eq!(parsed(&bytes), *message);
        }};
    }
    match message {
        Message::SenderReport(report) => again!(report),
        Message::ReceiverReport(report) => {
            again!(report);
            for block in report.blocks.iter() {
                let _ = block.round_trip(seaway_wire::NtpShort::from_bits(block.jitter));
            }
        }
        Message::Bye(bye) => again!(bye),
        Message::App(app) => again!(app),
        Message::Nack(nack) => {
            again!(nack);
            assert!(nack.sequence_numbers().count() <= 17 * nack.entries.len());
        }
        Message::Pli(pli) => again!(pli),
        // Beyond 64 bits reads as "no limit", which is written as the largest number there is room for.
        Message::Remb(remb) if remb.bitrate == Bitrate::MAX => {}
        Message::Remb(remb) => again!(remb),
        Message::Ccfb(report) => congestion_feedback(report),
        Message::Twcc(report) => transport_wide(report),
        Message::Tfrc(report) => again!(report),
        Message::Nada(report) => again!(report),
        Message::BufferAware(report) => again!(report),
        Message::BufferLevel(report) => again!(report),
        _ => {}
    }
}

/// The one message these bytes are.
pub(crate) fn parsed(bytes: &[u8]) -> Message<'_> {
    let (packet, rest) = Packet::parse(bytes).unwrap();
    assert!(rest.is_empty());
    Message::parse(packet).unwrap()
}

fn congestion_feedback(report: &Ccfb<'_>) {
    let blocks: usize = report.streams().map(|stream| 8 + stream.packets().len() * 2 + 2).sum();
    let mut buffer = vec![0; 12 + blocks];
    let mut writer = ccfb::Writer::new(&mut buffer, report.sender_ssrc).unwrap();
    for stream in report.streams() {
        assert!(stream.metrics.len() <= writer.blocks_left());
        writer.stream(stream.ssrc, stream.begin_sequence, stream.metrics.iter()).unwrap();
    }
    let len = writer.finish(report.report_timestamp).unwrap();
    let Message::Ccfb(again) = parsed(&buffer[..len]) else { panic!("not feedback") };
    assert!(again.streams().eq(report.streams()));
    assert_eq!(again.report_timestamp, report.report_timestamp);
}

fn transport_wide(report: &Twcc<'_>) {
    let wrap = Twcc::WRAP.as_nanos();
    // Above zero, at the same place of the clock's turn.
    let arrivals = report
        .packets()
        .map(|(_, at)| at.map(|at| Timestamp::ZERO + TimeDelta::from_nanos(at.as_nanos() + 2 * wrap)));
    let arrivals: Vec<_> = arrivals.collect();
    assert_eq!(arrivals.len(), report.status_count.into());
    let writer = TwccWriter {
        sender_ssrc: report.sender_ssrc,
        media_ssrc: report.media_ssrc,
        feedback_count: report.feedback_count,
    };
    let mut buffer = vec![0; 24 + 4 * arrivals.len()];
    let emitted = writer.emit(report.base_sequence, arrivals.iter().copied(), &mut buffer).unwrap();
    assert_eq!(emitted.statuses, report.status_count);
    let Message::Twcc(again) = parsed(&buffer[..emitted.len]) else { panic!("not feedback") };
    let turned =
        |(number, at): (u16, Option<TimeDelta>)| (number, at.map(|at| at.as_nanos().rem_euclid(wrap)));
    assert!(again.packets().map(turned).eq(report.packets().map(turned)));
}

/// An H.264 payload.
pub(crate) fn h264_payload(bytes: &[u8]) {
    let Ok(payload) = h264::Payload::parse(bytes) else { return };
    let again = emitted(payload.buffer_len(), |buffer| payload.emit(buffer));
    assert_eq!(h264::Payload::parse(&again), Ok(payload));
    let mut stream = Vec::new();
    payload.append_annex_b(&mut stream);
    assert!(stream.len() <= 4 * bytes.len() + 8);
}

/// An H.265 payload.
pub(crate) fn h265_payload(bytes: &[u8]) {
    let Ok(payload) = h265::Payload::parse(bytes) else { return };
    let again = emitted(payload.buffer_len(), |buffer| payload.emit(buffer));
    assert_eq!(h265::Payload::parse(&again), Ok(payload));
    let mut stream = Vec::new();
    payload.append_annex_b(&mut stream);
    assert!(stream.len() <= 4 * bytes.len() + 8);
}

/// An AV1 payload, and each of its elements as an OBU.
pub(crate) fn av1_payload(bytes: &[u8]) {
    let Ok(payload) = av1::Payload::parse(bytes) else { return };
    let again = emitted(payload.buffer_len(), |buffer| payload.emit(buffer));
    assert_eq!(av1::Payload::parse(&again), Ok(payload));
    let octets: usize = payload.elements().map(<[u8]>::len).sum();
    assert!(octets < bytes.len() && payload.elements().next().is_some());
    for obu in payload.elements().filter_map(|element| av1::Obu::parse(element).ok()) {
        let mut sized = Vec::new();
        obu.append_sized(&mut sized);
        let again = av1::Obu::parse(&sized).expect("it has its size");
        assert_eq!((again.obu_type(), again.data), (obu.obu_type(), obu.data));
    }
}

/// An AAC payload, of whose units each gets a header of its own.
pub(crate) fn aac_payload(bytes: &[u8]) {
    let Ok(payload) = aac::Payload::parse(bytes) else { return };
    let again = emitted(payload.buffer_len(), |buffer| payload.emit(buffer));
    assert_eq!(again, bytes);
    let config = aac::Config::parse([0x12, 0x10]).expect("44.1 kHz in two channels");
    for (size, unit) in payload.units() {
        assert!((1..=8191).contains(&size) && (1..=size).contains(&unit.len()));
        let Some(header) = config.adts_header(unit.len()) else { continue };
        let header = aac::AdtsHeader::parse(&header).expect("a header of ours");
        assert_eq!((header.frame_len, header.config()), (unit.len() + 7, Some(config)));
    }
}

/// An Opus packet, which is a payload.
pub(crate) fn opus_packet(bytes: &[u8]) {
    let Ok(packet) = opus::Packet::parse(bytes) else { return };
    assert!((120..=5760).contains(&packet.duration()));
    let lost = opus::Packet::parse(&opus::Packet::lost(bytes[0])).expect("one frame without octets");
    assert_eq!((lost.frame, lost.frames, lost.stereo), (packet.frame, 1, packet.stereo));
}

/// An H.264 byte stream, cut into payloads of a few octets and put together again.
pub(crate) fn h264_stream(bytes: &[u8]) {
    let Some((&limit, stream)) = bytes.split_first() else { return };
    let nals: Vec<_> = h264::annex_b::nal_units(stream).collect();
    let limit = usize::from(limit).max(h264::Packetizer::MIN_LIMIT);
    let Ok(packetizer) = h264::Packetizer::new(&nals, limit) else { return };
    let mut rebuilt = Vec::new();
    for payload in packetizer {
        assert!(payload.buffer_len() <= limit);
        let bytes = emitted(payload.buffer_len(), |buffer| payload.emit(buffer));
        h264::Payload::parse(&bytes).unwrap().append_annex_b(&mut rebuilt);
    }
    assert!(h264::annex_b::nal_units(&rebuilt).eq(nals.iter().copied()));
}

/// An MPEG video payload.
pub(crate) fn mpeg_video(bytes: &[u8]) {
    let Ok((header, video)) = mpv::PayloadHeader::parse(bytes) else { return };
    assert_eq!(header.buffer_len() + video.len(), bytes.len());
    let again = emitted(header.buffer_len(), |buffer| header.emit(buffer));
    assert_eq!(mpv::PayloadHeader::parse(&again), Ok((header, &[][..])));
}

/// Both directions of the window transport.
pub(crate) fn window_transport(bytes: &[u8]) {
    if let Ok((header, payload)) = window::DataHeader::parse(bytes) {
        assert_eq!(header.buffer_len() + payload.len(), bytes.len());
        let again = emitted(header.buffer_len(), |buffer| header.emit(buffer));
        assert_eq!(window::DataHeader::parse(&again), Ok((header, &[][..])));
    }
    if let Ok(answer) = window::Message::parse(bytes) {
        let again = emitted(answer.buffer_len(), |buffer| answer.emit(buffer));
        assert_eq!(window::Message::parse(&again), Ok(answer));
        if let window::Message::Acknowledgement(acknowledgement) = answer {
            assert!(acknowledgement.covers(acknowledgement.cumulative));
        }
    }
}
