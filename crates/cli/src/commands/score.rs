//! `seaway score`: the quality of what a viewer saw.

use crate::failure::Failure;
use crate::files::Output;
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::plot_options::PlotOptions;
use crate::progress::Progress;
use clap::ValueEnum;
use seaway_lab::plot;
use seaway_lab::score::{self, Align, Metrics, Mode, Options, Report, ScoreError};
use seaway_media::input::{PictureSource, open_reference};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The clip that was sent: Y4M, MP4 or MKV, H.264, MPEG-1 or MPEG-2; anything else through FFmpeg where it is installed
    reference: String,
    /// The clip that was received
    received: String,
    /// Over which pictures means are taken: 'viewer', all from the first that was shown; 'evalvid', the whole original, with
    /// a missing picture replaced by the last decoded one
    #[arg(long, value_enum, default_value_t = ModeName::Viewer)]
    mode: ModeName,
    /// How pictures are matched: by 'time', 'index' or 'content'; 'auto' chooses by what the received file has
    #[arg(long, value_enum, default_value_t = AlignName::Auto)]
    align: AlignName,
    /// Metrics beside PSNR; all by default, 'vmaf' if FFmpeg has it
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    metrics: Option<Vec<Metric>>,
    /// Scale received pictures to the size of the reference instead of refusing them
    #[arg(long)]
    scale: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Write the scores of each picture to a CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Write a folder with the scores, a table of each picture, a plot and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    plots: PlotOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    Viewer,
    Evalvid,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AlignName {
    Auto,
    Time,
    Index,
    Content,
}

/// Metrics that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Metric {
    Psnr,
    Ssim,
    SsimGaussian,
    MsSsim,
    Vmaf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.json && arguments.csv.as_deref() == Some("-") {
        return Err(Failure::input(&"--json and --csv - both want standard output"));
    }
    let options = options(arguments)?;
    let [reference, received] = [&arguments.reference, &arguments.received].map(|name| open(name));
    let (reference, received) = (reference?, received?);
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let table = arguments.csv.as_deref().map(Output::create).transpose()?;
    let progress = Progress::of_pictures();
    let report = score::score(reference, received, options, &mut || {
        progress.next_picture();
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.clear();
    let report = report.map_err(|error| refuse(arguments, &error))?;
    if let Some(folder) = folder {
        save(folder, arguments, &report)?;
    }
    if let Some(mut table) = table {
        let mut rows = Vec::new();
        // Writing to memory does not fail.
        let _ = report.write_csv(&mut rows);
        table.put(&rows)?;
        table.finish()?;
    }
    if arguments.csv.as_deref() == Some("-") {
        return Ok(ExitCode::SUCCESS);
    }
    print(arguments, &report).map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let metrics = match &arguments.metrics {
        None => Metrics::default(),
        Some(named) => {
            let has = |metric| named.contains(&metric);
            if has(Metric::Vmaf) && !score::has_vmaf() {
                return Err(Failure::input(
                    &"vmaf needs an FFmpeg with its libvmaf filter, and there is none",
                ));
            }
            Metrics {
                ssim: has(Metric::Ssim),
                gaussian: has(Metric::SsimGaussian) || has(Metric::MsSsim),
                vmaf: has(Metric::Vmaf),
            }
        }
    };
    Ok(Options {
        mode: match arguments.mode {
            ModeName::Viewer => Mode::Viewer,
            ModeName::Evalvid => Mode::EvalVid,
        },
        align: match arguments.align {
            AlignName::Auto => Align::Auto,
            AlignName::Time => Align::Time,
            AlignName::Index => Align::Index,
            AlignName::Content => Align::Content,
        },
        metrics,
        scale: arguments.scale,
    })
}

fn open(name: &str) -> Result<Box<dyn PictureSource>, Failure> {
    let named = |error: seaway_media::Error| {
        let text = error.to_string();
        // Some errors begin with the name already.
        Failure::input(&if text.contains(name) { text } else { format!("{name}: {text}") })
    };
    open_reference(name).map_err(named)
}

fn refuse(arguments: &Arguments, error: &ScoreError) -> Failure {
    match error {
        ScoreError::Interrupted => Failure::running(error),
        ScoreError::Vmaf(_) => Failure::running(error),
        ScoreError::Reference(cause) => Failure::input(&format!("{}: {cause}", arguments.reference)),
        ScoreError::Received(cause) => Failure::input(&format!("{}: {cause}", arguments.received)),
        ScoreError::Sizes { .. } => Failure::input(&format!("{error}, or say --scale")),
        other => Failure::input(other),
    }
}

fn save(folder: Folder, arguments: &Arguments, report: &Report) -> Result<(), Failure> {
    folder.write_json("run.json", &Provenance::of_this_process())?;
    folder.write_json("score.json", report)?;
    folder.write("frames.csv", |file| report.write_csv(file))?;
    let title = format!("{} against {}", arguments.received, arguments.reference);
    let picture = plot::svg(&report.series(), &[], &title, arguments.plots.style());
    folder.write("plot.svg", |file| file.write_all(picture.as_bytes()))?;
    folder.finish()
}

fn print(arguments: &Arguments, report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, report)?;
        return writeln!(out);
    }
    let Report { reference, received, frames, psnr_db, psnr_all_db, freezes, stalls, .. } = report;
    writeln!(out, "{} pictures of {}, {} received", reference.frames, arguments.reference, received.frames)?;
    writeln!(
        out,
        "frames         {} displayed, {} repeated, {} missing, {} before the first; {} received and unused, {} undecodable",
        frames.displayed,
        frames.repeated,
        frames.missing,
        frames.not_begun,
        frames.unused,
        frames.undecodable
    )?;
    for (name, psnr) in [("PSNR luma", psnr_db), ("PSNR all", psnr_all_db)] {
        let [mean, of_mean, min, p5] = [psnr.mean, psnr.of_mean_mse, psnr.min, psnr.p5];
        writeln!(
            out,
            "{name:<14} {mean:.2} dB mean, {of_mean:.2} dB of the mean error; 5 %: {p5:.2}, least: {min:.2}"
        )?;
    }
    let metrics = [
        ("SSIM luma", report.ssim),
        ("SSIM all", report.ssim_all),
        ("SSIM 11x11", report.ssim_gaussian),
        ("MS-SSIM", report.ms_ssim),
        ("VMAF", report.vmaf),
    ];
    for (name, metric) in metrics {
        if let Some(metric) = metric {
            writeln!(
                out,
                "{name:<14} {:.4} mean; 5 %: {:.4}, least: {:.4}",
                metric.mean, metric.p5, metric.min
            )?;
        }
    }
    if let Some(mos) = report.mos {
        writeln!(out, "opinion        {:.2}; pictures of grade 1 to 5: {:?}", mos.mean, mos.grades)?;
    }
    writeln!(
        out,
        "freezes        {}, {:.2} s together, longest {:.2} s",
        freezes.count, freezes.total_s, freezes.longest_s
    )?;
    writeln!(
        out,
        "stalls         {}, {:.2} s together, longest {:.2} s",
        stalls.count, stalls.total_s, stalls.longest_s
    )?;
    if let Some(delay) = report.delay_ms {
        writeln!(
            out,
            "delay          p50 {:.0} ms, p95 {:.0} ms, p99 {:.0} ms above the least",
            delay.p50, delay.p95, delay.p99
        )?;
    }
    Ok(())
}
