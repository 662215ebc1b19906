//! `seaway reproduce`.

use crate::schema::check;
use crate::util::Bench;

#[test]
fn every_table_and_figure_is_listed_and_the_unfinished_say_so() {
    let bench = Bench::new();
    let rows = bench.run(&["list", "experiments", "--json"]).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(65));
    let proofs = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|id| id.contains("-I")));
    assert_eq!(proofs.count(), 3);
    let unfinished = rows.as_array().unwrap().iter().find(|row| row["made"] == false);
    if let Some(id) = unfinished.and_then(|row| row["name"].as_str()) {
        let run = bench.run(&["reproduce", id, "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.json()["experiments"][0]["verdict"], "not yet");
    }
}

#[test]
fn arithmetic_rows_are_printed_as_a_document_and_a_page() {
    let bench = Bench::new();
    let run = bench.run(&["reproduce", "s000-e4", "S000-F8", "--json", "-o", "out"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    check("reproduction", &report);
    check("provenance", &serde_json::from_str(&bench.read("out/run.json")).unwrap());
    assert_eq!(report["experiments"][0]["id"], "S000-E4");
    assert_eq!(report["experiments"][0]["verdict"], "held");
    assert_eq!(report["experiments"][1]["checks"][0]["paper"], 0.24);
    assert_eq!(bench.names("out"), ["figures", "report.html", "report.json", "run.json"]);
    let page = bench.read("out/report.html");
    assert!(page.contains("S000-E4") && page.contains("<svg") && !page.contains("<script"));
    let again = bench.run(&["reproduce", "S000-E4", "S000-F8", "--json"]);
    assert_eq!(again.stdout, run.stdout, "the same rows give the same bytes");
}

#[test]
fn a_conclusion_is_tried_with_other_seeds_and_changes() {
    let bench = Bench::new();
    let run = bench.run(&["reproduce", "S000-F16", "S000-E4", "--robust", "--seeds", "1", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let found = run.json();
    check("robustness", &found);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["id"], &rows[0]["survives"]), (1, &"S000-F16".into(), &true.into()));
    assert_eq!(rows[0]["changed"].as_array().map(Vec::len), Some(5));
}

#[test]
fn mistakes_are_reported_with_what_would_be_valid() {
    let bench = Bench::new();
    for (arguments, expected) in [
        (&["reproduce", "S000-T9"][..], "S000-T1"),
        (&["reproduce", "--seed-paper", "S009"], "S000"),
        (&["reproduce"], "<ID>"),
        (&["reproduce", "--all", "S000-T1"], "cannot be used with"),
        (&["reproduce", "--all", "--seeds", "0"], "1..=1000"),
    ] {
        let run = bench.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
    }
}
