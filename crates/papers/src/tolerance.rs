//! The range in which a number must lie.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A closed range, open where a bound is absent.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Tolerance {
    /// At least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Tolerance {
    /// From `min` to `max`.
    pub const fn within(min: f64, max: f64) -> Self {
        Self { min: Some(min), max: Some(max) }
    }

    /// No further than `by` from `from`.
    pub fn about(from: f64, by: f64) -> Self {
        Self::within(from - by.abs(), from + by.abs())
    }

    /// No further from `from` than this part of it.
    pub fn about_part(from: f64, part: f64) -> Self {
        Self::about(from, from * part)
    }

    /// `min` or more.
    pub const fn at_least(min: f64) -> Self {
        Self { min: Some(min), max: None }
    }

    /// `max` or less.
    pub const fn at_most(max: f64) -> Self {
        Self { min: None, max: Some(max) }
    }

    /// True where `value` lies inside; what is not a number does not.
    pub fn holds(&self, value: f64) -> bool {
        value.is_finite()
            && self.min.is_none_or(|min| value >= min)
            && self.max.is_none_or(|max| value <= max)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| crate::results::shortened(value);
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => write!(f, "{}", number(min)),
            (Some(min), Some(max)) => write!(f, "{} … {}", number(min), number(max)),
            (Some(min), None) => write!(f, "≥ {}", number(min)),
            (None, Some(max)) => write!(f, "≤ {}", number(max)),
            (None, None) => f.write_str("any"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_to_the_tolerance_and_nothing_holds_nan() {
        let tolerance = Tolerance::about(9.14, 0.01);
        assert!(tolerance.holds(9.14) && tolerance.holds(9.1305) && !tolerance.holds(9.16));
        assert!(Tolerance::at_least(2.0).holds(2.0) && !Tolerance::at_least(2.0).holds(1.9));
        assert!(!Tolerance::at_most(2.0).holds(f64::NAN));
        assert_eq!(Tolerance::within(1.0, 2.5).to_string(), "1 … 2.5");
        assert_eq!(Tolerance::at_most(0.002).to_string(), "≤ 0.002");
    }
}
