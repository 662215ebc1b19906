//! Transport streams.

use crate::harness::{RunConfig, RunResult, TRANSPORT, cut, expected, keep, run};
use crate::readers::{check_continuity, clock_references, elementary, packets};
use seaway_mpeg::container::{Config, Error, Format, Multiplex, sniff};

#[test]
fn every_framing_of_transport_packets() {
    let framed = |before: &[u8], after: &[u8]| -> Vec<u8> {
        TRANSPORT.chunks(188).flat_map(|packet| [before, packet, after].concat()).collect()
    };
    for (input, stride) in [(framed(&[7; 4], &[]), 192), (framed(&[], &[0xab; 16]), 204)] {
        let outcome = run(&input, RunConfig::default(), keep);
        assert!(
            matches!(sniff(&input, true), Ok(Some(Format::Transport(framing))) if framing.stride() == stride)
        );
        assert!(outcome.output == input);
        let smaller = run(&input, RunConfig::default(), cut(0.6)).output;
        let plain = run(TRANSPORT, RunConfig::default(), cut(0.6)).output;
        let (before, after) = if stride == 192 { (4, 0) } else { (0, 16) };
        let stripped: Vec<u8> =
            smaller.chunks(stride).flat_map(|packet| packet[before..stride - after].to_vec()).collect();
        assert!(stripped == plain);
    }
}

#[test]
fn only_the_video_of_a_transport_stream_changes() {
    for share in [0.9, 0.5, 0.1] {
        let outcome = run(TRANSPORT, RunConfig { delay: 3, ..RunConfig::default() }, cut(share));
        assert_eq!(outcome.output.len(), TRANSPORT.len());
        check_continuity(&outcome.output);
        assert_eq!(clock_references(&outcome.output), clock_references(TRANSPORT));
        for (before, after) in TRANSPORT.chunks(188).zip(outcome.output.chunks(188)) {
            if before[1..3] != [0x01, 0x00] && before[1..3] != [0x41, 0x00] {
                assert_eq!(before, after);
            }
        }
        assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, share));
        let report = outcome.transport();
        let count =
            |stream: &[u8]| packets(stream).iter().filter(|packet| packet.pid == 0x1fff).count() as u64;
        assert_eq!(count(&outcome.output), report.freed_packets + report.null_packets);
        assert_eq!(count(TRANSPORT), report.null_packets);
    }
}

#[test]
fn the_other_programme_can_be_chosen() {
    let config = Config { program: Some(2), ..Config::default() };
    let outcome = run(TRANSPORT, RunConfig { config, ..RunConfig::default() }, cut(0.5));
    assert_eq!(outcome.transport().program, 2);
    assert!(elementary(&outcome.output, 0x100).0 == elementary(TRANSPORT, 0x100).0);
    assert!(elementary(&outcome.output, 0x102).0 == expected(&outcome.pictures, 0.5));
    let config = Config { program: Some(7), ..Config::default() };
    let error = run(TRANSPORT, RunConfig { config, ..RunConfig::default() }, keep).result.unwrap_err();
    assert!(matches!(error, Error::NoVideo { found } if found.contains("programme 7")));
}

#[test]
fn time_stamps_stay_with_their_pictures() {
    let outcome = run(TRANSPORT, RunConfig::default(), cut(0.5));
    let (video, stamps) = elementary(TRANSPORT, 0x100);
    let (smaller, kept) = elementary(&outcome.output, 0x100);
    assert_eq!(stamps.len(), kept.len());
    for ((before, old), (after, new)) in stamps.iter().zip(&kept) {
        assert_eq!(before, after);
        assert_eq!(video[*old..old + 12], smaller[*new..new + 12]);
    }
    assert_eq!(outcome.pictures.iter().filter(|picture| picture.pts.is_some()).count(), stamps.len());
}

#[test]
fn variable_transport_streams_lose_their_null_packets_only() {
    let config = Config { multiplex: Multiplex::Variable, ..Config::default() };
    let kept = run(TRANSPORT, RunConfig::default(), cut(0.5)).output;
    let outcome = run(TRANSPORT, RunConfig { config, ..RunConfig::default() }, cut(0.5));
    let without: Vec<u8> = kept.chunks(188).filter(|packet| packet[1] != 0x1f).flatten().copied().collect();
    assert!(outcome.output == without);
}

#[test]
fn repeated_packets_count_once() {
    let mut input = Vec::new();
    for (number, packet) in TRANSPORT.chunks(188).enumerate() {
        input.extend_from_slice(packet);
        if number % 5 == 0 && packet[1] & 0x1f == 0x01 && packet[2] == 0 && packet[3] & 0x10 != 0 {
            input.extend_from_slice(packet);
        }
    }
    let outcome = run(&input, RunConfig::default(), cut(0.5));
    assert!(outcome.transport().repeated_packets > 10);
    let plain = run(TRANSPORT, RunConfig::default(), cut(0.5));
    let data = |outcome: &RunResult| -> Vec<Vec<u8>> {
        outcome.pictures.iter().map(|picture| picture.unit.data.clone()).collect()
    };
    assert!(data(&outcome) == data(&plain));
    let mut seen: Option<Vec<u8>> = None;
    let mut once = Vec::new();
    for packet in outcome.output.chunks(188).filter(|packet| packet[1] & 0x1f == 1 && packet[2] == 0) {
        if seen.as_deref() != Some(packet) {
            once.extend_from_slice(packet);
        }
        seen = Some(packet.to_vec());
    }
    check_continuity(&once);
    assert!(elementary(&once, 0x100).0 == expected(&outcome.pictures, 0.5));
}

/// Found by fuzzing: a packet without payload between a packet and its duplicate, after the first was written.
#[test]
fn an_equal_packet_later_on_is_no_repetition() {
    let mut input = Vec::new();
    for packet in TRANSPORT.chunks(188) {
        input.extend_from_slice(packet);
        if packet[1] == 0x01 && packet[2] == 0 && packet[3] & 0x10 != 0 {
            let mut alone = [0xff; 188];
            alone[..6].copy_from_slice(&[0x47, 0x01, 0x00, 0x20 | packet[3] & 15, 183, 0]);
            input.extend(alone);
            input.extend_from_slice(packet);
        }
    }
    let outcome = run(&input, RunConfig::default(), keep);
    assert!(outcome.output == input);
    assert_eq!(outcome.transport().repeated_packets, 0);
}

#[test]
fn lost_packets_are_counted_and_leave_the_rest_in_order() {
    let lost = |number: &usize| number % 97 != 60;
    let packets = TRANSPORT.chunks(188).enumerate().filter(|(number, _)| lost(number));
    let input: Vec<u8> = packets.flat_map(|(_, packet)| packet.to_vec()).collect();
    let outcome = run(&input, RunConfig::default(), cut(0.5));
    let report = outcome.transport();
    assert!(report.continuity_errors > 0);
    assert!(outcome.pictures.iter().any(|picture| picture.damaged));
    assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, 0.5));
}

/// Found by fuzzing: a PES packet that is shorter than its header.
#[test]
fn a_length_that_cannot_be_is_left_alone() {
    let mut input = TRANSPORT.to_vec();
    for packet in input.chunks_exact_mut(188).filter(|packet| packet[1..3] == [0x41, 0x00]) {
        let payload = if packet[3] & 0x20 != 0 { 5 + usize::from(packet[4]) } else { 4 };
        packet[payload + 4..payload + 6].copy_from_slice(&[0, 3]);
    }
    let outcome = run(&input, RunConfig::default(), cut(0.2));
    outcome.result.as_ref().unwrap();
    assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, 0.2));
}
