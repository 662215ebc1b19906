//! `shape`: lowers the rate of coded MPEG-1 and MPEG-2 video.

use crate::error;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seaway_mpeg::container::{self, SNIFF_LIMIT, sniff};
use seaway_mpeg::pipeline::{Config, FirstPass, PictureRecord, Pipeline, Report, Schedule};
use seaway_mpeg::shape::{Ceiling, Config as ShaperConfig, Method, Target};
use seaway_units::{Bitrate, TimeDelta};
use serde_json::json;
use std::num::NonZeroUsize;

/// Octets that are shaped between two looks at the caller.
const CHUNK: usize = 256 << 10;

/// Shapes `stream`. Returns the shaped stream and its report: totals, buffer, container and pictures in the form of
/// `seaway shape --json`.
#[pyfunction]
fn shape(
    py: Python<'_>,
    stream: Vec<u8>,
    rate: Option<&str>,
    ratio: Option<f64>,
    method: &str,
    threads: NonZeroUsize,
) -> PyResult<(Py<PyBytes>, String)> {
    let target = match (rate, ratio) {
        (Some(rate), None) => Target::Rate(rate.parse::<Bitrate>().map_err(error::input)?),
        (None, Some(ratio)) if ratio > 0.0 && ratio <= 1.0 => Target::Ratio(ratio),
        (None, Some(ratio)) => {
            return Err(error::input(format!("ratio is {ratio}: expected more than 0 and at most 1")));
        }
        _ => return Err(error::input("give one of rate and ratio")),
    };
    let method =
        Method::ALL.iter().find(|(name, _)| *name == method).map(|(_, method)| *method).ok_or_else(|| {
            let names: Vec<_> = Method::ALL.iter().map(|(name, _)| *name).collect();
            error::input(format!("method is {method:?}: expected one of {}", names.join(", ")))
        })?;
    let failure = Failure::default();
    let watch = Watch::new(None, failure.clone());
    let shaped = py.detach(|| shape_stream(&stream, target, method, threads, &watch));
    failure.raise()?;
    let (output, records, report) = shaped.map_err(error::input)?;
    let document = json!({
        "schema": 1,
        "seaway": env!("CARGO_PKG_VERSION"),
        "target_held": !report.missed_target(),
        "totals": report.totals,
        "vbv": report.vbv,
        "ceiling": report.ceiling,
        "container": report.container,
        "pictures": records,
    });
    Ok((PyBytes::new(py, &output).unbind(), document.to_string()))
}

type Shaped = (Vec<u8>, Vec<PictureRecord>, Report);

fn shape_stream(
    stream: &[u8],
    target: Target,
    method: Method,
    threads: NonZeroUsize,
    watch: &Watch,
) -> Result<Shaped, container::Error> {
    let format = sniff(&stream[..stream.len().min(SNIFF_LIMIT)], stream.len() <= SNIFF_LIMIT)?;
    let mut config = container::Config::default();
    if let Some(format) = format {
        config.multiplex = format.default_multiplex();
    }
    let schedule = Schedule::constant(target);
    let mut shaper = ShaperConfig::new(method, target);
    shaper.threads = threads;
    let is_rate = matches!(target, Target::Rate(_));
    shaper.ceiling = is_rate.then_some(Ceiling { bucket: Ceiling::BUCKET, even_seconds: false });
    let config = Config { shaper, container: config };
    let mut pipeline = Pipeline::new(config.clone());
    pipeline.set_schedule(schedule.clone());
    pipeline.announce_length(stream.len() as u64);
    if is_rate || config.shaper.gains_from_plan() {
        let mut pass = FirstPass::new(&config, schedule);
        let mut chunks = stream.chunks(CHUNK);
        while let Some(chunk) = chunks.next().filter(|_| !pass.is_needless()) {
            pass.push(chunk)?;
        }
        if !pass.is_needless() {
            pipeline.set_plan(pass.finish()?);
        }
    }
    let (mut output, mut records) = (Vec::new(), Vec::new());
    for chunk in stream.chunks(CHUNK) {
        pipeline.push(chunk)?;
        pipeline.drain_output(&mut output);
        records.extend(std::iter::from_fn(|| pipeline.poll_record()));
        if watch.passed(TimeDelta::ZERO).is_break() {
            break;
        }
    }
    pipeline.finish()?;
    pipeline.drain_output(&mut output);
    records.extend(std::iter::from_fn(|| pipeline.poll_record()));
    for patch in pipeline.patches() {
        let place = usize::try_from(patch.at).ok().and_then(|at| output.get_mut(at..at + patch.bytes.len()));
        if let Some(place) = place {
            place.copy_from_slice(&patch.bytes);
        }
    }
    Ok((output, records, pipeline.report()))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(shape, module)?)
}
