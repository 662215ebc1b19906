//! The options of controllers and policies: how they are described, and how their text is read.

use crate::spec::{ControlSpec, SpecError};
use seaway_units::TimeDelta;
use std::fmt;
use std::str::FromStr;

/// An option as it is documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its key.
    pub name: &'static str,
    /// Its value when it is not given.
    pub default: &'static str,
    /// The values it may have.
    pub range: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// The name of the option of controllers whose documents leave the feedback interval open.
pub(crate) const FEEDBACK_INTERVAL: &str = "feedback";

/// The option itself.
pub(crate) const fn feedback_interval(default: &'static str) -> OptionInfo {
    OptionInfo {
        name: FEEDBACK_INTERVAL,
        default,
        range: "5 ms to 1 s",
        about: "from one message of the receiver to the next",
    }
}

/// The entry of that name, or advice.
pub(crate) fn find_named<'a, T>(
    entries: &'a [T],
    name_of: impl Fn(&T) -> &'static str + Copy,
    what: &str,
    name: &str,
) -> Result<&'a T, SpecError> {
    let advice = || format!("no such {what}; {}", nearest(name, entries.iter().map(name_of)));
    entries.iter().find(|entry| name_of(entry) == name).ok_or_else(|| SpecError::new(name, advice()))
}

/// "did you mean a or b?" with the names nearest to `found`, or all of them. Capitals and hyphens make no distance.
pub fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    const SHOWN: usize = 3;
    let plain = |name: &str| -> String { name.to_lowercase().replace(['-', '_', ' '], "") };
    let wanted = plain(found);
    let mut close: Vec<_> = known
        .clone()
        .map(|name| (edit_distance(&wanted, &plain(name)), name))
        .filter(|(distance, _)| *distance <= 2.min(wanted.len().saturating_sub(1)))
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.truncate(SHOWN);
    if close.is_empty() {
        format!("there are: {}", known.collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", close.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" or "))
    }
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[row.len() - 1]
}

/// The options of a [`ControlSpec`], checked against those that there are.
#[derive(Debug)]
pub struct Options<'a> {
    spec: &'a ControlSpec,
    known: &'static [OptionInfo],
}

impl<'a> Options<'a> {
    pub(crate) fn new(
        spec: &'a ControlSpec,
        name: &str,
        options: &'static [OptionInfo],
    ) -> Result<Self, SpecError> {
        let known = options.iter().map(|option| option.name);
        for (index, (key, _)) in spec.options.iter().enumerate() {
            if !known.clone().any(|option| option == key) {
                let advice = if options.is_empty() {
                    format!("{name} has no options")
                } else {
                    format!("{name} has no such option; {}", nearest(key, known))
                };
                return Err(SpecError::new(key, advice));
            }
            if spec.options[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(SpecError::new(key, "given twice"));
            }
        }
        Ok(Self { spec, known: options })
    }

    /// The value of `key` as a `T`, `None` where it was not given.
    ///
    /// # Errors
    /// Where it reads as none.
    pub fn take<T: FromStr<Err: fmt::Display>>(&self, key: &str) -> Result<Option<T>, SpecError> {
        debug_assert!(self.known.iter().any(|option| option.name == key), "{key} is not described");
        let Some((_, value)) = self.spec.options.iter().find(|(name, _)| name == key) else {
            return Ok(None);
        };
        let parsed = value.parse().map_err(|error| self.wrong(key, value, &error));
        parsed.map(Some)
    }

    /// The value of `key`, which must satisfy `valid`.
    ///
    /// # Errors
    /// Where it reads as none, or does not satisfy that.
    pub fn take_if<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &str,
        valid: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, SpecError> {
        let value = self.take(key)?;
        match &value {
            Some(value) if !valid(value) => {
                let text =
                    self.spec.options.iter().find(|(name, _)| name == key).map_or("", |(_, text)| text);
                Err(self.wrong(key, text, &"out of range"))
            }
            _ => Ok(value),
        }
    }

    /// The text of `key`, if it was given.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.spec.options.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether `key` was given this value.
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.text(key) == Some(value)
    }

    /// The interval of feedback where it was given.
    pub(crate) fn feedback_interval(&self) -> Result<Option<TimeDelta>, SpecError> {
        let range = TimeDelta::from_millis(5)..=TimeDelta::from_secs(1);
        self.take_if(FEEDBACK_INTERVAL, |interval| range.contains(interval))
    }

    /// None of `keys` may be given.
    pub(crate) fn refuse(&self, keys: &[&str], why: &str) -> Result<(), SpecError> {
        match self.spec.options.iter().find(|(name, _)| keys.contains(&name.as_str())) {
            Some((name, _)) => Err(SpecError::new(name, why)),
            None => Ok(()),
        }
    }

    fn wrong(&self, key: &str, value: &str, why: &dyn fmt::Display) -> SpecError {
        let range = self.known.iter().find(|option| option.name == key).map_or("", |option| option.range);
        SpecError::new(&format!("{key}={value}"), format!("{why}; expected {range}"))
    }
}

/// Two lists of options as one, for a controller that builds on another.
pub(crate) const fn join_options<const A: usize, const B: usize, const N: usize>(
    first: [OptionInfo; A],
    second: [OptionInfo; B],
) -> [OptionInfo; N] {
    assert!(A + B == N);
    let mut all = [first[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < A { first[index] } else { second[index - A] };
        index += 1;
    }
    all
}

/// An option that is on or off.
pub(crate) struct Switch(pub(crate) bool);

impl FromStr for Switch {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "on" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err("neither on nor off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_is_levenshteins() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
