//! Transport streams at another constant rate.

use crate::harness::{RunConfig, TRANSPORT, cut, expected, keep, run};
use crate::readers::{check_continuity, clock, clock_references, elementary, longest_stay};
use seaway_mpeg::container::{Config, Error, Multiplex, Remuxer, Replacement};
use seaway_units::Bitrate;

#[test]
fn transport_streams_at_a_lower_constant_rate() {
    for (share, rate) in [(0.5, 520_000), (0.3, 460_000), (1.0, 700_000), (0.3, 800_000)] {
        let multiplex = Multiplex::Constant(Bitrate::from_bps(rate));
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(TRANSPORT, RunConfig { config, delay: 2, ..RunConfig::default() }, cut(share));
        outcome.result.as_ref().unwrap();
        check_continuity(&outcome.output);
        assert!(elementary(&outcome.output, 0x100).0 == expected(&outcome.pictures, share));
        for pid in [0x101, 0x102] {
            assert!(elementary(&outcome.output, pid) == elementary(TRANSPORT, pid));
        }
        let report = outcome.transport().pacing.clone().unwrap();
        assert_eq!(report.underflows, 0);
        let stay = longest_stay(&outcome.output, 0x100, rate as i64);
        assert!(stay <= 27_000_000, "{stay}");
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
    assert!(matches!(outcome, Err(Error::MultiplexRate { .. })), "{outcome:?}");
    let no_clock: Vec<u8> = TRANSPORT
        .chunks(188)
        .filter(|packet| packet[3] & 0x20 == 0 || packet[4] == 0 || packet[5] & 0x10 == 0)
        .flatten()
        .copied()
        .collect();
    let config = Config { multiplex: Multiplex::Constant(Bitrate::from_bps(500_000)), ..Config::default() };
    assert_eq!(run_to_error(&no_clock, config), Err(Error::NoPcr));
}

#[test]
fn at_no_rate_does_the_output_go_on_for_ever() {
    for rate in [1, 1_000, 40_000, 60_000] {
        let multiplex = Multiplex::Constant(Bitrate::from_bps(rate));
        let config = Config { multiplex, ..Config::default() };
        let outcome = run(TRANSPORT, RunConfig { config, ..RunConfig::default() }, keep);
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
