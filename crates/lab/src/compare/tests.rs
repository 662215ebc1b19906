use super::*;
use crate::scenario::Scenario;
use crate::{RunOptions, library, run};
use seaway_control::ControlSpec;
use seaway_media::input::{PictureSource, Synthetic};
use seaway_media::output::Y4mWriter;
use std::ops::ControlFlow;
use std::sync::LazyLock;

fn setup(controls: &[&str], seeds: u16) -> Setup {
    let scenario = Scenario {
        duration: seaway_units::TimeDelta::from_secs(2),
        ..library::find("squeeze").unwrap().parse(&[]).unwrap()
    };
    let controls = controls.iter().map(|control| control.parse::<ControlSpec>().unwrap()).collect();
    Setup::new(scenario, None, controls, Some(clip()), seeds).unwrap()
}

/// Two seconds of the synthetic scene, small, so that coding it takes no time.
fn clip() -> &'static str {
    static CLIP: LazyLock<(tempfile::TempPath, String)> = LazyLock::new(|| {
        let file = tempfile::Builder::new().suffix(".y4m").tempfile().unwrap();
        let mut source = Synthetic::from_specification("192x108@25").unwrap();
        let mut writer = Y4mWriter::new(file.as_file(), source.format().frame_rate);
        for _ in 0..50 {
            writer.write(&source.next_picture().unwrap().unwrap()).unwrap();
        }
        writer.finish().unwrap();
        let path = file.into_temp_path();
        let name = path.to_str().unwrap().to_owned();
        (path, name)
    });
    &CLIP.1
}

fn compare(setup: &Setup) -> Comparison {
    let one = |control: &ControlSpec, number: u16| {
        let record = (number == 0).then(|| setup.recording());
        let options = RunOptions { series: number == 0, record, ..RunOptions::default() };
        let outcome = run(&setup.scenario(control, number), options, &mut |_| ControlFlow::Continue(()));
        Run::new(&outcome.unwrap(), setup.flow())
    };
    let runs = |control| (0..setup.seeds()).map(|number| one(control, number)).collect();
    setup.finish(setup.controls().iter().map(runs).collect()).unwrap()
}

#[test]
fn a_page_holds_everything() {
    let comparison = compare(&setup(&["tfrc", "fixed(rate=1 Mbit/s)"], 2));
    let page = comparison.page("seaway compare squeeze");
    assert!(page.len() < 3_000_000, "{} octets", page.len());
    let loads = page.replace("http://www.w3.org/2000/svg", "").contains("http");
    assert!(!page.contains("{{") && !loads, "nothing is loaded");
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["controls"][1]["name"], "fixed(rate=1 Mbit/s)");
    for control in data["controls"].as_array().unwrap() {
        assert_eq!(control["lines"]["received_rate"].as_array().unwrap().len(), 20);
        assert_eq!(control["lines"]["queue"].as_array().unwrap().len(), 20);
        let scored = control["psnr"]["db"].as_array().unwrap();
        assert!(scored.len() > 30 && scored.iter().all(|psnr| psnr.as_f64().unwrap() > 15.0), "{scored:?}");
    }
    assert!(!data["controls"][0]["decisions"].as_array().unwrap().is_empty());
    assert_eq!(data["capacity"][0], 4e6);
    assert_eq!(data["table"][0]["cells"].as_array().unwrap().len(), 2);
    assert!(data["table"][0]["cells"][0]["ci95"].is_number());
    // The same again, from the cached form.
    let cached: Vec<Vec<Run>> = comparison
        .candidates
        .iter()
        .map(|candidate| {
            let texts = candidate.runs.iter().map(|run| serde_json::to_string(run).unwrap());
            texts.map(|text| serde_json::from_str(&text).unwrap()).collect()
        })
        .collect();
    let again = setup(&["tfrc", "fixed(rate=1 Mbit/s)"], 2).finish(cached).unwrap();
    assert!(again.page("seaway compare squeeze") == page, "the same bytes");
    let mut tables = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    comparison.write_series(&mut tables[0]).unwrap();
    comparison.write_table(&mut tables[1]).unwrap();
    comparison.write_causes(&mut tables[2]).unwrap();
    comparison.write_json(&mut tables[3]).unwrap();
    assert!(tables[0].len() > 5_000 && tables[1].len() > 500 && tables[2].len() > 100);
    let document: Value = serde_json::from_slice(&tables[3]).unwrap();
    assert_eq!(document["controls"][0]["runs"].as_array().unwrap().len(), 2);
    assert!(document["controls"][0]["ci95"]["flows"][0]["psnr_db"]["value"].is_number());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let scenario = library::find("squeeze").unwrap().parse(&[]).unwrap();
    let refuse = |flow, clip| Setup::new(scenario.clone(), flow, Vec::new(), clip, 1).unwrap_err();
    assert_eq!(refuse(Some("other"), None), "no media flow is called other; there are: video");
    assert!(refuse(None, Some("nowhere.mp4")).contains("nowhere.mp4"));
}
