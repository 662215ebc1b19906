//! Streams that are cut short, damaged, of another format, or too large for the memory.

use crate::harness::{ALL, ELEMENTARY, PACKS, PROGRAM, RunConfig, SYSTEM, TRANSPORT, cut, keep, run};
use proptest::prelude::*;
use seaway_mpeg::container::{Config, Error, Multiplex, sniff};
use seaway_units::Bitrate;

#[test]
fn cut_off_anywhere_what_is_kept_stays_the_same() {
    for (input, step) in [(TRANSPORT, 37), (PROGRAM, 13), (SYSTEM, 13), (PACKS, 13), (ELEMENTARY, 13)] {
        let few = (0..3000).chain((3000..input.len()).step_by(step * 7));
        for len in few {
            let outcome = run(&input[..len], RunConfig { chunk: 1000, ..RunConfig::default() }, keep);
            assert!(outcome.result.is_err() || outcome.output == input[..len], "{len} bytes");
            let _ = run(&input[..len], RunConfig { chunk: 5000, ..RunConfig::default() }, cut(0.5));
        }
    }
}

/// A recording may begin inside a pack, so that its video comes first.
#[test]
fn packs_are_found_from_anywhere() {
    for input in [PROGRAM, SYSTEM, PACKS] {
        let format = sniff(input, true).unwrap().unwrap();
        let last = input.windows(4).rposition(|bytes| bytes == [0, 0, 1, 0xba]).unwrap();
        // What begins with a sequence header is taken for what it seems.
        let begins = |start: usize| {
            let rest = &input[start..];
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            zeros >= 2 && rest[zeros..].starts_with(&[1, 0xb3])
        };
        for start in (0..last).step_by(11).filter(|&start| !begins(start)) {
            assert_eq!(sniff(&input[start..], true).unwrap(), Some(format), "{start}");
        }
    }
}

#[test]
fn memory_is_bounded_when_replacements_do_not_come() {
    for input in ALL {
        let config = Config { memory: 5000, ..Config::default() };
        let outcome = run(input, RunConfig { chunk: 700, delay: 1000, config }, cut(0.5));
        let gone = input.len() - 9000;
        assert!(outcome.output[..gone] == input[..gone]);
        assert!(outcome.report.given_up > 0);
    }
}

#[test]
fn what_is_no_mpeg_video_is_named() {
    let error = |input: &[u8]| run(input, RunConfig::default(), keep).result.unwrap_err().to_string();
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
    let message = error(&other);
    assert!(message.contains("H.264"), "{message}");
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
    let outcome = run(&noise, RunConfig { chunk: 1, ..RunConfig::default() }, keep);
    assert!(matches!(outcome.result, Err(Error::NotMpeg { .. })));
}

#[test]
fn a_wrong_crc_is_counted_and_the_next_table_taken() {
    let mut input = TRANSPORT.to_vec();
    let first = input.chunks_exact_mut(188).find(|packet| packet[5..7] == [0x02, 0xb0]).unwrap();
    first[10] ^= 1;
    let outcome = run(&input, RunConfig::default(), keep);
    assert!(outcome.output == input);
    assert_eq!(outcome.transport().crc_errors, 1);
}

#[test]
fn scrambled_video_passes_and_is_said() {
    let mut input = TRANSPORT.to_vec();
    for packet in input.chunks_exact_mut(188).filter(|packet| packet[1] & 0x1f == 1 && packet[2] == 0) {
        packet[3] |= 0xc0;
    }
    let outcome = run(&input, RunConfig::default(), keep);
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
        let outcome = run(&input, RunConfig { chunk, delay: 2, ..RunConfig::default() }, keep);
        prop_assert!(outcome.result.is_err() || outcome.output == input);
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(&input, RunConfig { chunk, delay: 2, config }, cut(share));
        let constant = matches!(multiplex, Multiplex::Constant(_));
        prop_assert!(constant || outcome.output.len() <= input.len());
    }
}
