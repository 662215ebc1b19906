//! Runs batches one by one, or in a pipeline: the caller collects one batch while the one before is parsed and the
//! one before that is shaped.

use super::batch::{Batch, BatchShaper};
use super::config::Config;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Shapes batches; they leave in the order they came in.
#[derive(Debug)]
pub(super) enum Executor {
    /// On the caller's thread.
    Inline(Box<BatchShaper>),
    /// On worker threads.
    Pipelined(Pipeline),
}

impl Executor {
    pub(super) fn new(config: &Config) -> Self {
        let threads = config.threads.get();
        let shaper = BatchShaper::new(config.clone());
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        match pool {
            Some(Ok(pool)) => Self::Pipelined(Pipeline::new(&pool, shaper)),
            // Without worker threads the caller's thread does all the work.
            _ => Self::Inline(Box::new(shaper)),
        }
    }

    /// Takes a batch and returns a shaped one; an empty one while the pipeline fills.
    pub(super) fn pass(&mut self, mut batch: Batch) -> Batch {
        match self {
            Self::Inline(shaper) => {
                batch.parse(shaper.config());
                shaper.shape(&mut batch);
                batch
            }
            Self::Pipelined(pipeline) => pipeline.pass(batch),
        }
    }
}

/// Stages of the pipeline: collected, parsed, shaped.
pub(super) const STAGES: usize = 3;

/// Worker threads that go from step to step by themselves: the caller hands over a batch before it waits for one, so that the
/// next step begins while the caller is still asleep.
#[derive(Debug)]
pub(super) struct Pipeline {
    batches: Sender<Batch>,
    /// Returns the batch that each step has shaped.
    shaped: Receiver<Batch>,
}

impl Pipeline {
    /// Runs the steps on a pool, whose threads end with them.
    fn new(pool: &ThreadPool, shaper: BatchShaper) -> Self {
        let (batches, collected) = channel();
        let (done, shaped) = channel();
        pool.spawn(move || run_steps(shaper, &collected, &done));
        let pipeline = Self { batches, shaped };
        pipeline.send(Batch::default());
        pipeline
    }

    fn send(&self, batch: Batch) {
        self.batches.send(batch).expect("the steps run as long as there are batches");
    }

    fn pass(&self, batch: Batch) -> Batch {
        self.send(batch);
        self.shaped.recv().expect("each step returns a batch")
    }
}

/// Shapes one batch while the next one is parsed, until no more can come.
fn run_steps(mut shaper: BatchShaper, collected: &Receiver<Batch>, done: &Sender<Batch>) {
    let config = shaper.config().clone();
    let mut parsed = Batch::default();
    while let Ok(mut next) = collected.recv() {
        rayon::join(|| shaper.shape(&mut parsed), || next.parse(&config));
        if done.send(std::mem::replace(&mut parsed, next)).is_err() {
            break;
        }
    }
}
