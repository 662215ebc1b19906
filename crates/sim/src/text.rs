//! Text forms of quantities that only cells have.

use seaway_units::Probability;
use serde::de::{Deserialize, Deserializer, Error};

/// A number with one of `units`, in base units.
pub(crate) fn number_in<'de, D: Deserializer<'de>>(
    deserializer: D,
    units: &[(&str, f64)],
    expected: &str,
) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let read = |&(unit, scale): &(&str, f64)| {
        let value: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        value.is_finite().then_some(value * scale)
    };
    let value = units.iter().find_map(read);
    value.ok_or_else(|| D::Error::custom(format!("{text:?}: expected {expected}")))
}

/// A number from 0 to 1.
pub(crate) fn probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Probability, D::Error> {
    let value = f64::deserialize(deserializer)?;
    Probability::new(value).ok_or_else(|| D::Error::custom(format!("found {value}: expected 0 to 1")))
}
