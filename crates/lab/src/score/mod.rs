//! The quality that a viewer saw: a received sequence of pictures compared with the one that was sent.
//!
//! Each picture of the reference is compared with the picture on screen at its presentation time: itself as received, or
//! an older one where it was dropped, lost or late. So a freeze lowers the score.

mod align;
mod measure;
mod report;
mod vmaf;

pub use align::Fate;
pub use measure::{Metrics, PictureScores};
pub use report::{FrameScore, Report};

use align::{Aligner, Pair, Pictures};
use report::Facts;
use seaway_media::input::PictureSource;
use seaway_media::{Error, Picture, PictureSize};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use vmaf::Vmaf;

/// How received pictures are paired with those of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Align {
    /// By time where the received file has times. Where it has none: by index, or by content where it has fewer
    /// pictures than the reference.
    Auto,
    /// By their times: the newest picture that is due stands on the screen.
    Time,
    /// The first with the first, and so on.
    Index,
    /// Each received picture with the most similar one of the next two seconds.
    Content,
}

/// The pictures that a mean is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// All pictures from the first that was shown.
    Viewer,
    /// EvalVid's procedure: a sequence as long as the original, with missing pictures replaced by the last decoded one,
    /// and by black before the first; all pictures count.
    EvalVid,
}

/// How to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How pictures are paired.
    pub align: Align,
    /// The pictures that means are over.
    pub mode: Mode,
    /// The metrics to compute.
    pub metrics: Metrics,
    /// Scale received pictures to the size of the reference instead of refusing them.
    pub scale: bool,
}

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The reference cannot be read.
    #[error("reference: {0}")]
    Reference(Error),
    /// The received file cannot be read.
    #[error("received: {0}")]
    Received(Error),
    /// Sizes differ.
    #[error("the reference is {reference}, the received picture {received}: scale one first")]
    Sizes {
        /// Of the reference.
        reference: PictureSize,
        /// Of a received picture.
        received: PictureSize,
    },
    /// One of them holds no picture.
    #[error("{0} holds no picture")]
    Empty(&'static str),
    /// FFmpeg's VMAF.
    #[error("VMAF: {0}")]
    Vmaf(String),
    /// Broken off.
    #[error("interrupted")]
    Interrupted,
}

/// Whether VMAF can be computed here.
pub fn has_vmaf() -> bool {
    Vmaf::is_there()
}

/// Scores `received` against `reference`. Each is decoded in a thread of its own, pictures are compared on all cores, and
/// at most a few seconds of pictures are in memory. `progress` is called for each picture of the reference and may break
/// it off.
///
/// # Errors
/// Where an input breaks or holds no picture, sizes differ, or FFmpeg's VMAF fails.
pub fn score(
    mut reference: Box<dyn PictureSource>,
    mut received: Box<dyn PictureSource>,
    options: Options,
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Report, ScoreError> {
    let align = resolve_align(options.align, reference.as_mut(), received.as_mut())?;
    let formats = [reference.format(), received.format()];
    if formats[0].size != formats[1].size && !options.scale {
        return Err(ScoreError::Sizes { reference: formats[0].size, received: formats[1].size });
    }
    let options = Options { align, ..options };
    let has_times = received.has_times();
    let vmaf = match options.metrics.vmaf && has_vmaf() {
        true => Some(Vmaf::start(formats[0].size, formats[0].frame_rate).map_err(ScoreError::Vmaf)?),
        false => None,
    };
    thread::scope(|scope| {
        let (reference, reference_thread) = decode_ahead(scope, reference);
        let (received, received_thread) = decode_ahead(scope, received);
        let scale = options.scale.then_some(formats[0].size);
        let interval = formats[0].frame_rate.interval();
        let aligner = Aligner::new(align, interval, has_times, scale, reference, received);
        let compared = compare_all(aligner, options, vmaf, progress)?;
        let undecodable = [reference_thread, received_thread].map(|thread| thread.join().unwrap_or(0));
        Report::new(Facts { options, formats, compared, undecodable: undecodable[1] })
    })
}

/// Chooses how to align for [`Align::Auto`].
fn resolve_align(
    align: Align,
    reference: &mut dyn PictureSource,
    received: &mut dyn PictureSource,
) -> Result<Align, ScoreError> {
    if align != Align::Auto {
        return Ok(align);
    }
    if received.has_times() {
        return Ok(Align::Time);
    }
    // A source that cannot be read twice is paired by index.
    let Some(expected) = count(reference).map_err(ScoreError::Reference)? else { return Ok(Align::Index) };
    let Some(found) = count(received).map_err(ScoreError::Received)? else { return Ok(Align::Index) };
    Ok(if found < expected { Align::Content } else { Align::Index })
}

/// The number of pictures; the source is at its beginning again. `None` where it cannot be read twice.
fn count(source: &mut dyn PictureSource) -> Result<Option<u64>, Error> {
    if source.rewind().is_err() {
        return Ok(None);
    }
    let mut pictures = 0;
    while source.next_picture()?.is_some() {
        pictures += 1;
    }
    source.rewind()?;
    Ok(Some(pictures))
}

/// The result of the comparison.
struct Compared {
    frames: Vec<FrameScore>,
    received_pictures: u64,
    unused: u64,
}

/// Compares all pairs on all cores; the scores are in the order of the pictures.
fn compare_all<R: Pictures, S: Pictures>(
    mut aligner: Aligner<R, S>,
    options: Options,
    mut vmaf: Option<Vmaf>,
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Compared, ScoreError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (hand, pairs) = mpsc::sync_channel::<Pair>(2 * cores);
    let pairs = Mutex::new(pairs);
    let (done, scores) = mpsc::channel();
    let mut with_vmaf = Vec::new();
    thread::scope(|scope| {
        for _ in 0..cores {
            let (pairs, done) = (&pairs, done.clone());
            scope.spawn(move || {
                while let Ok(pair) = take(pairs) {
                    // The receiver is dropped only after all scores are in or the work has failed.
                    let _ = done.send(FrameScore::of(&pair, options.metrics));
                }
            });
        }
        drop(done);
        aligner.begin()?;
        while let Some(mut pair) = aligner.next()? {
            measure::fill_in(&mut pair, options.mode);
            if let (Some(vmaf), Some(_)) = (&mut vmaf, &pair.shown) {
                vmaf.put(&pair);
                with_vmaf.push(pair.index);
            }
            if progress().is_break() {
                return Err(ScoreError::Interrupted);
            }
            if hand.send(pair).is_err() {
                break;
            }
        }
        drop(hand);
        Ok(())
    })?;
    let mut frames: Vec<FrameScore> = scores.into_iter().collect::<Result<_, _>>()?;
    frames.sort_unstable_by_key(|frame| frame.index);
    if let Some(vmaf) = vmaf {
        let values = vmaf.finish().map_err(ScoreError::Vmaf)?;
        for (index, value) in with_vmaf.into_iter().zip(values) {
            frames[index as usize].scores.vmaf = Some(value);
        }
    }
    let Aligner { received_pictures, unused, .. } = aligner;
    Ok(Compared { frames, received_pictures, unused })
}

fn take(pairs: &Mutex<Receiver<Pair>>) -> Result<Pair, mpsc::RecvError> {
    pairs.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

/// Decodes pictures ahead in another thread, which ends with the source, an error, or its receiver. The thread returns
/// the number of pictures that could not be decoded.
fn decode_ahead<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    mut source: Box<dyn PictureSource>,
) -> (impl Pictures + use<'scope>, ScopedJoinHandle<'scope, u64>) {
    const HELD: usize = 8;
    let (ahead, pictures): (SyncSender<Result<Picture, Error>>, _) = mpsc::sync_channel(HELD);
    let reader = scope.spawn(move || {
        loop {
            let next = source.next_picture();
            let ends = next.is_err();
            let Some(next) = next.transpose() else { break };
            if ahead.send(next).is_err() || ends {
                break;
            }
        }
        source.undecodable()
    });
    (move || pictures.recv().ok().transpose(), reader)
}

#[cfg(test)]
mod tests;
