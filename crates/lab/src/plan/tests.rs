//! Numbering, rows and folders.

use super::*;
use crate::options::RunOptions;
use crate::run::run;
use std::ops::ControlFlow;
use std::path::Path;

const PLAN: &str = r#"
    schema = 1
    scenario = ["clean", "squeeze"]
    control = ["fixed", "tfrc"]
    seeds = [3, 5]
    [parameters]
    duration = ["4 s", "5 s"]
    warmup = ["1 s"]
"#;

fn plan(text: &str) -> Result<Plan, String> {
    Plan::parse("plan.toml", text, Path::new("."), &Registry::builtin())
}

#[test]
fn the_seed_changes_first_and_the_scenario_last() {
    let plan = plan(PLAN).unwrap();
    assert_eq!(plan.runs(), 16);
    let brief = |run| {
        let scenario = plan.scenario(run).unwrap();
        let crate::scenario::FlowKind::Media(media) = &scenario.flows[0].kind else { panic!() };
        (scenario.name, media.control.to_string(), scenario.duration.as_secs_f64(), scenario.seed)
    };
    assert_eq!(brief(0), ("clean".to_owned(), "fixed".to_owned(), 4.0, 3));
    assert_eq!(brief(1), ("clean".to_owned(), "fixed".to_owned(), 4.0, 5));
    assert_eq!(brief(2), ("clean".to_owned(), "fixed".to_owned(), 5.0, 3));
    assert_eq!(brief(4), ("clean".to_owned(), "tfrc".to_owned(), 4.0, 3));
    assert_eq!(brief(15), ("squeeze".to_owned(), "tfrc".to_owned(), 5.0, 5));
}

#[test]
fn a_mistake_is_found_before_anything_runs() {
    for (from, to, says) in [
        ("schema = 1", "schema = 2", "expected 1"),
        ("\"tfrc\"", "\"tfrk\"", "did you mean tfrc"),
        ("\"squeeze\"", "\"squeese\"", "did you mean squeeze"),
        ("duration = [\"4 s\", \"5 s\"]", "duration = \"4 s\"", "`duration`: expected a list of values"),
        ("duration", "seed", "no parameter"),
        ("seeds = [3, 5]", "seeds = []", "0 runs"),
        ("seeds = [3, 5]", "sedes = 3", "sedes"),
        ("\"5 s\"", "\"5\"", "expected a time"),
    ] {
        let error = plan(&PLAN.replace(from, to)).map(drop).unwrap_err();
        assert!(error.starts_with("plan.toml: ") && error.contains(says), "{to}: {error}");
    }
}

/// The order in which runs are made, and their division, leave no trace.
#[test]
fn a_folder_has_the_same_octets_for_every_division_of_the_runs() {
    let plan = plan(&PLAN.replace("\"squeeze\"", "\"lossy-wifi\"")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let octets = |name: &str, order: &mut dyn Iterator<Item = usize>| {
        let root = place.path().join(name);
        for run_number in order {
            // Each run as if by a process of its own.
            let folder = SweepFolder::open(&root, &plan).unwrap();
            assert!(!folder.has(run_number));
            let scenario = plan.scenario(run_number).unwrap();
            let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            let merged = folder.merge(&plan).unwrap();
            assert!(matches!(merged, Merge::Missing(_)), "{merged:?}");
            folder.put(&plan, run_number, &outcome).unwrap();
        }
        let folder = SweepFolder::open(&root, &plan).unwrap();
        assert_eq!(folder.merge(&plan).unwrap(), Merge::Written(16));
        std::fs::read(root.join("runs.parquet")).unwrap()
    };
    let (even, odd) = ((0..16).step_by(2), (1..16).step_by(2));
    assert!(octets("one", &mut (0..16)) == octets("two", &mut odd.chain(even)));
}

#[test]
fn processes_may_open_a_new_folder_at_once() {
    let plan = plan(PLAN).unwrap();
    let place = tempfile::tempdir().unwrap();
    for round in 0..40 {
        let root = place.path().join(format!("{round}"));
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..4).map(|_| scope.spawn(|| SweepFolder::open(&root, &plan))).collect();
            for opened in opened {
                opened.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let (plan, other) = (plan(PLAN).unwrap(), plan(&PLAN.replace("[3, 5]", "[4]")).unwrap());
    let place = tempfile::tempdir().unwrap();
    let (sweep, full) = (place.path().join("sweep"), place.path().join("full"));
    SweepFolder::open(&sweep, &plan).unwrap();
    assert!(SweepFolder::open(&sweep, &other).unwrap_err().contains("another plan"));
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("thesis.tex"), "all of it").unwrap();
    assert!(SweepFolder::open(&full, &plan).unwrap_err().contains("no folder of a sweep"));
}
