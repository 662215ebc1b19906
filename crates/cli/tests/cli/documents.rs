//! `seaway schema`: what it prints is what docs/schema has, and what documents are held to.

use crate::schema::{check, printed, problems, records};
use crate::util::Bench;
use seaway_report::{Metric, Scope};
use serde_json::{Value, json};
use std::path::Path;

/// The schemas in the tree; `SEAWAY_BLESS=1` writes them.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");

fn names(bench: &Bench) -> Vec<String> {
    let rows = bench.run(&["list", "schemas", "--json"]).json();
    rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn schemas_are_those_in_the_tree() {
    let names = names(&Bench::new());
    for name in &names {
        let schema = printed(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let path = Path::new(KEPT).join(format!("{name}.json"));
        if std::env::var_os("SEAWAY_BLESS").is_some() {
            std::fs::write(&path, format!("{schema:#}\n")).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(kept, format!("{schema:#}\n"), "{name}: SEAWAY_BLESS=1 writes what is printed now");
    }
    let kept = std::fs::read_dir(KEPT).unwrap().count();
    assert_eq!(kept, names.len(), "every file there is printed");
}

#[test]
fn every_field_is_described() {
    fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
        let Some(fields) = schema.as_object() else { return };
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // A constant names the form it stands in, and so does the only key of a form that is described itself.
            let is_name = property.get("const").is_some() || fields.contains_key("description");
            if property.get("description").is_none() && !is_name {
                found.push(format!("{path}/{name}"));
            }
        }
        for (key, value) in fields {
            undescribed(value, &format!("{path}/{key}"), found);
            let forms = value.as_array().into_iter().flatten();
            forms.for_each(|form| undescribed(form, &format!("{path}/{key}"), found));
        }
    }
    for name in names(&Bench::new()) {
        let mut found = Vec::new();
        undescribed(&printed(&name), "", &mut found);
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_wrong_document_is_refused() {
    let summary = Bench::new().run(&["sim", "clean", "--set", "duration=12 s", "--json"]).json();
    check("summary", &summary);
    let with = |pointer: &str, value: Value| {
        let mut wrong = summary.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        problems("summary", &wrong)
    };
    assert!(!with("/flows/0/received_bps", Value::Null).is_empty(), "null for a number");
    assert!(!with("/flows/0/rtt_ms", json!({ "mean": 1.0 })).is_empty(), "no percentiles");
    assert!(!with("/links/0", json!({ "name": "access" })).is_empty(), "no numbers");
    let mut wrong = summary.clone();
    wrong["flows"][0]["not_described"] = json!(1);
    assert!(!problems("summary", &wrong).is_empty());
}

#[test]
fn a_run_can_be_read_from_its_log() {
    let bench = Bench::new();
    let sim = ["sim", "squeeze", "--set", "duration=15 s", "--set", "flow.video.control=gcc"];
    let plain = bench.run(&[&sim[..], &["--json", "--no-timing"]].concat());
    let run = bench.run(&[&sim[..], &["--json", "--no-timing", "--qlog", "run.qlog"]].concat());
    assert_eq!((run.code, &run.stdout), (plain.code, &plain.stdout), "{}", run.stderr);
    let records = records(&bench.read("run.qlog"));
    assert_eq!(records[0]["title"], "squeeze");
    assert_eq!(records[0]["trace"]["vantage_point"]["type"], "network");
    assert_eq!(records[0]["trace"]["vantage_point"]["flow"], "client");
    let times: Vec<f64> = records[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "events are in order of time");
    let count = |name: &str| records.iter().filter(|event| event["name"] == name).count() as u64;
    let flow = &run.json()["flows"][0];
    assert_eq!(Some(count("seaway:decision")), flow["decisions"].as_u64());
    assert_eq!(Some(count("seaway:picture_displayed")), flow["frames"]["displayed"].as_u64());
    assert!(
        records.iter().any(|event| event["group_id"] == "bottleneck" && event["data"]["name"] == "queue")
    );
    let delays = records.iter().filter(|event| event["name"] == "seaway:picture_displayed");
    let delays: Vec<f64> = delays.map(|event| event["data"]["delay_ms"].as_f64().unwrap()).collect();
    let most = delays.iter().copied().fold(0.0, f64::max);
    let max = flow["delay_ms"]["max"].as_f64().unwrap();
    // The histogram of the summary has bins, and leaves the time before the measurement out.
    assert!(most > 0.98 * max && delays.iter().all(|delay| *delay > 20.0), "{most} and {max}");
    let refused = bench.run(&["sim", "squeeze", "--qlog", "-"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("name a file"), "{}", refused.stderr);
}

#[test]
fn a_log_becomes_a_page() {
    let bench = Bench::new();
    let run = bench.run(&["sim", "squeeze", "--set", "duration=5 s", "--qlog", "run.sqlog"]);
    assert!(bench.names(".") == ["run.sqlog"], "{}", run.stderr);
    let drawn = bench.run(&["qlog", "run.sqlog"]);
    assert_eq!((drawn.code, drawn.stdout.as_str()), (Some(0), "page: run.html\n"), "{}", drawn.stderr);
    let page = bench.read("run.html");
    assert!(page.contains("seaway:decision") && page.contains("<h1>run.sqlog</h1>"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "it loads nothing");
    assert_eq!(bench.run(&["qlog"]).stdout, "page: qlog.html\n");
    assert!(bench.read("qlog.html").contains("\"log\":null"));
    // A log that was cut off is drawn as far as it goes.
    let log = bench.read("run.sqlog");
    bench.write("cut.sqlog", &log[..log.len() - 20]);
    let drawn = bench.run(&["qlog", "cut.sqlog", "-o", "-"]);
    assert!(
        drawn.code == Some(0) && drawn.stderr.contains("records damaged or cut off: 1"),
        "{}",
        drawn.stderr
    );
    bench.write("no.sqlog", "{}");
    for (name, why) in [("no.sqlog", "no qlog"), ("none.sqlog", "No such file")] {
        let refused = bench.run(&["qlog", name]);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn an_unknown_name_is_refused() {
    let run = Bench::new().run(&["schema", "sumary"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("summary"), "{}", run.stderr);
}

/// Every query of the dashboard asks for gauges that `/metrics` serves, by the data source and the sessions that are chosen.
#[test]
fn the_dashboard_asks_for_what_there_is() {
    let path = Path::new(KEPT).join("../grafana/seaway.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut served: Vec<String> = Scope::Live.metrics().iter().map(Metric::prometheus_name).collect();
    served.push("seaway_observed_delay_seconds_bucket".into());
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids: Vec<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), panels.len(), "a panel has an id of its own");
    for query in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let text = query["expr"].as_str().unwrap();
        let name = &text[text.find("seaway_").unwrap()..];
        let name = name.split('{').next().unwrap();
        assert!(served.iter().any(|metric| metric == name), "{text}");
        assert!(text.contains("instance=~\"$instance\""), "{text}");
        assert_eq!(query["datasource"]["uid"], "${datasource}");
    }
}
