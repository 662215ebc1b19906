//! `seaway sim`.

use crate::schema::check;
use crate::util::{Bench, Run};

const SCENARIO: &str = r#"schema = 1
name = "cross"
duration = "20 s"
warmup = "2 s"

[[link]]
name = "middle"
from = "a"
to = "b"
both = true
rate = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", packets = 10 }
loss = { kind = "independent", rate = 0.1 }

[[flow]]
name = "cross"
kind = "udp"
from = "a"
to = "b"
rate = "1.2 Mbit/s"
packet = "1000 B"

[[expect]]
of = "link.middle.utilisation"
min = 0.99
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("cross.toml", SCENARIO);
    bench
}

#[test]
fn the_summary_is_one_json_document_and_the_same_each_time() {
    let bench = bench();
    let first = bench.run(&["sim", "cross.toml", "--json", "--no-timing"]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    let summary = first.json();
    assert_eq!(summary["scenario"], "cross");
    assert_eq!(summary["seed"], 1);
    assert_eq!(summary["expect"][0]["held"], true);
    assert!(summary.get("timing").is_none());
    let flow = &summary["flows"][0];
    // 1 Mbit/s less 10 % lost behind the server.
    let received = flow["received_bps"].as_f64().unwrap();
    assert!((0.88e6..0.92e6).contains(&received), "{received}");
    assert!(flow["packets"]["lost_queue"].as_u64() > Some(400));
    assert!(flow.get("control").is_none() && flow.get("rtt_ms").is_none());
    let again = bench.run(&["sim", "cross.toml", "--json", "--no-timing", "-o", "out"]);
    assert_eq!(again.stdout, first.stdout, "readings over time change nothing");
    let other = bench.run(&["sim", "cross.toml", "--json", "--no-timing", "--seed", "2"]);
    assert_ne!(other.stdout, first.stdout);
    let timed = bench.run(&["sim", "cross.toml", "--json"]).json();
    assert!(timed["timing"]["wall_s"].is_number());
    check("summary", &timed);
}

#[test]
fn a_folder_holds_all_that_is_needed_to_make_it_again() {
    let bench = bench();
    let run = bench.run(&["sim", "cross.toml", "-o", "results/first", "--set", "flow.cross.rate=100 kbit/s"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let files = [
        "decisions.csv",
        "plot.svg",
        "run.json",
        "scenario.toml",
        "series.csv",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(bench.names("results/first"), files);
    assert_eq!(bench.read("results/first/scenario.toml"), SCENARIO);
    assert!(bench.read("results/first/run.json").contains("--set 'flow.cross.rate=100 kbit/s'"));
    let series = bench.read("results/first/series.csv");
    assert!(series.starts_with("time,flow,name,value,unit\n0.1,cross,sent_rate,"), "{series:.80}");
    assert!(series.contains("\n20,middle,queue,"));
    // Again: replaced whole. But never what is not ours.
    assert_eq!(bench.run(&["sim", "cross.toml", "-o", "results/first"]).code, Some(0));
    assert_eq!(bench.names("results"), ["first"]);
    bench.write("precious", "");
    for target in ["precious", "."] {
        let refused = bench.run(&["sim", "cross.toml", "-o", target]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("not overwritten"), "{}", refused.stderr);
    }
}

#[test]
fn seeds_give_every_run_their_mean_and_its_interval() {
    let bench = bench();
    let run = bench.run(&[
        "sim",
        "cross.toml",
        "--json",
        "--no-timing",
        "--seeds",
        "3",
        "--seed",
        "5",
        "-o",
        "out",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    check("summary", &report);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 6, 7]);
    let received = |run: &serde_json::Value| run["flows"][0]["received_bps"].as_f64().unwrap();
    let mean = runs.iter().map(received).sum::<f64>() / 3.0;
    assert!((received(&report["mean"]) - mean).abs() < 1.0);
    assert!(received(&report["ci95"]) > 0.0);
    assert!(report["mean"].get("seed").is_none());
    // The sixth seed alone gives what it gave among others, and so it does in its folder.
    let alone = bench.run(&["sim", "cross.toml", "--json", "--no-timing", "--seed", "6"]).json();
    assert_eq!(alone, runs[1]);
    let kept: serde_json::Value = serde_json::from_str(&bench.read("out/seed-6/summary.json")).unwrap();
    assert_eq!(kept, alone);
    let text = bench.run(&["sim", "cross.toml", "--seeds", "3"]).stdout;
    assert!(text.contains(" ± ") && text.contains("held in 3 of 3 runs"), "{text}");
}

#[test]
fn a_missed_expectation_is_exit_3() {
    let run = bench().run(&["sim", "cross.toml", "--set", "flow.cross.rate=0.5 Mbit/s"]);
    assert_eq!(run.code, Some(3));
    assert!(run.stdout.contains("MISSED: 0.99 <= link.middle.utilisation = 0.5"), "{}", run.stdout);
}

#[test]
fn bad_input_is_exit_2_and_one_line() {
    let bench = bench();
    bench.write("bad.toml", &SCENARIO.replace("delay", "dealy"));
    for (arguments, expected) in [
        (&["sim", "bad.toml"][..], "seaway: bad.toml:12:1: unknown key `dealy`; did you mean delay?\n"),
        (
            &["sim", "claen"],
            "seaway: claen: no such file, nor a scenario of that name; did you mean clean?\n",
        ),
        (
            &["sim", "cross.toml", "--set", "link.middle.rate=2"],
            "seaway: --set link.middle.rate=2: invalid type: integer `2`, expected a rate such as \"2.5 Mbit/s\"\n",
        ),
    ] {
        let run = bench.run(arguments);
        assert_eq!((run.code, run.stderr.as_str(), run.stdout.as_str()), (Some(2), expected, ""));
    }
    assert_eq!(bench.run(&["sim", "bad.toml", "-o", "out"]).code, Some(2));
    assert_eq!(bench.names("."), ["bad.toml", "cross.toml"]);
    assert_eq!(bench.run(&["sim"]).code, Some(2));
    assert_eq!(bench.run(&["nonsense"]).code, Some(2));
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    let bench = bench();
    let mut command = bench.command(&["sim", "-", "--json"]);
    command.stdin(std::fs::File::open(bench.path().join("cross.toml")).unwrap());
    let run = Run::from(command.output().unwrap());
    assert_eq!(run.code, Some(0));
    assert_eq!(run.json()["scenario"], "cross");
}

#[cfg(unix)]
#[test]
fn an_interrupt_drains_and_still_reports() {
    use std::io::Read;
    use std::process::Stdio;
    let bench = bench();
    let mut command =
        bench.command(&["sim", "cross.toml", "--json", "-o", "out", "--set", "duration=20 min"]);
    command.args(["--set", "flow.cross.rate=999 kbit/s", "--set", "flow.cross.packet=40 B"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The draft of the folder is made before the run begins and after the handler is there.
    while bench.names(".").iter().all(|name| !name.starts_with(".seaway-")) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the signal");
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let code = child.wait().unwrap().code();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(code == Some(1) && stderr.contains("interrupted after"), "{code:?} {stderr}");
    assert!(bench.names("out").contains(&"summary.json".to_owned()));
}

/// Media, TCP with losses and transfers that end, and datagrams, as tshark reads them.
#[test]
fn a_capture_is_what_wireshark_reads() {
    let bench = Bench::new();
    bench.write("mixed.toml", MIXED);
    let run = bench.run(&["sim", "mixed.toml", "--json", "--no-timing", "--pcap", "mixed.pcap"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let plain = bench.run(&["sim", "mixed.toml", "--json", "--no-timing"]);
    assert_eq!(plain.stdout, run.stdout, "a capture changes nothing");
    let file = std::fs::read(bench.path().join("mixed.pcap")).unwrap();
    let mut reader = pcap_file::pcap::PcapReader::new(&file[..]).unwrap();
    let (mut count, mut last) = (0, std::time::Duration::ZERO);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        assert!(packet.timestamp >= last);
        (count, last) = (count + 1, packet.timestamp);
    }
    assert!(count > 1000, "{count} packets");
    let has_tshark = std::process::Command::new("tshark").arg("-v").output().is_ok();
    if !has_tshark {
        // Past the test harness, which shows nothing of a test that passes.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED a_capture_is_what_wireshark_reads: no tshark\n",
        );
        return;
    }
    let tshark = |arguments: &[&str]| {
        let output = std::process::Command::new("tshark")
            .args(["-r", "mixed.pcap", "-d", "udp.port==5004,rtp"])
            .args(
                ["ip", "tcp", "udp"].iter().flat_map(|of| ["-o".into(), format!("{of}.check_checksum:TRUE")]),
            )
            .args(arguments)
            .current_dir(bench.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let counted = |filter: &str| tshark(&["-Y", filter]).lines().count() as u64;
    assert_eq!(counted("_ws.malformed || ip.checksum.status == \"Bad\" || ip.len != frame.len"), 0);
    assert_eq!(counted("tcp.checksum.status == \"Bad\" || udp.checksum.status == \"Bad\""), 0);
    assert_eq!(counted("tcp.checksum.status == \"Good\" || udp.checksum.status == \"Good\""), count);
    let flows = &run.json()["flows"];
    let sent = |flow: usize| flows[flow]["packets"]["sent"].as_u64().unwrap();
    // What is sent in the last instant and the warm-up: there is none here.
    assert_eq!(counted("udp.dstport == 5004"), sent(0));
    assert_eq!(counted("udp.dstport == 5004 && (rtp || rtcp)"), sent(0));
    assert!(counted("rtcp.pt == 205") > 50, "{}", tshark(&["-Y", "rtcp"]));
    assert_eq!(counted("udp.dstport == 9"), sent(2));
    assert_eq!(counted("tcp.srcport != 9"), sent(1));
    assert!(counted("tcp.flags.syn == 1 && tcp.flags.ack == 0") > 1, "each transfer opens a connection");
    assert!(counted("tcp.options.sack.count > 0") > 0);
    assert!(
        counted(
            "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.out_of_order"
        ) > 0
    );
    assert_eq!(
        counted("tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"),
        0,
        "the host that sends misses nothing"
    );
}

const MIXED: &str = r#"schema = 1
name = "mixed"
duration = "20 s"

[[link]]
name = "middle"
from = "a"
to = "b"
both = true
rate = "2 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", packets = 20 }
loss = { kind = "independent", rate = 0.02 }

[[flow]]
name = "video"
kind = "media"
control = "nada"
from = "a"
to = "b"
source = { kind = "frames", fps = 25 }
repair = { retransmit = true }

[[flow]]
name = "files"
kind = "tcp"
algorithm = "cubic"
from = "a"
to = "b"
size = "100 kB"
idle = "1 s"

[[flow]]
name = "cross"
kind = "udp"
from = "a"
to = "b"
rate = "0.1 Mbit/s"
packet = "500 B"
"#;

/// Killed at any instant, a run leaves the results of the run before it, whole, or its own.
#[test]
fn a_run_that_is_killed_leaves_whole_results() {
    let bench = Bench::new();
    bench.write("mixed.toml", MIXED);
    let run = |seed: &str| {
        bench.command(&["sim", "mixed.toml", "--set", "duration=600 s", "--seed", seed, "-o", "out"])
    };
    assert!(run("1").output().unwrap().status.success());
    let whole = |folder: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(&bench.read(&format!("{folder}/summary.json"))).unwrap();
        let series = bench.read(&format!("{folder}/series.csv"));
        let last = series.lines().last().unwrap();
        assert!(series.ends_with('\n') && last.starts_with("600,"), "{last}");
        assert_eq!(bench.names(folder).len(), 7);
        summary["seed"].as_u64().unwrap()
    };
    assert_eq!(whole("out"), 1);
    for millis in [1, 20, 50, 100, 200, 400] {
        let mut child = run("2").stdout(std::process::Stdio::null()).spawn().unwrap();
        let end = std::time::Duration::from_millis(millis);
        let clock = seaway_net::Clock::start();
        clock.sleep_until(clock.now() + seaway_units::TimeDelta::from_secs_f64(end.as_secs_f64()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(whole("out"), 1 | 2), "after {millis} ms");
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let bench = Bench::new();
    bench.write("mixed.toml", MIXED);
    for (set, expected) in [
        ("flow.files.initial_window=4000000000", "1 to 65535"),
        ("flow.video.packet=40 B", "100 B or more"),
        ("flow.video.feedback.size=10 B", "40 B to 1500 B"),
        ("duration=300 years", "unknown unit"),
        ("duration=30000000 s", "at most"),
        ("link.middle.rate=nan", "2.5 Mbit/s"),
        ("link.middle.loss.rate=1e300", "0 to 1"),
        ("flow.cross.count=100001", "1 to 100000"),
        ("flow.cross.to=nowhere", "there are: a, b"),
        ("flow.files.algorithm=vegas", "there are: reno, newreno, sack, cubic, dctcp, prague, bbr\n"),
        ("flow.video.rate=1", "expected a table"),
        ("flow.video.policy=direct(drain=slowly)", "on or off"),
        ("flow.cross.packet=1 B", "40 B to 65535 B"),
        ("flow.files.min_rto=0 s", "a time above zero"),
        ("flow.video.start=20 s", "less than the run's `duration`"),
        ("link.middle.queue.packets=0", "at least 1"),
        ("link.middle.outage=[['3 s', '2 s']]", "none empty"),
        ("link.middle.loss={kind='gilbert-elliott', mean=1, burst=4}", "mean/(1 - mean)"),
    ] {
        let run = bench.run(&["sim", "mixed.toml", "--set", set]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{set}: {}", run.stderr);
        assert!(run.stderr.contains(expected) && run.stderr.contains(set), "{set}: {}", run.stderr);
    }
    bench.write("binary.toml", "\u{0}\u{1}\u{2}");
    bench.write("empty.toml", "");
    for file in ["binary.toml", "empty.toml", "."] {
        let run = bench.run(&["sim", file]);
        assert_eq!((run.code, run.stderr.lines().count()), (Some(2), 1), "{file}: {}", run.stderr);
    }
}

/// Far from anything sensible, but possible: each runs, and every number of its summary is one.
#[test]
fn extremes_run() {
    let bench = Bench::new();
    bench.write("mixed.toml", MIXED);
    for sets in [
        &["link.middle.rate=1 bit/s"][..],
        &["link.middle.steps=[['1 s', '0 bit/s']]"],
        &["link.middle.outage=[['0 s', '20 s']]"],
        &["link.middle.delay=100000 s"],
        &["link.middle.queue.packets=1"],
        &["link.middle.queue={kind='drop-tail', bytes='1500 B'}"],
        &["link.middle.loss.rate=1"],
        &["link.middle.jitter={kind='rfc8868', std='500 s'}"],
        &["flow.video.packet=100 B", "flow.files.packet=41 B", "flow.cross.packet=40 B"],
        &["flow.video.rate={min='1 bit/s', max='1 bit/s'}"],
        &["flow.video.source={kind='cbr', rate='1000 Gbit/s', fps=0.1}"],
        &["flow.video.receiver={buffer='1 B', consume='1 bit/s'}"],
        &["flow.files.size=1 B", "flow.files.idle=1 ns", "duration=1 s"],
        &["flow.files.min_rto=1000 min", "flow.files.initial_window=65535"],
        // More than 4 GiB in half a second.
        &[
            "link.middle.rate=99 Gbit/s",
            "flow.cross.rate=95 Gbit/s",
            "flow.cross.packet=65535 B",
            "duration=0.7 s",
        ],
        &["duration=1 ns"],
    ] {
        let mut arguments = vec!["sim", "mixed.toml", "--json"];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        let run = bench.run(&arguments);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{sets:?}");
        assert_eq!(run.json()["flows"].as_array().unwrap().len(), 3, "{sets:?}");
    }
}

/// Standard output is one document, or one capture.
#[test]
fn a_capture_may_go_to_standard_output() {
    let bench = Bench::new();
    bench.write("mixed.toml", MIXED);
    let output =
        bench.command(&["sim", "mixed.toml", "--set", "duration=1 s", "--pcap", "-"]).output().unwrap();
    let mut reader = pcap_file::pcap::PcapReader::new(&output.stdout[..]).unwrap();
    while let Some(packet) = reader.next_packet() {
        packet.unwrap();
    }
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("mixed, seed 1"));
    let run = bench.run(&["sim", "mixed.toml", "--json", "--pcap", "-"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
}

/// Devices that give without end or take nothing.
#[cfg(target_os = "linux")]
#[test]
fn odd_files_are_refused_by_name() {
    let bench = bench();
    bench.write("trace.toml", &SCENARIO.replace("rate = \"1 Mbit/s\"", "trace = { file = \"/dev/zero\" }"));
    bench.write("drive.txt", "0 1\n1 2\n");
    bench.write("way.toml", &SCENARIO.replace("rate = \"1 Mbit/s\"", "trace = { file = \"drive.txt\" }"));
    for (arguments, code, expected) in [
        (&["sim", "/dev/zero"][..], 2, "/dev/zero: more than 64 MiB"),
        (&["sim", "trace.toml"], 2, "trace.toml:11:18: trace.file: found \"/dev/zero\": more than 64 MiB"),
        (&["sim", "way.toml"], 2, "way.toml:11:9: a trace is of one way: expected what the way back has"),
        (&["sim", "cross.toml", "--pcap", "/dev/full"], 1, "/dev/full: "),
        (&["sim", "cross.toml", "-o", "cross.toml"], 2, "cross.toml: exists and is no folder"),
    ] {
        let run = bench.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
    std::fs::write(bench.path().join("latin.toml"), b"name = \"caf\xe9\"").unwrap();
    let run = bench.run(&["sim", "latin.toml"]);
    assert_eq!(run.stderr, "seaway: latin.toml: expected text in UTF-8, found none at octet 11\n");
    let mut full = bench.command(&["sim", "cross.toml"]);
    full.stdout(std::fs::File::create("/dev/full").unwrap());
    let run = Run::from(full.output().unwrap());
    assert!(run.code == Some(1) && run.stderr.contains("No space left"), "{}", run.stderr);
    assert_eq!(
        bench.names("."),
        ["cross.toml", "drive.txt", "latin.toml", "trace.toml", "way.toml"],
        "nothing half-written"
    );
}

#[test]
fn plots_have_the_size_and_the_ground_that_are_chosen() {
    let bench = Bench::new();
    let sim = ["sim", "squeeze", "--set", "duration=60 s", "-o", "out"];
    let plot = |more: &[&str]| {
        let run = bench.run(&[&sim[..], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        bench.read("out/plot.svg")
    };
    let usual = plot(&[]);
    // 600 readings of each curve.
    assert!(usual.contains("the least and the greatest of neighbouring ones"));
    let printed = plot(&["--plot-theme", "print", "--plot-size", "400x150"]);
    assert!(printed.contains("curve c0 d0") && !printed.contains("prefers-color-scheme"));
    let width = |text: &str| -> f64 {
        text.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert!(width(&printed) < width(&usual) - 400.0, "{} and {}", width(&printed), width(&usual));
    for (arguments, why) in [
        (["sim", "squeeze", "--plot-size", "400x150"].as_slice(), "--output"),
        (&["sim", "squeeze", "-o", "out", "--plot-size", "40x15"], "from 200x100"),
    ] {
        let refused = bench.run(arguments);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{}", refused.stderr);
    }
}
