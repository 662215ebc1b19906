//! Pictures that are shaped together: one, a few, or a window.

use super::auto::Auto;
use super::causal::Causal;
use super::config::{ClosedLoop, Config, Method};
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::report::Shaped;
use super::requantize;
use super::requantize_closed::ClosedRequantizer;
use super::truncation;

/// Pictures that are shaped together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) pictures: Vec<PictureShaper>,
    /// Importance that its newest reference picture will gather from pictures behind the batch.
    pub(super) future: f32,
}

/// Shapes batches in order; carries the state of the rate control from one to the next.
#[derive(Debug)]
pub(super) struct BatchShaper {
    config: Config,
    rate_control: RateControl,
    auto: Auto,
    causal: Causal,
    experience: requantize::Experience,
    closed_requantizer: ClosedRequantizer,
}

impl Batch {
    /// Parses the slices; needs no state.
    pub(super) fn parse(&mut self, config: &Config) {
        let chooses_table = matches!(config.method, Method::Auto);
        parallel::for_each(config.threads, &mut self.pictures, |picture| {
            picture.parse();
            if chooses_table {
                picture.count_intra_bits();
            }
        });
    }

    /// The output, in order, once the batch is shaped.
    pub(super) fn shaped(&mut self) -> impl Iterator<Item = Shaped> {
        self.pictures.iter_mut().map(PictureShaper::shaped)
    }
}

impl BatchShaper {
    pub(super) fn new(config: Config) -> Self {
        let rate_control = RateControl::new(config.target);
        Self {
            config,
            rate_control,
            auto: Auto::new(),
            causal: Causal::default(),
            experience: Default::default(),
            closed_requantizer: ClosedRequantizer::new(),
        }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Shapes and writes a batch that is parsed.
    pub(super) fn shape(&mut self, batch: &mut Batch) {
        let Self { config, rate_control, auto, causal, experience, closed_requantizer } = self;
        let pictures = &mut batch.pictures[..];
        if pictures.is_empty() {
            return;
        }
        match config.method {
            Method::Memoryless | Method::RateBased => truncation::memoryless(config, rate_control, pictures),
            Method::Causal => truncation::causal(config, rate_control, causal, pictures),
            Method::Requantize if config.closed_loop == ClosedLoop::Always => {
                closed_requantizer.shape(config, rate_control, experience, pictures);
            }
            Method::Requantize => requantize::shape(config, rate_control, experience, pictures),
            Method::Window => truncation::window(config, rate_control, pictures, batch.future),
            Method::Auto => auto.shape(config, rate_control, pictures, batch.future),
        }
    }
}
