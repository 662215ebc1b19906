//! What is written is read back the same; cut off anywhere or with a bit changed, it does no harm.

mod exercise;

use exercise::{emitted, parsed};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use seaway_units::{Bitrate, DataSize, Ecn, Probability, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{ArrivalOffset, Metric};
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{self, Message, NackEntry, ReportBlock};
use seaway_wire::{List, MicrosClock, NtpShort, NtpTime, av1, h265, mpv, rtp, window};

/// Every shorter packet, and packets with one octet changed.
fn mistreat(bytes: &[u8], changes: &[(Index, u8)], exercise: impl Fn(&[u8])) {
    exercise(bytes);
    for len in 0..bytes.len() {
        exercise(&bytes[..len]);
    }
    let mut changed = bytes.to_vec();
    for (index, value) in changes {
        changed[index.index(bytes.len())] = *value;
        exercise(&changed);
    }
}

fn changes() -> impl Strategy<Value = Vec<(Index, u8)>> {
    vec((any::<Index>(), any::<u8>()), 0..8)
}

fn micros() -> impl Strategy<Value = TimeDelta> {
    any::<u32>().prop_map(|micros| TimeDelta::from_micros(micros.into()))
}

fn size() -> impl Strategy<Value = DataSize> {
    any::<u32>().prop_map(|octets| DataSize::from_bytes(octets.into()))
}

fn report_block() -> impl Strategy<Value = ReportBlock> {
    let loss = (any::<u8>(), -8_388_608..=8_388_607i32);
    let last = option::of(1u32..);
    (any::<u32>(), loss, any::<u32>(), any::<u32>(), last, any::<u32>()).prop_map(
        |(ssrc, (fraction_lost, cumulative_lost), highest_sequence, jitter, last, delay)| ReportBlock {
            ssrc,
            fraction_lost,
            cumulative_lost,
            highest_sequence,
            jitter,
            last_sender_report: last.map(NtpShort::from_bits),
            delay_since_last: NtpShort::from_bits(delay),
        },
    )
}

fn metric() -> impl Strategy<Value = Metric> {
    let arrival = prop_oneof![
        (0..10_000i64).prop_map(|millis| ArrivalOffset::from_span(TimeDelta::from_millis(millis))),
        Just(ArrivalOffset::UNKNOWN),
    ];
    option::of((0..4u8, arrival)).prop_map(|came| {
        came.map_or(Metric::Missing, |(ecn, arrival)| Metric::Received { ecn: Ecn::from_bits(ecn), arrival })
    })
}

proptest! {
    #[test]
    fn rtp_packet(
        marker: bool, payload_type in 0..128u8, sequence_number: u16, timestamp: u32, ssrc: u32,
        csrc in vec(any::<u32>(), 0..=15), words in option::of((any::<u16>(), 0..20usize)),
        data in vec(any::<u8>(), 80), payload in vec(any::<u8>(), 0..40), padding: u8, changes in changes(),
    ) {
        let extension = words.map(|(profile, words)| rtp::Extension { profile, data: &data[..4 * words] });
        let csrc = List::from(&csrc[..]);
        let header = rtp::Header { marker, payload_type, sequence_number, timestamp, ssrc, csrc, extension };
        let packet = rtp::Packet { header, payload: &payload, padding };
        let bytes = emitted(packet.buffer_len(), |buffer| packet.emit(buffer));
        prop_assert_eq!(rtp::Packet::parse(&bytes), Ok(packet));
        mistreat(&bytes, &changes, exercise::rtp);
    }

    #[test]
    fn extension_elements(profile in prop_oneof![Just(0xBEDEu16), Just(0x1000), any::<u16>()], data: Vec<u8>) {
        let mut bytes = profile.to_be_bytes().to_vec();
        bytes.extend(data);
        exercise::extension(&bytes);
    }

    #[test]
    fn sender_and_receiver_report(
        ssrc: u32, ntp: u64, rtp_timestamp: u32, packet_count: u32, octet_count: u32,
        blocks in vec(report_block(), 0..=31), changes in changes(),
    ) {
        let blocks = List::from(&blocks[..]);
        let ntp_time = NtpTime::from_bits(ntp);
        let sr = rtcp::SenderReport { ssrc, ntp_time, rtp_timestamp, packet_count, octet_count, blocks };
        let mut bytes = emitted(sr.buffer_len(), |buffer| sr.emit(buffer));
        prop_assert_eq!(parsed(&bytes), Message::SenderReport(sr));
        let rr = rtcp::ReceiverReport { ssrc, blocks };
        let second = emitted(rr.buffer_len(), |buffer| rr.emit(buffer));
        prop_assert_eq!(parsed(&second), Message::ReceiverReport(rr));
        bytes.extend(second);
        mistreat(&bytes, &changes, exercise::rtcp);
    }

    #[test]
    fn goodbye(
        ssrcs in vec(any::<u32>(), 0..=31), reason in vec(any::<u8>(), 0..40), changes in changes(),
    ) {
        let bye = rtcp::Bye { ssrcs: List::from(&ssrcs[..]), reason: &reason };
        let bytes = emitted(bye.buffer_len(), |buffer| bye.emit(buffer));
        prop_assert_eq!(parsed(&bytes), Message::Bye(bye));
        mistreat(&bytes, &changes, exercise::rtcp);
    }

    #[test]
    fn nack_pli_remb(
        sender_ssrc: u32, media_ssrc: u32, entries in vec(any::<(u16, u16)>(), 1..20), bps: u64,
        media in vec(any::<u32>(), 0..20), changes in changes(),
    ) {
        let entries: Vec<_> =
            entries.into_iter().map(|(packet_id, bitmask)| NackEntry { packet_id, bitmask }).collect();
        let nack = rtcp::Nack { sender_ssrc, media_ssrc, entries: List::from(&entries[..]) };
        let mut bytes = emitted(nack.buffer_len(), |buffer| nack.emit(buffer));
        prop_assert_eq!(parsed(&bytes), Message::Nack(nack));
        let pli = rtcp::Pli { sender_ssrc, media_ssrc };
        bytes.extend(emitted(pli.buffer_len(), |buffer| pli.emit(buffer)));
        let remb = rtcp::Remb { sender_ssrc, bitrate: Bitrate::from_bps(bps), media_ssrcs: List::from(&media[..]) };
        let last = emitted(remb.buffer_len(), |buffer| remb.emit(buffer));
        let Message::Remb(again) = parsed(&last) else { panic!("not REMB") };
        prop_assert!(again.bitrate.as_bps() <= bps && again.bitrate.as_bps() >= bps - (bps >> 17));
        bytes.extend(last);
        mistreat(&bytes, &changes, exercise::rtcp);
    }

    #[test]
    fn nack_entries_name_what_was_lost(first: u16, steps in vec(1..40u16, 0..60)) {
        let lost: Vec<_> = steps
            .iter()
            .scan(first, |number, step| { *number = number.wrapping_add(*step); Some(*number) })
            .collect();
        let entries: Vec<_> = NackEntry::pack(lost.iter().copied()).collect();
        let named: Vec<_> = entries.iter().flat_map(|entry| entry.sequence_numbers()).collect();
        prop_assert_eq!(named, lost);
    }

    #[test]
    fn our_reports(
        sender_ssrc: u32, media_ssrc: u32, echo: u32, delay in micros(), octets: u32, p: u32, flags: (bool, bool),
        ce_packets in 0..1u32 << 24, held in size(), capacity in size(), congestion in 0..=32_767i64,
        counts: (u32, u32), changes in changes(),
    ) {
        let echo = MicrosClock::from_bits(echo);
        let tfrc = rtcp::TfrcReport {
            sender_ssrc, media_ssrc, echo, delay,
            receive_rate: Bitrate::from_bps(8 * u64::from(octets)),
            loss_event_rate: Probability::clamped(f64::from(p) / 4_294_967_296.0),
            new_loss: flags.0, ecn: flags.1, ce_packets,
        };
        let mut bytes = emitted(tfrc.buffer_len(), |buffer| tfrc.emit(buffer));
        prop_assert_eq!(parsed(&bytes), Message::Tfrc(tfrc));
        let nada = rtcp::NadaReport {
            sender_ssrc, media_ssrc, ramp_up: flags.0,
            congestion: TimeDelta::from_micros(100 * congestion),
            receive_rate: Bitrate::from_bps(octets.into()),
        };
        let packet = emitted(nada.buffer_len(), |buffer| nada.emit(buffer));
        prop_assert_eq!(parsed(&packet), Message::Nada(nada));
        bytes.extend(packet);
        let level = rtcp::BufferLevelReport { sender_ssrc, media_ssrc, held, capacity };
        let packet = emitted(level.buffer_len(), |buffer| level.emit(buffer));
        prop_assert_eq!(parsed(&packet), Message::BufferLevel(level));
        bytes.extend(packet);
        let (highest_sequence, lost) = counts;
        let aware = rtcp::BufferAwareReport {
            sender_ssrc, media_ssrc, held, capacity, echo, delay, highest_sequence, lost,
        };
        let packet = emitted(aware.buffer_len(), |buffer| aware.emit(buffer));
        prop_assert_eq!(parsed(&packet), Message::BufferAware(aware));
        bytes.extend(packet);
        mistreat(&bytes, &changes, exercise::rtcp);
    }

    #[test]
    fn congestion_feedback(
        streams in vec((any::<u32>(), any::<u16>(), vec(metric(), 0..40)), 0..4), rts: u32, changes in changes(),
    ) {
        let mut buffer = [0; 1_500];
        let mut writer = rtcp::ccfb::Writer::new(&mut buffer, 1).unwrap();
        for (ssrc, begin, metrics) in &streams {
            writer.stream(*ssrc, *begin, metrics.iter().copied()).unwrap();
        }
        let len = writer.finish(NtpShort::from_bits(rts)).unwrap();
        let Message::Ccfb(report) = parsed(&buffer[..len]) else { panic!("not feedback") };
        prop_assert_eq!(report.streams().count(), streams.len());
        for (stream, (ssrc, begin, metrics)) in report.streams().zip(&streams) {
            prop_assert_eq!((stream.ssrc, stream.begin_sequence), (*ssrc, *begin));
            prop_assert_eq!(stream.metrics, List::from(&metrics[..]));
        }
        mistreat(&buffer[..len], &changes, exercise::rtcp);
    }

    #[test]
    fn transport_wide_feedback(
        base: u16, start in 0..1u64 << 30,
        steps in vec(option::weighted(0.8, prop_oneof![4 => 0..60_000i64, 1 => -500_000..9_000_000i64]), 1..200),
        room in 24..400usize, changes in changes(),
    ) {
        let mut now = Timestamp::from_nanos(start * 1_000);
        let arrivals: Vec<_> = steps
            .iter()
            .map(|step| step.map(|micros| { now += TimeDelta::from_micros(micros); now }))
            .collect();
        let mut buffer = [0; 400];
        let writer = TwccWriter { sender_ssrc: 1, media_ssrc: 2, feedback_count: 3 };
        let emitted = writer.emit(base, arrivals.iter().copied(), &mut buffer[..room]).unwrap();
        prop_assert!(emitted.statuses > 0);
        let Message::Twcc(report) = parsed(&buffer[..emitted.len]) else { panic!("not feedback") };
        let wrap = u64::try_from(rtcp::Twcc::WRAP.as_nanos()).unwrap();
        for ((index, (number, seen)), arrival) in report.packets().enumerate().zip(&arrivals) {
            prop_assert_eq!(number, base.wrapping_add(index as u16));
            let ticks = |nanos: u64| nanos % wrap / 250_000;
            let seen = seen.map(|at| ticks(at.as_nanos().rem_euclid(wrap as i64) as u64));
            prop_assert_eq!(seen, arrival.map(|at| ticks(at.as_nanos())));
        }
        mistreat(&buffer[..emitted.len], &changes, exercise::rtcp);
    }

    #[test]
    fn mpeg_video_header(
        temporal_reference in 0..1_024u16, flags: [bool; 5], codes: (bool, u8, bool, u8), mpeg2: bool,
        f_codes in [0..16u8, 0..16, 0..16, 0..16], small in (0..4u8, 0..4u8),
        composite in option::of(0..1u32 << 20), extensions in option::of(0..20usize), changes in changes(),
    ) {
        let data = [7; 80];
        let mpeg2 = mpeg2.then_some(mpv::Mpeg2Header {
            f_codes, intra_dc_precision: small.0, picture_structure: small.1,
            flags: mpv::PictureFlags::ALTERNATE_SCAN.with(mpv::PictureFlags::PROGRESSIVE_FRAME),
            composite,
            extensions: extensions.map(|words| &data[..4 * words + 3]),
        });
        let header = mpv::PayloadHeader {
            temporal_reference, active_n: flags[0], new_picture_header: flags[1], sequence_header: flags[2],
            beginning_of_slice: flags[3], end_of_slice: flags[4], picture_type: mpv::PictureType::P,
            motion: mpv::MotionCodes {
                full_pel_backward: codes.0, backward_f_code: codes.1 & 7,
                full_pel_forward: codes.2, forward_f_code: codes.3 & 7,
            },
            mpeg2,
        };
        let bytes = emitted(header.buffer_len(), |buffer| header.emit(buffer));
        prop_assert_eq!(mpv::PayloadHeader::parse(&bytes), Ok((header, &[][..])));
        mistreat(&bytes, &changes, exercise::mpeg_video);
    }

    #[test]
    fn h264_stream(limit: u8, nals in vec((1..24u8, vec(1..=255u8, 0..600)), 0..6), changes in changes()) {
        let mut stream = vec![limit];
        for (first, rest) in &nals {
            stream.extend([0, 0, 0, 1, 0x60 | first]);
            stream.extend(rest);
        }
        exercise::h264_stream(&stream);
        for (index, value) in changes {
            let at = index.index(stream.len());
            stream[at] = value;
            exercise::h264_stream(&stream);
        }
    }

    /// Elements with their sizes, and the last without one.
    #[test]
    fn av1_payloads(elements in vec(vec(any::<u8>(), 1..120), 1..6), flags: u8, changes in changes()) {
        let with_sizes = |count: usize| -> Vec<u8> {
            let sized = |(element, index): (&Vec<u8>, usize)| {
                let size = if index < count { vec![element.len() as u8] } else { Vec::new() };
                [size, element.clone()].concat()
            };
            elements.iter().zip(0..).flat_map(sized).collect()
        };
        let flags = flags & if flags & 0x80 == 0 { 0x48 } else { 0xC0 };
        let few = (elements.len() <= 3).then_some((elements.len() as u8) << 4);
        for count in [Some(0), few].into_iter().flatten() {
            let sizes = if count == 0 { elements.len() } else { elements.len() - 1 };
            let bytes = [vec![flags | count], with_sizes(sizes)].concat();
            let payload = av1::Payload::parse(&bytes).unwrap();
            prop_assert!(payload.elements().eq(elements.iter().map(Vec::as_slice)));
            prop_assert_eq!(payload.begins_sequence, flags & 8 != 0);
            mistreat(&bytes, &changes, exercise::av1_payload);
        }
    }

    /// Units together in an aggregate, and one of them in parts.
    #[test]
    fn h265_payloads(
        nals in vec((0..48u8, vec(any::<u8>(), 0..300)), 1..6), cut: Index, changes in changes(),
    ) {
        let nals: Vec<Vec<u8>> = nals.into_iter().map(|(kind, rest)| [&[kind << 1, 1][..], &rest].concat()).collect();
        let mut aggregate = vec![h265::nal_type::AGGREGATE << 1, 1];
        for nal in &nals {
            aggregate.extend((nal.len() as u16).to_be_bytes());
            aggregate.extend(nal);
        }
        let Ok(h265::Payload::Aggregate(units)) = h265::Payload::parse(&aggregate) else { panic!("an aggregate") };
        prop_assert!(units.units().eq(nals.iter().map(Vec::as_slice)));
        mistreat(&aggregate, &changes, exercise::h265_payload);
        let (head, data) = nals[0].split_at(h265::HEADER_LEN);
        let (first, last) = data.split_at(cut.index(data.len() + 1));
        if first.is_empty() || last.is_empty() {
            return Ok(());
        }
        let mut whole = Vec::new();
        for (start, end, data) in [(true, false, first), (false, true, last)] {
            let nal_header = h265::NalHeader::of(head).expect("two octets");
            let fragment = h265::Payload::Fragment(h265::Fragment { nal_header, start, end, data });
            let bytes = emitted(fragment.buffer_len(), |buffer| fragment.emit(buffer));
            prop_assert_eq!(h265::Payload::parse(&bytes), Ok(fragment));
            fragment.append_annex_b(&mut whole);
            mistreat(&bytes, &changes, exercise::h265_payload);
        }
        prop_assert_eq!(&whole[4..], &nals[0][..]);
    }

    #[test]
    fn window_transport(
        sequence_number: u16, presentation_ms: u32, rtt: u32, ack: (u16, u16, u32, u16),
        numbers in vec(any::<u16>(), 0..=255), changes in changes(),
    ) {
        let rtt = (rtt != 0).then(|| TimeDelta::from_millis(rtt.into()));
        let header = window::DataHeader { sequence_number, presentation_ms, rtt };
        let bytes = emitted(header.buffer_len(), |buffer| header.emit(buffer));
        prop_assert_eq!(window::DataHeader::parse(&bytes), Ok((header, &[][..])));
        mistreat(&bytes, &changes, exercise::window_transport);
        let (packet, cumulative, bitmap, given_up) = ack;
        let acknowledgement = window::Acknowledgement { packet, cumulative, bitmap, given_up };
        let request = window::Message::RetransmissionRequest(List::from(&numbers[..]));
        for answer in [window::Message::Acknowledgement(acknowledgement), request] {
            let bytes = emitted(answer.buffer_len(), |buffer| answer.emit(buffer));
            prop_assert_eq!(window::Message::parse(&bytes), Ok(answer));
            mistreat(&bytes, &changes, exercise::window_transport);
        }
    }

    /// Random bodies behind good headers reach further than random bytes.
    #[test]
    fn anything_at_all(packet_type in 200..208u8, count in 0..32u8, body: Vec<u8>) {
        exercise::rtcp_body(packet_type, count, &body);
        exercise::rtcp(&body);
        exercise::rtp(&body);
        exercise::extension(&body);
        exercise::h264_payload(&body);
        exercise::h265_payload(&body);
        exercise::av1_payload(&body);
        exercise::h264_stream(&body);
        exercise::mpeg_video(&body);
        exercise::window_transport(&body);
    }
}
