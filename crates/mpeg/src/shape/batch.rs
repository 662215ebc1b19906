//! Pictures that are decided together, and what decides them.

use super::auto::Auto;
use super::budget::Account;
use super::causal::Causal;
use super::config::{Config, Method, Target};
use super::parallel;
use super::requantize;
use super::shaper::Shaped;
use super::truncation;
use super::work::Work;
use std::num::NonZeroUsize;

/// Pictures that are decided together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) works: Vec<Work>,
    /// By picture.
    pub(super) targets: Vec<Target>,
    /// What its newest reference picture passes on to later ones.
    pub(super) beyond: f32,
}

/// Decides batches in order, and remembers from one to the next.
#[derive(Debug)]
pub(super) struct Decider {
    config: Config,
    account: Account,
    auto: Auto,
    causal: Causal,
}

impl Batch {
    /// Reads the slices. Depends on nothing but the pictures.
    pub(super) fn parse(&mut self, threads: NonZeroUsize) {
        parallel::for_each(threads, &mut self.works, Work::parse);
    }

    /// What comes of it, in order, once it is decided.
    pub(super) fn shaped(&mut self) -> impl Iterator<Item = Shaped> {
        self.works.iter_mut().map(|work| {
            work.report.bits_out = work.writer.bit_length() as u64;
            Shaped { bytes: work.writer.bytes().to_vec(), report: work.report.clone() }
        })
    }
}

impl Decider {
    pub(super) fn new(config: Config) -> Self {
        let account = Account::new(config.target);
        Self { config, account, auto: Auto::new(), causal: Causal::default() }
    }

    pub(super) fn threads(&self) -> NonZeroUsize {
        self.config.threads
    }

    /// Decides and writes a batch that is parsed.
    pub(super) fn decide(&mut self, batch: &mut Batch) {
        let Self { config, account, auto, causal } = self;
        let Batch { works, targets, beyond } = batch;
        if works.is_empty() {
            return;
        }
        match config.method {
            Method::Memoryless | Method::RateBased => {
                truncation::by_picture(config, account, works, targets);
            }
            Method::Causal => truncation::causally(config, account, causal, works, targets),
            Method::Requantize => requantize::by_batch(config, account, works, targets),
            Method::Window => truncation::by_window(config, account, works, targets, *beyond),
            Method::Auto => auto.shape(config, account, works, targets, *beyond),
        }
    }
}
