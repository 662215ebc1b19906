//! `seaway sweep`.

use crate::util::Bench;

const PLAN: &str = r#"schema = 1
scenario = ["clean", "lossy-wifi"]
control = ["fixed", "tfrc"]
seeds = 2
series = true
[parameters]
duration = ["4 s"]
warmup = ["1 s"]
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    bench
}

#[test]
fn shards_give_the_bytes_of_one_process() {
    let bench = bench();
    let whole = bench.run(&["sweep", "plan.toml", "-o", "whole"]);
    assert_eq!((whole.code, whole.stderr.as_str()), (Some(0), ""));
    assert_eq!(whole.stdout, "8 runs, 8 of them made now; whole/runs.parquet has 8 rows\n");
    for (shard, waits) in [("2/3", 5), ("1/3", 2)] {
        let run = bench.run(&["sweep", "plan.toml", "-o", "parts", "--shard", shard]);
        let says = format!("3 runs made; parts/runs.parquet waits for {waits} of other shards\n");
        assert_eq!((run.code, run.stdout), (Some(0), says));
    }
    assert!(!bench.path().join("parts/runs.parquet").exists());
    let last = bench.run(&["sweep", "plan.toml", "-o", "parts", "--shard", "3/3"]);
    assert_eq!(last.stdout, "8 runs, 2 of them made now; parts/runs.parquet has 8 rows\n");
    let octets = |name: &str| std::fs::read(bench.path().join(name)).unwrap();
    assert!(octets("whole/runs.parquet") == octets("parts/runs.parquet"));
    let series = "series/scenario=lossy-wifi/controller=tfrc/run=7/series.parquet";
    assert!(octets(&format!("whole/{series}")) == octets(&format!("parts/{series}")));
}

#[test]
fn what_is_there_is_kept_and_only_what_is_missing_made() {
    let bench = bench();
    bench.run(&["sweep", "plan.toml", "-o", "out"]);
    let table = std::fs::read(bench.path().join("out/runs.parquet")).unwrap();
    let again = bench.run(&["sweep", "plan.toml", "-o", "out"]);
    assert_eq!(again.code, Some(2));
    assert_eq!(again.stderr, "seaway: out: 8 runs are there already; --resume makes the others\n");
    for run in [2, 5] {
        std::fs::remove_file(bench.path().join(format!("out/runs/0000/{run:07}.json"))).unwrap();
    }
    std::fs::remove_file(bench.path().join("out/runs.parquet")).unwrap();
    let resumed = bench.run(&["sweep", "plan.toml", "-o", "out", "--resume"]);
    assert_eq!(resumed.stdout, "8 runs, 2 of them made now; out/runs.parquet has 8 rows\n");
    assert!(std::fs::read(bench.path().join("out/runs.parquet")).unwrap() == table);
}

#[test]
fn a_plan_that_cannot_be_run_is_refused_before_anything_is_written() {
    let bench = bench();
    for (from, to, says) in [
        ("\"tfrc\"", "\"tfrk\"", "did you mean tfrc"),
        ("\"clean\"", "\"cleen\"", "did you mean clean"),
        (
            "[parameters]",
            "[parameters]\n\"link.nowhere.rate\" = [\"1 Mbit/s\"]",
            "there is no link named `nowhere`",
        ),
    ] {
        bench.write("wrong.toml", &PLAN.replace(from, to));
        let run = bench.run(&["sweep", "wrong.toml", "-o", "out"]);
        assert_eq!(run.code, Some(2), "{to}");
        assert!(
            run.stderr.starts_with("seaway: wrong.toml: ") && run.stderr.contains(says),
            "{}",
            run.stderr
        );
        assert!(!bench.path().join("out").exists());
    }
    let run = bench.run(&["sweep", "plan.toml", "-o", "out", "--shard", "3/2"]);
    assert!(run.code == Some(2) && run.stderr.contains("I from 1 to N"), "{}", run.stderr);
}
