//! `seaway shape`: lowers the rate of coded MPEG-1 and MPEG-2 video.

mod control;
mod live;
mod options;
mod report;

use crate::failure::{Failure, MISSED};
use crate::files::{Chunk, Input, Output, are_one_file};
use crate::interrupt;
use crate::progress::Progress;
use control::Control;
pub(crate) use options::Arguments;
use options::ShapeOptions;
pub(super) use report::Document;
use report::Journal;
use seaway_mpeg::container::{ContainerReport, Error, Format, SNIFF_LIMIT, sniff};
use seaway_mpeg::pipeline::{self, CeilingReport, FirstPass, Pipeline, Trial};
use seaway_units::TimeDelta;
use std::process::ExitCode;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let plan = arguments.plan()?;
    if arguments.json && arguments.output == "-" {
        let text = "--json prints on standard output, and so does the stream; name a file for one of them";
        return Err(Failure::input(&text));
    }
    if are_one_file(&arguments.input, &arguments.output) {
        return Err(Failure::input(&format!(
            "{}: the output is the input; name another file",
            arguments.output
        )));
    }
    match (live::is_live(&arguments.input), live::is_live(&arguments.output)) {
        (true, true) => return live::run(arguments, &plan),
        (false, false) => {}
        _ => {
            let text =
                "a live stream goes from the network to the network: both names are udp://, rtp:// or srt://";
            return Err(Failure::input(&text));
        }
    }
    if let Some(option) = arguments.live_option() {
        return Err(Failure::input(&format!("{option} is for streams from the network to the network")));
    }
    interrupt::install()?;
    let source = Input::open(&arguments.input)?;
    let mut sink = Output::create(&arguments.output)?;
    let mut journal = Journal::new(arguments.json)?;
    let outcome = shape(arguments, &plan, &source, &mut sink, &mut journal)?;
    let on_stdout = !sink.is_stdout();
    sink.finish()?;
    journal.print(arguments, &plan, &outcome, on_stdout)?;
    if outcome.interrupted {
        return Err(Failure::running(&format!("interrupted after {} B", outcome.report.container.bytes_in)));
    }
    let held = outcome.holds_target() && outcome.holds_ceiling() && outcome.holds_multiplex();
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// How much of a pipe is read ahead for a rate.
const LOOKAHEAD: TimeDelta = TimeDelta::from_secs(2);

/// The result of a run.
#[derive(Debug)]
pub(crate) struct ShapeResult {
    interrupted: bool,
    /// Over the input: with one more a plan shares out its bits, with two that was tried.
    passes: u8,
    /// The output has what is known at its end only.
    patched: bool,
    report: seaway_mpeg::pipeline::Report,
}

impl ShapeResult {
    fn holds_target(&self) -> bool {
        !self.report.missed_target()
    }

    /// True where no stretch of the output is above the rate and its bucket.
    fn holds_ceiling(&self) -> bool {
        self.report.ceiling.as_ref().is_none_or(CeilingReport::is_kept)
    }

    /// True where no picture is late for its decoding time at a constant multiplex rate.
    fn holds_multiplex(&self) -> bool {
        self.late_pictures() == 0
    }

    fn late_pictures(&self) -> u64 {
        self.report.container.container.as_ref().map_or(0, ContainerReport::late_pictures)
    }
}

fn shape(
    arguments: &Arguments,
    plan: &ShapeOptions,
    source: &Input,
    sink: &mut Output,
    journal: &mut Journal,
) -> Result<ShapeResult, Failure> {
    let name = &arguments.input;
    let refused = |error: Error| Failure::input(&format!("{name}: {error}"));
    let (head, format) = read_head(source, name)?;
    let mut config = plan.config(format).map_err(|problem| Failure::input(&format!("{name}: {problem}")))?;
    if source.len().is_none() && plan.plans_ahead() {
        config.shaper.lookahead = LOOKAHEAD;
    }
    let config_of_passes = config.clone();
    let mut pipeline = Pipeline::new(config);
    pipeline.set_schedule(plan.schedule.clone());
    if let Some(length) = source.len() {
        pipeline.announce_length(length);
    }
    let mut passes = 1;
    if source.len().is_some()
        && plan.plans_ahead()
        && let Some(found) = rate_plan(arguments, &config_of_passes, &plan.schedule)?
    {
        passes += 1 + u8::from(found.gains_from_trial());
        pipeline.set_plan(found);
    }
    if interrupt::requested() {
        return Err(Failure::running(&"interrupted before the output began"));
    }
    let mut control = arguments.control.as_deref().map(Control::open).transpose()?;
    // A command of the control channel waits for no more than so many bytes of video.
    let piece = if control.is_some() { 4 << 10 } else { usize::MAX };
    let progress = Progress::of_bytes(source.len());
    let mut output = Vec::new();
    let mut chunk = Chunk::Bytes(head);
    while !interrupt::requested() {
        match chunk {
            Chunk::Bytes(bytes) => {
                for bytes in bytes.chunks(piece) {
                    if let Some(control) = &mut control {
                        control.apply(|at, target| pipeline.change_target(at, target));
                    }
                    pipeline.push(bytes).map_err(refused)?;
                }
                progress.read(bytes.len());
            }
            Chunk::Nothing => {}
            Chunk::End => break,
        }
        drain(&mut pipeline, &mut output, sink, journal)?;
        chunk = source.next()?;
    }
    pipeline.finish().map_err(refused)?;
    drain(&mut pipeline, &mut output, sink, journal)?;
    let mut patched = true;
    for patch in pipeline.patches() {
        patched &= sink.patch(patch.at, &patch.bytes)?;
    }
    progress.clear();
    Ok(ShapeResult { interrupted: interrupt::requested(), passes, patched, report: pipeline.report() })
}

/// Plans the bits of a file; `None` where that was interrupted, or a plan is not worth its time.
fn rate_plan(
    arguments: &Arguments,
    config: &pipeline::Config,
    schedule: &pipeline::Schedule,
) -> Result<Option<pipeline::RatePlan>, Failure> {
    let refused = |error: Error| Failure::input(&format!("{}: {error}", arguments.input));
    let mut pass = FirstPass::new(config, schedule.clone());
    let read = read_whole(arguments, |bytes| {
        pass.push(bytes)?;
        Ok(!pass.is_needless())
    })?;
    if !read {
        return Ok(None);
    }
    let plan = pass.finish().map_err(refused)?;
    if !plan.gains_from_trial() {
        return Ok(Some(plan));
    }
    let mut trial = Trial::new(config, schedule.clone(), plan);
    let read = read_whole(arguments, |bytes| trial.push(bytes).map(|()| true))?;
    read.then(|| trial.finish().map_err(refused)).transpose()
}

/// Reads the input for a pass without output, as long as that returns true; false where it did not come to the end.
fn read_whole(
    arguments: &Arguments,
    mut push: impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<bool, Failure> {
    let name = &arguments.input;
    let source = Input::open(name)?;
    let progress = Progress::of_bytes(source.len());
    let mut goes_on = true;
    while goes_on && !interrupt::requested() {
        match source.next()? {
            Chunk::Bytes(bytes) => {
                goes_on = push(&bytes).map_err(|error| Failure::input(&format!("{name}: {error}")))?;
                progress.read(bytes.len());
            }
            Chunk::Nothing => {}
            Chunk::End => {
                progress.clear();
                return Ok(true);
            }
        }
    }
    progress.clear();
    Ok(false)
}

/// Reads until the format is known; returns the bytes read.
fn read_head(source: &Input, name: &str) -> Result<(Vec<u8>, Format), Failure> {
    let mut head = Vec::new();
    loop {
        let complete = match source.next()? {
            Chunk::Bytes(bytes) => {
                head.extend(bytes);
                false
            }
            Chunk::Nothing => false,
            Chunk::End => true,
        };
        if interrupt::requested() {
            return Err(Failure::running(&"interrupted before the format was known"));
        }
        let looked_at = &head[..head.len().min(SNIFF_LIMIT)];
        match sniff(looked_at, complete) {
            Ok(Some(format)) => return Ok((head, format)),
            Ok(None) => {}
            Err(error) => return Err(Failure::input(&format!("{name}: {error}"))),
        }
    }
}

/// Writes the output and the records that are ready.
fn drain(
    pipeline: &mut Pipeline,
    output: &mut Vec<u8>,
    sink: &mut Output,
    journal: &mut Journal,
) -> Result<(), Failure> {
    pipeline.drain_output(output);
    sink.put(output)?;
    output.clear();
    while let Some(record) = pipeline.poll_record() {
        journal.add(&record)?;
    }
    Ok(())
}
