//! The size of the output, over a stream and at any time. `validation/shaping/sizes.py` covers more methods, ratios and
//! streams.

use seaway_mpeg::header::{PictureKind, SequenceState};
use seaway_mpeg::pipeline::{Config, FirstPass, Pipeline, Report, Schedule};
use seaway_mpeg::shape::{self, Cluster, Method, Target};
use seaway_mpeg::unit::Splitter;
use seaway_testkit::shared;
use seaway_units::Bitrate;
use std::num::NonZeroU16;

/// Tolerance of the size of a file, relative to the target.
const TOLERANCE: f64 = 0.001;

const ELEMENTARY: &[u8] = include_bytes!("fixtures/elementary.m2v");
const PROGRAM: &[u8] = include_bytes!("fixtures/program.vob");

/// All methods, and one with wide clusters.
fn kinds() -> Vec<(Method, Option<Cluster>)> {
    let wide = Cluster::Macroblocks(NonZeroU16::new(44).unwrap());
    let plain = Method::ALL.into_iter().map(|(_, method)| (method, None));
    plain.chain([(Method::Memoryless, Some(Cluster::Block)), (Method::Memoryless, Some(wide))]).collect()
}

/// Shapes a file, whose length is known.
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

/// End positions of the I pictures of a stream.
fn ends_of_intra_pictures(data: &[u8]) -> Vec<usize> {
    let mut splitter = Splitter::default();
    splitter.push(data);
    let (mut state, mut end, mut ends) = (SequenceState::default(), 0, Vec::new());
    while let Some(unit) = splitter.pull() {
        end += unit.data.len();
        let kind = unit.read_headers(&mut state).map(|context| context.kind());
        ends.extend((kind == Some(PictureKind::I)).then_some(end));
    }
    ends
}

#[test]
fn a_picture_behind_the_last_window_need_not_make_up_for_it() {
    let Some(path) = shared("media/es/foreman_cif.mpeg1.mpeg2enc.vcd.m1v") else { return };
    let data = &std::fs::read(path).unwrap();
    for end in ends_of_intra_pictures(data).into_iter().skip(2).take(4) {
        for (method, ratio) in [(Method::Auto, 0.95), (Method::Auto, 0.8), (Method::Window, 0.8)] {
            check("foreman up to an I picture", &data[..end], method, None, Target::Ratio(ratio));
        }
    }
}

/// A pipeline whose plan knows the whole file.
fn planned(data: &[u8], method: Method, target: Target) -> Pipeline {
    let config = Config { shaper: shape::Config::new(method, target), container: Default::default() };
    let mut survey = FirstPass::new(&config, Schedule::constant(target));
    data.chunks(50_000).for_each(|piece| survey.push(piece).unwrap());
    let mut pipeline = Pipeline::new(config);
    pipeline.announce_length(data.len() as u64);
    pipeline.set_plan(survey.finish().unwrap());
    pipeline
}

/// Shapes a file to a rate in two passes; returns the report and the largest deviation from the rate, in seconds.
fn shape_twice(data: &[u8], method: Method, rate: Bitrate) -> (Report, f64) {
    let mut pipeline = planned(data, method, Target::Rate(rate));
    let mut furthest = 0.0f64;
    for piece in data.chunks(2_000) {
        pipeline.push(piece).unwrap();
        let totals = pipeline.report().totals;
        furthest = furthest.max((totals.bits_out as f64 - totals.bits_allowed).abs() / rate.as_bps_f64());
    }
    pipeline.finish().unwrap();
    (pipeline.report(), furthest)
}

#[test]
fn rates_are_met() {
    for (name, data) in [("elementary", ELEMENTARY), ("program", PROGRAM)] {
        for method in [Method::Memoryless, Method::Window, Method::Auto, Method::RateBased] {
            for kbps in [190, 150, 120] {
                let totals = shape_twice(data, method, Bitrate::from_kbps(kbps)).0.totals;
                let miss = totals.rate_out_bps / (1000.0 * kbps as f64) - 1.0;
                assert!(miss.abs() < TOLERANCE, "{name} {method:?} {kbps}: {miss}");
            }
        }
    }
    let Some(path) = shared("media/es/mobile_cif.mpeg1.ibbp.1150k.m1v") else { return };
    let data = &std::fs::read(path).unwrap();
    for (method, kbps) in [(Method::Memoryless, 900), (Method::Window, 900), (Method::Auto, 750)] {
        let (report, furthest) = shape_twice(data, method, Bitrate::from_kbps(kbps));
        let miss = report.totals.rate_out_bps / (1000.0 * kbps as f64) - 1.0;
        assert!(miss.abs() < TOLERANCE, "{method:?}: {miss}");
        // Half a second is a group of pictures.
        assert!(furthest < 0.6, "{method:?}: {furthest} s");
    }
}

#[test]
fn a_share_is_kept_where_the_first_group_alone_is_cut() {
    // Behind a stream the same one six times with much fewer bits: all bits are saved from the first part.
    let config = Config {
        shaper: shape::Config::new(Method::Auto, Target::Ratio(0.4)),
        container: Default::default(),
    };
    let (mut coarse, mut pipeline) = (Vec::new(), Pipeline::new(config));
    pipeline.push(ELEMENTARY).unwrap();
    pipeline.finish().unwrap();
    pipeline.drain_output(&mut coarse);
    let data = [ELEMENTARY, &coarse.repeat(6)].concat();
    for share in [0.96, 0.95, 0.94, 0.92] {
        let mut pipeline = planned(&data, Method::Auto, Target::Ratio(share));
        pipeline.push(&data).unwrap();
        pipeline.finish().unwrap();
        let totals = pipeline.report().totals;
        let miss = totals.bits_out as f64 / (share * totals.bits_in as f64) - 1.0;
        assert!(miss.abs() < TOLERANCE, "{share}: {miss}");
    }
}
