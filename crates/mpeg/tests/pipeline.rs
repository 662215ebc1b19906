//! Whole streams shaped in their containers.

use seaway_mpeg::container::{self, Error, Multiplex};
use seaway_mpeg::decode::Decoder;
use seaway_mpeg::pipeline::{Config, PictureRecord, Pipeline, Report, Schedule};
use seaway_mpeg::shape::{self, LeftAlone, Method, Target};
use seaway_units::Bitrate;

const TRANSPORT: &[u8] = include_bytes!("fixtures/two_programmes.ts");
const PROGRAM: &[u8] = include_bytes!("fixtures/program.vob");
const SYSTEM: &[u8] = include_bytes!("fixtures/system.mpg");
const PACKS: &[u8] = include_bytes!("fixtures/packs.mpg");
const ELEMENTARY: &[u8] = include_bytes!("fixtures/elementary.m2v");
const ALL: [&[u8]; 5] = [TRANSPORT, PROGRAM, SYSTEM, PACKS, ELEMENTARY];

fn config(method: Method, target: Target, multiplex: Multiplex) -> Config {
    let container = container::Config { multiplex, ..container::Config::default() };
    Config { shaper: shape::Config::new(method, target), container }
}

fn run(input: &[u8], mut pipeline: Pipeline, chunk: usize) -> (Vec<u8>, Vec<PictureRecord>, Report) {
    let (mut output, mut records) = (Vec::new(), Vec::new());
    for chunk in input.chunks(chunk) {
        pipeline.push(chunk).unwrap();
        pipeline.drain_output(&mut output);
        records.extend(std::iter::from_fn(|| pipeline.poll_record()));
    }
    pipeline.finish().unwrap();
    pipeline.drain_output(&mut output);
    records.extend(std::iter::from_fn(|| pipeline.poll_record()));
    (output, records, pipeline.report())
}

#[test]
fn a_ratio_of_one_gives_the_same_bytes() {
    for input in ALL {
        for (_, method) in Method::ALL {
            for chunk in [333, input.len()] {
                let pipeline = Pipeline::new(config(method, Target::Ratio(1.0), Multiplex::Keep));
                let (output, _, report) = run(input, pipeline, chunk);
                assert!(output == input, "{method:?}");
                assert_eq!(report.totals.bits_in, report.totals.bits_out);
            }
        }
    }
}

#[test]
fn the_video_becomes_smaller_by_what_was_asked() {
    for input in ALL {
        let pipeline = Pipeline::new(config(Method::Window, Target::Ratio(0.8), Multiplex::Keep));
        let (output, records, report) = run(input, pipeline, 1000);
        let container = input.as_ptr() != ELEMENTARY.as_ptr();
        assert!(!container || output.len() == input.len());
        let totals = &report.totals;
        assert_eq!(totals.pictures, records.len() as u64);
        assert_eq!(totals.bits_in, report.container.video_bytes_in * 8);
        assert_eq!(totals.bits_out, records.iter().map(|record| record.shaping.bits_out).sum::<u64>());
        assert!(totals.bits_out as f64 <= totals.bits_allowed * 1.03 || totals.missed_target());
        assert!(totals.bits_out < totals.bits_in);
        assert!((totals.seconds - 1.2).abs() < 0.09, "{}", totals.seconds);
    }
}

/// A picture that the container copies before it is shaped is reported as it left.
#[test]
fn what_leaves_for_want_of_memory_counts_as_unshaped() {
    let mut config = config(Method::Auto, Target::Ratio(0.7), Multiplex::Variable);
    config.container.memory = 20_000;
    let (output, records, report) = run(TRANSPORT, Pipeline::new(config), 1000);
    let left_alone = |of: fn(LeftAlone) -> bool| {
        records.iter().filter(|record| record.shaping.left_alone.is_some_and(of)).count() as u64
    };
    let [too_late, all] = [left_alone(|why| why == LeftAlone::TooLate), left_alone(|_| true)];
    let given_up = report.container.given_up;
    assert!(too_late > 20 && too_late <= given_up && given_up <= all, "{too_late} {given_up} {all}");
    assert_eq!(too_late, report.totals.left_alone.too_late);
    // What is said to be left is what a reader finds.
    let mut remuxer = container::Remuxer::new(container::Config::default());
    remuxer.push(&output).unwrap();
    remuxer.finish().unwrap();
    let found: usize =
        std::iter::from_fn(|| remuxer.poll_picture()).map(|picture| picture.unit.data.len()).sum();
    assert_eq!(report.totals.bits_out, 8 * found as u64);
}

/// Parts of a picture are one picture of the totals and one of the VBV.
#[test]
fn a_picture_that_leaves_in_parts_counts_once() {
    let config = config(Method::Auto, Target::Ratio(0.7), Multiplex::Variable);
    let (_, records, whole) = run(ELEMENTARY, Pipeline::new(config.clone()), 1000);
    let (mut pipeline, mut parts) = (Pipeline::new(config), 0);
    for chunk in ELEMENTARY.chunks(1000) {
        pipeline.push(chunk).unwrap();
        pipeline.end_slices().unwrap();
        parts += std::iter::from_fn(|| pipeline.poll_record()).count();
    }
    pipeline.finish().unwrap();
    parts += std::iter::from_fn(|| pipeline.poll_record()).count();
    let report = pipeline.report();
    assert!(parts > records.len(), "{parts}");
    assert_eq!(report.totals.pictures, whole.totals.pictures);
    let before = |report: &Report| report.vbv.as_ref().map(|vbv| vbv.before);
    assert_eq!(before(&report), before(&whole));
}

/// The pictures of a stream of any kind, decoded.
fn decoded(input: &[u8]) -> usize {
    let mut remuxer = container::Remuxer::new(container::Config::default());
    remuxer.push(input).unwrap();
    remuxer.finish().unwrap();
    let mut decoder = Decoder::new();
    std::iter::from_fn(|| remuxer.poll_picture()).for_each(|picture| decoder.push(&picture.unit.data));
    decoder.finish();
    std::iter::from_fn(|| decoder.pull()).count()
}

#[test]
fn every_kind_of_stream_decodes_to_as_many_pictures() {
    for input in ALL {
        for multiplex in [Multiplex::Keep, Multiplex::Variable, Multiplex::Constant(Bitrate::from_kbps(560))]
        {
            let pipeline = Pipeline::new(config(Method::Memoryless, Target::Ratio(0.8), multiplex));
            let (output, _, _) = run(input, pipeline, 4096);
            assert_eq!(decoded(&output), decoded(input), "{multiplex:?}");
        }
    }
}

#[test]
fn a_schedule_is_followed() {
    let mut pipeline = Pipeline::new(config(Method::Memoryless, Target::Ratio(1.0), Multiplex::Keep));
    let schedule: Schedule = "0 s, 10 Mbit/s\n600 ms, 120 kbit/s".parse().unwrap();
    pipeline.set_schedule(schedule);
    let (_, records, _) = run(ELEMENTARY, pipeline, 1000);
    let (before, after) = records.split_at(14);
    assert!(before.iter().all(|record| record.shaping.bits_out == record.shaping.bits_in));
    let bits: u64 = after.iter().map(|record| record.shaping.bits_out).sum();
    let allowed = 120e3 * 0.04 * after.len() as f64;
    assert!((bits as f64 / allowed - 1.0).abs() < 0.05, "{bits} of {allowed}");
}

#[test]
fn what_cannot_be_shaped_is_said() {
    let mut pipeline = Pipeline::new(config(Method::Memoryless, Target::Ratio(0.5), Multiplex::Keep));
    assert!(matches!(pipeline.push(b"RIFF....AVI LIST"), Err(Error::NotMpeg { .. })));
}

#[test]
fn a_target_below_the_floor_is_missed_and_said() {
    let pipeline = Pipeline::new(config(Method::Memoryless, Target::Ratio(0.05), Multiplex::Keep));
    let (_, _, report) = run(ELEMENTARY, pipeline, 4096);
    assert!(report.totals.missed_target());
}
