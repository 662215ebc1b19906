//! Minstrel-HT: samples modes and uses the one with the highest throughput (`docs/models/wlan.md`, section "Rate
//! adaptation").

use crate::wlan::mode::{MICRO, Mode, Nanos};
use seaway_link::RandomStream;

/// Statistics are taken this often.
const INTERVAL: Nanos = 50_000 * MICRO;
/// The weight of what was known before, of a hundred.
const MEMORY: f64 = 75.0;
/// Columns of the table of samples.
const COLUMNS: usize = 10;
/// All tries of a rate together last no longer.
const LONGEST_TRIES: Nanos = 6_000 * MICRO;
/// Samples an interval.
const SAMPLES: u32 = 8;
/// A slower rate is sampled after so many intervals without a try.
const FORGOTTEN: u32 = 20;

/// What one device knows of the rates to another.
#[derive(Debug)]
pub(crate) struct Minstrel {
    rates: Vec<Rate>,
    /// Permutations of the rates.
    table: Vec<usize>,
    place: usize,
    best: usize,
    second: usize,
    safest: usize,
    /// Which of the three is in use, and how often it has failed.
    stage: usize,
    failed: u32,
    sampled: Option<usize>,
    /// Attempts until the next sample, and samples until the next wait.
    wait: u32,
    tries: u32,
    samples: u32,
    slow_samples: u32,
    update: Nanos,
    /// Frames a PPDU: mean, and the present interval's sums.
    length: f64,
    frames: u32,
    ppdus: u32,
}

#[derive(Debug, Clone)]
struct Rate {
    attempts: u32,
    successes: u32,
    /// Of success, in per cent.
    probability: f64,
    known: bool,
    /// Intervals without an attempt.
    idle: u32,
    /// How long 1200 octets last.
    air: Nanos,
    tries: u32,
}

impl Rate {
    fn throughput(&self) -> f64 {
        if self.probability < 10.0 { 0.0 } else { self.probability.min(90.0) / self.air as f64 }
    }
}

impl Minstrel {
    /// Nothing is known of `modes`.
    pub(crate) fn new(modes: &[Mode], rng: &mut RandomStream) -> Self {
        let rate = |mode: &Mode| Rate {
            attempts: 0,
            successes: 0,
            probability: 0.0,
            known: false,
            idle: 0,
            air: mode.duration(1_200),
            tries: 1,
        };
        let mut table = Vec::with_capacity(COLUMNS * modes.len());
        for _ in 0..COLUMNS {
            let mut column: Vec<usize> = (0..modes.len()).collect();
            for last in (1..column.len()).rev() {
                column.swap(last, (rng.uniform() * (last + 1) as f64) as usize);
            }
            table.append(&mut column);
        }
        Self {
            rates: modes.iter().map(rate).collect(),
            table,
            place: 0,
            best: 0,
            second: 0,
            safest: 0,
            stage: 0,
            failed: 0,
            sampled: None,
            wait: 0,
            tries: 4,
            samples: SAMPLES,
            slow_samples: 0,
            update: INTERVAL,
            length: 1.0,
            frames: 0,
            ppdus: 0,
        }
    }

    /// The rate of the next PPDU (rules 6 and 7).
    pub(crate) fn choose(&mut self) -> usize {
        self.sampled = None;
        if self.stage == 0 && self.wait == 0 && self.tries > 0 {
            let candidate = self.next_candidate();
            if self.deserves_sample(candidate) {
                self.tries -= 1;
                self.sampled = Some(candidate);
                return candidate;
            }
        }
        self.wait = self.wait.saturating_sub(1);
        self.current()
    }

    /// The rate in use.
    pub(crate) fn current(&self) -> usize {
        [self.best, self.second, self.safest][self.stage]
    }

    fn next_candidate(&mut self) -> usize {
        let candidate = self.table[self.place];
        self.place = (self.place + 1) % self.table.len();
        candidate
    }

    fn deserves_sample(&mut self, candidate: usize) -> bool {
        let rate = &self.rates[candidate];
        if [self.best, self.second, self.safest].contains(&candidate) || rate.probability > 95.0 {
            return false;
        }
        if rate.air <= self.rates[self.second].air {
            return true;
        }
        let forgotten = rate.idle >= FORGOTTEN && self.slow_samples < 2;
        self.slow_samples += u32::from(forgotten);
        forgotten
    }

    /// `good` frames of a PPDU were acknowledged and `bad` were not.
    pub(crate) fn report(&mut self, now: Nanos, good: u32, bad: u32) {
        let used = self.sampled.take().unwrap_or(self.current());
        let is_sample = used != self.current();
        let rate = &mut self.rates[used];
        rate.attempts += good + bad;
        rate.successes += good;
        self.frames += good + bad;
        self.ppdus += 1;
        if self.wait == 0 && self.tries == 0 && self.samples > 0 {
            self.wait = 16 + 2 * self.length as u32;
            self.tries = 1;
            self.samples -= 1;
        }
        if good > 0 {
            self.stage = 0;
            self.failed = 0;
        } else if !is_sample {
            self.failed += 1;
            if self.failed >= self.rates[used].tries && self.stage < 2 {
                self.stage += 1;
                self.failed = 0;
            }
        }
        if now >= self.update {
            self.take_statistics();
            self.update = now + INTERVAL;
        }
    }

    /// Rules 2 to 5.
    fn take_statistics(&mut self) {
        if self.ppdus > 0 {
            let length = f64::from(self.frames) / f64::from(self.ppdus);
            self.length = (MEMORY * self.length + (100.0 - MEMORY) * length) / 100.0;
        }
        (self.frames, self.ppdus) = (0, 0);
        for rate in &mut self.rates {
            if rate.attempts == 0 {
                rate.idle += 1;
                continue;
            }
            let now = f64::from(100 * rate.successes / rate.attempts);
            let known = std::mem::replace(&mut rate.known, true);
            rate.probability =
                if known { (MEMORY * rate.probability + (100.0 - MEMORY) * now) / 100.0 } else { now };
            (rate.attempts, rate.successes, rate.idle) = (0, 0, 0);
            rate.tries = tries(rate.probability, rate.air);
        }
        self.rank();
        (self.stage, self.failed) = (0, 0);
        (self.samples, self.slow_samples) = (SAMPLES, 0);
    }

    fn rank(&mut self) {
        let throughput = |&rate: &usize| self.rates[rate].throughput();
        let by = |a: &usize, b: &usize| throughput(a).total_cmp(&throughput(b)).then(b.cmp(a));
        let all = 0..self.rates.len();
        self.best = all.clone().max_by(by).unwrap_or(0);
        self.second = all.clone().filter(|&rate| rate != self.best).max_by(by).unwrap_or(self.best);
        let sure = all.clone().filter(|&rate| self.rates[rate].probability > 75.0).max_by(by);
        let likeliest = |a: &usize, b: &usize| {
            self.rates[*a].probability.total_cmp(&self.rates[*b].probability).then(b.cmp(a))
        };
        self.safest = sure.or_else(|| all.max_by(likeliest)).unwrap_or(0);
    }
}

/// Rule 5: two at least and seven at most, while all of them with their backoffs last less than 6 ms.
fn tries(probability: f64, air: Nanos) -> u32 {
    /// SIFS and the response.
    const RESPONSE: Nanos = 60 * MICRO;
    if probability < 1.0 {
        return 1;
    }
    let (mut spent, mut window, mut count) = (0, 15, 0);
    while count < 7 {
        spent += air + RESPONSE + window * 9 * MICRO / 2;
        if count >= 2 && spent >= LONGEST_TRIES {
            break;
        }
        count += 1;
        window = (2 * window + 1).min(1_023);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes() -> Vec<Mode> {
        (0..9).map(|mcs| Mode::vht(mcs, 20, false, 1).unwrap()).collect()
    }

    /// Settles on the fastest mode that works, however it starts.
    #[test]
    fn finds_the_mode_that_carries_most() {
        let mut rng = RandomStream::new(1, "rng");
        let mut minstrel = Minstrel::new(&modes(), &mut rng);
        let mut used = [0u32; 9];
        for step in 0..20_000u64 {
            let chosen = minstrel.choose();
            // Up to MCS 5 all goes well, MCS 6 carries a third.
            let good = if chosen <= 5 {
                9
            } else if chosen == 6 {
                3
            } else {
                0
            };
            minstrel.report(step * 2_000 * MICRO, good, 9 - good);
            if step > 5_000 {
                used[chosen] += 1;
            }
        }
        assert!(f64::from(used[5]) > 0.85 * f64::from(used.iter().sum::<u32>()), "{used:?}");
        assert!(used[7] > 0, "faster ones are tried now and then: {used:?}");
    }

    /// Rule 6: after the tries of a rate come the next best and the safest.
    #[test]
    fn failures_go_down_the_chain() {
        let mut rng = RandomStream::new(1, "rng");
        let mut minstrel = Minstrel::new(&modes(), &mut rng);
        for (index, probability) in
            [100.0, 100.0, 100.0, 97.0, 70.0, 60.0, 0.0, 0.0, 0.0].into_iter().enumerate()
        {
            let rate = &mut minstrel.rates[index];
            (rate.probability, rate.known) = (probability, true);
            rate.tries = tries(probability, rate.air);
        }
        minstrel.rank();
        assert_eq!((minstrel.best, minstrel.second, minstrel.safest), (5, 4, 3));
        minstrel.tries = 0;
        minstrel.samples = 0;
        let mut seen = Vec::new();
        for _ in 0..30 {
            let chosen = minstrel.choose();
            if seen.last() != Some(&chosen) {
                seen.push(chosen);
            }
            minstrel.report(0, 0, 1);
        }
        assert_eq!(seen, [5, 4, 3]);
        minstrel.report(0, 1, 0);
        assert_eq!(minstrel.choose(), 5);
    }

    /// Rule 5.
    #[test]
    fn tries_fit_into_six_milliseconds() {
        assert_eq!(tries(0.5, MICRO), 1);
        assert_eq!(tries(50.0, 10_000 * MICRO), 2);
        assert!((3..=7).contains(&tries(50.0, 200 * MICRO)));
    }
}
