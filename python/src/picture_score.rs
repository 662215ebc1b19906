//! `score`: the quality of what a viewer saw.

use crate::error;
use crate::table::Table;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use seaway_lab::score as lab;
use seaway_lab::score::{Align, Metrics, Mode, Options, ScoreError};
use seaway_media::input::{PictureSource, open_reference};
use seaway_units::TimeDelta;

/// Compares a received clip with the one that was sent. Returns the report as `seaway score --json` prints it, and the
/// scores of each picture as time series.
#[pyfunction]
fn score(
    py: Python<'_>,
    reference: &str,
    received: &str,
    mode: &str,
    align: &str,
    metrics: Option<Vec<String>>,
    scale: bool,
) -> PyResult<(String, Table)> {
    let options = Options {
        mode: choose("mode", mode, &[("viewer", Mode::Viewer), ("evalvid", Mode::EvalVid)])?,
        align: choose(
            "align",
            align,
            &[
                ("auto", Align::Auto),
                ("time", Align::Time),
                ("index", Align::Index),
                ("content", Align::Content),
            ],
        )?,
        metrics: metrics.map_or_else(|| Ok(Metrics::default()), |named| chosen_metrics(&named))?,
        scale,
    };
    let failure = Failure::default();
    let watch = Watch::new(None, failure.clone());
    let report = py.detach(|| {
        let (sent, shown) = (open(reference)?, open(received)?);
        lab::score(sent, shown, options, &mut || watch.passed(TimeDelta::ZERO))
            .map_err(|problem| refusal(reference, received, &problem))
    });
    failure.raise()?;
    let report = report?;
    let json = serde_json::to_string_pretty(&report).map_err(error::running)?;
    Ok((json, Table::of_series(&report.series())?))
}

fn choose<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        error::input(format!("{what} is {name:?}: expected one of {}", names.join(", ")))
    })
}

fn chosen_metrics(named: &[String]) -> PyResult<Metrics> {
    let mut metrics = Metrics { ssim: false, gaussian: false, vmaf: false };
    for name in named {
        match name.as_str() {
            "psnr" => {}
            "ssim" => metrics.ssim = true,
            "ssim_gaussian" | "ms_ssim" => metrics.gaussian = true,
            "vmaf" if lab::has_vmaf() => metrics.vmaf = true,
            "vmaf" => {
                return Err(error::input("vmaf needs an FFmpeg with its libvmaf filter, and there is none"));
            }
            _ => {
                let expected = "expected psnr, ssim, ssim_gaussian, ms_ssim or vmaf";
                return Err(error::input(format!("metrics has {name:?}: {expected}")));
            }
        }
    }
    Ok(metrics)
}

fn open(name: &str) -> PyResult<Box<dyn PictureSource>> {
    open_reference(name).map_err(|problem| {
        let text = problem.to_string();
        // Some errors begin with the name already.
        error::input(if text.contains(name) { text } else { format!("{name}: {text}") })
    })
}

fn refusal(reference: &str, received: &str, problem: &ScoreError) -> PyErr {
    match problem {
        ScoreError::Interrupted | ScoreError::Vmaf(_) => error::running(problem),
        ScoreError::Reference(cause) => error::input(format!("{reference}: {cause}")),
        ScoreError::Received(cause) => error::input(format!("{received}: {cause}")),
        ScoreError::Sizes { .. } => error::input(format!("{problem}, or say scale=True")),
        other => error::input(other),
    }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(score, module)?)
}
