//! The pre-encoded ladder beside the live encoder: the same network, the same clip, quality modelled and decoded.

use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{RunOptions, library, run};
use std::io::Write;
use std::ops::ControlFlow;

fn psnr(network: &str, control: &str, source: &str, more: &[&str]) -> (f64, &'static str, f64) {
    let settings = [
        format!("flow.video.control={control}"),
        format!("flow.video.source={{ kind = \"{source}\" }}"),
        "warmup=4 s".to_owned(),
    ];
    let overrides: Vec<Override> = settings
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .map(|text| text.parse().unwrap())
        .collect();
    let scenario: Scenario = library::find(network).unwrap().parse(&overrides).unwrap();
    let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let flow = &outcome.summary.flows[0];
    let psnr = flow.psnr_db.unwrap();
    (psnr.value, psnr.kind, flow.received_bps.unwrap() / 1e3)
}

/// Means of quality and rate over so many seeds of so many seconds.
fn means(network: &str, control: &str, source: &str, seeds: u32, seconds: u32) -> (f64, &'static str, f64) {
    let runs: Vec<_> = (1..=seeds)
        .map(|seed| {
            psnr(network, control, source, &[&format!("duration={seconds} s"), &format!("seed={seed}")])
        })
        .collect();
    let mean = |of: fn(&(f64, &'static str, f64)) -> f64| runs.iter().map(of).sum::<f64>() / f64::from(seeds);
    (mean(|run| run.0), runs[0].1, mean(|run| run.2))
}

/// The start, in which the live encoder grows its pictures, is left out. Where packets are lost, three seeds: one loss more of a picture is
/// half a decibel in 12 s. Costs 20 s of CPU: without decoded pictures there is nothing to hold the model against.
#[test]
fn modelled_and_decoded_quality_differ_by_less_than_a_decibel() {
    let cases = [
        ("clean", "fixed(rate=400 kbit/s)", 1, 12),
        ("clean", "fixed(rate=1 Mbit/s)", 1, 12),
        ("clean", "fixed(rate=2 Mbit/s)", 1, 12),
        ("clean", "seaway", 1, 20),
        ("lossy-wifi", "fixed(rate=1.5 Mbit/s)", 3, 12),
    ];
    let mut misses = Vec::new();
    for (network, control, seeds, seconds) in cases {
        let (decoded, kind, received) = means(network, control, "clip", seeds, seconds);
        assert_eq!(kind, "decoded");
        let (modelled, kind, would) = means(network, control, "ladder", seeds, seconds);
        assert_eq!(kind, "modelled");
        let line = format!(
            "{network}, {control}: decoded {decoded:.2} dB at {received:.0} kbit/s, modelled {modelled:.2} dB at {would:.0}"
        );
        // Written directly, so that a test that passes prints it too.
        let _ = writeln!(std::io::stderr(), "{line}");
        if (decoded - modelled).abs() >= 1.0 {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "{misses:#?}");
}

#[test]
fn a_ladder_is_cheap_and_repeats() {
    let once = psnr("lossy-wifi", "tfrc", "ladder", &["duration=60 s"]);
    assert_eq!(once, psnr("lossy-wifi", "tfrc", "ladder", &["duration=60 s"]));
    assert!((25.0..45.0).contains(&once.0), "{once:?}");
}

/// The viewer of a picture that stands for good is as badly off as one of a picture that moves wrongly: an outage to
/// the end of the run costs quality.
#[test]
fn what_stands_until_the_end_is_scored() {
    let cut = "link.bottleneck.outage=[[\"6 s\", \"30 s\"]]";
    for source in ["clip", "ladder"] {
        let (well, ..) = psnr("clean", "fixed(rate=1 Mbit/s)", source, &["duration=12 s"]);
        let (badly, ..) = psnr("clean", "fixed(rate=1 Mbit/s)", source, &["duration=12 s", cut]);
        // Two seconds of eight are well, two are not given up yet, the others show what is long past.
        assert!(badly < well - 8.0, "{source}: {well} {badly}");
    }
}

/// A picture of 720 rows that gets 300 kbit/s has more quality with fewer rows: over three times the clip, since a rate that holds
/// for the clip does not hold for each second of it. S004's rule has other thresholds.
#[test]
fn the_size_of_pictures_follows_the_rule() {
    let with = |sizes: &str| {
        let source = format!("flow.video.source={{ kind = \"clip\", encoder = {{ sizes = \"{sizes}\" }} }}");
        psnr("clean", "fixed(rate=300 kbit/s)", "clip", &[&source, "duration=20 s"]).0
    };
    let [live, rmcat, fixed] = ["live", "ns3-rmcat", "fixed"].map(with);
    assert!(live != rmcat && live > fixed && rmcat > 20.0, "{live} {rmcat} {fixed}");
}
