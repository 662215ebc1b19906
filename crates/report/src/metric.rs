//! Metrics: the key, unit, direction and meaning of a number, and where it stands in a document.

use crate::live::Sample;
use crate::score::Score;
use crate::summary::{FlowSummary, LinkSummary, Summary};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use seaway_quality::statistics::Distribution;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// What a metric belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The run as a whole: `fairness.jain`.
    Run,
    /// A flow: `flow.video.received_bps`.
    Flow,
    /// A link: `link.bottleneck.utilisation`.
    Link,
    /// A live session at an instant: `rtt_ms`.
    Live,
    /// A run on a scorecard: `queue_p95`.
    Score,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A pure number.
    One,
    /// A part of a whole; shown as a percentage.
    Ratio,
    /// s
    Seconds,
    /// ms
    Milliseconds,
    /// bit/s
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// dB
    Decibels,
    /// A ratio that documents hold as a percentage.
    Percent,
    /// Mbit/s
    MegabitsPerSecond,
    /// Events a minute.
    PerMinute,
    /// That of the group which the number is a part of.
    OfGroup,
}

impl Unit {
    /// The unit's symbol in documents; empty for a pure number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::One | Self::Ratio | Self::OfGroup => "",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "B",
            Self::Decibels => "dB",
            Self::Percent => "%",
            Self::MegabitsPerSecond => "Mbit/s",
            Self::PerMinute => "/min",
        }
    }

    /// The symbol on pages and in tables, and the factor that converts a number to it.
    pub const fn display(self) -> (&'static str, f64) {
        match self {
            Self::Ratio => ("%", 100.0),
            _ => (self.symbol(), 1.0),
        }
    }
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub enum Better {
    /// The higher the better.
    #[serde(rename = "more")]
    Higher,
    /// The lower the better.
    #[serde(rename = "less")]
    Lower,
    /// Neither.
    #[serde(rename = "")]
    Neutral,
}

/// A row of the table: a number, or a group of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Its key in documents.
    pub key: &'static str,
    /// Its name on pages and in tables; that of a part is added to that of its group.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its direction.
    pub better: Better,
    /// What it means.
    pub about: &'static str,
    /// The numbers of a group; empty for a number.
    pub parts: &'static [Row],
}

/// A type that a summary is made of.
pub(crate) trait Field: Sized {
    /// The rows of the numbers inside; none where the type is itself a number or a text.
    const ROWS: &'static [Row] = &[];

    /// True where the value does not apply: it is left out of documents.
    fn is_absent(&self) -> bool {
        false
    }

    /// A value with every number.
    #[cfg(test)]
    fn example() -> Self;
}

/// Types that are a number or a text, with an example of each.
macro_rules! plain {
    ($($type:ty = $example:expr),*) => { $(
        impl Field for $type {
            #[cfg(test)]
            fn example() -> Self {
                $example
            }
        }
    )* };
}
plain!(f64 = 0.5, u64 = 1, u32 = 1, bool = true, &'static str = "text", String = "text".into());

impl<T> Field for Vec<T> {
    #[cfg(test)]
    fn example() -> Self {
        Self::new()
    }
}

impl<T: Field> Field for Option<T> {
    const ROWS: &'static [Row] = T::ROWS;

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    #[cfg(test)]
    fn example() -> Self {
        Some(T::example())
    }
}

const fn part(key: &'static str, label: &'static str, about: &'static str) -> Row {
    Row { key, label, unit: Unit::OfGroup, better: Better::Neutral, about, parts: &[] }
}

impl Field for Distribution {
    const ROWS: &'static [Row] = &[
        part("mean", "mean", "arithmetic mean"),
        part("p50", "median", "50 of 100 values lie at or below"),
        part("p95", "95 %", "95 of 100 values lie at or below"),
        part("p99", "99 %", "99 of 100 values lie at or below"),
        part("max", "max", "the largest value"),
    ];

    #[cfg(test)]
    fn example() -> Self {
        Self { mean: 0.5, p50: 0.5, p95: 0.5, p99: 0.5, max: 0.5 }
    }
}

/// Defines a struct of a summary together with the rows of its numbers. Each field has one line of documentation,
/// which is also the meaning of its metric, and each number has `= label, unit, direction`.
macro_rules! measured {
    ($(
        #[doc = $doc:literal] $(#[$attribute:meta])*
        pub struct $name:ident { $(
            #[doc = $about:literal]
            $field:ident: $type:ty $(= $label:literal, $unit:ident, $better:ident)?,
        )* }
    )*) => { $(
        #[doc = $doc]
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
        #[schemars(transform = crate::schema::require_what_is_never_absent)]
        pub struct $name { $(
            #[doc = $about]
            #[serde(skip_serializing_if = "crate::metric::Field::is_absent")]
            pub $field: $type,
        )* }

        impl crate::metric::Field for $name {
            const ROWS: &'static [crate::metric::Row] = &[$($(crate::metric::Row {
                key: stringify!($field),
                label: $label,
                unit: crate::metric::Unit::$unit,
                better: crate::metric::Better::$better,
                about: $about,
                parts: <$type as crate::metric::Field>::ROWS,
            },)?)*];

            #[cfg(test)]
            fn example() -> Self {
                Self { $($field: crate::metric::Field::example(),)* }
            }
        }
    )* };
}
pub(crate) use measured;

/// A single number of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The groups around it, from the outside, and its own row.
    rows: Vec<&'static Row>,
}

impl Scope {
    /// The rows of the scope, in the order of its document.
    pub const fn rows(self) -> &'static [Row] {
        match self {
            Self::Run => Summary::ROWS,
            Self::Flow => FlowSummary::ROWS,
            Self::Link => LinkSummary::ROWS,
            Self::Live => Sample::ROWS,
            Self::Score => Score::ROWS,
        }
    }

    /// Every number of the scope.
    pub fn metrics(self) -> Vec<Metric> {
        self.rows().iter().flat_map(Row::metrics).collect()
    }

    /// The number with this key: `received_bps`, or `rtt_ms.p95` for a part of a group.
    pub fn metric(self, key: &str) -> Option<Metric> {
        self.metrics().into_iter().find(|metric| metric.key() == key)
    }
}

impl Row {
    /// The number, or those of the group.
    pub fn metrics(&'static self) -> Vec<Metric> {
        if self.parts.is_empty() {
            return vec![Metric { rows: vec![self] }];
        }
        let mut metrics: Vec<Metric> = self.parts.iter().flat_map(Self::metrics).collect();
        metrics.iter_mut().for_each(|metric| metric.rows.insert(0, self));
        metrics
    }
}

impl Metric {
    /// The key in the document of its scope, with a dot before each part.
    pub fn key(&self) -> String {
        self.rows.iter().map(|row| row.key).collect::<Vec<_>>().join(".")
    }

    /// What it is called in Prometheus, where a count is a counter and a time is in seconds.
    pub fn prometheus_name(&self) -> String {
        let key = self.key().replace('.', "_");
        match (self.unit(), key.strip_suffix("_ms")) {
            (Unit::One, _) => format!("seaway_{key}_total"),
            (_, Some(key)) => format!("seaway_{key}_seconds"),
            _ => format!("seaway_{key}"),
        }
    }

    /// Its name on pages and in tables.
    pub fn label(&self) -> String {
        let labels = self.rows.iter().map(|row| row.label).filter(|label| !label.is_empty());
        labels.collect::<Vec<_>>().join(", ")
    }

    /// The row that has the unit and the direction.
    fn kind(&self) -> &'static Row {
        let has_unit = self.rows.iter().rfind(|row| row.unit != Unit::OfGroup);
        has_unit.unwrap_or(&self.rows[0])
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.kind().unit
    }

    /// Its direction.
    pub fn better(&self) -> Better {
        self.kind().better
    }

    /// What it means.
    pub fn about(&self) -> String {
        self.rows.iter().map(|row| row.about.trim()).collect::<Vec<_>>().join(": ")
    }

    /// Its value in a document of its scope; `None` where it does not apply.
    pub fn value(&self, document: &Value) -> Option<f64> {
        self.rows.iter().try_fold(document, |value, row| value.get(row.key))?.as_f64()
    }
}

/// A metric as documents describe it.
#[derive(JsonSchema, Serialize)]
struct Form {
    /// Its key in documents; parts are joined by dots.
    key: String,
    /// Its name on pages and in tables.
    label: String,
    /// The symbol of the unit in which it is displayed; empty for a pure number.
    unit: &'static str,
    /// Its value times this is in that unit; absent where that is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    /// Which direction is better.
    better: Better,
    /// What it means.
    about: String,
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Form::json_schema(generator)
    }
}

/// What a page needs of a metric.
impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (unit, factor) = self.unit().display();
        let factor = (factor != 1.0).then_some(factor);
        let (key, label, about) = (self.key(), self.label(), self.about());
        Form { key, label, unit, factor, better: self.better(), about }.serialize(serializer)
    }
}

/// The number at a path of a summary: `fairness.jain`, `flow.video.rtt_ms.p95`, `link.bottleneck.marks`.
pub fn value_at(summary: &Value, path: &str) -> Option<f64> {
    let mut keys = path.split('.');
    let first = keys.next()?;
    let start = match first {
        "flow" | "link" => {
            let list = format!("{first}s");
            &summary[list.as_str()][index_of(summary, &list, keys.next()?)?]
        }
        key => summary.get(key)?,
    };
    keys.try_fold(start, |value, key| value.get(key))?.as_f64()
}

/// Where the entry of that name stands in `flows` or `links` of a summary.
pub fn index_of(summary: &Value, list: &str, name: &str) -> Option<usize> {
    summary.get(list)?.as_array()?.iter().position(|entry| entry["name"] == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Numbers that are no metric: they identify a document or a run, or give its wall-clock time.
    const IDENTITY: [&str; 3] = ["schema", "seed", "timing.wall_s"];

    fn numbers(document: &Value, before: &str, found: &mut BTreeSet<String>) {
        for (key, value) in document.as_object().unwrap() {
            let path = format!("{before}{key}");
            if value.is_object() {
                numbers(value, &format!("{path}."), found);
            } else if value.is_number() && !IDENTITY.contains(&path.as_str()) {
                found.insert(path);
            }
        }
    }

    #[test]
    fn every_number_of_a_document_has_a_row_and_every_row_a_number() {
        for (scope, document) in [
            (Scope::Run, serde_json::to_value(Summary::example())),
            (Scope::Flow, serde_json::to_value(FlowSummary::example())),
            (Scope::Link, serde_json::to_value(LinkSummary::example())),
            (Scope::Live, serde_json::to_value(Sample::example())),
            (Scope::Score, serde_json::to_value(Score::example())),
        ] {
            let document = document.unwrap();
            let mut found = BTreeSet::new();
            numbers(&document, "", &mut found);
            let known: BTreeSet<String> = scope.metrics().iter().map(Metric::key).collect();
            assert_eq!(found, known, "{scope:?}");
            assert!(scope.metrics().iter().all(|metric| metric.value(&document).is_some()));
        }
    }

    #[test]
    fn a_part_takes_unit_direction_and_name_from_its_group() {
        let metric = |key| Scope::Flow.metric(key).unwrap();
        let delay = metric("delay_ms.p95");
        assert_eq!((delay.unit(), delay.better()), (Unit::Milliseconds, Better::Lower));
        assert_eq!(metric("freezes.total_s").label(), "Frozen");
        assert_eq!(metric("buffer.time_in.stable").label(), "Receiver buffer, time in, stable");
        assert_eq!(metric("freezes.total_s").unit(), Unit::Seconds);
        assert!(Scope::Flow.metric("delay_ms").is_none(), "a group is no number");
    }

    #[test]
    fn paths_lead_into_the_flows_and_links() {
        let summary = serde_json::json!({
            "events": 7, "flows": [{ "name": "a" }, { "name": "b", "rtt_ms": { "p95": 2.5 } }],
        });
        assert_eq!(value_at(&summary, "events"), Some(7.0));
        assert_eq!(value_at(&summary, "flow.b.rtt_ms.p95"), Some(2.5));
        assert_eq!(value_at(&summary, "flow.a.rtt_ms.p95"), None);
        assert_eq!(value_at(&summary, "link.a.marks"), None);
    }
}
