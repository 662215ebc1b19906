//! What each packet and each report costs: RTP, RFC 8888 and transport-wide feedback about 100 packets, and an
//! H.264 key frame of 50 kB.

use divan::{Bencher, black_box};
use seaway_units::{Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{self, ArrivalOffset, Metric};
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{Message, packets};
use seaway_wire::{NtpShort, h264, rtp};

const PACKETS: u16 = 100;

fn main() {
    divan::main();
}

fn rtp_packet(payload: &[u8]) -> rtp::Packet<'_> {
    let extension =
        Some(rtp::Extension { profile: 0x1000, data: &[1, 12, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0] });
    let header = rtp::Header { payload_type: 96, ssrc: 1, extension, ..rtp::Header::default() };
    rtp::Packet { header, payload, padding: 0 }
}

#[divan::bench]
fn rtp_emit(bencher: Bencher<'_, '_>) {
    let payload = [7; 1_150];
    let mut buffer = [0; 1_500];
    bencher.bench_local(|| black_box(rtp_packet(&payload)).emit(&mut buffer).unwrap());
}

#[divan::bench]
fn rtp_parse(bencher: Bencher<'_, '_>) {
    let mut buffer = [0; 1_500];
    let len = rtp_packet(&[7; 1_150]).emit(&mut buffer).unwrap();
    bencher.bench_local(|| rtp::Packet::parse(black_box(&buffer[..len])).map(|packet| packet.payload.len()));
}

/// Every tenth lost, one in 500 µs.
fn arrival(index: u16) -> Option<Timestamp> {
    (index % 10 != 3).then(|| Timestamp::from_nanos(1_000_000_000 + u64::from(index) * 500_000))
}

fn emit_ccfb(buffer: &mut [u8]) -> usize {
    let now = Timestamp::from_nanos(1_100_000_000);
    let mut writer = ccfb::Writer::new(buffer, 1).unwrap();
    let metrics = (0..PACKETS).map(|index| match arrival(index) {
        Some(at) => Metric::Received { ecn: Ecn::Ect1, arrival: ArrivalOffset::from_span(now - at) },
        None => Metric::Missing,
    });
    writer.stream(2, 65_500, metrics).unwrap();
    writer.finish(NtpShort::from_bits(9)).unwrap()
}

fn emit_twcc(buffer: &mut [u8]) -> usize {
    let writer = TwccWriter { sender_ssrc: 1, media_ssrc: 2, feedback_count: 0 };
    writer.emit(65_500, (0..PACKETS).map(arrival), buffer).unwrap().len
}

#[divan::bench]
fn ccfb_emit(bencher: Bencher<'_, '_>) {
    let mut buffer = [0; 1_500];
    bencher.bench_local(|| emit_ccfb(black_box(&mut buffer)));
}

#[divan::bench]
fn twcc_emit(bencher: Bencher<'_, '_>) {
    let mut buffer = [0; 1_500];
    bencher.bench_local(|| emit_twcc(black_box(&mut buffer)));
}

fn read(bytes: &[u8]) -> TimeDelta {
    let packet = packets(bytes).next().unwrap().unwrap();
    match Message::parse(packet).unwrap() {
        Message::Ccfb(report) => report
            .streams()
            .flat_map(|stream| stream.packets())
            .filter_map(|(_, metric)| match metric {
                Metric::Received { arrival, .. } => arrival.to_span(),
                Metric::Missing => None,
            })
            .sum(),
        Message::Twcc(report) => report.packets().filter_map(|(_, at)| at).sum(),
        _ => TimeDelta::ZERO,
    }
}

#[divan::bench]
fn ccfb_read(bencher: Bencher<'_, '_>) {
    let mut buffer = [0; 1_500];
    let len = emit_ccfb(&mut buffer);
    bencher.bench_local(|| read(black_box(&buffer[..len])));
}

#[divan::bench]
fn twcc_read(bencher: Bencher<'_, '_>) {
    let mut buffer = [0; 1_500];
    let len = emit_twcc(&mut buffer);
    bencher.bench_local(|| read(black_box(&buffer[..len])));
}

#[divan::bench]
fn h264_packetize(bencher: Bencher<'_, '_>) {
    let mut frame = vec![0, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 0, 1, 0x68, 4, 0, 0, 0, 1, 0x65];
    frame.extend((0..50_000u32).map(|value| (value * 7) as u8 | 1));
    let mut buffer = [0; 1_500];
    bencher.bench_local(|| {
        let nals: Vec<_> = h264::annex_b::nal_units(black_box(&frame)).collect();
        let payloads = h264::Packetizer::new(&nals, 1_200).unwrap();
        payloads.map(|payload| payload.emit(&mut buffer).unwrap()).sum::<usize>()
    });
}
