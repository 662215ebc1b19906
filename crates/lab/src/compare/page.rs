//! The data of the page.

use super::{Comparison, Recording, table};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seaway_report::page::Page;
use serde_json::{Map, Value, json};

pub(super) fn page(comparison: &Comparison, command: &str) -> String {
    let size = comparison.video.recorded;
    Page {
        kind: "compare",
        title: &comparison.scenario,
        about: &comparison.about,
        facts: &facts(comparison),
        body: include_str!("page/body.html"),
        style: include_str!("page/page.css"),
        scripts: &[include_str!("page/page.js")],
        data: &data(comparison),
        note: &format!(
            "The videos of this page are coded again at {size}; PSNR is that of the received pictures in full size."
        ),
        command,
    }
    .html()
}

fn data(comparison: &Comparison) -> Value {
    let recordings: Vec<Option<&Recording>> =
        comparison.candidates.iter().map(super::Candidate::recording).collect();
    let first = recordings.iter().flatten().next();
    let bottleneck = first.and_then(|recording| recording.bottleneck()).unwrap_or_default();
    let capacity = first.and_then(|recording| recording.trace(bottleneck, "capacity"));
    let controls = comparison.candidates.iter().zip(&recordings).map(|(candidate, recording)| {
        let data = |recording| control(&candidate.control, recording, &comparison.flow, bottleneck);
        recording.map_or(Value::Null, data)
    });
    let video = &comparison.video;
    json!({
        "note": note(comparison),
        "duration": comparison.duration_s,
        "step": 0.1,
        "fps": video.frame_rate.hz(),
        "width": video.recorded.width(),
        "height": video.recorded.height(),
        "bottleneck": bottleneck,
        "capacity": capacity.map(|trace| &trace.values).cloned().unwrap_or_default(),
        "sent": STANDARD.encode(&comparison.sent),
        "controls": controls.collect::<Vec<_>>(),
        "table": table::rows(comparison),
    })
}

fn facts(comparison: &Comparison) -> Vec<String> {
    let runs = comparison.candidates.first().map_or(0, |candidate| candidate.runs.len());
    let seed = comparison.candidates.first().and_then(|candidate| candidate.runs.first());
    let seed = seed.and_then(|run| run.summary["seed"].as_u64()).unwrap_or(0);
    let video = &comparison.video;
    let mut facts = vec![
        format!("{} s of virtual time", comparison.duration_s),
        format!("flow {}", comparison.flow),
        format!("{} at {} pictures/s", video.size, (video.frame_rate.hz() * 100.0).round() / 100.0),
        video.name.clone(),
        format!("shown: seed {seed}"),
    ];
    if runs > 1 {
        facts.push(format!("table: {runs} seeds"));
    }
    facts
}

fn note(comparison: &Comparison) -> String {
    let runs = comparison.candidates.first().map_or(0, |candidate| candidate.runs.len());
    match runs {
        0 | 1 => "One run; --seeds N gives means with their 95 % intervals.".to_owned(),
        _ => format!("Means over {runs} seeds with their 95 % intervals (Student's distribution)."),
    }
}

fn control(name: &str, recording: &Recording, flow: &str, bottleneck: &str) -> Value {
    let mut traces = Map::new();
    let mut put = |name: &str, of: &str, from: &str| {
        if let Some(trace) = recording.trace(of, from) {
            traces.insert(name.to_owned(), json!(trace.values));
        }
    };
    put("received_rate", flow, "received_rate");
    put("lost", flow, "lost");
    put("receiver_buffer", flow, "receiver_buffer");
    // Where the controller steers by a buffer of bytes, that buffer is shown.
    put("receiver_buffer", flow, "buffer");
    put("queue", bottleneck, "queue");
    json!({
        "name": name,
        "video": recording.video,
        "lines": traces,
        "psnr": {
            "at": recording.psnr.iter().map(|&(at, _, _)| at).collect::<Vec<_>>(),
            "db": recording.psnr.iter().map(|&(_, psnr, _)| psnr).collect::<Vec<_>>(),
        },
        "decisions": recording.rate_changes,
    })
}
