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
    Pipelined(WorkerPool),
}

impl Executor {
    pub(super) fn new(config: &Config) -> Self {
        let threads = config.threads.get();
        let shaper = BatchShaper::new(config.clone());
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        match pool {
            Some(Ok(pool)) => Self::Pipelined(WorkerPool::new(pool, shaper)),
            // Without worker threads the caller's thread does all the work.
            _ => Self::Inline(Box::new(shaper)),
        }
    }

    /// Takes a batch and returns a shaped one; an empty one while the pipeline fills.
    pub(super) fn pass(&mut self, mut batch: Batch) -> Batch {
        match self {
            Self::Inline(shaper) => {
                batch.parse(shaper.threads());
                shaper.shape(&mut batch);
                batch
            }
            Self::Pipelined(workers) => workers.pass(batch),
        }
    }
}

/// Stages of the pipeline: collected, parsed, shaped.
pub(super) const STAGES: usize = 3;

/// The worker threads and the step that they are at.
#[derive(Debug)]
pub(super) struct WorkerPool {
    pool: ThreadPool,
    sender: Sender<Job>,
    /// Returns the running step when it is done.
    done: Receiver<Job>,
}

/// Two stages that run at the same time.
#[derive(Debug)]
struct Job {
    shaper: BatchShaper,
    to_shape: Batch,
    to_parse: Batch,
}

impl WorkerPool {
    fn new(pool: ThreadPool, shaper: BatchShaper) -> Self {
        let (sender, done) = channel();
        let workers = Self { pool, sender, done };
        workers.start(Job { shaper, to_shape: Batch::default(), to_parse: Batch::default() });
        workers
    }

    fn pass(&self, to_parse: Batch) -> Batch {
        let step = self.done.recv().expect("a step is always running");
        self.start(Job { shaper: step.shaper, to_shape: step.to_parse, to_parse });
        step.to_shape
    }

    fn start(&self, mut step: Job) {
        let sender = self.sender.clone();
        self.pool.spawn(move || {
            let Job { shaper, to_shape, to_parse } = &mut step;
            let threads = shaper.threads();
            rayon::join(|| shaper.shape(to_shape), || to_parse.parse(threads));
            // Fails where the shaper was dropped.
            let _ = sender.send(step);
        });
    }
}
