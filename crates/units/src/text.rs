//! The text form shared by all units: a decimal number, blanks if any, a unit.

use std::fmt;

/// A unit's name and how many base units it holds.
#[derive(Clone, Copy)]
pub(crate) struct Unit(pub(crate) &'static str, pub(crate) f64);

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    found: String,
    problem: &'static str,
    expected: String,
}

impl ParseError {
    fn new(found: &str, problem: &'static str, expected: impl Into<String>) -> Self {
        // What was found may come from anywhere: quote no more of it than a person would read.
        Self { found: found.chars().take(40).collect(), problem, expected: expected.into() }
    }

    pub(crate) fn malformed(found: &str, expected: &str) -> Self {
        Self::new(found, "cannot be read", expected)
    }

    pub(crate) fn negative(found: &str, expected: &str) -> Self {
        Self::new(found, "is negative", expected)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: expected {}", self.found, self.problem, self.expected)
    }
}

impl std::error::Error for ParseError {}

/// Reads a number followed by one of `units`, in base units. Finite, or an error.
pub(crate) fn parse_scaled(text: &str, expected: &str, units: &[Unit]) -> Result<f64, ParseError> {
    let with_units = || {
        let names: Vec<_> = units.iter().map(|unit| unit.0).collect();
        format!("{expected} ({})", names.join(", "))
    };
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    let number: f64 = number.parse().map_err(|_| ParseError::new(text, "cannot be read", with_units()))?;
    if unit.is_empty() {
        return Err(ParseError::new(text, "has no unit", with_units()));
    }
    let Some(unit) = units.iter().find(|candidate| candidate.0 == unit) else {
        return Err(ParseError::new(text, "has an unknown unit", with_units()));
    };
    let value = number * unit.1;
    // Beyond this, the integers behind the types no longer hold it.
    if value.abs() < 9e18 { Ok(value) } else { Err(ParseError::new(text, "is too large", with_units())) }
}

/// Writes `value` in the largest of `units` (largest first) of which it holds one; `zero` names the unit of 0.
pub(crate) fn display_scaled(
    f: &mut fmt::Formatter<'_>,
    value: f64,
    units: &[Unit],
    zero: &str,
) -> fmt::Result {
    let fitting = units.iter().find(|unit| value.abs() >= unit.1);
    let (name, scale) = fitting.map_or((zero, 1.0), |unit| (unit.0, unit.1));
    match f.precision() {
        Some(precision) => write!(f, "{:.precision$} {name}", value / scale),
        None => write!(f, "{} {name}", value / scale),
    }
}

#[cfg(feature = "serde")]
mod serde_text {
    use crate::{Bitrate, DataSize, Decibels, TimeDelta, decibels, rate, size, time};
    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::{Serialize, Serializer};
    use std::fmt;
    use std::marker::PhantomData;
    use std::str::FromStr;

    /// Reads a quantity from its text alone, so that a bare number is refused and the error says what is wanted.
    struct Text<T>(&'static str, PhantomData<T>);

    impl<T: FromStr<Err = super::ParseError>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    macro_rules! by_text {
        ($($name:ty: $expected:expr),*) => {$(
            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_str(Text($expected, PhantomData))
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }
        )*};
    }

    by_text!(
        Bitrate: rate::EXPECTED, DataSize: size::EXPECTED,
        Decibels: decibels::EXPECTED, TimeDelta: time::EXPECTED
    );
}
