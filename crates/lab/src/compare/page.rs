//! The page: text, style, script and data in one file that loads nothing.

use super::{Comparison, Footage, table};
use crate::page::{LOOK, Parts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

const PAGE: Parts =
    Parts { frame: include_str!("page/page.html"), styles: &[LOOK], script: include_str!("page/page.js") };

pub(super) fn page(comparison: &Comparison, command: &str) -> String {
    PAGE.assembled(&comparison.scenario, &data(comparison, command))
}

fn data(comparison: &Comparison, command: &str) -> Value {
    let footage: Vec<Option<&Footage>> =
        comparison.contenders.iter().map(super::Contender::footage).collect();
    let first = footage.iter().flatten().next();
    let bottleneck = first.and_then(|footage| footage.bottleneck()).unwrap_or_default();
    let capacity = first.and_then(|footage| footage.line(bottleneck, "capacity"));
    let controls = comparison.contenders.iter().zip(&footage).map(|(contender, footage)| {
        footage
            .map_or(Value::Null, |footage| control(&contender.control, footage, &comparison.flow, bottleneck))
    });
    let video = &comparison.video;
    json!({
        "title": comparison.scenario,
        "about": comparison.about,
        "facts": facts(comparison),
        "note": note(comparison),
        "foot": format!("Seaway {}. The films were coded again for this page, at {}; PSNR is that of the pictures received, \
            in full size. Made by", env!("CARGO_PKG_VERSION"), video.filmed),
        "command": command,
        "duration": comparison.duration_s,
        "step": 0.1,
        "fps": video.frame_rate.hz(),
        "width": video.filmed.width(),
        "height": video.filmed.height(),
        "bottleneck": bottleneck,
        "capacity": capacity.map(|line| &line.values).cloned().unwrap_or_default(),
        "sent": STANDARD.encode(&comparison.sent),
        "controls": controls.collect::<Vec<_>>(),
        "table": table::rows(comparison),
    })
}

fn facts(comparison: &Comparison) -> Vec<String> {
    let runs = comparison.contenders.first().map_or(0, |contender| contender.takes.len());
    let seed = comparison.contenders.first().and_then(|contender| contender.takes.first());
    let seed = seed.and_then(|take| take.summary["seed"].as_u64()).unwrap_or(0);
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
    let runs = comparison.contenders.first().map_or(0, |contender| contender.takes.len());
    match runs {
        0 | 1 => "One run; --seeds N gives means with their 95 % intervals.".to_owned(),
        _ => format!("Means over {runs} seeds with their 95 % intervals (Student's distribution)."),
    }
}

fn control(name: &str, footage: &Footage, flow: &str, bottleneck: &str) -> Value {
    let mut lines = Map::new();
    let mut put = |name: &str, of: &str, from: &str| {
        if let Some(line) = footage.line(of, from) {
            lines.insert(name.to_owned(), json!(line.values));
        }
    };
    put("received_rate", flow, "received_rate");
    put("lost", flow, "lost");
    put("receiver_buffer", flow, "receiver_buffer");
    // A buffer of bytes, which the controller watches, is what matters where there is one.
    put("receiver_buffer", flow, "buffer");
    put("queue", bottleneck, "queue");
    json!({
        "name": name,
        "video": footage.film,
        "lines": lines,
        "psnr": {
            "at": footage.psnr.iter().map(|&(at, _, _)| at).collect::<Vec<_>>(),
            "db": footage.psnr.iter().map(|&(_, psnr, _)| psnr).collect::<Vec<_>>(),
        },
        "decisions": footage.causes,
    })
}
