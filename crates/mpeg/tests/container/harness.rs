//! Runs a stream through the remultiplexer.

use seaway_mpeg::container::{
    CodedPicture, Config, ContainerReport, Error, Remuxer, Replacement, Report, TransportReport,
};
use std::collections::VecDeque;

pub(crate) const TRANSPORT: &[u8] = include_bytes!("../fixtures/two_programmes.ts");
pub(crate) const PROGRAM: &[u8] = include_bytes!("../fixtures/program.vob");
pub(crate) const SYSTEM: &[u8] = include_bytes!("../fixtures/system.mpg");
pub(crate) const PACKS: &[u8] = include_bytes!("../fixtures/packs.mpg");
pub(crate) const ELEMENTARY: &[u8] = include_bytes!("../fixtures/elementary.m2v");
pub(crate) const ALL: [&[u8]; 5] = [TRANSPORT, PROGRAM, SYSTEM, PACKS, ELEMENTARY];

/// Parameters of a run: bytes of each push, delay in pictures, configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunConfig {
    pub(crate) chunk: usize,
    pub(crate) delay: usize,
    pub(crate) config: Config,
}

impl Default for RunConfig {
    fn default() -> RunConfig {
        RunConfig { chunk: 4096, delay: 0, config: Config::default() }
    }
}

pub(crate) struct RunResult {
    pub(crate) result: Result<(), Error>,
    pub(crate) output: Vec<u8>,
    pub(crate) pictures: Vec<CodedPicture>,
    pub(crate) report: Report,
}

impl RunResult {
    /// Counts of a transport stream.
    pub(crate) fn transport(&self) -> &TransportReport {
        match &self.report.container {
            Some(ContainerReport::Transport(report)) => report,
            other => panic!("{other:?}"),
        }
    }
}

/// Remultiplexes `input`, with each picture replaced by `shape`.
pub(crate) fn run(
    input: &[u8],
    plan: RunConfig,
    mut shape: impl FnMut(&CodedPicture) -> Replacement,
) -> RunResult {
    let mut remuxer = Remuxer::new(plan.config);
    let (mut output, mut pictures, mut held) = (Vec::new(), Vec::new(), VecDeque::new());
    let mut turn = |remuxer: &mut Remuxer, delay: usize| {
        let mut result = Ok(());
        held.extend(std::iter::from_fn(|| remuxer.poll_picture()));
        while held.len() > delay {
            let picture = held.pop_front().unwrap();
            result = result.and(remuxer.replace(shape(&picture)).map(drop));
            pictures.push(picture);
        }
        remuxer.drain_output(&mut output);
        result
    };
    let mut result = Ok(());
    for chunk in input.chunks(plan.chunk) {
        result = result.and_then(|()| remuxer.push(chunk));
        result = turn(&mut remuxer, plan.delay).and(result);
    }
    let result = result.and_then(|()| remuxer.finish());
    let result = turn(&mut remuxer, 0).and(result);
    RunResult { result, output, pictures, report: remuxer.report() }
}

pub(crate) fn keep(_: &CodedPicture) -> Replacement {
    Replacement::Kept
}

/// Keeps about `share` of a picture, at least its headers.
pub(crate) fn cut(share: f64) -> impl FnMut(&CodedPicture) -> Replacement {
    move |picture| {
        let len = (picture.unit.data.len() as f64 * share) as usize;
        Replacement::Bytes(picture.unit.data[..len.max(50).min(picture.unit.data.len())].to_vec())
    }
}

/// The expected video after [`cut`].
pub(crate) fn expected(pictures: &[CodedPicture], share: f64) -> Vec<u8> {
    let mut shape = cut(share);
    let bytes = |picture: &CodedPicture| match shape(picture) {
        Replacement::Bytes(bytes) => bytes,
        Replacement::Kept => picture.unit.data.clone(),
    };
    pictures.iter().flat_map(bytes).collect()
}
