//! Frame error rate for a signal-to-noise ratio: the YANS, NIST and DSSS models (`docs/models/wlan.md`, section
//! "Error models").

use crate::wlan::mode::{CodeRate, Format, Mode};
use serde::Deserialize;
use std::f64::consts::{PI, SQRT_2};

/// The model of the loss probability of OFDM frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorModel {
    /// YANS: union bound over the two lowest distances of the code.
    #[default]
    Yans,
    /// NIST: ten terms of the transfer function, independent of the width.
    Nist,
}

impl ErrorModel {
    /// The natural logarithm of the probability that one bit survives at the linear ratio `snr`; zero where it is
    /// certain. A frame part of `octets` survives with `exp` of this times 8·`octets` / streams.
    pub fn log_success(self, mode: &Mode, snr: f64) -> f64 {
        if mode.format == Format::Dsss {
            return dsss(mode, snr);
        }
        let p = match self {
            Self::Yans => yans(mode, snr),
            Self::Nist => nist(mode, snr),
        };
        libm::log1p(-p.min(1.0))
    }
}

/// Free distance of the code, and how many paths have it and the one above.
const fn yans_code(code: CodeRate) -> (u32, f64, f64) {
    match code {
        CodeRate::Half => (10, 11.0, 0.0),
        CodeRate::TwoThirds => (6, 1.0, 16.0),
        CodeRate::ThreeQuarters => (5, 8.0, 31.0),
        CodeRate::FiveSixths => (4, 14.0, 69.0),
    }
}

fn yans(mode: &Mode, snr: f64) -> f64 {
    let coded_rate = mode.rate as f64 / mode.code.get();
    let per_bit = snr * f64::from(mode.width) * 1e6 / coded_rate;
    let ber = yans_bit_error(mode.bits, per_bit);
    if ber == 0.0 {
        return 0.0;
    }
    let (distance, first, second) = yans_code(mode.code);
    // BPSK takes the first term alone.
    let second = if mode.bits == 1 { 0.0 } else { second };
    let more = if second > 0.0 { second * path_error(distance + 1, ber) } else { 0.0 };
    first * path_error(distance, ber) + more
}

fn yans_bit_error(bits: u8, per_bit: f64) -> f64 {
    if bits == 1 {
        return 0.5 * libm::erfc(per_bit.sqrt());
    }
    let points = f64::from(1u32 << bits);
    let z = (1.5 * f64::from(bits) * per_bit / (points - 1.0)).sqrt();
    let a = (1.0 - 1.0 / points.sqrt()) * libm::erfc(z);
    // 1 − (1 − a)² without the loss of digits where a is small
    a * (2.0 - a) / f64::from(bits)
}

/// The probability that a path of `distance` is taken for another. The sums stop one short of `distance`: the term of
/// all errors is missing in the simulator we match.
fn path_error(distance: u32, ber: f64) -> f64 {
    let term =
        |errors: u32| binomial(distance, errors) * power(ber, errors) * power(1.0 - ber, distance - errors);
    let half = distance / 2;
    let most: f64 = (half + 1..distance).map(term).sum();
    if distance % 2 == 1 { most } else { most + 0.5 * term(half) }
}

fn binomial(n: u32, k: u32) -> f64 {
    (1..=k).map(|i| f64::from(n + 1 - i) / f64::from(i)).product()
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).map(|_| base).product()
}

fn nist(mode: &Mode, snr: f64) -> f64 {
    let ber = match mode.bits {
        1 => 0.5 * libm::erfc(snr.sqrt()),
        2 => 0.5 * libm::erfc((snr / 2.0).sqrt()),
        bits => {
            let side = f64::from(1u32 << (bits / 2));
            let divisor = f64::from(2 * ((1u32 << bits) - 1) / 3);
            (side - 1.0) / (side * f64::from(bits / 2)) * libm::erfc((snr / divisor).sqrt())
        }
    };
    if ber == 0.0 {
        return 0.0;
    }
    let d = (4.0 * ber * (1.0 - ber)).sqrt();
    let (k, first, step, coefficients): (f64, u32, u32, &[f64]) = match mode.code {
        CodeRate::Half => (1.0, 10, 2, &NIST_1_2),
        CodeRate::TwoThirds => (2.0, 6, 1, &NIST_2_3),
        CodeRate::ThreeQuarters => (3.0, 5, 1, &NIST_3_4),
        CodeRate::FiveSixths => (5.0, 4, 1, &NIST_5_6),
    };
    let (start, step) = (power(d, first), power(d, step));
    // Horner, from the highest exponent down
    let sum = coefficients.iter().rev().fold(0.0, |sum, &c| sum * step + c);
    start * sum / (2.0 * k)
}

const NIST_1_2: [f64; 9] =
    [36.0, 211.0, 1404.0, 11633.0, 77433.0, 502690.0, 3322763.0, 21292910.0, 134365911.0];
const NIST_2_3: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117019.0, 498860.0, 2103891.0, 8784123.0];
const NIST_3_4: [f64; 10] =
    [42.0, 201.0, 1492.0, 10469.0, 62935.0, 379644.0, 2253373.0, 13073811.0, 75152755.0, 428005675.0];
const NIST_5_6: [f64; 10] =
    [92.0, 528.0, 8694.0, 79453.0, 792114.0, 7375573.0, 67884974.0, 610875423.0, 5427275376.0, 47664215639.0];

/// DSSS and CCK, `snr` over 22 MHz.
fn dsss(mode: &Mode, snr: f64) -> f64 {
    match mode.bits {
        1 => libm::log1p(-(0.5 * libm::exp(-22.0 * snr)).min(1.0)),
        2 => {
            let x = 11.0 * snr;
            let scale = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt();
            let ber = scale * libm::exp(-(2.0 - SQRT_2) * x) / x.sqrt();
            libm::log1p(-ber.min(0.5))
        }
        4 => libm::log1p(-cck_symbol_error(8.0 * snr)) / 4.0,
        _ => libm::log1p(-cck_symbol_error(4.0 * snr)) / 4.0,
    }
}

/// One less the integral of (2Φ(x + β) − 1)⁷ φ(x) from −β up, β = √(2·`energy`); Simpson's rule.
fn cck_symbol_error(energy: f64) -> f64 {
    const STEPS: u32 = 400;
    const FAR: f64 = 8.0;
    let beta = (2.0 * energy).sqrt();
    let density = |x: f64| libm::exp(-x * x / 2.0) / (2.0 * PI).sqrt();
    // 1 − (2Φ(y) − 1)⁷ φ: the complement is integrated, which keeps small errors exact.
    let integrand = |x: f64| {
        let miss = libm::erfc((x + beta) / SQRT_2);
        (1.0 - power(1.0 - miss, 7)) * density(x)
    };
    let from = -beta.min(FAR);
    let width = (FAR - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let weight = if i == 0 || i == STEPS {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * integrand(from + f64::from(i) * width)
        })
        .sum();
    // Below −β nothing is right.
    (sum * width / 3.0 + 0.5 * libm::erfc(beta / SQRT_2)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_error(model: ErrorModel, mode: &Mode, octets: f64, decibels: f64) -> f64 {
        let snr = libm::pow(10.0, decibels / 10.0);
        -libm::expm1(model.log_success(mode, snr) * octets * 8.0 / f64::from(mode.streams))
    }

    /// `docs/models/wlan.md`, section "Worked checks", checks 3 and 4.
    #[test]
    fn worked_frame_errors() {
        let mode = Mode::vht(4, 20, true, 1).unwrap();
        let yans = frame_error(ErrorModel::Yans, &mode, 1544.0, 12.9);
        let nist = frame_error(ErrorModel::Nist, &mode, 1544.0, 16.1);
        assert!((yans - 0.86555).abs() < 1e-5, "{yans}");
        assert!((nist - 0.41689).abs() < 1e-5, "{nist}");
    }

    fn modes() -> Vec<Mode> {
        let vht = (0..10).flat_map(|mcs| {
            [20, 40, 80, 160].into_iter().filter_map(move |width| Mode::vht(mcs, width, true, 1).ok())
        });
        let legacy = [6, 9, 12, 18, 24, 36, 48, 54].map(|rate| Mode::legacy(rate * 1_000_000).unwrap());
        let dsss = [1_000_000, 2_000_000, 5_500_000, 11_000_000].map(|rate| Mode::dsss(rate, false).unwrap());
        vht.chain(legacy).chain(dsss).collect()
    }

    /// `docs/models/wlan.md`, section "Acceptance", rule 2: between 0 and 1, falling with the ratio, independent
    /// bits.
    #[test]
    fn errors_fall_with_the_ratio_and_bits_are_independent() {
        for model in [ErrorModel::Yans, ErrorModel::Nist] {
            for mode in modes() {
                let mut last = 1.0;
                for tenths in -100..400 {
                    let decibels = f64::from(tenths) / 10.0;
                    let one = frame_error(model, &mode, 500.0, decibels);
                    let two = frame_error(model, &mode, 1000.0, decibels);
                    assert!((0.0..=1.0).contains(&one), "{mode:?} {decibels}: {one}");
                    assert!(one <= last + 1e-9, "{mode:?} {decibels}: {one} after {last}");
                    assert!((two - (1.0 - (1.0 - one) * (1.0 - one))).abs() < 1e-9);
                    last = one;
                }
                assert!(last < 1e-9, "{mode:?} never becomes good: {last}");
            }
        }
    }

    /// `docs/models/wlan.md`, section "Acceptance", rule 2: what each model depends on.
    #[test]
    fn yans_depends_on_the_width_and_nist_does_not() {
        let [narrow, wide] = [20, 80].map(|width| Mode::vht(4, width, true, 1).unwrap());
        let nist = |mode: &Mode, snr| ErrorModel::Nist.log_success(mode, snr);
        assert_eq!(nist(&narrow, 30.0), nist(&wide, 30.0));
        let ratio = |mode: &Mode| f64::from(mode.width) * 1e6 / (mode.rate as f64 / mode.code.get());
        let same = 30.0 * ratio(&narrow) / ratio(&wide);
        let yans = |mode: &Mode, snr| ErrorModel::Yans.log_success(mode, snr);
        assert!((yans(&narrow, 30.0) / yans(&wide, same) - 1.0).abs() < 1e-9);
    }
}
