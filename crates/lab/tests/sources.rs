//! Flows' sources and weights.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, library, run};
use seaway_report::summary::Summary;
use seaway_units::TimeDelta;
use std::ops::ControlFlow;

fn simulate(scenario: &Scenario) -> Summary {
    run(scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap().summary
}

fn flow(keys: &str) -> Result<Scenario, String> {
    flow_of("media", "10 Mbit/s", keys)
}

fn scenario(kind: &str, link: &str, keys: &str) -> String {
    format!(
        r#"
schema = 1
name = "sources"
duration = "60 s"
warmup = "20 s"
[[link]]
name = "link"
from = "a"
to = "b"
both = true
rate = "{link}"
delay = "20 ms"
queue = {{ kind = "drop-tail", time = "200 ms" }}
[[flow]]
name = "video"
kind = "{kind}"
from = "a"
to = "b"
{keys}
"#
    )
}

fn flow_of(kind: &str, link: &str, keys: &str) -> Result<Scenario, String> {
    let text = scenario(kind, link, keys);
    let read = |name: &str| match name {
        "two.csv" => {
            let rows = (0..40).map(|n| format!("{n},{},{}\n", 2000 + n, 4000 + n));
            Ok(format!("20 fps,320 kbit/s,640 kbit/s\n{}", rows.collect::<String>()))
        }
        "clip.frames" => Ok("1000\n".repeat(300)),
        _ => Err("there is none".to_owned()),
    };
    Scenario::parse(Text { file: "t", text: &text, read: &read }, &[]).map_err(|error| error.to_string())
}

/// The bundled stream of 250 kbit/s: whole where the link carries it, shaped where it does not.
#[test]
fn a_window_flow_carries_a_shaped_stream() {
    let keys = "rate = \"1 Mbit/s\"\npolicy = \"pd\"\nbuffer = \"8 s\"\nsource = { kind = \"shaper\" }";
    for (link, least, most) in [("1 Mbit/s", 240e3, 260e3), ("200 kbit/s", 160e3, 195e3)] {
        let video = &simulate(&flow_of("window", link, keys).unwrap()).flows[0];
        let (rate, frames) = (video.goodput_bps.unwrap(), video.frames.unwrap());
        assert!((least..most).contains(&rate), "{rate} of {link}");
        assert_eq!((frames.captured, frames.skipped), (1000, 0), "{frames:?}");
    }
    let refused = flow_of("window", "1 Mbit/s", &format!("{keys}\nfps = 25.0")).unwrap_err();
    assert!(refused.contains("has its own"), "{refused}");
    let refused = flow_of("window", "1 Mbit/s", &keys.replace("shaper", "saturated")).unwrap_err();
    assert!(refused.contains("a coded stream"), "{refused}");
}

/// Pictures get smaller with the rate by S004's rule.
#[test]
fn live_pictures_shrink_with_the_rate() {
    let keys = |kbps: u32| {
        format!(
            "control = \"fixed(rate={kbps} kbit/s)\"\n\
             source = {{ kind = \"clip\", encoder = {{ sizes = \"ns3-rmcat\", key_every = \"1 s\" }} }}"
        )
    };
    let mut least = Vec::new();
    for kbps in [250, 1000] {
        let mut scenario = flow(&keys(kbps)).unwrap();
        scenario.duration = TimeDelta::from_secs(8);
        scenario.warmup = TimeDelta::from_secs(2);
        let options = RunOptions { series: true, ..RunOptions::default() };
        let outcome = run(&scenario, options, &mut |_| ControlFlow::Continue(())).unwrap();
        let rows = outcome.series.readings().filter(|reading| reading.name == "picture_rows");
        least.push(rows.map(|reading| reading.value).fold(f64::INFINITY, f64::min));
    }
    assert_eq!(least, [180.0, 360.0]);
    let refused = flow(&keys(250).replace("1 s", "0 s")).unwrap_err();
    assert!(refused.contains("key_every"), "{refused}");
}

#[test]
fn recorded_frames_follow_the_rate() {
    for (file, fps) in [("", 25), ("file = \"two.csv\", ", 20), ("", 50)] {
        for rate in [300, 700, 2000] {
            let source = format!("source = {{ kind = \"frames\", model = \"trace\", {file}fps = {fps} }}");
            let scenario = flow(&format!("control = \"fixed(rate={rate} kbit/s)\"\n{source}")).unwrap();
            let video = &simulate(&scenario).flows[0];
            let sent = video.sent_bps.unwrap() / 1e3;
            let frames = video.frames.unwrap();
            assert!((0.75..1.1).contains(&(sent / f64::from(rate))), "{sent} for {rate} with {source}");
            assert!(frames.displayed as f64 > 0.9 * 40.0 * f64::from(fps), "{frames:?} with {source}");
        }
    }
}

/// An encoder that leaves a share of its target unused gives that much less of what is free, and `seaway` finds what is free
/// all the same: after a time at a rate at which a frame is one packet as well.
#[test]
fn an_encoder_below_its_target_is_given_the_link() {
    let received = |control: &str, undershoot: f64| {
        let source = format!("{{ kind = \"frames\", model = \"periodic\", undershoot = {undershoot} }}");
        let rate = "{ min = \"150 kbit/s\", start = \"300 kbit/s\", max = \"8 Mbit/s\" }";
        let keys = format!("control = \"{control}\"\nrate = {rate}\nsource = {source}");
        let steps = "link.link.steps=[['20 s', '0.2 Mbit/s'], ['25 s', '0.8 Mbit/s']]";
        let changes =
            ["warmup=30 s", "duration=40 s", steps].map(|change| change.parse::<Override>().unwrap());
        let text = scenario("media", "3 Mbit/s", &keys);
        let scenario = Scenario::parse(Text::alone("t", &text), &changes).unwrap();
        simulate(&scenario).flows[0].received_bps.unwrap() / 1e3
    };
    let fixed = |undershoot| received("fixed(rate=500 kbit/s)", undershoot) / 500.0;
    assert!((fixed(0.15) / fixed(0.0) - 0.85).abs() < 0.02);
    let seaway = received("seaway", 0.15);
    assert!(seaway > 650.0, "{seaway} kbit/s of 800");
}

#[test]
fn a_stored_clip_is_played_once_and_dealt_out() {
    let source =
        "source = { kind = \"stored\", file = \"clip.frames\", fps = 10, group = 30, interleave = true }";
    for (count, first) in [(1, 300), (3, 120)] {
        // 300 frames in ten groups; the first of three players has four of them.
        let keys = format!("control = \"tfrc\"\n{source}\ncount = {count}\nrate = {{ max = \"4 Mbit/s\" }}");
        let scenario = flow(&keys).unwrap();
        let summary = simulate(&Scenario { warmup: TimeDelta::ZERO, ..scenario });
        let captured = summary.flows.iter().filter_map(|flow| flow.frames).map(|frames| frames.captured);
        assert_eq!(captured.clone().sum::<u64>(), 300);
        assert_eq!(captured.max(), Some(first));
    }
}

/// RFC 8867 section 6.1: the first of three NADA flows has twice the weight of the others.
#[test]
fn a_weight_of_two_is_about_twice_the_rate() {
    let changes: [Override; 1] = ["warmup=60 s".parse().unwrap()];
    let summary = simulate(&library::find("rfc8867-6.1").unwrap().parse(&changes).unwrap());
    let rates: Vec<f64> = (1..=3)
        .map(|index| {
            let name = format!("video-{index}");
            summary.flows.iter().find(|flow| flow.name == name).unwrap().received_bps.unwrap() / 1e3
        })
        .collect();
    assert_eq!(summary.flows[0].control.as_deref(), Some("nada(prio=2)"));
    let others = (rates[1] + rates[2]) / 2.0;
    assert!((1.4..2.4).contains(&(rates[0] / others)), "{rates:.0?}");
}

#[test]
fn what_does_not_apply_is_refused() {
    let frames = "source = { kind = \"frames\" }";
    for (keys, expected) in [
        (
            format!("control = \"tfrc\"\nweight = 2.0\n{frames}"),
            "t:20:10: \"tfrc\": has no weight; there are: multfrc(form=weighted), nada",
        ),
        (format!("control = \"nada(prio=3)\"\nweight = 2.0\n{frames}"), "has the option `prio` already"),
        (format!("control = \"nada\"\nweight = -1.0\n{frames}"), "prio"),
        (format!("control = \"multfrc\"\nweight = 2.0\n{frames}"), "has no weight"),
        (
            "control = \"tfrc\"\nsource = { kind = \"frames\", file = \"two.csv\" }".into(),
            "`source.file`: applies only to model = \"trace\"",
        ),
        (
            "control = \"tfrc\"\nsource = { kind = \"frames\", model = \"trace\", file = \"x\" }".into(),
            "x: there is none",
        ),
        (
            "control = \"tfrc\"\nsource = { kind = \"frames\", model = \"trace\", file = \"clip.frames\" }"
                .into(),
            "clip.frames: line 1: found \"1000\", expected a heading",
        ),
        (
            "control = \"tfrc\"\nsource = { kind = \"stored\", file = \"two.csv\", fps = 10, group = 3 }"
                .into(),
            "two.csv: line 1: found",
        ),
        (
            "control = \"tfrc\"\nsource = { kind = \"frames\", undershoot = 1 }".into(),
            "`source.undershoot`: expected 0 to 0.9",
        ),
        (
            "control = \"tfrc\"\nsource = { kind = \"stored\", file = \"clip.frames\", fps = 10, group = 0 }"
                .into(),
            "`source.group`: expected at least 1",
        ),
    ] {
        let error = flow(&keys).expect_err(&keys);
        assert!(error.contains(expected), "{keys}:\n  {error}\n  wanted {expected}");
    }
    assert!(flow(&format!("control = \"tfrc\"\nweight = 1.0\n{frames}")).is_ok());
    assert!(flow(&format!("control = \"multfrc(form=weighted)\"\nweight = 3\n{frames}")).is_ok());
}

/// S002's chain: shaper, send queue, window, with the queue's level setting the rate of the shaper.
#[test]
fn a_shaped_stream_fits_through_what_is_too_narrow_for_it() {
    let shorter = ["duration=150 s", "warmup=60 s"].map(|text| text.parse::<Override>().unwrap());
    let scenario = library::find("s002-shaper").unwrap().parse(&shorter).unwrap();
    let video = &simulate(&scenario).flows[0];
    let frames = video.frames.unwrap();
    // It is 250 kbit/s as it came; nothing is left out for that.
    assert_eq!((frames.skipped, frames.lost), (0, 0), "{frames:?}");
    let goodput = video.goodput_bps.unwrap() / 1e3;
    assert!((185.0..210.0).contains(&goodput), "{goodput}");
    let wider: Override = "link.bottleneck.rate=1 Mbit/s".parse().unwrap();
    let [duration, warmup] = shorter;
    let scenario = library::find("s002-shaper").unwrap().parse(&[duration, warmup, wider]).unwrap();
    let goodput = simulate(&scenario).flows[0].goodput_bps.unwrap() / 1e3;
    assert!((243.0..253.0).contains(&goodput), "{goodput}");
}

#[test]
fn what_cannot_be_shaped_is_said() {
    let nowhere = r#"source = { kind = "shaper", file = "/nowhere.m2v" }"#;
    let scenario = flow(&format!("control = \"window\"\n{nowhere}")).unwrap();
    let error = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("/nowhere.m2v"), "{error}");
    assert!(flow(r#"source = { kind = "shaper", method = "auto" }"#).is_err());
}
