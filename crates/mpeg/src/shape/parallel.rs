//! Several threads: the same job on many pictures, and one batch parsed while the one before is decided and the caller
//! collects the next.

use super::batch::{Batch, Decider};
use super::config::Config;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Calls `job` once for each item, in any order, on the threads of the pool that this is called in.
pub(crate) fn for_each<T: Send>(threads: NonZeroUsize, items: &mut [T], job: impl Fn(&mut T) + Send + Sync) {
    if threads.get() == 1 {
        items.iter_mut().for_each(job);
    } else {
        items.par_iter_mut().with_max_len(1).for_each(job);
    }
}

/// The way of the batches, which leave in the order they came in.
#[derive(Debug)]
pub(super) enum Line {
    /// Each is decided when it comes.
    Single(Box<Decider>),
    /// Each is parsed while the one before is decided, and the caller collects the next.
    Several(Crew),
}

impl Line {
    pub(super) fn new(config: &Config) -> Self {
        let threads = config.threads.get();
        let decider = Decider::new(config.clone());
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        match pool {
            Some(Ok(pool)) => Self::Several(Crew::new(pool, decider)),
            // Where no threads can be had the caller's does it all.
            _ => Self::Single(Box::new(decider)),
        }
    }

    /// Takes a batch, and gives one that is decided: empty where the first are still on their way.
    pub(super) fn pass(&mut self, mut batch: Batch) -> Batch {
        match self {
            Self::Single(decider) => {
                batch.parse(decider.threads());
                decider.decide(&mut batch);
                batch
            }
            Self::Several(crew) => crew.pass(batch),
        }
    }
}

/// So many batches are on their way, or one being collected, at most.
pub(super) const STAGES: usize = 3;

/// The threads, and what they have in hand.
#[derive(Debug)]
pub(super) struct Crew {
    pool: ThreadPool,
    sender: Sender<Step>,
    /// Gives the step under way, once it is done.
    done: Receiver<Step>,
}

/// What is done at the same time.
#[derive(Debug)]
struct Step {
    decider: Decider,
    to_decide: Batch,
    to_parse: Batch,
}

impl Crew {
    fn new(pool: ThreadPool, decider: Decider) -> Self {
        let (sender, done) = channel();
        let crew = Self { pool, sender, done };
        crew.start(Step { decider, to_decide: Batch::default(), to_parse: Batch::default() });
        crew
    }

    fn pass(&self, to_parse: Batch) -> Batch {
        let step = self.done.recv().expect("a step is always under way");
        self.start(Step { decider: step.decider, to_decide: step.to_parse, to_parse });
        step.to_decide
    }

    fn start(&self, mut step: Step) {
        let sender = self.sender.clone();
        self.pool.spawn(move || {
            let Step { decider, to_decide, to_parse } = &mut step;
            let threads = decider.threads();
            rayon::join(|| decider.decide(to_decide), || to_parse.parse(threads));
            // Nobody waits for it where the shaper is gone.
            let _ = sender.send(step);
        });
    }
}
