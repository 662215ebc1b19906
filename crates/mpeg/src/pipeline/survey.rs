//! Whether a stream is coded in a closed loop, which gives better pictures in many times the time: from its headers and a sample of its pictures.

use crate::header::{PictureContext, PictureKind};
use crate::picture::Picture;
use crate::shape::{self, ClosedLoop};
use crate::unit::AccessUnit;

/// One picture of each kind in so many is parsed.
const SAMPLING: u64 = 7;
/// The loop is closed where the codes of blocks keep less than this share of their bits: all that is cut is cut from them, so they keep little
/// where vectors and types are much of the stream, of which a closed loop can change some. Chosen by 34 streams at 0.8 and 0.7 of their rate,
/// as the two below.
const CODES_KEEP: f64 = 0.55;
/// It is closed below this share of the input where the mean quantiser scale is less than this: ...
const FINE_BELOW: f64 = 0.75;
/// ... there the input has so little error of its own that errors which add up are most of what the output has.
const FINE: f64 = 5.0;

/// What was seen of the pictures of a stream.
#[derive(Debug, Default)]
pub(super) struct Survey {
    intra: Kind,
    predicted: Kind,
    bidirectional: Kind,
    /// Any may be predicted from fields.
    with_fields: bool,
    /// Kept for its memory.
    parsed: Picture,
}

/// The pictures of one kind. I pictures are few and large, so a sample of all pictures would misjudge them.
#[derive(Debug, Default)]
struct Kind {
    pictures: u64,
    bits: f64,
    /// Pictures that were parsed, their bits, those of the codes of their blocks, and the sum of their mean quantiser scales.
    parsed: f64,
    parsed_bits: f64,
    code_bits: f64,
    scales: f64,
}

impl Survey {
    /// Counts a picture.
    pub(super) fn add(&mut self, context: &PictureContext, unit: &AccessUnit) {
        let kind = match context.kind() {
            PictureKind::B => &mut self.bidirectional,
            PictureKind::P => &mut self.predicted,
            PictureKind::I => &mut self.intra,
            // They are copied.
            PictureKind::D => return,
        };
        self.with_fields |= context.has_field_motion();
        let bits = 8.0 * unit.data.len() as f64;
        if kind.pictures.is_multiple_of(SAMPLING) {
            self.parsed.clear();
            unit.read_slices(context, &mut self.parsed);
            kind.parsed += 1.0;
            kind.parsed_bits += bits;
            kind.code_bits += self.parsed.code_bits() as f64;
            kind.scales += f64::from(self.parsed.mean_scale(context));
        }
        kind.pictures += 1;
        kind.bits += bits;
    }

    /// True where the stream is coded in a closed loop to keep this share of its bits.
    pub(super) fn is_for_closed_loop(&self, shaper: &shape::Config, share: f64) -> bool {
        match shaper.closed_loop {
            ClosedLoop::WhereItGains => {
                share < self.closed_below(shaper)
                    || share < FINE_BELOW && self.mean_scale().is_some_and(|scale| scale < FINE)
                    || self.codes_keep(share) < CODES_KEEP
            }
            ClosedLoop::Never => false,
            ClosedLoop::Always => share < 1.0,
        }
    }

    /// True where a [`Trial`](super::Trial) in the quicker closed loop gains: above this share it takes more time and gains nothing.
    pub(super) fn gains_from_trial(&self, shaper: &shape::Config, share: f64) -> bool {
        shaper.closed_loop != ClosedLoop::Never && share < self.closed_below(&shaper.without_new_motion())
    }

    fn closed_below(&self, shaper: &shape::Config) -> f64 {
        let share_of_b = self.bidirectional.pictures as f64 / self.sum(|kind| kind.pictures as f64).max(1.0);
        shaper.closed_below(share_of_b, self.with_fields)
    }

    /// `None` without macroblocks.
    fn mean_scale(&self) -> Option<f64> {
        let scales = self.sum(|kind| kind.pictures as f64 * kind.scales / kind.parsed.max(1.0));
        (scales > 0.0).then(|| scales / self.sum(|kind| kind.pictures as f64))
    }

    /// The share of their bits that codes keep where all pictures keep `share` of theirs and nothing else gives way; 1 without codes.
    fn codes_keep(&self, share: f64) -> f64 {
        let codes = self.sum(|kind| kind.bits * kind.code_bits / kind.parsed_bits.max(1.0));
        if codes > 0.0 { 1.0 - (1.0 - share) * self.sum(|kind| kind.bits) / codes } else { 1.0 }
    }

    fn sum(&self, of: impl Fn(&Kind) -> f64) -> f64 {
        [&self.intra, &self.predicted, &self.bidirectional].map(of).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Config, Method, PictureShaper, Target};

    impl Survey {
        /// Of 36 pictures without fields, of which so many are B pictures. This share of their bits is codes, and this is their scale.
        pub(in super::super) fn of(b_pictures: u64, codes: f64, scale: f64) -> Self {
            let kind = |pictures: u64| {
                let bits = 1000.0 * pictures as f64;
                Kind {
                    pictures,
                    bits,
                    parsed: 1.0,
                    parsed_bits: 1000.0,
                    code_bits: 1000.0 * codes,
                    scales: scale,
                }
            };
            Self { intra: kind(36 - b_pictures), bidirectional: kind(b_pictures), ..Self::default() }
        }
    }

    fn is_closed(survey: &Survey, share: f64) -> bool {
        survey.is_for_closed_loop(&Config::new(Method::Auto, Target::Ratio(share)), share)
    }

    #[test]
    fn codes_that_would_keep_little_close_the_loop() {
        // 30 % are cut: 40 and 60 % of the codes are left, where these are half and three quarters.
        let [few, many] = [0.5, 0.75].map(|codes| Survey::of(24, codes, 12.0));
        assert!(is_closed(&few, 0.7) && !is_closed(&few, 0.8) && !is_closed(&many, 0.7));
        // Nothing but headers: there is nothing that a closed loop could code anew.
        assert!(!is_closed(&Survey::of(24, 0.0, 12.0), 0.7));
    }

    #[test]
    fn fine_scales_close_the_loop() {
        let [fine, usual] = [4.0, 6.0].map(|scale| Survey::of(24, 0.9, scale));
        assert!(is_closed(&fine, 0.7) && !is_closed(&fine, 0.8) && !is_closed(&usual, 0.7));
        // Nothing was parsed, or nothing could be.
        assert!(![Survey::default(), Survey::of(24, 0.0, 0.0)].iter().any(|none| is_closed(none, 0.93)));
        assert!(!is_closed(&Survey::of(24, 0.0, 0.0), 0.7));
    }

    #[test]
    fn who_asks_for_a_loop_gets_it() {
        let gains = |closed_loop, share: f64| {
            let config = Config { closed_loop, ..Config::new(Method::Auto, Target::Ratio(share)) };
            let survey = Survey::of(24, 0.9, 12.0);
            [survey.is_for_closed_loop(&config, share), survey.gains_from_trial(&config, share)]
        };
        assert_eq!([0.5, 0.9].map(|share| gains(ClosedLoop::WhereItGains, share)), [[true; 2], [false; 2]]);
        assert_eq!([0.5, 0.9].map(|share| gains(ClosedLoop::Never, share)), [[false; 2]; 2]);
        assert_eq!([0.5, 0.9].map(|share| gains(ClosedLoop::Always, share)), [[true; 2], [true, false]]);
        assert_eq!(gains(ClosedLoop::Always, 1.0), [false; 2]);
    }

    #[test]
    fn a_sample_shows_about_what_all_pictures_would() {
        let pictures = PictureShaper::all_of(include_bytes!("../../tests/fixtures/elementary.m2v"));
        let (mut survey, mut bits, mut codes, mut scales) = (Survey::default(), 0.0, 0.0, Vec::new());
        for PictureShaper { context, unit, parsed, .. } in &pictures {
            let context = context.as_ref().unwrap();
            survey.add(context, unit);
            bits += 8.0 * unit.data.len() as f64;
            codes += parsed.code_bits() as f64;
            scales.push(f64::from(parsed.mean_scale(context)));
        }
        assert!(survey.sum(|kind| kind.parsed) < pictures.len() as f64 / 3.0);
        let keep = 1.0 - 0.3 * bits / codes;
        assert!((survey.codes_keep(0.7) - keep).abs() < 0.03, "{} {keep}", survey.codes_keep(0.7));
        let [finest, coarsest] = [f64::min, f64::max].map(|of| scales.iter().copied().reduce(of).unwrap());
        let mean = survey.mean_scale().unwrap();
        assert!((finest..coarsest).contains(&mean), "{mean} of {scales:?}");
    }
}
