//! From the buffer's level to a state, from the state to a step (S000 sections 3.3 and 4.4).

use crate::feedback::BufferLevel;

/// Where the receiver's buffer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferState {
    /// Below a fifth: it runs dry.
    Underflow,
    /// Between.
    Stable,
    /// At nine tenths or above: it runs over.
    Overflow,
}

/// How a level becomes a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Which trend takes the stronger step.
    pub rule: GammaRule,
    /// Classify the level that is to come: the present one and its last change.
    pub predict: bool,
    /// Keep room below the upper threshold for what arrives in a round-trip time.
    pub dynamic: bool,
    /// Below this part of the capacity the buffer runs dry (`B_L`).
    pub low: f64,
    /// From this part on it runs over (`B_H`).
    pub high: f64,
    /// The multiplier of a dry buffer (`γ1`) where the trend takes no stronger step.
    pub dry: f64,
    /// The multiplier of a full one (`γ2`) where the trend takes no stronger step.
    pub over: f64,
}

/// Which `γ` goes with which trend of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GammaRule {
    /// 1.2 and 0.9 whatever the trend (type-II).
    Constant,
    /// S000 section 4.4: 1.3 where a dry buffer fills, 0.8 where a full one empties.
    Literal,
    /// S000 section 3.2's prose: 1.3 where a dry one does not fill, 0.8 where a full one does not empty.
    Adverse,
}

/// One step and its reasons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LevelResponse {
    pub(super) state: BufferState,
    pub(super) rate: f64,
    /// The bytes that were classified, and the threshold they passed or stayed below.
    pub(super) looked_at: f64,
    pub(super) threshold: f64,
}

/// Thresholds as parts of the capacity (S000 section 3.2).
const LOW: f64 = 0.2;
const HIGH: f64 = 0.9;
/// `γ1` and `γ2`, and what the stronger step has more (S000 section 4.4).
const DRY: f64 = 1.2;
const OVER: f64 = 0.9;
const STRONGER: f64 = 0.1;

impl Law {
    /// Predicts, and steps by the trend.
    pub const TYPE_1: Self = Self { rule: GammaRule::Literal, predict: true, ..Self::TYPE_2 };
    /// The level and nothing else.
    pub const TYPE_2: Self = Self {
        rule: GammaRule::Constant,
        predict: false,
        dynamic: false,
        low: LOW,
        high: HIGH,
        dry: DRY,
        over: OVER,
    };

    /// The step for a `level` that was `former` a report ago. `arriving` is what a round-trip time brings,
    /// bytes; `rate_in` gives the rate in a state, by `γ` where the state has one.
    pub(super) fn step(
        self,
        level: BufferLevel,
        former: BufferLevel,
        arriving: f64,
        rate_in: impl FnOnce(BufferState, f64) -> f64,
    ) -> LevelResponse {
        let held = level.held.as_bytes_f64();
        let trend = held - former.held.as_bytes_f64();
        let looked_at = if self.predict { held + trend } else { held };
        let capacity = level.capacity.as_bytes_f64();
        let (low, high) = self.thresholds(capacity, arriving);
        let (state, threshold) = if looked_at >= high {
            (BufferState::Overflow, high)
        } else if looked_at < low {
            (BufferState::Underflow, low)
        } else {
            (BufferState::Stable, high)
        };
        LevelResponse { state, rate: rate_in(state, self.gamma(state, trend)), looked_at, threshold }
    }

    /// `B_L` and `B_H` in bytes, of a buffer of `capacity` bytes.
    pub(super) fn thresholds(self, capacity: f64, arriving: f64) -> (f64, f64) {
        let (low, high) = (self.low * capacity, self.high.max(self.low) * capacity);
        (low, if self.dynamic { (capacity - arriving).clamp(low, high) } else { high })
    }

    fn gamma(self, state: BufferState, trend: f64) -> f64 {
        let is_strong = match (state, self.rule) {
            (BufferState::Underflow, GammaRule::Literal) => trend > 0.0,
            (BufferState::Underflow, GammaRule::Adverse) => trend <= 0.0,
            (BufferState::Overflow, GammaRule::Literal) => trend < 0.0,
            (BufferState::Overflow, GammaRule::Adverse) => trend >= 0.0,
            _ => false,
        };
        let stronger = if is_strong { STRONGER } else { 0.0 };
        match state {
            BufferState::Underflow => self.dry + stronger,
            BufferState::Overflow => self.over - stronger,
            BufferState::Stable => 1.0,
        }
    }

    /// The step for a report that did not come.
    pub(super) fn silence(self) -> f64 {
        self.gamma(BufferState::Overflow, 0.0)
    }
}

impl BufferState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Underflow => "underflow",
            Self::Stable => "stable",
            Self::Overflow => "overflow",
        }
    }

    pub(super) const fn rule(self) -> &'static str {
        match self {
            Self::Underflow => "buffer runs dry",
            Self::Stable => "buffer is stable",
            Self::Overflow => "buffer runs over",
        }
    }
}
