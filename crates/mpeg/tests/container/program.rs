//! Program and system streams.

use crate::harness::{PACKS, PROGRAM, RunConfig, SYSTEM, cut, expected, run};
use crate::readers::program_packets;
use seaway_mpeg::container::{Config, ContainerReport, Multiplex};

#[test]
fn program_and_system_streams_keep_their_packs() {
    for input in [PROGRAM, SYSTEM, PACKS] {
        for share in [0.97, 0.5, 0.1] {
            let outcome = run(input, RunConfig { delay: 2, ..RunConfig::default() }, cut(share));
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
    for input in [SYSTEM, PACKS] {
        let config = Config { multiplex: Multiplex::Variable, ..Config::default() };
        let outcome = run(input, RunConfig { config, ..RunConfig::default() }, cut(0.3));
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

/// Packs of 2048 bytes with two pictures of 20 kB, a pack of sound behind every fourth, and padding at the end.
fn sectors() -> Vec<u8> {
    let pack = [&[0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1, 0, 1, 0x8b, 0xf8][..]].concat();
    let packet = |id: u8, payload: &[u8]| {
        let length = (payload.len() + 3) as u16;
        [&[0, 0, 1, id], &length.to_be_bytes()[..], &[0x80, 0, 0], payload].concat()
    };
    let mut video = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18];
    for _ in 0..2 {
        video.extend([0, 0, 1, 0, 0, 8, 0xff, 0xf8, 0, 0, 1, 1]);
        video.extend([0x55; 20_000]);
    }
    let mut stream = Vec::new();
    for (index, payload) in video.chunks(2025).enumerate() {
        if index % 4 == 3 {
            stream.extend([&pack[..], &packet(0xc0, &[7; 2025])].concat());
        }
        stream.extend([&pack[..], &packet(0xe0, payload)].concat());
    }
    let missing = 2048 - stream.len() % 2048;
    stream.extend([&[0, 0, 1, 0xbe], &((missing - 6) as u16).to_be_bytes()[..]].concat());
    stream.resize(stream.len() + missing - 6, 0xff);
    stream
}

/// Packs of a disc stay on its sectors: each is whole, or gone.
#[test]
fn packs_of_2048_bytes_stay_on_sectors() {
    let pack = [0, 0, 1, 0xba];
    let input = sectors();
    assert!(input.len().is_multiple_of(2048) && input.chunks(2048).all(|sector| sector.starts_with(&pack)));
    for input in [&input[..], PROGRAM] {
        let config = Config { multiplex: Multiplex::Variable, ..Config::default() };
        let outcome = run(input, RunConfig { config, ..RunConfig::default() }, cut(0.4));
        assert!(outcome.output.len().is_multiple_of(2048));
        assert!(outcome.output.chunks(2048).all(|sector| sector.starts_with(&pack)));
        let removed = (input.len() - outcome.output.len()) / 2048;
        let report = outcome.report.container.unwrap();
        assert!(matches!(report, ContainerReport::Program(report) if report.removed_packs == removed as u64));
        // Of 20 packs with video 12 have lost it, but for the first of the second picture and the ends of both.
        assert_eq!(removed, if input == PROGRAM { 0 } else { 11 });
        let sound = |stream: &[u8]| program_packets(stream).into_iter().filter(|p| p.0 == 0xc0).count();
        assert_eq!(sound(&outcome.output), sound(input));
    }
}
