//! How many bits each picture may have (S002, 2.2 and 2.3), under a target that may change at any picture.

use super::config::Target;
use crate::header::PictureKind;
use std::collections::VecDeque;

/// Pictures over which the rate of the input is measured, and a deviation is made up for.
const HORIZON: usize = 30;

/// How deep each kind of picture is cut, beside the mean cut: errors in B pictures are seen once, those in I and P
/// pictures in all that is predicted from them (`docs/models/rate-shaping.md`, section "Order of the algorithms").
fn depth(kind: Option<PictureKind>) -> f64 {
    match kind {
        Some(PictureKind::I) => 0.3,
        Some(PictureKind::P) => 0.7,
        Some(PictureKind::B) => 2.0,
        _ => 1.0,
    }
}

/// No picture is asked for a larger cut than this share of it while others can give more.
const DEEPEST: f64 = 0.7;
/// The share of all bits that may be put off ...
const PUT_OFF: f64 = 0.003;
/// ... beside what the smallest of so many pictures can give.
const ABSORBING: usize = 4;

/// Keeps the books: budgets in proportion to the input, unused bits carried over.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    target: Target,
    /// Bits allowed and not spent; negative: overdrawn.
    carry: f64,
    /// Bits and seconds of the newest pictures, the rate of the input.
    recent: VecDeque<(f64, f64)>,
    /// The cuts of the same pictures had each been as deep as its kind's.
    depths: VecDeque<f64>,
    /// Bits that should have been cut and were not yet.
    put_off: f64,
    /// Bits of all pictures.
    whole: f64,
    /// How much of what was put off before the newest group of pictures each picture makes up for.
    made_up: f64,
    /// Pictures in this group so far.
    in_group: usize,
    /// For a target in bit/s: bits that the target has promised beyond the budgets given.
    promised: f64,
    /// The share of them that the newest pictures other than I keep at the least.
    least: f64,
}

/// How much a picture weighs in what is known of the least shares.
const LEAST_WEIGHT: f64 = 0.2;
/// The share of what can be cut from the rest of the stream beyond the target that may be relied upon.
const RELIABLE: f64 = 0.5;

impl Account {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            carry: 0.0,
            recent: VecDeque::new(),
            depths: VecDeque::new(),
            put_off: 0.0,
            whole: 0.0,
            made_up: 0.0,
            in_group: 0,
            promised: 0.0,
            least: 0.0,
        }
    }

    pub(crate) fn set_target(&mut self, target: Target) {
        if self.target != target {
            self.target = target;
            self.promised = 0.0;
        }
    }

    /// Takes note of a picture and returns its budget, carry-over left out: what the target allows, with cuts shared
    /// out by kind. The `last` one settles what is still put off.
    pub(crate) fn open(&mut self, target: Target, picture: &Opening) -> f64 {
        self.set_target(target);
        self.observe(picture.bits, picture.seconds);
        let bits = picture.bits as f64;
        let due = bits - self.allow(picture);
        let wanted = self.share_out(picture.kind, bits, due) + self.make_up(picture.kind);
        // Nothing is cut ahead of time but what the last pictures cannot give: they can make up for too little, not for
        // too much.
        let most = due + self.put_off + self.missing_ahead(due / bits.max(1.0), picture);
        let least = (most - self.may_put_off(due / bits.max(1.0), picture)).clamp(0.0, most.max(0.0));
        let cut = if picture.last { most } else { wanted.min(most).max(least) };
        let cut = cut.clamp(0.0, bits);
        self.put_off += due - cut;
        bits - cut
    }

    /// The budget of a picture as far as it depends on the input alone, for a first idea: the same however many pictures
    /// are looked at together.
    pub(crate) fn guess(&mut self, target: Target, picture: &Opening) -> f64 {
        self.set_target(target);
        self.observe(picture.bits, picture.seconds);
        let bits = picture.bits as f64;
        let due = bits - self.allow(picture);
        bits - self.share_out(picture.kind, bits, due).clamp(0.0, bits)
    }

    /// What the rest of the stream will fall short of where a `share` of it is to be cut, once the end is near.
    fn missing_ahead(&self, share: f64, picture: &Opening) -> f64 {
        let Some(left) = picture.bits_left.filter(|&left| left < self.recent_bits()) else { return 0.0 };
        (self.least - (1.0 - share)).max(0.0) * left
    }

    /// The cut of a picture, where `due` is the mean one.
    fn share_out(&mut self, kind: Option<PictureKind>, bits: f64, due: f64) -> f64 {
        self.depths.push_back(depth(kind) * bits);
        if self.depths.len() > HORIZON {
            self.depths.pop_front();
        }
        let whole: f64 = self.recent.iter().map(|&(bits, _)| bits).sum();
        let mean = self.depths.iter().sum::<f64>() / whole.max(1.0);
        // Where all must give much, there is less to share out.
        let deepest = depth(Some(PictureKind::B)) / mean.max(1e-9);
        let share = due / bits.max(1.0);
        let spread = ((DEEPEST / share.max(1e-9) - 1.0) / (deepest - 1.0).max(1e-9)).clamp(0.0, 1.0);
        due * (1.0 + (depth(kind) / mean.max(1e-9) - 1.0) * spread)
    }

    /// What an I picture is spared the others of its group give; only what a whole group leaves is made up for, by
    /// the next.
    fn make_up(&mut self, kind: Option<PictureKind>) -> f64 {
        if kind == Some(PictureKind::I) || self.in_group >= HORIZON {
            self.made_up = self.put_off / self.in_group.max(1) as f64;
            self.in_group = 0;
        }
        self.in_group += 1;
        self.made_up
    }

    /// A little of all that came, and what the smallest of the last pictures could give, were it the last; no more than
    /// what comes can make up for.
    fn may_put_off(&mut self, share: f64, picture: &Opening) -> f64 {
        self.whole += picture.bits as f64;
        let newest = self.recent.iter().rev().take(ABSORBING).map(|&(bits, _)| bits);
        let most = PUT_OFF * self.whole + DEEPEST / 2.0 * newest.fold(f64::INFINITY, f64::min);
        match picture.bits_left {
            Some(left) => most.min(RELIABLE * (1.0 - self.least - share).max(0.0) * left),
            None => most,
        }
    }

    /// Bits of all pictures.
    pub(crate) fn whole(&self) -> f64 {
        self.whole
    }

    fn recent_bits(&self) -> f64 {
        self.recent.iter().map(|&(bits, _)| bits).sum()
    }

    /// Takes note of a picture of `bits` that lasts `seconds`.
    pub(crate) fn observe(&mut self, bits: u64, seconds: f64) {
        self.recent.push_back((bits as f64, seconds));
        if self.recent.len() > HORIZON {
            self.recent.pop_front();
        }
    }

    /// The budget of an observed picture, carry-over left out.
    pub(crate) fn allow(&mut self, picture: &Opening) -> f64 {
        let bits = picture.bits as f64;
        match self.target {
            Target::Ratio(ratio) => bits * ratio.clamp(0.0, 1.0),
            Target::Rate(rate) => {
                let rate = rate.as_bps_f64();
                let (all_bits, all_seconds) =
                    self.recent.iter().fold((0.0, 0.0), |(b, s), &(bits, seconds)| (b + bits, s + seconds));
                // The last pictures get all that is left of what was promised.
                let mean = all_bits / self.recent.len().max(1) as f64;
                let left = picture.bits_left.map_or(HORIZON as f64, |left| 1.0 + left / mean.max(1.0));
                let left = if picture.last { 1.0 } else { left.min(HORIZON as f64) };
                let even = bits * rate * f64::max(all_seconds / all_bits.max(1.0), self.as_declared(picture));
                let due = if picture.last { rate * picture.seconds } else { even };
                let budget = (due + self.promised / left).clamp(0.0, bits);
                let limit = rate * all_seconds;
                self.promised = (self.promised + rate * picture.seconds - budget).clamp(-limit, limit);
                budget
            }
        }
    }

    /// Seconds a bit, were the rest of the horizon at the declared rate: of a stream that begins, an I picture is all that
    /// is known, and no measure for what follows.
    fn as_declared(&self, picture: &Opening) -> f64 {
        let (bits, seconds) =
            self.recent.iter().fold((0.0, 0.0), |(b, s), &(bits, seconds)| (b + bits, s + seconds));
        let Some(declared) = picture.declared_rate.filter(|_| self.recent.len() < HORIZON) else {
            return 0.0;
        };
        let unknown = (HORIZON - self.recent.len()) as f64 * picture.seconds;
        (seconds + unknown) / f64::max(bits + declared * unknown, 1.0)
    }

    /// What a window of pictures may have beyond the budgets of its pictures, where the stream ends with it.
    pub(crate) fn settle_promises(&mut self) -> f64 {
        std::mem::take(&mut self.promised)
    }

    /// What earlier pictures left, or overdrew.
    pub(crate) fn carry(&self) -> f64 {
        self.carry
    }

    /// Takes note of the least a picture can be cut back to.
    pub(crate) fn note_least(&mut self, kind: Option<PictureKind>, bits: u64, needed: u64) {
        if kind != Some(PictureKind::I) {
            self.least += LEAST_WEIGHT * (needed as f64 / bits.max(1) as f64 - self.least);
        }
    }

    /// Closes a picture: `allowed` of it, `spent`. A debt or a credit beyond the last pictures' bits lapses.
    pub(crate) fn settle(&mut self, allowed: f64, spent: u64) {
        let limit = self.recent_bits();
        self.carry = (self.carry + allowed - spent as f64).clamp(-limit, limit);
    }
}

/// A picture that asks for its budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) kind: Option<PictureKind>,
    pub(crate) bits: u64,
    pub(crate) seconds: f64,
    pub(crate) last: bool,
    /// Bits that follow it, where that is known.
    pub(crate) bits_left: Option<f64>,
    /// The rate that the stream declares, bit/s.
    pub(crate) declared_rate: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Bitrate;

    #[test]
    fn a_rate_is_met_on_average_whatever_the_picture_sizes() {
        let mut account = Account::new(Target::Rate(Bitrate::from_kbps(2000)));
        let mut total = 0.0;
        for i in 0..1000u64 {
            let bits = if i % 15 == 0 { 500_000 } else { 80_000 + i % 7 * 1000 };
            account.observe(bits, 0.04);
            let picture = Opening {
                kind: None,
                bits,
                seconds: 0.04,
                last: false,
                bits_left: None,
                declared_rate: None,
            };
            total += account.allow(&picture);
        }
        let rate = total / (1000.0 * 0.04);
        assert!((rate / 2e6 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn cuts_by_kind_add_up_to_the_target() {
        for ratio in [0.95, 0.8, 0.5, 0.2] {
            let mut account = Account::new(Target::Ratio(ratio));
            let (mut whole, mut allowed) = (0.0, 0.0);
            for i in 0..100u64 {
                let (kind, bits) = match i {
                    _ if i % 15 == 0 => (PictureKind::I, 400_000),
                    _ if i % 3 == 0 => (PictureKind::P, 200_000),
                    _ => (PictureKind::B, 60_000),
                };
                let picture = Opening {
                    kind: Some(kind),
                    bits,
                    seconds: 0.04,
                    last: i == 99,
                    bits_left: None,
                    declared_rate: None,
                };
                let budget = account.open(Target::Ratio(ratio), &picture);
                (whole, allowed) = (whole + bits as f64, allowed + budget);
                assert!((allowed - ratio * whole).abs() < 400_000.0, "{ratio}: {i}");
                if i > 60 && kind == PictureKind::I {
                    assert!(budget / bits as f64 >= ratio, "{ratio}: {budget}");
                }
            }
            assert!((allowed / whole / ratio - 1.0).abs() < 0.001, "{ratio}: {}", allowed / whole);
        }
    }

    #[test]
    fn a_rate_above_the_input_allows_the_input() {
        let mut account = Account::new(Target::Rate(Bitrate::from_mbps(100)));
        account.observe(1000, 0.04);
        let picture = Opening {
            kind: None,
            bits: 1000,
            seconds: 0.04,
            last: false,
            bits_left: None,
            declared_rate: None,
        };
        assert_eq!(account.allow(&picture), 1000.0);
    }
}
