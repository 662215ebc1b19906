//! Statistical multiplexing: programmes share one rate by how hard they are to code.
//!
//! The error of all programmes together is least where a further bit lowers it by the same amount in each, that is at one lambda.
//! So a programme whose lambda is above the others' gets more, a step in each second.

use super::branch::Work;

/// How far a deviation of lambda is corrected in a step: bits fall about with its logarithm.
const STEP: f64 = 0.15;
/// A programme keeps at least this share of its bits.
const LEAST: f64 = 0.35;
/// The largest ratio of two lambdas that counts.
const FARTHEST: f64 = 8.0;

/// The shares of the programmes.
#[derive(Debug, Default)]
pub(super) struct RateShare {
    /// What each programme keeps of its bits, before the sum is brought to the rate.
    kept: Vec<f64>,
}

impl RateShare {
    /// The rates of the programmes in bit/s, which add up to `rate` or to what they have. `work` is what they had in the
    /// last `seconds`.
    pub(super) fn divide(&mut self, rate: f64, work: &[Work], seconds: f64) -> Vec<f64> {
        self.kept.resize(work.len(), 1.0);
        let lambda = |work: &Work| work.weighted_lambda / (work.bits_out as f64).max(1.0);
        let known: Vec<f64> = work.iter().map(lambda).filter(|&lambda| lambda > 0.0).map(libm::log).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        for (kept, work) in self.kept.iter_mut().zip(work) {
            let lambda = lambda(work);
            // A programme that loses nothing has more than it needs.
            let far = libm::log(FARTHEST);
            let above = if lambda > 0.0 { (libm::log(lambda) - mean).clamp(-far, far) } else { -far };
            *kept = (*kept * libm::exp(STEP * above)).clamp(LEAST, 1.0 / LEAST);
        }
        let inputs: Vec<f64> = work.iter().map(|work| work.bits_in as f64 / seconds.max(1e-3)).collect();
        fill(rate, &inputs, &self.kept)
    }
}

/// Each gets in proportion to `kept` times its input, at least [`LEAST`] of that and at most all; what one cannot use goes to the
/// others.
fn fill(rate: f64, inputs: &[f64], kept: &[f64]) -> Vec<f64> {
    let at = |level: f64| {
        let each = inputs.iter().zip(kept).map(|(&input, &kept)| input * (level * kept).clamp(LEAST, 1.0));
        each.collect::<Vec<f64>>()
    };
    let (mut low, mut high) = (0.0, 1.0 / (LEAST * LEAST));
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        *(if at(middle).iter().sum::<f64>() < rate { &mut low } else { &mut high }) = middle;
    }
    let mut rates = at(low);
    let sum: f64 = rates.iter().sum();
    // Below the least of all the ceiling holds, above all of them it leaves room for what grows.
    rates.iter_mut().for_each(|share| *share *= rate / sum.max(1.0));
    rates
}

/// Rounds of the bisection.
const ROUNDS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn work(bits_in: u64, lambda: f64) -> Work {
        let bits_out = bits_in * 3 / 4;
        Work { bits_in, bits_out, weighted_lambda: lambda * bits_out as f64 }
    }

    #[test]
    fn equal_programmes_share_equally() {
        let rates = RateShare::default().divide(9e6, &[work(4_000_000, 20.0); 3], 1.0);
        assert!(rates.iter().all(|rate| (rate / 3e6 - 1.0).abs() < 1e-6), "{rates:?}");
    }

    #[test]
    fn the_harder_programme_gets_more_until_it_has_all() {
        let mut share = RateShare::default();
        let mut last = 3e6;
        for _ in 0..30 {
            let work = [work(4_000_000, 80.0), work(4_000_000, 20.0), work(4_000_000, 5.0)];
            let rates = share.divide(9e6, &work, 1.0);
            assert!((rates.iter().sum::<f64>() / 9e6 - 1.0).abs() < 1e-6, "{rates:?}");
            assert!(rates[0] >= last - 1.0 && rates[0] >= rates[1] && rates[1] >= rates[2], "{rates:?}");
            assert!(rates.iter().all(|rate| *rate <= 4e6 + 1.0 && *rate >= LEAST * 4e6 - 1.0), "{rates:?}");
            last = rates[0];
        }
        assert!(last > 3.99e6, "{last}");
    }

    #[test]
    fn the_sum_is_the_rate_whatever_comes() {
        for work in [vec![work(0, 0.0); 2], vec![work(1_000, 1.0), work(90_000_000, 1e7)]] {
            let rates = RateShare::default().divide(9e6, &work, 1.0);
            assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
            assert!(rates.iter().sum::<f64>() <= 9e6 * (1.0 + 1e-9), "{rates:?}");
        }
    }
}
