//! The size asked for: over a stream, and at any time. `validation/shaping/sizes.py` sweeps methods, ratios and streams.

use seaway_mpeg::pipeline::{Config, Pipeline, Report};
use seaway_mpeg::shape::{self, Cluster, Method, Target};
use seaway_testkit::shared;
use seaway_units::Bitrate;
use std::num::NonZeroU16;

/// A file is met within this share of the target.
const TOLERANCE: f64 = 0.001;

const ELEMENTARY: &[u8] = include_bytes!("fixtures/elementary.m2v");
const PROGRAM: &[u8] = include_bytes!("fixtures/program.vob");

/// The methods, and wide clusters.
fn kinds() -> Vec<(Method, Option<Cluster>)> {
    let wide = Cluster::Macroblocks(NonZeroU16::new(44).unwrap());
    let plain = Method::ALL.into_iter().map(|(_, method)| (method, None));
    plain.chain([(Method::Memoryless, Some(Cluster::Block)), (Method::Memoryless, Some(wide))]).collect()
}

/// A file: its length is known.
fn shape(data: &[u8], method: Method, cluster: Option<Cluster>, target: Target) -> Report {
    let mut shaper = shape::Config::new(method, target);
    shaper.cluster = cluster.unwrap_or(shaper.cluster);
    let mut pipeline = Pipeline::new(Config { shaper, container: Default::default() });
    pipeline.announce_length(data.len() as u64);
    let (mut allowed, mut spent, mut largest) = (0.0, 0.0, 0.0f64);
    for piece in data.chunks(50_000) {
        pipeline.push(piece).unwrap();
        while let Some(record) = pipeline.poll_record() {
            largest = largest.max(record.shaping.bits_in as f64);
            if let Target::Ratio(ratio) = target {
                allowed += ratio * record.shaping.bits_in as f64;
            }
            spent += record.shaping.bits_out as f64;
            // What is carried over is no more than a few pictures' bits.
            let ahead = spent - allowed;
            let reached = pipeline.report().totals.at_floor == 0 && allowed > 0.0;
            assert!(!reached || ahead < 4.0 * largest, "{method:?} {target:?}: {ahead} of {largest}");
        }
    }
    pipeline.finish().unwrap();
    pipeline.report()
}

fn check(name: &str, data: &[u8], method: Method, cluster: Option<Cluster>, target: Target) {
    let totals = shape(data, method, cluster, target).totals;
    let miss = totals.bits_out as f64 / totals.bits_allowed.min(totals.bits_in as f64) - 1.0;
    let label = format!("{name}: {method:?} {cluster:?} {target:?} missed by {:.3} %", 100.0 * miss);
    assert!(miss < TOLERANCE || totals.missed_target(), "{label}");
    assert!(miss > -TOLERANCE, "{label}");
}

#[test]
fn ratios_are_met() {
    // In small pictures one step of the scale is a large step in size.
    for (method, cluster) in kinds().into_iter().filter(|&(method, _)| method != Method::Requantize) {
        for ratio in [0.95, 0.8, 0.6] {
            let target = Target::Ratio(ratio);
            check("elementary", ELEMENTARY, method, cluster, target);
            check("program", PROGRAM, method, cluster, target);
        }
    }
    let Some(path) = shared("media/es/mobile_cif.mpeg1.ibbp.1150k.m1v") else { return };
    let data = &std::fs::read(path).unwrap()[..600_000];
    for (method, cluster) in kinds() {
        for ratio in [0.99, 0.7] {
            check("mobile", data, method, cluster, Target::Ratio(ratio));
        }
    }
}

#[test]
fn rates_are_met() {
    let Some(path) = shared("media/es/mobile_cif.mpeg1.ibbp.1150k.m1v") else { return };
    let data = &std::fs::read(path).unwrap();
    for (method, kbps) in [(Method::Memoryless, 900), (Method::Window, 900), (Method::Auto, 750)] {
        check("mobile", data, method, None, Target::Rate(Bitrate::from_kbps(kbps)));
    }
}
