//! Dynamic rate shaping of a clip.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::mean;
use seaway_media::clip;
use seaway_mpeg::decode::{Decoder, Frame};
use seaway_mpeg::shape::{Budget, Config, Method, Shaper, Target};
use seaway_quality::{Plane, psnr};
use std::sync::Arc;

/// The algorithms of the figures, as the paper names them. Requantisation without motion compensation stands for recoding:
/// it needs no encoder.
const ALGORITHMS: [(&str, Method); 4] = [
    ("optimal", Method::Causal),
    ("memoryless", Method::Memoryless),
    ("recoding", Method::Requantize),
    ("rate-based", Method::RateBased),
];
/// 3.2 of 4 Mbit/s.
const RATIO: f64 = 0.8;
/// The range of figure 3, as shares of the coded rate.
const RATIOS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
/// What the paper has for the difference of the first two: of most pictures, and at the most over the rates, dB.
const TYPICAL: f64 = 0.1;
const LARGEST: f64 = 0.3;

const SUBSTITUTE: &str =
    "without Mobile itself nothing is judged; the bundled clip, Big Buck Bunny, 320x180, is reported beside";

/// A clip and its pictures.
struct Clip {
    name: &'static str,
    stream: Arc<[u8]>,
    pictures: Vec<Arc<Frame>>,
}

impl Clip {
    /// The paper's, where it was given, and the bundled one.
    fn both(runner: &Runner<'_>) -> Result<(Option<Self>, Self), Failure> {
        let of = |name, stream: Arc<[u8]>| Self { name, pictures: decode(&stream), stream };
        let bundled = clip::mpeg2().map_err(|error| Failure::Scenario(error.to_string()))?;
        Ok((runner.mobile().map(|stream| of("Mobile", stream)), of("Big Buck Bunny", bundled.into())))
    }

    /// Shaped by each of these, all at once.
    fn shaped(&self, ways: &[(Method, f64)]) -> Result<Vec<Shaped>, Failure> {
        std::thread::scope(|scope| {
            let one = |&(method, ratio): &(Method, f64)| scope.spawn(move || shape(self, method, ratio));
            let threads: Vec<_> = ways.iter().map(one).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| Failure::Interrupted)?).collect()
        })
    }
}

/// What shaping leaves of the clip: its luma against the clip's own decoded pictures.
struct Shaped {
    /// PSNR of each picture, dB.
    pictures: Vec<f64>,
    /// PSNR of the mean error, dB.
    whole: f64,
}

fn decode(stream: &[u8]) -> Vec<Arc<Frame>> {
    let mut decoder = Decoder::new();
    decoder.push(stream);
    decoder.finish();
    std::iter::from_fn(|| decoder.pull()).map(|decoded| decoded.frame).collect()
}

fn luma(frame: &Frame) -> Plane<'_> {
    let plane = &frame.planes[0];
    Plane::new(&plane.data, plane.stride, plane.width, plane.height)
}

fn shape(clip: &Clip, method: Method, ratio: f64) -> Result<Shaped, Failure> {
    // The paper cuts I, P and B pictures alike.
    let config = Config { budget: Budget::Proportional, ..Config::new(method, Target::Ratio(ratio)) };
    let mut shaper = Shaper::new(config);
    shaper.announce_length(clip.stream.len() as u64);
    shaper.push(&clip.stream);
    shaper.finish();
    let stream: Vec<u8> = std::iter::from_fn(|| shaper.pull()).flat_map(|unit| unit.bytes).collect();
    let shown = decode(&stream);
    if shown.len() != clip.pictures.len() {
        return Err(Failure::Absent("pictures of the clip"));
    }
    let mut sequence = psnr::Sequence::default();
    let mut pictures = Vec::with_capacity(clip.pictures.len());
    for (before, after) in clip.pictures.iter().zip(&shown) {
        let error = psnr::mean_squared_error(&luma(before), &luma(after));
        let error = error.map_err(|_| Failure::Absent("pictures of the clip's size"))?;
        pictures.push(sequence.push(error).get());
    }
    let whole = sequence.of_mean_error().map_or(f64::NAN, seaway_units::Decibels::get);
    Ok(Shaped { pictures, whole })
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Judged on Mobile; numbers of another clip, or of none, are reported.
fn judged(
    runner: &Runner<'_>,
    of: impl Fn(&Clip) -> Result<(Vec<Check>, Figure), Failure>,
) -> Result<Results, Failure> {
    let (mobile, bundled) = Clip::both(runner)?;
    let (mut checks, mut figures) = (Vec::new(), Vec::new());
    if let Some(mobile) = &mobile {
        let (judged, figure) = of(mobile)?;
        checks.extend(judged);
        figures.push(figure);
    } else {
        checks.push(Check::value("pictures of Mobile", "", f64::NAN, Tolerance::at_least(1.0)));
    }
    let (beside, figure) = of(&bundled)?;
    checks.extend(beside.into_iter().map(Check::reported));
    figures.push(figure);
    Ok(Results {
        checks,
        figures,
        parameters: vec![(
            "command",
            "seaway shape IN OUT --ratio 0.8 --method memoryless --budget paper".to_owned(),
        )],
        remarks: vec![ON_MOBILE.to_owned()],
        substitute: mobile.is_none().then_some(SUBSTITUTE),
    })
}

/// What `--mobile` shows; the clip is not in this repository.
const ON_MOBILE: &str = "Mobile is not ours to give away: `seaway reproduce S002-F2 --mobile FILE` takes it as an MPEG-2 \
    elementary stream.";

/// With a wrong method in the place of one that is compared.
pub(super) fn by_picture_of_wrong_methods(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    judged(runner, |clip| by_picture_of(clip, WRONG))
}

pub(super) fn by_rate_of_wrong_methods(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    judged(runner, |clip| by_rate_of(clip, WRONG))
}

/// Rate-based shaping in the place of the memoryless.
const WRONG: [(&str, Method); 4] = [
    ("optimal", Method::Causal),
    ("rate-based as memoryless", Method::RateBased),
    ("recoding", Method::Requantize),
    ("rate-based", Method::RateBased),
];

pub(super) fn by_picture(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    judged(runner, |clip| by_picture_of(clip, ALGORITHMS))
}

fn by_picture_of(
    clip: &Clip,
    algorithms: [(&'static str, Method); 4],
) -> Result<(Vec<Check>, Figure), Failure> {
    let shaped = clip.shaped(&algorithms.map(|(_, method)| (method, RATIO)))?;
    let [optimal, memoryless, recoding, rate_based] = &shaped[..] else {
        return Err(Failure::Absent("algorithm"));
    };
    let apart: Vec<f64> =
        optimal.pictures.iter().zip(&memoryless.pictures).map(|(a, b)| (a - b).abs()).collect();
    let above = |other: &Shaped| mean(&memoryless.pictures) - mean(&other.pictures);
    let name = clip.name;
    let check =
        |what: &str, value, tolerance| Check::value(format!("{name}: {what}"), "dB", value, tolerance);
    let checks = vec![
        check("optimal and memoryless apart, median", median(apart.clone()), Tolerance::at_most(TYPICAL))
            .printed(TYPICAL),
        check("the same, mean", mean(&apart), Tolerance::at_least(0.0)).reported(),
        check("memoryless above recoding", above(recoding), Tolerance::at_least(0.0)),
        check("memoryless above rate-based", above(rate_based), Tolerance::at_least(0.0)),
    ];
    let curve = |(&(name, _), shaped): (&(&str, _), &Shaped)| {
        figure::line(name, (0..).map(f64::from).zip(shaped.pictures.iter().copied()))
    };
    let curves = algorithms.iter().zip(&shaped).map(curve).collect();
    let title = format!("{name}: PSNR of each picture at 0.8 of the rate");
    Ok((checks, Figure { title, x: "picture", y: "PSNR, dB", curves, ..Figure::default() }))
}

pub(super) fn by_rate(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    judged(runner, |clip| by_rate_of(clip, ALGORITHMS))
}

fn by_rate_of(clip: &Clip, algorithms: [(&'static str, Method); 4]) -> Result<(Vec<Check>, Figure), Failure> {
    let ways = algorithms.map(|(_, method)| RATIOS.map(|ratio| (method, ratio))).concat();
    let levels: Vec<f64> = clip.shaped(&ways)?.into_iter().map(|shaped| shaped.whole).collect();
    let rows: Vec<&[f64]> = levels.chunks(RATIOS.len()).collect();
    let [optimal, memoryless, recoding, rate_based] = &rows[..] else {
        return Err(Failure::Absent("algorithm"));
    };
    let differences: Vec<f64> = optimal.iter().zip(*memoryless).map(|(a, b)| a - b).collect();
    let most = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = differences.iter().copied().fold(f64::INFINITY, f64::min);
    let above = |other: &[f64]| memoryless.iter().zip(other).filter(|(ours, other)| ours > other).count();
    let name = clip.name;
    let check =
        |what: &str, value, tolerance| Check::value(format!("{name}: {what}"), "dB", value, tolerance);
    let count = |what: &str, held, of| Check::count(format!("{name}: {what}"), held, of, RATIOS.len());
    let checks = vec![
        check("memoryless below optimal at the most", most, Tolerance::at_most(LARGEST)).printed(LARGEST),
        check("optimal above memoryless at the least", least, Tolerance::at_least(-0.05)),
        count("rates at which memoryless is above rate-based", above(rate_based), RATIOS.len()),
        // "A wide range" has no number in the paper.
        count("rates at which memoryless is above recoding", above(recoding), 3).reported(),
    ];
    let curve = |(&(name, _), row): (&(&str, _), &&[f64])| {
        figure::line(name, RATIOS.iter().copied().zip(row.iter().copied()))
    };
    let curves = algorithms.iter().zip(&rows).map(curve).collect();
    let title = format!("{name}: PSNR over the share of the rate that is left");
    Ok((checks, Figure { title, x: "share of the coded rate", y: "PSNR, dB", curves, ..Figure::default() }))
}
