//! What the library's own files are made of.

use seaway_lab::library;
use seaway_link::RandomStream;
use std::fmt::Write;

/// The capacity of `lte-drive`: 300 s in steps of 0.5 s. Its logarithm is a first-order autoregression with 0.64 from
/// second to second, shifted and stretched so that the median is that of 1.63 Mbit/s and the standard deviation 0.65;
/// the rate is clipped to 0.15 to 4 Mbit/s. That is near a public 140 s recording of an LTE downlink from a moving
/// car (mean 1.78, median 1.63 Mbit/s, 5 % at most 0.44, 95 % at most 3.5 Mbit/s, 0.64 from second to second).
fn lte_drive() -> Vec<(f64, f64)> {
    const STEPS: usize = 600;
    let memory = 0.64_f64.sqrt();
    let mut stream = RandomStream::new(1, "lte-drive");
    let mut state = stream.normal(0.0, 1.0);
    let mut step = |_| {
        state = memory * state + stream.normal(0.0, (1.0 - memory * memory).sqrt());
        state
    };
    let states: Vec<f64> = (0..STEPS).map(&mut step).collect();
    let count = STEPS as f64;
    let mut sorted = states.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted[STEPS / 2];
    let mean = states.iter().sum::<f64>() / count;
    let deviation = (states.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt();
    let rate = |state: &f64| (1.63 * libm::exp((state - median) / deviation * 0.65)).clamp(0.15, 4.0);
    states.iter().enumerate().map(|(index, state)| (index as f64 * 0.5, rate(state))).collect()
}

fn as_text(trace: &[(f64, f64)]) -> String {
    trace.iter().map(|(at, rate)| format!("{at:.1} {rate:.3}\n")).collect()
}

#[test]
fn the_trace_of_lte_drive_is_what_its_generator_gives() {
    let entry = library::find("lte-drive").unwrap();
    assert_eq!(entry.read("lte-drive.trace").unwrap(), as_text(&lte_drive()));
}

#[test]
fn the_statistics_of_lte_drive_are_those_stated() {
    let rates: Vec<f64> = lte_drive().into_iter().map(|(_, rate)| rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let mut sorted = rates.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| sorted[(part * sorted.len() as f64) as usize];
    assert!((1.6..1.9).contains(&mean), "mean {mean}");
    assert!((1.62..1.64).contains(&at(0.5)), "median {}", at(0.5));
    assert!((0.4..0.7).contains(&at(0.05)), "5 % {}", at(0.05));
    assert!((3.3..4.1).contains(&at(0.95)), "95 % {}", at(0.95));
}

/// S003's clip is not to be had. A substitute of its proportions: 1000 frames of 8.5 Mbit in all, a key frame of about
/// 12 kB every 30, the rest for the frames between, all of them varying by 35 %.
fn s003_frames() -> String {
    const KEY: f64 = 12_000.0;
    const BETWEEN: f64 = (8.5e6 / 8.0 - 34.0 * KEY) / 966.0;
    const SPREAD: f64 = 0.35;
    let mut stream = RandomStream::new(1, "s003");
    let mut text =
        "# 1000 frames of a talking pair in CIF at QP 30, in octets: a substitute, see tests/library.rs.\n"
            .to_owned();
    for frame in 0..1000 {
        let mean = if frame % 30 == 0 { KEY } else { BETWEEN };
        // Uniform with that standard deviation.
        let half = SPREAD * 3.0_f64.sqrt();
        let _ = writeln!(text, "{:.0}", mean * stream.uniform_between(1.0 - half, 1.0 + half));
    }
    text
}

#[test]
fn the_frames_of_s003_are_what_their_generator_gives() {
    let entry = library::find("s003").unwrap();
    let text = entry.read("s003.frames").unwrap();
    // Other numbers are wanted: SEAWAY_BLESS=1 cargo test -p seaway-lab --test library
    if std::env::var_os("SEAWAY_BLESS").is_some() {
        return std::fs::write("../../scenarios/papers/s003.frames", s003_frames()).unwrap();
    }
    assert_eq!(text, s003_frames());
    let sizes: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(sizes.len(), 1000);
    assert!((sizes.iter().sum::<f64>() * 8.0 / 8.5e6 - 1.0).abs() < 0.03);
}

/// Paris as S003 prints its coding: 1000 frames, H.264 baseline at QP 30, a key frame of about 15 kB every 30.
#[test]
fn the_frames_of_paris_are_those_of_its_printed_coding() {
    let text = library::find("s003").unwrap().read("s003-qp30.frames").unwrap();
    let sizes: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<u64>()), (1000, 1_614_426));
    assert!(sizes.iter().step_by(30).all(|size| (14_000..16_000).contains(size)));
    assert!(sizes.iter().enumerate().all(|(frame, size)| frame % 30 == 0 || *size < 2_500));
}
