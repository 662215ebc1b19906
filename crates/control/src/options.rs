//! The options of controllers and policies: each is described and read in one place, beside the configuration.

use crate::spec::{ControlSpec, SpecError};
use seaway_units::TimeDelta;
use std::fmt;
use std::ops::RangeInclusive;
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

/// Options that are documented together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionGroup {
    /// What several controllers share them as; `None` for options of one controller.
    pub family: Option<&'static str>,
    /// The options.
    pub options: &'static [OptionInfo],
}

/// Reads the text of an option into the configuration `C`.
pub type Setter<C> = fn(&mut C, Value<'_>) -> Result<(), OptionError>;

/// The options of a configuration `C`. Made with [`options!`](crate::options!).
#[derive(Debug)]
pub struct OptionTable<C: 'static> {
    /// How they are documented.
    pub group: OptionGroup,
    /// How each is read, in the same order.
    pub setters: &'static [Setter<C>],
}

impl<C> OptionTable<C> {
    /// The same options, shared by several controllers.
    #[must_use]
    pub const fn shared_as(&self, family: &'static str) -> Self {
        let group = OptionGroup { family: Some(family), options: self.group.options };
        Self { group, setters: self.setters }
    }
}

/// Options with their names, defaults, ranges and meanings, and how each is read into a configuration. They are read
/// in this order, whatever the order in which they are given.
///
/// ```
/// use seaway_control::{OptionTable, options};
///
/// struct Config { gain: f64, fast: bool }
/// const OPTIONS: OptionTable<Config> = options! { |config: &mut Config, value|
///     "gain" = "0.5", "0 to 1", "weight of a new sample": config.gain = value.within(0.0..=1.0)?;
///     "fast" = "off", "on or off", "double the rate at first": config.fast = value.switch()?;
/// };
/// ```
#[macro_export]
macro_rules! options {
    (|$config:ident: &mut $type:ty, $value:ident|
     $($name:literal = $default:literal, $range:literal, $about:literal: $set:expr;)*) => {
        $crate::OptionTable::<$type> {
            group: $crate::OptionGroup {
                family: None,
                options: &[$($crate::OptionInfo {
                    name: $name, default: $default, range: $range, about: $about
                }),*],
            },
            setters: &[$(|$config: &mut $type, $value: $crate::Value<'_>| { $set; Ok(()) }),*],
        }
    };
}

/// Why an option cannot have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionError {
    /// The text is no such value; in words.
    Invalid(String),
    /// The option has no effect beside this other one.
    DoesNotApply(&'static str),
}

/// The text of an option's value.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a>(&'a str);

impl Value<'_> {
    /// The text read as a `T`.
    ///
    /// # Errors
    /// Where it reads as none.
    pub fn read<T: FromStr<Err: fmt::Display>>(self) -> Result<T, OptionError> {
        self.0.parse().map_err(|error: T::Err| OptionError::Invalid(error.to_string()))
    }

    /// The text read as a `T` of this range.
    ///
    /// # Errors
    /// Where it reads as none, or as one outside.
    pub fn within<T>(self, range: RangeInclusive<T>) -> Result<T, OptionError>
    where
        T: FromStr<Err: fmt::Display> + PartialOrd,
    {
        let value = self.read()?;
        if range.contains(&value) { Ok(value) } else { Err(OptionError::Invalid("out of range".to_owned())) }
    }

    /// One of these, by name.
    ///
    /// # Errors
    /// Another name.
    pub fn choose<T: Copy>(self, choices: &[(&str, T)]) -> Result<T, OptionError> {
        let known = choices.iter().find(|(name, _)| *name == self.0);
        known.map(|(_, choice)| *choice).ok_or_else(|| OptionError::Invalid("no such value".to_owned()))
    }

    /// `on` or `off`.
    ///
    /// # Errors
    /// Anything else.
    pub fn switch(self) -> Result<bool, OptionError> {
        self.choose(&[("on", true), ("off", false)])
    }

    /// `off`, or the text read as a `T`.
    ///
    /// # Errors
    /// Where it is neither.
    pub fn unless_off<T: FromStr<Err: fmt::Display>>(self) -> Result<Option<T>, OptionError> {
        if self.0 == "off" { Ok(None) } else { self.read().map(Some) }
    }

    /// The value, where the option applies.
    ///
    /// # Errors
    /// Where it does not: `other` names what it has no effect beside, such as `"variant=draft"`.
    pub fn applies(self, holds: bool, other: &'static str) -> Result<Self, OptionError> {
        if holds { Ok(self) } else { Err(OptionError::DoesNotApply(other)) }
    }
}

/// The options of a [`ControlSpec`], checked against those that there are.
#[derive(Debug)]
pub struct Options<'a> {
    spec: &'a ControlSpec,
}

impl<'a> Options<'a> {
    /// The options of `spec`, which `name` may have.
    pub(crate) fn new(spec: &'a ControlSpec, name: &str, groups: &[OptionGroup]) -> Result<Self, SpecError> {
        let known = groups.iter().flat_map(|group| group.options).map(|option| option.name);
        for (index, (key, _)) in spec.options.iter().enumerate() {
            if !known.clone().any(|option| option == key) {
                let advice = if known.clone().next().is_none() {
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
        Ok(Self { spec })
    }

    /// The configuration with what was given of `table`.
    ///
    /// # Errors
    /// A value that the option cannot have.
    pub fn read<C>(&self, table: &OptionTable<C>, mut config: C) -> Result<C, SpecError> {
        for (option, set) in table.group.options.iter().zip(table.setters) {
            let Some(text) = self.text(option.name) else { continue };
            set(&mut config, Value(text)).map_err(|error| match error {
                OptionError::Invalid(why) => {
                    let problem = format!("{why}; expected {}", option.range);
                    SpecError::new(&format!("{}={text}", option.name), problem)
                }
                OptionError::DoesNotApply(other) => does_not_apply(option.name, other),
            })?;
        }
        Ok(config)
    }

    /// The text of `name`, if it was given.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.spec.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether `name` was given this value.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.text(name) == Some(value)
    }

    /// None of `names` may be given beside `other`.
    pub(crate) fn refuse(&self, names: &[&str], other: &str) -> Result<(), SpecError> {
        match self.spec.options.iter().find(|(name, _)| names.contains(&name.as_str())) {
            Some((name, _)) => Err(does_not_apply(name, other)),
            None => Ok(()),
        }
    }
}

fn does_not_apply(name: &str, other: &str) -> SpecError {
    SpecError::new(name, format!("does not apply to {other}"))
}

/// The feedback interval of controllers whose documents leave it open.
pub const FEEDBACK_INTERVAL: OptionTable<TimeDelta> = options! { |interval: &mut TimeDelta, value|
    "feedback" = "100 ms, 50 ms for gcc", "5 ms to 1 s", "from one message of the receiver to the next":
        *interval = value.within(TimeDelta::from_millis(5)..=TimeDelta::from_secs(1))?;
}
.shared_as("Feedback interval");

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_is_levenshteins() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
