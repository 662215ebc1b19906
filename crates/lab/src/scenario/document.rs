//! The text of a scenario as a table with the position of each value.

pub(crate) use crate::scenario::diagnosis::Value;
use crate::scenario::diagnosis::{diagnose, reworded};
use crate::scenario::error::{Place, ScenarioError};
use crate::scenario::overrides::Override;
use crate::scenario::text::Text;
use seaway_control::Registry;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A parsed file with the overrides applied.
pub(crate) struct Document<'a> {
    text: Text<'a>,
    overrides: &'a [Override],
    registry: &'a Registry,
    root: DeTable<'a>,
}

/// A key of a table or an index of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathSegment<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for PathSegment<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for PathSegment<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A path through the document: `at!["flow", 2, "rate"]`.
macro_rules! at {
    ($($step:expr),* $(,)?) => { &[$($crate::scenario::document::PathSegment::from($step)),*] };
}
pub(crate) use at;

impl<'a> Document<'a> {
    /// Reads the file and applies the overrides in order.
    pub(crate) fn parse(
        text: Text<'a>,
        overrides: &'a [Override],
        registry: &'a Registry,
    ) -> Result<Self, ScenarioError> {
        let mut document = Self { text, overrides, registry, root: DeTable::new() };
        document.root = DeTable::parse(text.text).map_err(|error| document.refuse(&error))?.into_inner();
        for (index, item) in overrides.iter().enumerate() {
            let span = text.text.len() + index + 1..text.text.len() + index + 1;
            item.apply(&mut document.root, span.clone())
                .map_err(|message| ScenarioError::new(document.place(span), message))?;
        }
        Ok(document)
    }

    /// The controllers that the scenario can name.
    pub(crate) fn registry(&self) -> &Registry {
        self.registry
    }

    /// The text of a file that the scenario names.
    pub(crate) fn read_file(&self, name: &str) -> Result<String, String> {
        (self.text.read)(name)
    }

    /// Reads each of the tables under a top-level key as a `T`.
    pub(crate) fn read_all<T: DeserializeOwned>(&self, key: &str) -> Result<Vec<T>, ScenarioError> {
        self.tables(key)?.iter().map(|table| self.read(table, &[])).collect()
    }

    /// The tables under a top-level key written as `[[key]]`.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<Value<'a>>, ScenarioError> {
        let Some(value) = self.root.get(key) else { return Ok(Vec::new()) };
        match value.get_ref() {
            DeValue::Array(items) if items.iter().all(|item| item.get_ref().is_table()) => {
                Ok(items.iter().cloned().collect())
            }
            other => Err(self.error(
                value.span(),
                format!("expected [[{key}]] tables, found {}", with_article(other.type_str())),
            )),
        }
    }

    /// What remains at the top level, read as a `T`; `others` are keys that exist but were taken before.
    pub(crate) fn header<T: DeserializeOwned>(&self, others: &[&str]) -> Result<T, ScenarioError> {
        let mut rest = self.root.clone();
        for key in others {
            rest.remove(*key);
        }
        self.read(&Spanned::new(0..0, DeValue::Table(rest)), others)
    }

    /// Reads a value as a `T`; `others` are keys that would be valid beside those `T` knows.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        value: &Value<'a>,
        others: &[&str],
    ) -> Result<T, ScenarioError> {
        T::deserialize(ValueDeserializer::from(value.clone())).map_err(|error| {
            let (span, message) = diagnose::<T>(value, &error, others);
            self.error(span, message)
        })
    }

    /// An error about what is at `path`, or about the nearest thing around it that was written.
    pub(crate) fn error_at(&self, path: &[PathSegment<'_>], message: impl Into<String>) -> ScenarioError {
        let mut span = 0..0;
        let mut here: Option<&Value<'a>> = None;
        for step in path {
            let table = here.map_or(Some(&self.root), |value| value.get_ref().as_table());
            here = match step {
                PathSegment::Key(key) => table.and_then(|table| table.get(*key)),
                PathSegment::Index(index) => here.and_then(|value| value.get_ref().get(*index)),
            };
            let Some(value) = here else { break };
            span = value.span();
        }
        self.error(span, message)
    }

    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.place(span), message)
    }

    fn refuse(&self, error: &toml::de::Error) -> ScenarioError {
        let span = error.span().unwrap_or(0..0);
        let message = match (error.message(), self.text.text.get(span.clone())) {
            ("duplicate key", Some(key)) => format!("the key `{key}` is there twice"),
            (message, _) => reworded(message, &[]),
        };
        self.error(span, message)
    }

    fn place(&self, span: Range<usize>) -> Place {
        let (file, text) = (self.text.file.to_owned(), self.text.text);
        if let Some(item) = span.start.checked_sub(text.len() + 1).and_then(|i| self.overrides.get(i)) {
            return Place::Override(item.to_string());
        }
        if span == (0..0) {
            return Place::File { file };
        }
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place::Line {
            file,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// Splits a table into the keys of `T` and the rest.
pub(crate) fn split<'a, T: DeserializeOwned>(value: Value<'a>) -> (Value<'a>, Value<'a>) {
    let span = value.span();
    let DeValue::Table(table) = value.into_inner() else {
        unreachable!("`Document::tables` gives nothing but tables")
    };
    let keys = keys::<T>();
    let (taken, rest) = table.into_iter().partition(|(key, _)| keys.contains(&key.get_ref().as_ref()));
    (Spanned::new(span.clone(), DeValue::Table(taken)), Spanned::new(span, DeValue::Table(rest)))
}

/// The keys of a struct, as its derived deserialiser names them.
pub(crate) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    T::deserialize(KeyProbe).err().map_or(&[], |Keys(keys)| keys)
}

/// Ends the deserialisation of a struct with the names of its keys as the error.
struct KeyProbe;

#[derive(Debug)]
struct Keys(&'static [&'static str]);

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probe has no value")
    }
}

impl std::error::Error for Keys {}

impl serde::de::Error for Keys {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for KeyProbe {
    type Error = Keys;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Keys> {
        Err(Keys(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Keys> {
        Err(Keys(keys))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Writes `kind = "drop-tail"` into every `queue` inside that names no kind.
pub(crate) fn with_queue_kinds(mut value: Value<'_>) -> Value<'_> {
    add_queue_kinds(&mut value);
    value
}

fn add_queue_kinds(value: &mut Value<'_>) {
    match value.get_mut() {
        DeValue::Array(items) => items.iter_mut().for_each(add_queue_kinds),
        DeValue::Table(table) => {
            for (key, inner) in table.iter_mut() {
                let span = inner.span();
                match inner.get_mut() {
                    DeValue::Table(queue) if key.get_ref() == "queue" => {
                        let kind = Spanned::new(span.clone(), DeValue::String("drop-tail".into()));
                        queue.entry(Spanned::new(span, "kind".into())).or_insert(kind);
                    }
                    _ => add_queue_kinds(inner),
                }
            }
        }
        _ => {}
    }
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}
