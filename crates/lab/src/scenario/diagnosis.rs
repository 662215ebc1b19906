//! Error messages in the terms of a scenario. The deserialiser buffers a table until its `kind` is known and loses the
//! positions of the values inside; this module finds them again.

use seaway_control::nearest;
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeValue, Error, ValueDeserializer};

/// A value and where it was written.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// Where `error` is in `value`, and what was found and expected there. `others` are keys that would be valid beside
/// those `T` knows.
pub(super) fn diagnose<T: DeserializeOwned>(
    value: &Value<'_>,
    error: &Error,
    others: &[&str],
) -> (Range<usize>, String) {
    let message = error.message();
    let span = error.span().unwrap_or(value.span());
    let inner = at(value, &span).unwrap_or(value);
    match culprit(inner, message) {
        Some(span) => (span, reworded(message, others)),
        None if message == "missing field `kind`" => match kinds::<T>(value, &span) {
            kinds if kinds.is_empty() => (span, reworded(message, others)),
            kinds => (span, format!("the key `kind` is missing; there are: {}", kinds.join(", "))),
        },
        None => (span, reworded(message, others)),
    }
}

/// The innermost value that is said to stand at `span`.
fn at<'v, 'a>(value: &'v Value<'a>, span: &Range<usize>) -> Option<&'v Value<'a>> {
    let inside = match value.get_ref() {
        DeValue::Array(items) => items.iter().find_map(|item| at(item, span)),
        DeValue::Table(table) => table.iter().find_map(|(_, item)| at(item, span)),
        _ => None,
    };
    inside.or_else(|| (value.span() == *span).then_some(value))
}

/// Where the first thing in `value` stands that the message is about: a value, or the key of an entry of a table.
fn culprit(value: &Value<'_>, message: &str) -> Option<Range<usize>> {
    if is_about(value.get_ref(), message) {
        return Some(value.span());
    }
    match value.get_ref() {
        DeValue::Array(items) => items.iter().find_map(|item| culprit(item, message)),
        DeValue::Table(table) => {
            let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            let key = table.iter().map(|(key, _)| key).find(|key| Some(key.get_ref().as_ref()) == unknown);
            key.map(Spanned::span).or_else(|| table.iter().find_map(|(_, item)| culprit(item, message)))
        }
        _ => None,
    }
}

/// Whether the deserialiser, or a type of ours, would describe this value so.
fn is_about(value: &DeValue<'_>, message: &str) -> bool {
    let described = match value {
        DeValue::String(text) => {
            let quoted = format!("{text:?}");
            if message.starts_with(&quoted) || message.starts_with(&format!("unknown variant `{text}`")) {
                return true;
            }
            format!("string {quoted}")
        }
        DeValue::Integer(number) => format!("integer `{number}`"),
        DeValue::Float(number) => format!("floating point `{number}`"),
        DeValue::Boolean(value) => format!("boolean `{value}`"),
        _ => return false,
    };
    let invalid = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    invalid.is_some_and(|rest| rest.starts_with(&described))
}

/// The kinds that a table without one could have: what the deserialiser expects in place of one that is not there.
fn kinds<T: DeserializeOwned>(value: &Value<'_>, span: &Range<usize>) -> Vec<String> {
    let mut tried = value.clone();
    if let Some(DeValue::Table(table)) = at_mut(&mut tried, span).map(Spanned::get_mut) {
        let nothing = Spanned::new(span.clone(), DeValue::String("".into()));
        table.insert(Spanned::new(span.clone(), "kind".into()), nothing);
    }
    let Err(error) = T::deserialize(ValueDeserializer::from(tried)) else { return Vec::new() };
    let names = error.message().strip_prefix("unknown variant ``").unwrap_or_default();
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn at_mut<'v, 'a>(value: &'v mut Value<'a>, span: &Range<usize>) -> Option<&'v mut Value<'a>> {
    let is_inside = match value.get_ref() {
        DeValue::Array(items) => items.iter().any(|item| at(item, span).is_some()),
        DeValue::Table(table) => table.iter().any(|(_, item)| at(item, span).is_some()),
        _ => false,
    };
    if !is_inside {
        return (value.span() == *span).then_some(value);
    }
    match value.get_mut() {
        DeValue::Array(items) => items.iter_mut().find_map(|item| at_mut(item, span)),
        DeValue::Table(table) => table.iter_mut().find_map(|(_, item)| at_mut(item, span)),
        _ => None,
    }
}

/// The deserialiser's message in the terms of a scenario.
pub(super) fn reworded(message: &str, others: &[&str]) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((found, known)) = names.split_first() else { return plain(message) };
    if message.starts_with("unknown field") {
        format!("unknown key `{found}`; {}", nearest(found, known.iter().chain(others).copied()))
    } else if message.starts_with("unknown variant") {
        format!("unknown value `{found}`; {}", nearest(found, known.iter().copied()))
    } else if message.starts_with("missing field") {
        format!("the key `{found}` is missing")
    } else {
        plain(message)
    }
}

/// Without the names of Rust's types.
fn plain(message: &str) -> String {
    const WORDS: [(&[&str], &str); 4] = [
        (&["u8", "u16", "u32", "u64", "usize"], "a whole number, not below zero"),
        (&["i32", "i64", "i128"], "a whole number"),
        (&["f32", "f64"], "a number"),
        (&["a boolean"], "true or false"),
    ];
    let message = message.replace('\n', " ");
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message };
    let found = found.split(" as i128").next().unwrap_or(found);
    // The deserialiser holds numbers of 64 bits, and calls what is longer another type.
    let digits = found.strip_prefix("invalid type: integer `").and_then(|rest| rest.strip_suffix('`'));
    if let Some(digits) = digits.filter(|digits| digits.parse::<i64>().is_err()) {
        return format!("{digits} is too large, expected a smaller number");
    }
    let word = WORDS.iter().find(|(types, _)| types.contains(&expected)).map_or(expected, |(_, word)| word);
    let word = if word.starts_with("struct ") { "a table, { key = value }" } else { word };
    format!("{found}, expected {word}")
}
