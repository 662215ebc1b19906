//! Arrival of the video at a decoder: never later than before, and without overflow of its buffer.

use crate::harness::{PACKS, PROGRAM, RunConfig, RunResult, SYSTEM, TRANSPORT, cut, run};
use crate::readers::{clock, clock_references, packets, program_header};
use seaway_mpeg::container::{Config, Multiplex};
use seaway_units::Bitrate;

/// Arrival time of each byte of a transport stream's video, 27 MHz, by the PCRs of its PID.
fn transport_arrivals(stream: &[u8]) -> Vec<i64> {
    let references: Vec<(i64, i64)> = clock_references(stream)
        .iter()
        .filter(|reference| reference.1 == 0x100)
        .map(|(at, _, field)| (*at as i64, clock(field)))
        .collect();
    let time = |at: i64| {
        let next = references.partition_point(|(place, _)| *place <= at).clamp(1, references.len() - 1);
        let ((a, from), (b, to)) = (references[next - 1], references[next]);
        from + (to - from) * (at - a) / (b - a)
    };
    let mut arrivals = Vec::new();
    for (at, packet) in packets(stream).iter().enumerate().filter(|(_, packet)| packet.pid == 0x100) {
        let header = if packet.start { 9 + usize::from(packet.payload[8]) } else { 0 };
        arrivals.extend(std::iter::repeat_n(time(at as i64), packet.payload[header..].len()));
    }
    arrivals
}

/// Arrival time of each byte of a program or system stream's video, 27 MHz, by the SCR of its pack and the multiplex rate.
fn program_arrivals(stream: &[u8]) -> Vec<i64> {
    let (mut at, mut arrivals) = (0, Vec::new());
    let (mut reference, mut place, mut rate) = (0, 0, 1);
    while at + 4 <= stream.len() {
        let bytes = &stream[at..];
        let bits = |from: usize, len: usize| {
            bytes[from..from + len].iter().fold(0i64, |bits, byte| bits << 8 | i64::from(*byte))
        };
        let len = match bytes[3] {
            0xb9 => 4,
            0xba if bytes[4] >> 6 == 1 => {
                let field = bits(4, 6);
                let base = (field >> 43 & 7) << 30 | (field >> 27 & 0x7fff) << 15 | field >> 11 & 0x7fff;
                (reference, place) = (base * 300 + (field >> 1 & 0x1ff), at + 9);
                rate = (bits(10, 3) >> 2) * 50;
                14 + usize::from(bytes[13] & 7)
            }
            0xba => {
                let field = bits(4, 5);
                let base = (field >> 33 & 7) << 30 | (field >> 17 & 0x7fff) << 15 | field >> 1 & 0x7fff;
                (reference, place) = (base * 300, at + 8);
                rate = (bits(9, 3) >> 1 & 0x3f_ffff) * 50;
                12
            }
            _ => 6 + bits(4, 2) as usize,
        };
        if bytes[3] == 0xe0 {
            let time = |byte: usize| reference + (byte - place) as i64 * 27_000_000 / rate;
            arrivals.extend((at + program_header(bytes)..at + len).map(time));
        }
        at += len;
    }
    arrivals
}

/// Position and length of each picture, before and after [`cut`].
fn lengths(outcome: &RunResult, share: f64) -> Vec<(usize, usize)> {
    let after = |len: usize| ((len as f64 * share) as usize).max(50).min(len);
    outcome.pictures.iter().map(|picture| (picture.unit.data.len(), after(picture.unit.data.len()))).collect()
}

fn check_never_later(before: &[i64], after: &[i64], lengths: &[(usize, usize)]) {
    let (mut old, mut new) = (0, 0);
    for (picture, (len, left)) in lengths.iter().enumerate() {
        for byte in 0..*left {
            let (was, is) = (before[old + byte], after[new + byte]);
            assert!(is <= was, "byte {byte} of picture {picture} comes at {is}, not {was}");
        }
        (old, new) = (old + len, new + left);
    }
    assert_eq!((old, new), (before.len(), after.len()));
}

#[test]
fn no_byte_of_a_picture_comes_later_than_before() {
    for share in [0.9, 0.4] {
        for (input, multiplex) in [
            (PROGRAM, Multiplex::Keep),
            (PROGRAM, Multiplex::Variable),
            (SYSTEM, Multiplex::Variable),
            (PACKS, Multiplex::Keep),
            (PACKS, Multiplex::Variable),
        ] {
            let config = Config { multiplex, ..Config::default() };
            let outcome = run(input, RunConfig { config, ..RunConfig::default() }, cut(share));
            let lengths = lengths(&outcome, share);
            check_never_later(&program_arrivals(input), &program_arrivals(&outcome.output), &lengths);
        }
        let outcome = run(TRANSPORT, RunConfig::default(), cut(share));
        let lengths = lengths(&outcome, share);
        check_never_later(&transport_arrivals(TRANSPORT), &transport_arrivals(&outcome.output), &lengths);
    }
}

/// The highest fullness of the decoder's buffer in bytes, and whether each picture is complete at its decoding time.
fn buffer(arrivals: &[i64], pictures: &[(usize, i64)]) -> (usize, bool) {
    let (mut removed, mut fullest, mut in_time) = (0, 0, true);
    for (len, decoded) in pictures {
        let arrived = arrivals.partition_point(|at| at <= decoded);
        fullest = fullest.max(arrived - removed.min(arrived));
        removed += len;
        in_time &= arrived >= removed;
    }
    (fullest, in_time)
}

#[test]
fn at_a_constant_rate_the_buffer_of_the_decoder_holds() {
    for (share, rate) in [(0.8, 600_000), (0.6, 560_000), (0.4, 500_000), (0.3, 460_000)] {
        let multiplex = Multiplex::Constant(Bitrate::from_bps(rate));
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(TRANSPORT, RunConfig { config, ..RunConfig::default() }, cut(share));
        let decoded =
            outcome.pictures.iter().map(|picture| picture.dts.or(picture.pts).unwrap() as i64 * 300);
        let lengths = lengths(&outcome, share).into_iter();
        let (before, after): (Vec<_>, Vec<_>) =
            lengths.zip(decoded).map(|((old, new), at)| ((old, at), (new, at))).unzip();
        let (full_before, _) = buffer(&transport_arrivals(TRANSPORT), &before);
        let (full_after, in_time) = buffer(&transport_arrivals(&outcome.output), &after);
        assert!(in_time, "{rate}");
        // vbv_buffer_size of the stream is 8 KiB.
        assert!(full_after <= full_before.max(8192), "{rate}: {full_after}, before {full_before}");
    }
}
