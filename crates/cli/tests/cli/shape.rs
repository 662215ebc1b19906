//! `seaway shape`.

use super::util::{Bench, Run};
use crate::schema::check;
use std::io::Write;
use std::process::Stdio;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpeg/tests/fixtures/");
const ALL: [&str; 6] =
    ["two_programmes.ts", "program.vob", "system.mpg", "packs.mpg", "elementary.m2v", "program.mkv"];

fn fixture(name: &str) -> String {
    format!("{FIXTURES}{name}")
}

fn size(bench: &Bench, name: &str) -> u64 {
    std::fs::metadata(bench.path().join(name)).unwrap().len()
}

#[test]
fn at_a_ratio_of_one_the_file_is_the_same() {
    let bench = Bench::new();
    for name in ALL {
        let run = bench.run(&["shape", &fixture(name), "out", "--ratio", "1"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.stderr, "");
        assert!(std::fs::read(bench.path().join("out")).unwrap() == std::fs::read(fixture(name)).unwrap());
    }
}

#[test]
fn a_smaller_stream_of_the_same_kind() {
    let bench = Bench::new();
    for name in ALL {
        let run = bench.run(&["shape", &fixture(name), "out", "--ratio", "0.8", "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let report = run.json();
        check("shaping", &report);
        let number = |field: &str| report["totals"][field].as_u64().unwrap();
        assert!(number("bits_out") < number("bits_in") * 83 / 100);
        assert_eq!(report["pictures"].as_array().unwrap().len() as u64, number("pictures"));
        assert_eq!(report["pictures"][0]["kind"], "I");
        assert_eq!(report["container"]["bytes_out"], size(&bench, "out"));
        let again = bench.run(&["shape", "out", "again", "--ratio", "1", "--json"]).json();
        assert_eq!(again["container"]["format"], report["container"]["format"]);
        assert_eq!(again["totals"]["pictures"], report["totals"]["pictures"]);
        assert_eq!(again["totals"]["bits_in"], report["totals"]["bits_out"]);
    }
}

#[test]
fn transport_streams_keep_their_rate_or_get_another() {
    let bench = Bench::new();
    let shape = |multiplex: &str| {
        let input = fixture("two_programmes.ts");
        let run = bench.run(&["shape", &input, "out", "--ratio", "0.7", "--multiplex", multiplex]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        size(&bench, "out")
    };
    let before = std::fs::metadata(fixture("two_programmes.ts")).unwrap().len();
    assert_eq!(shape("keep"), before);
    assert!(shape("variable") < before * 95 / 100);
    let constant = shape("540 kbit/s");
    assert!(constant < before && constant % 188 == 0, "{constant}");
}

#[test]
fn through_pipes() {
    let bench = Bench::new();
    let stream = std::fs::read(fixture("two_programmes.ts")).unwrap();
    let mut child = bench
        .command(&["shape", "-", "-", "--rate", "120 kbit/s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = stream.clone();
    let feed = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout.len(), stream.len());
    assert!(String::from_utf8(output.stderr).unwrap().contains("transport stream"));
}

#[test]
fn a_schedule_from_a_file() {
    let bench = Bench::new();
    bench.write("rates", "0 s, 1 Mbit/s\n0.6 s, 120 kbit/s\n");
    let input = fixture("elementary.m2v");
    let run =
        bench.run(&["shape", &input, "out", "--rate-schedule", "rates", "--json", "--method", "memoryless"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    let changed = |picture: &serde_json::Value| picture["bits_in"] != picture["bits_out"];
    let pictures = report["pictures"].as_array().unwrap();
    assert!(!pictures[..14].iter().any(changed) && pictures[17..].iter().any(changed));
    bench.write("rates", "0 s, 1 Mbit/s\n0.6 s, 120\n");
    let run = bench.run(&["shape", &input, "other", "--rate-schedule", "rates"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("rates: line 2"), "{}", run.stderr);
}

/// Bits and kinds of the pictures of a report, from `first` on.
fn bits(report: &serde_json::Value, first: usize) -> Vec<f64> {
    let pictures = report["pictures"].as_array().unwrap();
    pictures[first..].iter().map(|picture| picture["bits_out"].as_f64().unwrap()).collect()
}

/// The highest level of a leaky bucket, in seconds of a rate in kbit/s; 25 pictures a second.
fn level(sizes: &[f64], kbps: f64) -> f64 {
    let (mut level, mut highest) = (0.0f64, 0.0f64);
    for bits in sizes {
        level += bits / (1e3 * kbps);
        highest = highest.max(level);
        level = (level - 0.04).max(0.0);
    }
    highest
}

#[test]
fn a_bucket_holds_for_files_and_pipes_by_every_method() {
    let bench = Bench::new();
    let input = fixture("elementary.m2v");
    for method in ["auto", "window", "memoryless", "causal", "rate-based", "requantize"] {
        for pipe in [false, true] {
            let name = if pipe { "-" } else { &input };
            let options = ["--rate", "160 kbit/s", "--bucket", "170 ms", "--method", method, "--json"];
            let mut child = bench
                .command(&["shape", name, "out"])
                .args(options)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            if pipe {
                stdin.write_all(&std::fs::read(&input).unwrap()).unwrap();
            }
            drop(stdin);
            let run = Run::from(child.wait_with_output().unwrap());
            let report = run.json();
            let highest = level(&bits(&report, 0), 160.0);
            assert!(highest < 0.170_001, "{method} {pipe}: {highest}");
            assert_eq!((run.code, &report["ceiling_held"]), (Some(0), &true.into()), "{method} {pipe}");
            let highest_level = report["ceiling"]["highest_level"].as_f64().unwrap();
            assert!((highest_level - highest / 0.17).abs() < 0.001, "{highest_level}");
        }
    }
    let run = bench.run(&["shape", &input, "out", "--rate", "160 kbit/s", "--bucket", "10 ms"]);
    assert_eq!(run.code, Some(3));
    assert!(run.stdout.contains("pictures overflow the bucket"), "{}", run.stdout);
    let run = bench.run(&["shape", &input, "out", "--ratio", "0.8", "--bucket", "1 s"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn a_control_channel_sets_the_rate_at_its_time() {
    let bench = Bench::new();
    let input = fixture("elementary.m2v");
    let text = [&b"# later\nfast\n\xff\n"[..], &[b'x'; 9000], b"\n0.6 s, 120 kbit/s\n"].concat();
    std::fs::write(bench.path().join("rates"), text).unwrap();
    for method in ["auto", "memoryless"] {
        let run = bench.run(&[
            "shape",
            &input,
            "out",
            "--rate",
            "1 Mbit/s",
            "--control",
            "rates",
            "--method",
            method,
            "--json",
        ]);
        for line in [2, 3, 4] {
            assert!(run.stderr.contains(&format!("rates: line {line}")), "{}", run.stderr);
        }
        let report = run.json();
        let after = bits(&report, 15);
        let rate = after.iter().sum::<f64>() / (0.04 * after.len() as f64);
        assert!((rate / 120e3 - 1.0).abs() < 0.05, "{method}: {rate}");
        let before = &report["pictures"].as_array().unwrap()[..15];
        assert!(before.iter().all(|picture| picture["bits_in"] == picture["bits_out"]));
    }
    for name in ["missing", "."] {
        let run = bench.run(&["shape", &input, "other", "--rate", "1 Mbit/s", "--control", name]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
    }
}

/// From a pipe to a pipe a Matroska file has no size and no index, and its video is the same.
#[test]
fn matroska_through_a_pipe() {
    let bench = Bench::new();
    let input = fixture("program.mkv");
    let file = bench.run(&["shape", &input, "out.mkv", "--ratio", "0.8"]);
    assert_eq!(file.code, Some(0), "{}", file.stderr);
    assert!(!file.stdout.contains("a pipe"), "{}", file.stdout);
    let run = bench.command(&["shape", &input, "-", "--ratio", "0.8"]).output().unwrap();
    assert!(String::from_utf8(run.stderr).unwrap().contains("a pipe"));
    let out = std::fs::read(bench.path().join("out.mkv")).unwrap();
    assert_eq!(run.stdout.len(), out.len());
    std::fs::write(bench.path().join("piped.mkv"), run.stdout).unwrap();
    for name in ["out.mkv", "piped.mkv"] {
        let again = bench.run(&["shape", name, "again", "--ratio", "1", "--json"]).json();
        assert_eq!(
            (&again["container"]["format"], &again["totals"]["left_alone"]["not_readable"]),
            (&"Matroska file".into(), &0.into())
        );
    }
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let bench = Bench::new();
    let stream = std::fs::read(fixture("elementary.m2v")).unwrap();
    std::fs::write(bench.path().join("in.m2v"), &stream).unwrap();
    std::fs::hard_link(bench.path().join("in.m2v"), bench.path().join("other.m2v")).unwrap();
    for output in ["in.m2v", "./in.m2v", "other.m2v"] {
        let run = bench.run(&["shape", "in.m2v", output, "--ratio", "0.8"]);
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("the output is the input"), "{}", run.stderr);
    }
    assert!(std::fs::read(bench.path().join("in.m2v")).unwrap() == stream);
}

#[test]
fn a_target_out_of_reach_is_missed_with_both_numbers() {
    let bench = Bench::new();
    let run = bench.run(&["shape", &fixture("elementary.m2v"), "out", "--rate", "10 kbit/s"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stdout.contains("MISSED: target 10.000 kbit/s"), "{}", run.stdout);
    assert!(size(&bench, "out") > 0);
}

#[test]
fn bad_input_is_named_and_leaves_nothing() {
    let bench = Bench::new();
    bench.write("words.txt", "no video in here\n");
    bench.write("file.mp4", "\0\0\0\u{18}ftypmp42\0\0\0\0");
    bench.write("file.nut", "nut/multimedia container\0");
    let fails = |arguments: &[&str], message: &str| {
        let Run { code, stdout, stderr } = bench.run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""));
        assert!(stderr.contains(message), "{stderr}");
    };
    fails(
        &["shape", "words.txt", "out", "--ratio", "0.5"],
        "words.txt: expected MPEG-1 or MPEG-2 video, the input is text",
    );
    fails(&["shape", "file.mp4", "out", "--ratio", "0.5"], "MP4");
    fails(&["shape", "file.nut", "out", "--ratio", "0.5"], "NUT");
    fails(&["shape", "missing", "out", "--ratio", "0.5"], "missing:");
    fails(&["shape", ".", "out", "--ratio", "0.5"], "a folder");
    let input = fixture("elementary.m2v");
    fails(&["shape", &input, "out"], "--ratio");
    fails(&["shape", &input, "out", "--ratio", "0.5", "--rate", "1 Mbit/s"], "cannot be used with");
    fails(&["shape", &input, "out", "--rate", "1000"], "unit");
    fails(&["shape", &input, "out", "--ratio", "0.5", "--method", "magic"], "memoryless");
    fails(&["shape", &input, "-", "--ratio", "0.5", "--json"], "standard output");
    let transport = fixture("two_programmes.ts");
    fails(&["shape", &transport, "out", "--ratio", "0.5", "--program", "9"], "programme 9");
    fails(&["shape", &transport, "out", "--ratio", "0.9", "--multiplex", "2000 Mbit/s"], "multiplex rate");
    fails(&["shape", &transport, "none/out", "--ratio", "0.9"], "none/out: no folder none");
    assert_eq!(bench.names("."), ["file.mp4", "file.nut", "words.txt"]);
}

#[test]
#[cfg(unix)]
fn an_interrupt_drains_and_still_reports() {
    let bench = Bench::new();
    let stream = std::fs::read(fixture("two_programmes.ts")).unwrap();
    let arguments = ["shape", "-", "out", "--ratio", "0.9", "--method", "memoryless", "--json"];
    let mut child = bench
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&stream).unwrap();
    // It is at work once something stands in its draft; its input stays open.
    let has_written = || bench.names(".").iter().any(|name| size(&bench, name) > 0);
    while !has_written() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let run = Run::from(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("interrupted after"), "{}", run.stderr);
    let report = run.json();
    assert_eq!(report["interrupted"], true);
    assert_eq!(bench.names("."), ["out"]);
    assert_eq!(report["container"]["bytes_in"], size(&bench, "out"));
}

#[test]
fn a_kill_leaves_a_draft_and_what_was_there() {
    let bench = Bench::new();
    bench.write("out", "what was there");
    let mut child = bench
        .command(&["shape", "-", "out", "--ratio", "0.9", "--method", "memoryless"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&std::fs::read(fixture("elementary.m2v")).unwrap()).unwrap();
    let drafts = || bench.names(".").into_iter().filter(|name| name != "out").collect::<Vec<_>>();
    while drafts().iter().all(|name| size(&bench, name) == 0) {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(bench.path().join("out")).unwrap(), "what was there");
    let drafts = drafts();
    assert!(drafts.len() == 1 && drafts[0].starts_with(".seaway-"), "{drafts:?}");
}

#[test]
fn a_rate_is_met_over_a_file_and_the_buffer_reported() {
    let bench = Bench::new();
    for (input, passes) in [("elementary.m2v", 2), ("two_programmes.ts", 2), ("-", 1)] {
        let name = if input == "-" { input.to_owned() } else { fixture(input) };
        let mut command = bench.command(&["shape", &name, "out", "--rate", "150 kbit/s", "--json"]);
        if input == "-" {
            command.stdin(std::fs::File::open(fixture("elementary.m2v")).unwrap());
        }
        let run = Run::from(command.output().unwrap());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let report = run.json();
        assert_eq!(report["passes"], passes);
        let rate = report["totals"]["rate_out_bps"].as_f64().unwrap();
        assert!(passes == 1 || (rate / 150e3 - 1.0).abs() < 0.001, "{input}: {rate}");
        let vbv = &report["vbv"];
        assert_eq!((&vbv["declared"], &vbv["after"]["filling"]), (&"variable".into(), &"variable".into()));
        let least = |side: &str| vbv[side]["lowest_bits"].as_i64().unwrap();
        assert!(least("after") >= least("before"));
    }
}

#[test]
fn an_option_that_does_not_apply_is_refused() {
    let bench = Bench::new();
    for (input, options) in [
        ("elementary.m2v", ["--multiplex", "2 Mbit/s"]),
        ("elementary.m2v", ["--multiplex", "keep"]),
        ("program.vob", ["--multiplex", "2 Mbit/s"]),
        ("system.mpg", ["--program", "1"]),
        ("program.vob", ["--cluster", "block"]),
        ("program.vob", ["--budget", "paper"]),
    ] {
        let run = bench.run(&["shape", &fixture(input), "out", "--ratio", "0.8", options[0], options[1]]);
        assert_eq!(run.code, Some(2), "{options:?}: {}", run.stdout);
        assert!(run.stderr.contains(&format!("{} ", options[0])), "{}", run.stderr);
        assert!(run.stderr.contains("does not apply to"), "{}", run.stderr);
    }
    assert_eq!(bench.names("."), [""; 0]);
}

#[test]
fn the_loop_is_chosen() {
    let bench = Bench::new();
    let run = |ratio: &str, method: &str, closed_loop: &str| {
        let options = ["--ratio", ratio, "--method", method, "--loop", closed_loop, "--json"];
        bench.run(&[&["shape", &fixture("program.vob"), "out"], &options[..]].concat())
    };
    let closed = |ratio: &str, method: &str, closed_loop: &str| {
        let report = run(ratio, method, closed_loop).json();
        check("shaping", &report);
        assert_eq!(report["loop"], closed_loop);
        report["totals"]["closed_loop"].as_u64().unwrap()
    };
    assert_eq!([closed("0.9", "auto", "auto"), closed("0.5", "auto", "open")], [0, 0]);
    assert!(closed("0.5", "auto", "auto") > 20 && closed("0.9", "auto", "closed") > 20);
    assert_eq!([closed("0.5", "requantize", "auto"), closed("0.5", "requantize", "open")], [0, 0]);
    assert!(closed("0.8", "requantize", "closed") > 20);
    let refused = run("0.8", "window", "closed");
    assert!(refused.stderr.contains("--loop does not apply to --method window"), "{}", refused.stderr);
    assert_eq!([refused.code, run("0.8", "auto", "half").code], [Some(2); 2]);
    let live = [
        "shape",
        "udp://127.0.0.1:1",
        "udp://127.0.0.1:2",
        "--ratio",
        "0.8",
        "--loop",
        "closed",
        "--delay",
        "120 ms",
    ];
    let short = bench.run(&live);
    assert_eq!(short.code, Some(2));
    assert!(short.stderr.contains("--loop closed needs a --delay of 300 ms"), "{}", short.stderr);
}

/// A multiplex rate that cannot carry what is left: written all the same, and said.
#[test]
fn a_multiplex_rate_out_of_reach_is_missed() {
    let bench = Bench::new();
    let input = fixture("two_programmes.ts");
    let run = bench.run(&["shape", &input, "out", "--ratio", "0.8", "--multiplex", "100 kbit/s"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stdout.contains("MISSED: "), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let bench = Bench::new();
    bench.write("behind", "before");
    std::os::unix::fs::symlink("behind", bench.path().join("link")).unwrap();
    let run = bench.run(&["shape", &fixture("elementary.m2v"), "link", "--ratio", "0.8"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(bench.path().join("link").is_symlink());
    assert!(size(&bench, "behind") > 6);
}
