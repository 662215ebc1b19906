//! The report of `seaway shape`.

use super::ShapeResult;
use super::options::{Arguments, ShapeOptions, name_in};
use crate::failure::Failure;
use schemars::JsonSchema;
use seaway_mpeg::container::{self, ContainerReport};
use seaway_mpeg::pipeline::{CeilingReport, PictureRecord, Report, Totals, VbvReport};
use seaway_mpeg::shape::{ClosedLoop, Cluster};
use seaway_units::Bitrate;
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::Path;

/// Records of the pictures, kept in a temporary file until the end because a stream may be of any length.
#[derive(Debug)]
pub(super) struct Journal(Option<BufWriter<File>>);

impl Journal {
    /// Records are kept if they are `wanted`, for a JSON document.
    pub(super) fn new(wanted: bool) -> Result<Journal, Failure> {
        let file = wanted.then(tempfile::tempfile).transpose();
        file.map(|file| Journal(file.map(BufWriter::new))).map_err(|error| lost(&error))
    }

    pub(super) fn add(&mut self, record: &PictureRecord) -> Result<(), Failure> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let separator: &[u8] = if record.index == 0 { b"\n    " } else { b",\n    " };
        file.write_all(separator).map_err(|error| lost(&error))?;
        serde_json::to_writer(file, record).map_err(|error| lost(&error.into()))
    }

    /// Prints the report, as a JSON document or as text.
    pub(super) fn print(
        self,
        arguments: &Arguments,
        plan: &ShapeOptions,
        outcome: &ShapeResult,
        on_stdout: bool,
    ) -> Result<(), Failure> {
        if let Journal(Some(notes)) = self {
            return document(notes, arguments, plan, outcome).map_err(|error| Failure::output(&error));
        }
        let text = summary(arguments, plan, outcome);
        let written = if on_stdout {
            std::io::stdout().write_all(text.as_bytes())
        } else {
            std::io::stderr().write_all(text.as_bytes())
        };
        written.map_err(|error| Failure::output(&error))
    }
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::running(&format!("records for the report: {error}"))
}

/// A shaped stream.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::commands) struct Document<'a> {
    /// The version of this form.
    schema: u32,
    /// The version of Seaway.
    seaway: &'static str,
    /// The file that was read.
    input: &'a str,
    /// The file that was written.
    output: &'a str,
    /// How it was shaped.
    method: &'a str,
    /// Macroblocks that share a breakpoint, or `block`.
    cluster: ClusterName,
    /// `auto`, `open` or `closed`, as asked for. `totals` has the pictures that were coded in a closed loop.
    #[serde(rename = "loop")]
    closed_loop: &'static str,
    /// Pictures whose budgets are shared.
    window: NonZeroUsize,
    /// Threads.
    threads: NonZeroUsize,
    /// What was asked for.
    target: AskedTarget<'a>,
    /// False where the output has more bits than the target allows.
    target_held: bool,
    /// False where the ceiling was exceeded.
    ceiling_held: bool,
    /// False where a picture comes too late for its decoding time at the rate of the multiplex.
    multiplex_held: bool,
    /// How often the input was read.
    passes: u8,
    /// True where a signal ended it early.
    interrupted: bool,
    /// Of the video.
    totals: &'a Totals,
    /// Of the ceiling of a target in bit/s; null where none was asked for.
    ceiling: Option<&'a CeilingReport>,
    /// Of the VBV; null where the stream declares none.
    vbv: Option<&'a VbvReport>,
    /// Of the container.
    container: &'a container::Report,
    /// One by one, in coding order; they are written from the journal.
    #[schemars(with = "Vec<PictureRecord>")]
    pictures: [PictureRecord; 0],
}

#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
enum ClusterName {
    Macroblocks(NonZeroU16),
    Block(&'static str),
}

/// What was asked for; one of them is not null.
#[derive(Debug, JsonSchema, Serialize)]
struct AskedTarget<'a> {
    /// A rate in bit/s.
    rate_bps: Option<u64>,
    /// A share of the input's bits.
    ratio: Option<f64>,
    /// The file of a rate that changes.
    rate_schedule: Option<&'a Path>,
}

impl<'a> Document<'a> {
    fn of(arguments: &'a Arguments, plan: &ShapeOptions, outcome: &'a ShapeResult) -> Self {
        let Report { totals, ceiling, vbv, container } = &outcome.report;
        Self {
            schema: 1,
            seaway: seaway_report::VERSION,
            input: &arguments.input,
            output: &arguments.output,
            method: arguments.method_name(),
            cluster: match plan.shaper.cluster {
                Cluster::Macroblocks(count) => ClusterName::Macroblocks(count),
                Cluster::Block => ClusterName::Block("block"),
            },
            closed_loop: name_in(&ClosedLoop::ALL, &plan.shaper.closed_loop),
            window: plan.shaper.window,
            threads: plan.shaper.threads,
            target: AskedTarget {
                rate_bps: arguments.rate.map(Bitrate::as_bps),
                ratio: arguments.ratio,
                rate_schedule: arguments.rate_schedule.as_deref(),
            },
            target_held: outcome.holds_target(),
            ceiling_held: outcome.holds_ceiling(),
            multiplex_held: outcome.holds_multiplex(),
            passes: outcome.passes,
            interrupted: outcome.interrupted,
            totals,
            ceiling: ceiling.as_ref(),
            vbv: vbv.as_ref(),
            container,
            pictures: [],
        }
    }
}

fn document(
    notes: BufWriter<File>,
    arguments: &Arguments,
    plan: &ShapeOptions,
    outcome: &ShapeResult,
) -> std::io::Result<()> {
    let head = serde_json::to_string_pretty(&Document::of(arguments, plan, outcome))?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}[", head.trim_end_matches("[]\n}"))?;
    let mut notes = notes.into_inner()?;
    notes.rewind()?;
    std::io::copy(&mut BufReader::new(notes), &mut out)?;
    writeln!(out, "\n  ]\n}}")
}

/// What a ceiling did not keep.
fn missed_ceiling(ceiling: &CeilingReport) -> Vec<String> {
    let mut missed = Vec::new();
    if ceiling.overflows > 0 {
        let (pictures, level) = (ceiling.overflows, 100.0 * ceiling.highest_level);
        missed.push(format!("{pictures} pictures overflow the bucket, to {level:.1} %"));
    }
    if ceiling.exceeded_seconds > 0 {
        let (seconds, most) = (ceiling.exceeded_seconds, 100.0 * ceiling.fullest_second);
        missed.push(format!("{seconds} seconds are above 103 % of their rate, at {most:.1} % at most"));
    }
    missed
}

/// The report as text.
fn summary(arguments: &Arguments, plan: &ShapeOptions, outcome: &ShapeResult) -> String {
    let Report { totals, ceiling, vbv, container } = &outcome.report;
    let rate = |bps| format!("{:.3}", Bitrate::from_bps_f64(bps));
    let mut lines = vec![
        format!(
            "{}: {}, {} pictures, {:.2} s",
            arguments.input, container.format, totals.pictures, totals.seconds
        ),
        format!(
            "video {} -> {} ({:.1} %), {} -> {} B in all",
            rate(totals.rate_in_bps),
            rate(totals.rate_out_bps),
            100.0 * totals.bits_out as f64 / totals.bits_in.max(1) as f64,
            container.bytes_in,
            container.bytes_out,
        ),
    ];
    if plan.asks_for_a_rate() && outcome.passes == 1 {
        lines.push("one pass: the rate is met as the video comes".to_owned());
    }
    if let Some(ceiling) = ceiling {
        lines.push(format!(
            "a bucket of {:.3} s was filled to {:.1} %, the fullest second had {:.1} % of its rate",
            ceiling.bucket_seconds,
            100.0 * ceiling.highest_level,
            100.0 * ceiling.fullest_second,
        ));
    }
    if !outcome.patched {
        lines.push("a pipe: the output is a segment of unknown size, and its index is left out".to_owned());
    }
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            lines.push(format!("{count} {what}"));
        }
    };
    note(totals.closed_loop, "pictures coded in a closed loop");
    note(totals.damaged_slices, "damaged slices copied unchanged");
    note(totals.left_alone.not_readable, "unreadable pictures copied unchanged");
    note(container.given_up, "pictures copied unchanged because memory was short");
    for (count, what) in container.container.iter().flat_map(ContainerReport::warnings) {
        note(count, what);
    }
    if let Some(vbv) = vbv.as_ref().filter(|vbv| vbv.after.underflows > 0) {
        let (after, before) = (vbv.after.underflows, vbv.before.underflows);
        lines.push(format!("{after} pictures too large for the declared buffer and rate, {before} before"));
    }
    if !outcome.holds_target() {
        let target = rate(totals.bits_allowed / totals.seconds.max(f64::MIN_POSITIVE));
        let reached = rate(totals.rate_out_bps);
        lines.push(if totals.is_least() {
            format!("MISSED: target {target}, the least that {} reaches is {reached}", arguments.method_name())
        } else {
            let (at_floor, pictures) = (totals.at_floor, totals.pictures);
            format!("MISSED: target {target}, reached {reached}; {at_floor} of {pictures} pictures are at their least")
        });
    }
    for missed in ceiling.iter().flat_map(missed_ceiling) {
        lines.push(format!("MISSED: {missed}"));
    }
    if !outcome.holds_multiplex() {
        let late = outcome.late_pictures();
        lines
            .push(format!("MISSED: {late} pictures too late for their decoding time at that multiplex rate"));
    }
    lines.push(String::new());
    lines.join("\n")
}
