use super::*;
use crate::{RunOptions, sweep};
use seaway_control::{ControlSpec, Registry};
use std::ops::ControlFlow;

fn controls(names: &[&str]) -> Option<Vec<ControlSpec>> {
    Some(names.iter().map(|name| name.parse().unwrap()).collect())
}

/// Two controllers over a few seconds of every case, a run or two each.
fn scorecard(names: &[&str], suites: &[Suite], seeds: u16) -> Scorecard {
    let mut setup = Setup::new(&Registry::builtin(), controls(names), suites, 1, seeds).unwrap();
    for scenario in &mut setup.scenarios {
        scenario.duration = seaway_units::TimeDelta::from_secs(8);
        scenario.warmup = seaway_units::TimeDelta::from_secs(1);
    }
    let outcomes = sweep(&setup.scenarios, RunOptions::default(), &|_| ControlFlow::Continue(())).unwrap();
    setup.finish(&outcomes)
}

#[test]
fn a_card_has_every_case_and_marks_what_is_modelled() {
    let card = scorecard(&["tfrc", "nada"], &[Suite::Rfc8867, Suite::Curves], 2);
    assert_eq!(card.cases.len(), 27 + 28);
    let text = serde_json::to_value(&card).unwrap();
    assert_eq!(text["suites"][0]["suite"], "rfc8867");
    // Section 6.1 gives priorities, which TFRC does not have: that case is in no mean.
    assert_eq!(text["suites"][0]["cases"], 26);
    assert_eq!(card.left_out.len(), 1);
    assert_eq!(card.left_out[0].case.as_deref(), Some("rfc8867-6.1"));
    assert!(card.left_out[0].reason.contains("weight"), "{}", card.left_out[0].reason);
    let psnr = card.metrics.iter().find(|metric| metric.metric.key() == "psnr").unwrap();
    assert_eq!(psnr.kind, Some("modelled"));
    for case in text["cases"].as_array().unwrap() {
        for score in case["scores"].as_array().unwrap().iter().filter(|score| !score.is_null()) {
            assert!(score["psnr"]["mean"].as_f64().unwrap() > 5.0, "{case}");
            assert!(score["utilisation"]["mean"].as_f64().unwrap() <= 100.001, "{case}");
        }
    }
    let page = card.page("seaway scorecard");
    assert_eq!(page.matches("<polyline").count(), 2 * 4 * 4, "two controllers, four scores, four curves");
    let marks = page
        .split("<text ")
        .filter(|text| text.starts_with("class=\"middle\"") && text.contains(">0.5</text>"));
    assert_eq!(marks.count(), 2 * 4, "two curves of loss have such a mark");
    let mut table = Vec::new();
    card.write_csv(&mut table).unwrap();
    assert!(String::from_utf8(table).unwrap().contains("curves,loss-20,loss,20,\"tfrc\",psnr,dB,modelled,"));
}

/// Worked numbers, so that a change of their meaning fails.
#[test]
fn numbers_of_one_case() {
    let card = scorecard(&["tfrc"], &[Suite::Curves], 1);
    let lost = card.cases.iter().find(|case| case.name == "loss-10").unwrap();
    let numbers = serde_json::to_value(lost.scores[0].as_ref().unwrap()).unwrap();
    let rounded = |key: &str| (numbers[key]["mean"].as_f64().unwrap() * 100.0).round() / 100.0;
    let found: Vec<_> = ["utilisation", "received", "loss", "freezes", "psnr"].map(rounded).into();
    assert_eq!(found, [7.42, 0.2, 10.61, 8.57, 28.81]);
}

#[test]
fn what_cannot_be_run_is_named() {
    let setup = Setup::new(&Registry::builtin(), None, &[Suite::Rfc8869], 1, 1).unwrap();
    let left: Vec<_> = setup.left_out.iter().map(|left| left.control.as_str()).collect();
    assert_eq!(left, ["fixed", "buffer-type1", "buffer-type2"]);
    assert_eq!(setup.extent(), (17, Registry::builtin().controllers().len() - 3));
    let error =
        Setup::new(&Registry::builtin(), controls(&["buffer-type1"]), &[Suite::Curves], 1, 1).unwrap_err();
    assert!(error.contains("buffer of bytes"), "{error}");
    assert!(
        Setup::new(&Registry::builtin(), controls(&["tfrk"]), &[Suite::Curves], 1, 1)
            .unwrap_err()
            .contains("tfrc")
    );
}
