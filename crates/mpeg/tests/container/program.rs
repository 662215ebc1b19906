//! Program and system streams.

use crate::harness::{PACKS, PROGRAM, RunConfig, SYSTEM, cut, expected, run};
use crate::readers::program_packets;
use seaway_mpeg::container::{Config, Multiplex};

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
    for input in [PROGRAM, SYSTEM, PACKS] {
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
