//! Optimal smoothing: shares of the bits of a rate that a leaky bucket lets through. The share changes as seldom and as little as possible: it
//! rises only behind a full bucket and falls only behind an empty one (Salehi, Zhang, Kurose and Towsley, "Supporting Stored Video",
//! SIGMETRICS 1996, there for the rate of a link; here each group has a weight and a largest size).

use super::two_pass::{Group, bisect, least_share, water_fill};
use std::ops::RangeInclusive;

/// A leaky bucket, and what is to pass it. Its level is in seconds of the rate.
#[derive(Debug)]
pub(super) struct Smoothing<'a> {
    pub(super) groups: &'a mut [Group],
    /// Index of the first picture of the first group.
    pub(super) begin: usize,
    /// Bits and seconds of the pictures of all groups.
    pub(super) sizes: &'a [(f32, f32)],
    /// Bits per second.
    pub(super) rate: f64,
    /// What the bucket holds, in seconds.
    pub(super) depth: f64,
    /// Its level before the first picture, in seconds.
    pub(super) level: f64,
}

/// What ends a run of groups of one share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// A picture overflows the bucket.
    Full,
    /// The bucket is empty behind a group.
    Empty,
    /// The last group.
    All,
}

/// A run of groups of one share.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: End,
    /// The group with which it ends.
    last: usize,
    /// The level behind that group.
    level: f64,
}

impl Smoothing<'_> {
    /// The share of its weight for each group, with which all together keep the bits that are allowed to them, or as many as the bucket lets
    /// through; and the level behind the last one.
    pub(super) fn shares(&mut self) -> (Vec<f64>, f64) {
        let share = water_fill(self.groups);
        let (shares, level) = self.shares_of_at_most(share);
        if shares.iter().all(|&kept| kept == share) {
            return (shares, level);
        }
        // What hard groups cannot have goes to easy ones, so that all are nearer to equal shares of time.
        self.groups.iter_mut().for_each(|group| group.weight = (group.weight * group.allowed).sqrt());
        let share = water_fill(self.groups);
        let allowed: f64 = self.groups.iter().map(|group| group.allowed).sum();
        let most = least_share(share, |most| {
            let (shares, _) = self.shares_of_at_most(most);
            self.groups.iter().zip(shares).map(|(group, share)| group.kept(share)).sum::<f64>() < allowed
        });
        self.shares_of_at_most(most)
    }

    /// The share for each group, which is `most` where the bucket allows it.
    fn shares_of_at_most(&self, most: f64) -> (Vec<f64>, f64) {
        let (mut shares, mut level) = (Vec::with_capacity(self.groups.len()), self.level);
        while shares.len() < self.groups.len() {
            let first = shares.len();
            let (share, run) = self.longest_run(first, level, most);
            shares.resize(run.last + 1, share);
            level = run.level;
        }
        (shares, level)
    }

    /// The longest run of groups from `first` on that keeps one share, and that share.
    fn longest_run(&self, first: usize, level: f64, most: f64) -> (f64, Run) {
        let last = self.groups.len() - 1;
        let mut full = self.run(first..=last, level, most);
        if full.end != End::Full {
            return (most, full);
        }
        // Just above the share the bucket overflows, just below it is empty at last, or the groups end: it changes where either comes first.
        let (share, _) = bisect(0.0, most, |share| {
            let run = self.run(first..=last, level, share);
            let overflows = run.end == End::Full;
            if overflows {
                full = run;
            }
            !overflows
        });
        let run = self.run(first..=last, level, share);
        (share, if full.last < run.last { self.run(first..=full.last, level, share) } else { run })
    }

    /// Lets `groups` through with `share` of their weight, up to the first of them with which the run ends.
    fn run(&self, groups: RangeInclusive<usize>, mut level: f64, share: f64) -> Run {
        let end_of = |group: usize| self.groups[group].end as usize - self.begin;
        let (first, last) = groups.into_inner();
        let mut picture = if first == 0 { 0 } else { end_of(first - 1) };
        for index in first..=last {
            let ratio = self.groups[index].ratio(share);
            for &(bits, seconds) in &self.sizes[picture..end_of(index)] {
                level += f64::from(bits) * ratio / self.rate.max(1.0);
                if level > self.depth {
                    return Run { end: End::Full, last: index, level };
                }
                level = (level - f64::from(seconds)).max(0.0);
            }
            picture = end_of(index);
            if level == 0.0 {
                return Run { end: End::Empty, last: index, level };
            }
        }
        Run { end: End::All, last, level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Groups of a second each and four pictures of the same size; bits and weight of each in Mbit.
    fn seconds(groups: &[(f64, f64)]) -> (Vec<Group>, Vec<(f32, f32)>) {
        let group = |(index, &(bits, weight)): (usize, &(f64, f64))| Group {
            end: 4 * (index as u64 + 1),
            bits: 1e6 * bits,
            allowed: 1e6,
            weight: 1e6 * weight,
            ..Group::default()
        };
        let sizes = groups.iter().flat_map(|&(bits, _)| [((1e6 * bits) as f32 / 4.0, 0.25); 4]);
        (groups.iter().enumerate().map(group).collect(), sizes.collect())
    }

    /// Mbit that the groups keep at 1 Mbit/s through a bucket of `depth` seconds.
    fn kept(groups: &[(f64, f64)], depth: f64) -> Vec<f64> {
        let (mut groups, sizes) = seconds(groups);
        let (groups, sizes) = (&mut groups, &sizes);
        let (shares, _) = Smoothing { groups, begin: 0, sizes, rate: 1e6, depth, level: 0.0 }.shares();
        groups.iter().zip(shares).map(|(group, share)| (group.kept(share) / 1e3).round() / 1e3).collect()
    }

    fn sum(kept: &[f64]) -> f64 {
        kept.iter().sum()
    }

    #[test]
    fn groups_that_overflow_the_bucket_leave_bits_to_others() {
        // Five seconds with 0.6 Mbit each, then five with 2 Mbit each.
        let kept = kept(&[[(0.6, 1.0); 5], [(2.0, 1.0); 5]].concat(), 1.0);
        // The bucket takes one second more than the five pass, of which 0.25 leave behind the last picture.
        assert!((sum(&kept) - 3.0 - 5.75).abs() < 0.002, "{kept:?}");
        assert!(kept[5..].iter().all(|bits| (bits - 1.15).abs() < 0.001), "{kept:?}");
    }

    #[test]
    fn groups_between_two_that_overflow_are_not_cut_for_either() {
        // Seconds of few bits, of many, of 0.7 Mbit, and of many again.
        let bits = [[0.1; 8], [2.0; 8], [0.7; 8], [2.0; 8]].concat();
        let kept = kept(&bits.iter().map(|&bits| (bits, 1.0)).collect::<Vec<_>>(), 1.0);
        assert_eq!(kept[..8], bits[..8]);
        assert_eq!(kept[16..24], bits[16..24]);
        assert!(
            [8..16, 24..32].into_iter().all(|range| (sum(&kept[range]) - 8.75).abs() < 0.005),
            "{kept:?}"
        );
    }

    #[test]
    fn complexity_shares_what_the_bucket_lets_through() {
        let kept = |weights: [f64; 6]| kept(&weights.map(|weight| (1.5, weight)), 0.6);
        assert_eq!(kept([1.0, 1.1, 1.0, 1.1, 0.9, 0.9]), [1.0, 1.1, 1.0, 1.1, 0.9, 0.9]);
        // As 1.5 to 1 would overflow it; as the root of that does not.
        assert_eq!(kept([1.0, 1.0, 1.5, 1.5, 1.0, 1.0]), [0.93, 0.93, 1.139, 1.139, 0.93, 0.93]);
        // Of two hard seconds the bucket takes 1.75 s and what is in it at the end.
        assert_eq!(kept([1.0, 1.0, 2.0, 2.0, 1.0, 1.0]), [0.913, 0.913, 1.175, 1.175, 0.913, 0.913]);
    }

    /// Each group is one picture of a second.
    fn pictures() -> impl Strategy<Value = Vec<(f64, f64)>> {
        proptest::collection::vec((0.05..4.0, 0.2..3.0), 1..60)
    }

    proptest! {
        /// What no other share could better: it rises only behind a full bucket, falls only behind an empty one, and what flows out of an
        /// empty one unused is missed by nothing.
        #[test]
        fn a_share_changes_only_at_the_bounds(pictures in pictures(), depth in 1.0..4.0) {
            let (mut groups, _) = seconds(&pictures);
            (1..).zip(&mut groups).for_each(|(end, group)| group.end = end);
            let sizes: Vec<(f32, f32)> = pictures.iter().map(|&(bits, _)| ((1e6 * bits) as f32, 1.0)).collect();
            let (groups, sizes) = (&mut groups, &sizes);
            let (shares, _) = Smoothing { groups, begin: 0, sizes, rate: 1e6, depth, level: 0.0 }.shares();
            let kept: Vec<f64> = groups.iter().zip(&shares).map(|(group, &share)| group.kept(share) / 1e6).collect();
            let (total, highest) = (sum(&kept), shares.iter().fold(0.0f64, |most, &share| most.max(share)));
            prop_assert!(total <= pictures.len() as f64 * (1.0 + 1e-4));
            let meets = total >= pictures.len() as f64 * (1.0 - 1e-4);
            let mut level = 0.0;
            for (index, kept) in kept.iter().enumerate() {
                let full = level + kept;
                prop_assert!(full <= depth + 1e-4, "{full} in {depth}");
                let rest = full - 1.0;
                level = rest.max(0.0);
                let (share, next) = (shares[index], shares.get(index + 1).copied().unwrap_or(shares[index]));
                prop_assert!(next <= share * 1.0001 || full > depth - 1e-3, "{share} to {next} at {full}");
                prop_assert!(next >= share * 0.9999 || rest < 1e-3, "{share} to {next} at {rest}");
                let keeps_all = *kept >= 0.9999 * pictures[index].0;
                prop_assert!(rest > -1e-3 || share == highest && (meets || keeps_all), "{share} of {highest}");
            }
        }
    }
}
