//! `seaway sim`.

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
    assert!(bench.run(&["sim", "cross.toml", "--json"]).json()["timing"]["wall_s"].is_number());
}

#[test]
fn a_folder_holds_all_that_is_needed_to_make_it_again() {
    let bench = bench();
    let run = bench.run(&["sim", "cross.toml", "-o", "results/first", "--set", "flow.cross.rate=100 kbit/s"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let files = ["decisions.csv", "plot.svg", "run.json", "scenario.toml", "series.csv", "summary.json"];
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
