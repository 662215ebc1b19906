//! An independent implementation reads what we write and writes what we write.

use bytes::Bytes;
use rtc_rtcp::goodbye::Goodbye;
use rtc_rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc_rtcp::payload_feedbacks::receiver_estimated_maximum_bitrate::ReceiverEstimatedMaximumBitrate;
use rtc_rtcp::receiver_report as peer_rr;
use rtc_rtcp::sender_report as peer_sr;
use rtc_rtcp::transport_feedbacks::cc_feedback_report as peer_ccfb;
use rtc_rtcp::transport_feedbacks::transport_layer_cc as peer_twcc;
use rtc_rtcp::transport_feedbacks::transport_layer_nack as peer_nack;
use rtc_shared::marshal::{Marshal, Unmarshal};
use seaway_units::{Bitrate, Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{self, ArrivalOffset, Metric};
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{Bye, Nack, NackEntry, Pli, ReceiverReport, Remb, ReportBlock, SenderReport};
use seaway_wire::{Error, List, NtpShort, NtpTime, h264, rtp};

fn ours(emit: impl FnOnce(&mut [u8]) -> Result<usize, Error>) -> Bytes {
    let mut buffer = vec![0; 1_500];
    let len = emit(&mut buffer).unwrap();
    buffer.truncate(len);
    buffer.into()
}

/// The peer reads our bytes and writes them again without a change; what it read.
fn read_and_rewritten<T: Marshal + Unmarshal>(bytes: &Bytes) -> T {
    let read = T::unmarshal(&mut bytes.clone()).unwrap();
    assert_eq!(read.marshal().unwrap(), bytes);
    read
}

const BLOCK: ReportBlock = ReportBlock {
    ssrc: 0x1111_2222,
    fraction_lost: 85,
    cumulative_lost: 70_000,
    highest_sequence: 0x0001_FFFE,
    jitter: 273,
    last_sender_report: Some(NtpShort::from_bits(0x9F36_432C)),
    delay_since_last: NtpShort::from_bits(150_137),
};

#[test]
fn reports() {
    let blocks = [BLOCK, ReportBlock { ssrc: 5, ..BLOCK }];
    let blocks = List::from(&blocks[..]);
    let sender = SenderReport {
        ssrc: 0x902F_9E2E,
        ntp_time: NtpTime::from_bits(0xDA8B_D1FC_DDDD_A05A),
        rtp_timestamp: 0xAAF4_EDD5,
        packet_count: 1,
        octet_count: 2,
        blocks,
    };
    let read: peer_sr::SenderReport = read_and_rewritten(&ours(|buffer| sender.emit(buffer)));
    assert_eq!((read.ssrc, read.ntp_time, read.rtp_time), (0x902F_9E2E, 0xDA8B_D1FC_DDDD_A05A, 0xAAF4_EDD5));
    assert_eq!((read.packet_count, read.octet_count, read.reports.len()), (1, 2, 2));

    let receiver = ReceiverReport { ssrc: 1, blocks };
    let read: peer_rr::ReceiverReport = read_and_rewritten(&ours(|buffer| receiver.emit(buffer)));
    let first = &read.reports[0];
    assert_eq!((first.ssrc, first.fraction_lost, first.total_lost), (0x1111_2222, 85, 70_000));
    assert_eq!((first.last_sequence_number, first.jitter), (0x0001_FFFE, 273));
    assert_eq!((first.last_sender_report, first.delay), (0x9F36_432C, 150_137));
}

#[test]
fn goodbye() {
    let ssrcs = [7, 8];
    let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: b"end of file" };
    let read: Goodbye = read_and_rewritten(&ours(|buffer| bye.emit(buffer)));
    assert_eq!((read.sources, read.reason), (vec![7, 8], Bytes::from_static(b"end of file")));
}

#[test]
fn nack_and_picture_loss() {
    let lost = [65_530, 65_535, 0, 3, 40, 57, 58];
    let entries: Vec<_> = NackEntry::pack(lost).collect();
    let nack = Nack { sender_ssrc: 1, media_ssrc: 2, entries: List::from(&entries[..]) };
    let read: peer_nack::TransportLayerNack = read_and_rewritten(&ours(|buffer| nack.emit(buffer)));
    let named: Vec<_> = read.nacks.iter().flat_map(peer_nack::NackPair::packet_list).collect();
    assert_eq!(named, lost);
    // The peer makes no entry that goes past 65 535, so the same entries only behind it.
    let pairs = peer_nack::nack_pairs_from_sequence_numbers(&lost[2..]);
    let pairs: Vec<_> = pairs.iter().map(|pair| (pair.packet_id, pair.lost_packets)).collect();
    let entries: Vec<_> = NackEntry::pack(lost[2..].iter().copied()).collect();
    assert!(entries.iter().map(|entry| (entry.packet_id, entry.bitmask)).eq(pairs));

    let pli = Pli { sender_ssrc: 3, media_ssrc: 4 };
    let read: PictureLossIndication = read_and_rewritten(&ours(|buffer| pli.emit(buffer)));
    assert_eq!((read.sender_ssrc, read.media_ssrc), (3, 4));
}

#[test]
fn estimated_maximum_bitrate() {
    let ssrcs = [0x4807_5C17, 9];
    let remb =
        Remb { sender_ssrc: 1, bitrate: Bitrate::from_bps(8_927_168), media_ssrcs: List::from(&ssrcs[..]) };
    let read: ReceiverEstimatedMaximumBitrate = read_and_rewritten(&ours(|buffer| remb.emit(buffer)));
    assert_eq!((read.sender_ssrc, read.bitrate, read.ssrcs), (1, 8_927_168.0, ssrcs.to_vec()));
}

#[test]
fn congestion_control_feedback() {
    let metric = |index: u16| match index % 5 {
        0 => Metric::Missing,
        ecn => Metric::Received {
            ecn: Ecn::from_bits(ecn as u8),
            arrival: ArrivalOffset::from_span(TimeDelta::from_millis(i64::from(index) * 400)),
        },
    };
    let bytes = ours(|buffer| {
        let mut writer = ccfb::Writer::new(buffer, 0x0102_0304)?;
        writer.stream(5, 65_530, (0..21).map(metric))?;
        writer.stream(6, 9, (0..8).map(metric))?;
        writer.stream(7, 100, std::iter::empty())?;
        writer.finish(NtpShort::from_bits(0xCAFE_BABE))
    });
    let read: peer_ccfb::CcFeedbackReport = read_and_rewritten(&bytes);
    assert_eq!((read.sender_ssrc, read.report_timestamp), (0x0102_0304, 0xCAFE_BABE));
    let shape: Vec<_> = read
        .report_blocks
        .iter()
        .map(|block| (block.media_ssrc, block.begin_sequence, block.metric_blocks.len()))
        .collect();
    assert_eq!(shape, [(5, 65_530, 21), (6, 9, 8), (7, 100, 0)]);
    for (index, block) in read.report_blocks[0].metric_blocks.iter().enumerate() {
        let Metric::Received { ecn, arrival } = metric(index as u16) else {
            assert!(!block.received);
            continue;
        };
        assert!(block.received);
        assert_eq!((block.ecn as u8, block.arrival_time_offset), (ecn.bits(), arrival.bits()));
    }
    assert_eq!(read.report_blocks[0].metric_blocks[1].ecn, peer_ccfb::Ecn::Ect1);
}

#[test]
fn transport_wide_feedback() {
    // Losses, reordering, small and large deltas; a length that needs no padding and three that do.
    for count in 60..64 {
        let arrivals = (0..count).map(|index: u64| {
            let jitter = if index % 9 == 4 { 80_000 } else { 0 };
            (index % 7 != 3).then(|| Timestamp::from_nanos((1_000_000 + index * 5_000 + jitter) * 1_000))
        });
        let writer = TwccWriter { sender_ssrc: 1, media_ssrc: 2, feedback_count: 77 };
        let mut bytes =
            ours(|buffer| writer.emit(65_500, arrivals.clone(), buffer).map(|emitted| emitted.len));
        let read = peer_twcc::TransportLayerCc::unmarshal(&mut bytes.clone()).unwrap();
        assert_eq!((read.base_sequence_number, read.packet_status_count), (65_500, count as u16));
        assert_eq!((read.reference_time, read.fb_pkt_count), (15, 77), "1 s is 15 times 64 ms and some");
        let mut now = i64::from(read.reference_time) * 64_000;
        let times: Vec<_> = read
            .recv_deltas
            .iter()
            .map(|delta| {
                now += delta.delta;
                now
            })
            .collect();
        assert!(times.iter().copied().eq(arrivals.flatten().map(|at| at.as_nanos() as i64 / 1_000)));

        // The peer says in the header and the last octet how much it filled; the draft says zeros.
        let again = read.marshal().unwrap();
        if again[0] & 0x20 != 0 {
            let mut padded = bytes.to_vec();
            padded[0] |= 0x20;
            *padded.last_mut().unwrap() = *again.last().unwrap();
            bytes = padded.into();
        }
        assert_eq!(again, bytes);
    }
}

#[test]
fn rtp_packet() {
    let csrc = [1, 2];
    let data = [0x10, 0xAA, 0x21, 0xBB, 0xCC, 0, 0, 0];
    let header = rtp::Header {
        marker: true,
        payload_type: 96,
        sequence_number: 27_023,
        timestamp: 3_653_407_706,
        ssrc: 476_325_762,
        csrc: List::from(&csrc[..]),
        extension: Some(rtp::Extension { profile: 0xBEDE, data: &data }),
    };
    let packet = rtp::Packet { header, payload: &[1, 2, 3, 4, 5], padding: 0 };
    let bytes = ours(|buffer| packet.emit(buffer));
    let read: rtc_rtp::packet::Packet = read_and_rewritten(&bytes);
    assert!(read.header.marker && read.header.csrc == [1, 2]);
    assert_eq!((read.header.sequence_number, read.header.timestamp), (27_023, 3_653_407_706));
    assert_eq!(read.header.get_extension(2), Some(Bytes::from_static(&[0xBB, 0xCC])));
    assert_eq!(read.payload, Bytes::from_static(&[1, 2, 3, 4, 5]));

    let padded = ours(|buffer| rtp::Packet { padding: 4, ..packet }.emit(buffer));
    let read = rtc_rtp::packet::Packet::unmarshal(&mut padded.clone()).unwrap();
    assert_eq!(read.payload, Bytes::from_static(&[1, 2, 3, 4, 5]));
}

#[test]
fn h264_payloads() {
    use rtc_rtp::packetizer::Depacketizer;
    let idr: Vec<u8> = std::iter::once(0x65).chain((0..3_000u32).map(|value| value as u8 | 1)).collect();
    let nals: [&[u8]; 4] = [&[0x67, 0x42, 0xC0, 0x1F], &[0x68, 0xCE], &idr, &[0x06, 5, 9]];
    let mut peer = rtc_rtp::codec::h264::H264Packet::default();
    let (mut theirs, mut mine) = (Vec::new(), Vec::new());
    for payload in h264::Packetizer::new(&nals, 1_200).unwrap() {
        let bytes = ours(|buffer| payload.emit(buffer));
        h264::Payload::parse(&bytes).unwrap().append_annex_b(&mut mine);
        theirs.extend_from_slice(&peer.depacketize(&bytes).unwrap());
    }
    assert_eq!(mine, theirs);
    assert!(h264::annex_b::nal_units(&theirs).eq(nals));
}
