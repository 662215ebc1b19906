//! Whole streams through the remuxer, held against readers of their own.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use seaway_mpeg::container::{
    CodedPicture, Config, Error, Format, Multiplex, Remuxer, Replacement, Report, sniff,
};
use seaway_units::Bitrate;

const TRANSPORT: &[u8] = include_bytes!("fixtures/two_programmes.ts");
const PROGRAM: &[u8] = include_bytes!("fixtures/program.vob");
const SYSTEM: &[u8] = include_bytes!("fixtures/system.mpg");
const PACKS: &[u8] = include_bytes!("fixtures/packs.mpg");
const ELEMENTARY: &[u8] = include_bytes!("fixtures/elementary.m2v");
const ALL: [&[u8]; 5] = [TRANSPORT, PROGRAM, SYSTEM, PACKS, ELEMENTARY];

/// How a run goes: bytes a push, pictures held back, configuration.
#[derive(Clone, Copy, Debug)]
struct Plan {
    chunk: usize,
    delay: usize,
    config: Config,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { chunk: 4096, delay: 0, config: Config::default() }
    }
}

struct Outcome {
    result: Result<(), Error>,
    output: Vec<u8>,
    pictures: Vec<CodedPicture>,
    report: Report,
}

/// Runs `input` through, each picture through `shape`.
fn run(input: &[u8], plan: Plan, mut shape: impl FnMut(&CodedPicture) -> Replacement) -> Outcome {
    let mut remuxer = Remuxer::new(plan.config);
    let (mut output, mut pictures, mut held) = (Vec::new(), Vec::new(), VecDeque::new());
    let mut turn = |remuxer: &mut Remuxer, delay: usize| {
        let mut result = Ok(());
        held.extend(std::iter::from_fn(|| remuxer.poll_picture()));
        while held.len() > delay {
            let picture = held.pop_front().unwrap();
            result = result.and(remuxer.replace(shape(&picture)));
            pictures.push(picture);
        }
        remuxer.drain_output(&mut output);
        result
    };
    let mut result = Ok(());
    for chunk in input.chunks(plan.chunk) {
        result = result.and_then(|()| remuxer.push(chunk));
        result = turn(&mut remuxer, plan.delay).and(result);
    }
    let result = result.and_then(|()| remuxer.finish());
    let result = turn(&mut remuxer, 0).and(result);
    Outcome { result, output, pictures, report: remuxer.report() }
}

fn keep(_: &CodedPicture) -> Replacement {
    Replacement::Kept
}

/// Lets about `share` of a picture stand, and never less than its headers.
fn cut(share: f64) -> impl FnMut(&CodedPicture) -> Replacement {
    move |picture| {
        let len = (picture.unit.data.len() as f64 * share) as usize;
        Replacement::Bytes(picture.unit.data[..len.max(50).min(picture.unit.data.len())].to_vec())
    }
}

/// The video after [`cut`].
fn expected(pictures: &[CodedPicture], share: f64) -> Vec<u8> {
    let mut shape = cut(share);
    let bytes = |picture: &CodedPicture| match shape(picture) {
        Replacement::Bytes(bytes) => bytes,
        Replacement::Kept => picture.unit.data.clone(),
    };
    pictures.iter().flat_map(bytes).collect()
}

/// A transport packet taken apart, by nothing of the crate.
struct Packet<'a> {
    pid: u16,
    start: bool,
    counter: u8,
    adaptation: &'a [u8],
    payload: &'a [u8],
}

fn packets(stream: &[u8]) -> Vec<Packet<'_>> {
    let packets = stream.chunks_exact(188).map(|bytes| {
        assert_eq!(bytes[0], 0x47);
        let field = if bytes[3] & 0x20 != 0 { 1 + usize::from(bytes[4]) } else { 0 };
        let payload = if bytes[3] & 0x10 != 0 { &bytes[4 + field..] } else { &[] };
        assert!(bytes[3] & 0x10 == 0 || !payload.is_empty(), "a payload of no bytes");
        assert!(bytes[3] & 0x10 != 0 || field == 184, "an adaptation field alone fills its packet");
        Packet {
            pid: u16::from(bytes[1] & 0x1f) << 8 | u16::from(bytes[2]),
            start: bytes[1] & 0x40 != 0,
            counter: bytes[3] & 15,
            adaptation: if field > 1 { &bytes[5..4 + field] } else { &[] },
            payload,
        }
    });
    packets.collect()
}

/// The PES payload of a PID, and the time fields of each PES header with where its payload starts.
fn elementary(stream: &[u8], pid: u16) -> (Vec<u8>, Vec<(Vec<u8>, usize)>) {
    let (mut video, mut stamps) = (Vec::new(), Vec::new());
    for packet in packets(stream).iter().filter(|packet| packet.pid == pid) {
        let mut payload = packet.payload;
        if packet.start {
            assert_eq!(payload[..3], [0, 0, 1]);
            let header = 9 + usize::from(payload[8]);
            stamps.push((payload[7..header].to_vec(), video.len()));
            payload = &payload[header..];
        }
        video.extend_from_slice(payload);
    }
    (video, stamps)
}

fn check_continuity(stream: &[u8]) {
    let mut last = BTreeMap::new();
    for packet in packets(stream).iter().filter(|packet| packet.pid != 0x1fff) {
        let step = u8::from(!packet.payload.is_empty());
        if let Some(last) = last.insert(packet.pid, packet.counter) {
            assert_eq!(packet.counter, (last + step) & 15, "continuity of PID {:#x}", packet.pid);
        }
    }
}

/// The clock reference field of each packet that has one, with its place.
fn clock_references(stream: &[u8]) -> Vec<(usize, u16, Vec<u8>)> {
    let packets = packets(stream).into_iter().enumerate();
    let with_reference =
        packets.filter(|(_, packet)| packet.adaptation.first().is_some_and(|f| f & 0x10 != 0));
    with_reference.map(|(at, packet)| (at, packet.pid, packet.adaptation[1..7].to_vec())).collect()
}

#[test]
fn nothing_replaced_is_the_same_stream() {
    for input in ALL {
        for chunk in [1, 188, 4096, input.len()] {
            for delay in [0, 4] {
                let outcome = run(input, Plan { chunk, delay, ..Plan::default() }, keep);
                outcome.result.unwrap();
                assert!(outcome.output == input, "chunk {chunk}, delay {delay}");
                assert_eq!(outcome.report.bytes_out, input.len() as u64);
            }
        }
    }
}

#[test]
fn a_replacement_that_is_the_picture_itself_changes_nothing() {
    for input in ALL {
        let outcome = run(input, Plan::default(), |picture| Replacement::Bytes(picture.unit.data.clone()));
        assert!(outcome.output == input);
    }
}

#[test]
fn every_framing_of_transport_packets() {
    let framed = |before: &[u8], after: &[u8]| -> Vec<u8> {
        TRANSPORT.chunks(188).flat_map(|packet| [before, packet, after].concat()).collect()
    };
    for (input, stride) in [(framed(&[7; 4], &[]), 192), (framed(&[], &[0xab; 16]), 204)] {
        let outcome = run(&input, Plan::default(), keep);
        assert!(
            matches!(sniff(&input, true), Ok(Some(Format::Transport(framing))) if framing.stride() == stride)
        );
        assert!(outcome.output == input);
        let smaller = run(&input, Plan::default(), cut(0.6)).output;
        let plain = run(TRANSPORT, Plan::default(), cut(0.6)).output;
        let (before, after) = if stride == 192 { (4, 0) } else { (0, 16) };
        let stripped: Vec<u8> =
            smaller.chunks(stride).flat_map(|packet| packet[before..stride - after].to_vec()).collect();
        assert!(stripped == plain);
    }
}

#[test]
fn only_the_video_of_a_transport_stream_changes() {
    for share in [0.9, 0.5, 0.1] {
        let outcome = run(TRANSPORT, Plan { delay: 3, ..Plan::default() }, cut(share));
        assert_eq!(outcome.output.len(), TRANSPORT.len());
        check_continuity(&outcome.output);
        assert_eq!(clock_references(&outcome.output), clock_references(TRANSPORT));
        for (before, after) in TRANSPORT.chunks(188).zip(outcome.output.chunks(188)) {
            if before[1..3] != [0x01, 0x00] && before[1..3] != [0x41, 0x00] {
                assert_eq!(before, after);
            }
        }
        assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, share));
        let report = outcome.report.transport.unwrap();
        let count =
            |stream: &[u8]| packets(stream).iter().filter(|packet| packet.pid == 0x1fff).count() as u64;
        assert_eq!(count(&outcome.output), report.freed_packets + report.null_packets);
        assert_eq!(count(TRANSPORT), report.null_packets);
    }
}

#[test]
fn the_other_programme_can_be_chosen() {
    let config = Config { program: Some(2), ..Config::default() };
    let outcome = run(TRANSPORT, Plan { config, ..Plan::default() }, cut(0.5));
    assert_eq!(outcome.report.transport.as_ref().unwrap().program, 2);
    assert!(elementary(&outcome.output, 0x100).0 == elementary(TRANSPORT, 0x100).0);
    assert!(elementary(&outcome.output, 0x102).0 == expected(&outcome.pictures, 0.5));
    let config = Config { program: Some(7), ..Config::default() };
    let error = run(TRANSPORT, Plan { config, ..Plan::default() }, keep).result.unwrap_err();
    assert!(matches!(error, Error::NoVideo { found } if found.contains("programme 7")));
}

#[test]
fn time_stamps_stay_with_their_pictures() {
    let outcome = run(TRANSPORT, Plan::default(), cut(0.5));
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
    let kept = run(TRANSPORT, Plan::default(), cut(0.5)).output;
    let outcome = run(TRANSPORT, Plan { config, ..Plan::default() }, cut(0.5));
    let without: Vec<u8> = kept.chunks(188).filter(|packet| packet[1] != 0x1f).flatten().copied().collect();
    assert!(outcome.output == without);
}

/// The value of a clock reference field, 27 MHz.
fn clock(field: &[u8]) -> i64 {
    let base = field[..4].iter().fold(0i64, |base, byte| base << 8 | i64::from(*byte)) << 1
        | i64::from(field[4] >> 7);
    base * 300 + (i64::from(field[4] & 1) << 8 | i64::from(field[5]))
}

#[test]
fn transport_streams_at_a_lower_constant_rate() {
    for (share, rate) in [(0.5, 520_000), (0.3, 460_000), (1.0, 700_000)] {
        let multiplex = Multiplex::Constant(Bitrate::from_bps(rate));
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(TRANSPORT, Plan { config, delay: 2, ..Plan::default() }, cut(share));
        outcome.result.unwrap();
        check_continuity(&outcome.output);
        assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, share));
        for pid in [0x101, 0x102] {
            assert!(elementary(&outcome.output, pid) == elementary(TRANSPORT, pid));
        }
        let report = outcome.report.transport.unwrap().pacing.unwrap();
        assert_eq!(report.underflows, 0);
        // Every reference of either programme stands where the rate says, within 500 ns (2.4.2.1).
        for pid in [0x100, 0x102] {
            let references: Vec<(i64, i64)> = clock_references(&outcome.output)
                .iter()
                .filter(|reference| reference.1 == pid)
                .map(|(at, _, field)| (*at as i64 * 188 * 8 * 27_000_000 / rate as i64, clock(field)))
                .collect();
            let (place, value) = references[0];
            for (at, reference) in &references {
                assert!(((reference - value) - (at - place)).abs() < 14, "{at} {reference}");
            }
            let longest = references.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap();
            assert!(pid != 0x100 || longest <= 41 * 27_000, "{longest}");
        }
    }
}

#[test]
fn a_rate_that_cannot_hold_the_stream_is_refused() {
    let multiplex = Multiplex::Constant(Bitrate::from_bps(50_000));
    let config = Config { multiplex, memory: 50_000, ..Config::default() };
    let outcome = run_to_error(TRANSPORT, config);
    assert!(matches!(outcome, Err(Error::RateUnfit { .. })), "{outcome:?}");
    let no_clock: Vec<u8> = TRANSPORT
        .chunks(188)
        .filter(|packet| packet[3] & 0x20 == 0 || packet[4] == 0 || packet[5] & 0x10 == 0)
        .flatten()
        .copied()
        .collect();
    let config = Config { multiplex: Multiplex::Constant(Bitrate::from_bps(500_000)), ..Config::default() };
    assert_eq!(run_to_error(&no_clock, config), Err(Error::NoClock));
}

#[test]
fn at_no_rate_does_the_output_go_on_for_ever() {
    for rate in [1, 1_000, 40_000, 60_000] {
        let multiplex = Multiplex::Constant(Bitrate::from_bps(rate));
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(TRANSPORT, Plan { config, ..Plan::default() }, keep);
        assert!(outcome.output.len() < 2 * TRANSPORT.len());
    }
}

fn run_to_error(input: &[u8], config: Config) -> Result<(), Error> {
    let mut remuxer = Remuxer::new(config);
    let drain = |remuxer: &mut Remuxer| {
        while remuxer.poll_picture().is_some() {
            remuxer.replace(Replacement::Kept)?;
        }
        Ok(())
    };
    for chunk in input.chunks(1000) {
        remuxer.push(chunk)?;
        drain(&mut remuxer)?;
    }
    remuxer.finish()?;
    drain(&mut remuxer)
}

/// The packets of a program or system stream as (code, whole bytes, payload of video).
fn program_packets(stream: &[u8]) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let (mut at, mut packets) = (0, Vec::new());
    while at + 4 <= stream.len() {
        assert_eq!(stream[at..at + 3], [0, 0, 1], "at {at}");
        let code = stream[at + 3];
        let len = match code {
            0xb9 => 4,
            0xba if stream[at + 4] >> 6 == 1 => 14 + usize::from(stream[at + 13] & 7),
            0xba => 12,
            _ => 6 + usize::from(u16::from_be_bytes([stream[at + 4], stream[at + 5]])),
        };
        let bytes = stream[at..at + len].to_vec();
        let payload = if code == 0xe0 { bytes[program_header(&bytes)..].to_vec() } else { Vec::new() };
        packets.push((code, bytes, payload));
        at += len;
    }
    assert_eq!(at, stream.len());
    packets
}

fn program_header(packet: &[u8]) -> usize {
    if packet[6] >> 6 == 2 {
        return 9 + usize::from(packet[8]);
    }
    let mut at = 6 + packet[6..].iter().take_while(|&&byte| byte == 0xff).count();
    at += if packet[at] >> 6 == 1 { 2 } else { 0 };
    at + match packet[at] >> 4 {
        2 => 5,
        3 => 10,
        _ => 1,
    }
}

#[test]
fn program_and_system_streams_keep_their_packs() {
    for input in [PROGRAM, SYSTEM, PACKS] {
        for share in [0.97, 0.5, 0.1] {
            let outcome = run(input, Plan { delay: 2, ..Plan::default() }, cut(share));
            assert_eq!(outcome.output.len(), input.len());
            let (before, after) = (program_packets(input), program_packets(&outcome.output));
            let video: Vec<u8> = after.iter().flat_map(|packet| packet.2.clone()).collect();
            assert!(video == expected(&outcome.pictures, share));
            let others = |packets: &[(u8, Vec<u8>, Vec<u8>)]| -> Vec<Vec<u8>> {
                let kept = packets.iter().filter(|packet| packet.0 != 0xe0 && packet.0 != 0xbe);
                kept.map(|packet| packet.1.clone()).collect()
            };
            assert!(others(&before) == others(&after));
        }
    }
}

#[test]
fn program_and_system_streams_shrink() {
    for input in [PROGRAM, SYSTEM, PACKS] {
        let config = Config { multiplex: Multiplex::Variable, ..Config::default() };
        let outcome = run(input, Plan { config, ..Plan::default() }, cut(0.3));
        let packets = program_packets(&outcome.output);
        let video: Vec<u8> = packets.iter().flat_map(|packet| packet.2.clone()).collect();
        let wanted = expected(&outcome.pictures, 0.3);
        assert!(video == wanted);
        let gone: usize =
            outcome.pictures.iter().map(|picture| picture.unit.data.len()).sum::<usize>() - wanted.len();
        assert!(outcome.output.len() <= input.len() - gone);
        for pair in packets.windows(2) {
            assert!(pair[0].0 != 0xba || pair[1].0 != 0xba, "an empty pack");
        }
    }
}

#[test]
fn cut_off_anywhere_what_is_kept_stays_the_same() {
    for (input, step) in [(TRANSPORT, 37), (PROGRAM, 13), (SYSTEM, 13), (PACKS, 13), (ELEMENTARY, 13)] {
        let few = (0..3000).chain((3000..input.len()).step_by(step * 7));
        for len in few {
            let outcome = run(&input[..len], Plan { chunk: 1000, ..Plan::default() }, keep);
            assert!(outcome.result.is_err() || outcome.output == input[..len], "{len} bytes");
            let _ = run(&input[..len], Plan { chunk: 5000, ..Plan::default() }, cut(0.5));
        }
    }
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
    let outcome = run(&input, Plan::default(), cut(0.5));
    assert!(outcome.report.transport.as_ref().unwrap().repeated_packets > 10);
    let plain = run(TRANSPORT, Plan::default(), cut(0.5));
    let data = |outcome: &Outcome| -> Vec<Vec<u8>> {
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

/// Found by fuzzing: an adaptation field alone between a packet and its equal, after the first had left.
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
    let outcome = run(&input, Plan::default(), keep);
    assert!(outcome.output == input);
    assert_eq!(outcome.report.transport.unwrap().repeated_packets, 0);
}

#[test]
fn lost_packets_are_counted_and_leave_the_rest_in_order() {
    let lost = |number: &usize| number % 97 != 60;
    let packets = TRANSPORT.chunks(188).enumerate().filter(|(number, _)| lost(number));
    let input: Vec<u8> = packets.flat_map(|(_, packet)| packet.to_vec()).collect();
    let outcome = run(&input, Plan::default(), cut(0.5));
    let report = outcome.report.transport.unwrap();
    assert!(report.continuity_errors > 0);
    assert!(outcome.pictures.iter().any(|picture| picture.damaged));
    assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, 0.5));
}

#[test]
fn memory_is_bounded_when_replacements_do_not_come() {
    for input in ALL {
        let config = Config { memory: 5000, ..Config::default() };
        let outcome = run(input, Plan { chunk: 700, delay: 1000, config }, cut(0.5));
        let gone = input.len() - 9000;
        assert!(outcome.output[..gone] == input[..gone]);
        assert!(outcome.report.given_up > 0);
    }
}

#[test]
fn what_is_no_mpeg_video_is_named() {
    let error = |input: &[u8]| run(input, Plan::default(), keep).result.unwrap_err().to_string();
    assert!(error(b"\x00\x00\x00\x18ftypmp42").contains("MP4"));
    assert!(error(b"just words\n").contains("text"));
    assert!(error(&[]).contains("empty"));
    // The same programme map with H.264 in place of MPEG-2 video.
    let mut other = TRANSPORT.to_vec();
    for packet in other.chunks_exact_mut(188).filter(|packet| packet[5..7] == [0x02, 0xb0]) {
        let end = 8 + usize::from(packet[7]);
        packet[17 + usize::from(packet[16])] = 0x1b;
        let crc = crc32(&packet[5..end - 4]);
        packet[end - 4..end].copy_from_slice(&crc.to_be_bytes());
    }
    let told = error(&other);
    assert!(told.contains("H.264"), "{told}");
}

fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| (crc << 1) ^ ((crc >> 31) * 0x04c1_1db7))
    })
}

#[test]
fn a_long_prelude_of_nothing_costs_little() {
    let noise: Vec<u8> =
        (0..120_000u32).map(|at| if at % 7 == 0 { 0x47 } else { (at % 200) as u8 }).collect();
    let outcome = run(&noise, Plan { chunk: 1, ..Plan::default() }, keep);
    assert!(matches!(outcome.result, Err(Error::Foreign { .. })));
}

#[test]
fn a_wrong_crc_is_counted_and_the_next_table_taken() {
    let mut input = TRANSPORT.to_vec();
    let first = input.chunks_exact_mut(188).find(|packet| packet[5..7] == [0x02, 0xb0]).unwrap();
    first[10] ^= 1;
    let outcome = run(&input, Plan::default(), keep);
    assert!(outcome.output == input);
    assert_eq!(outcome.report.transport.unwrap().crc_errors, 1);
}

#[test]
fn scrambled_video_passes_and_is_said() {
    let mut input = TRANSPORT.to_vec();
    for packet in input.chunks_exact_mut(188).filter(|packet| packet[1] & 0x1f == 1 && packet[2] == 0) {
        packet[3] |= 0xc0;
    }
    let outcome = run(&input, Plan::default(), keep);
    assert_eq!(outcome.result, Err(Error::Scrambled));
    assert!(outcome.output == input);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is damaged: no panic, and what is kept leaves as it came.
    #[test]
    fn damage_passes_unchanged(
        which in 0..ALL.len(),
        flips in proptest::collection::vec((0.0..1.0f64, any::<u8>()), 1..40),
        holes in proptest::collection::vec((0.0..1.0f64, 1usize..700), 0..4),
        chunk in 1usize..3000,
        share in 0.0..1.0f64,
        multiplex in prop_oneof![
            Just(Multiplex::Keep),
            Just(Multiplex::Variable),
            (1u64..2_000_000).prop_map(|rate| Multiplex::Constant(Bitrate::from_bps(rate))),
        ],
    ) {
        let mut input = ALL[which].to_vec();
        for (place, value) in flips {
            let at = (place * input.len() as f64) as usize;
            input[at] = value;
        }
        for (place, len) in holes {
            let at = (place * input.len() as f64) as usize;
            input.drain(at..(at + len).min(input.len()));
        }
        let outcome = run(&input, Plan { chunk, delay: 2, ..Plan::default() }, keep);
        prop_assert!(outcome.result.is_err() || outcome.output == input);
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(&input, Plan { chunk, delay: 2, config }, cut(share));
        let constant = matches!(multiplex, Multiplex::Constant(_));
        prop_assert!(constant || outcome.output.len() <= input.len());
    }
}
