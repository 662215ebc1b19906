//! Several runs of one scenario, each with its own seed: means and confidence intervals.

use crate::summary::Summary;
use schemars::JsonSchema;
use seaway_quality::statistics::Estimate;
use serde::Serialize;
use serde_json::{Map, Value};

/// The summaries of several runs, their mean and its 95 % confidence interval.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Aggregate {
    /// The version of this form.
    pub schema: u32,
    /// One for each seed.
    pub runs: Vec<Summary>,
    /// In the shape of a summary: the mean of every number; a text where all runs agree.
    #[schemars(with = "Map<String, Value>")]
    pub mean: Value,
    /// In the shape of a summary: half the width of the interval by Student's distribution.
    #[schemars(with = "Map<String, Value>")]
    pub ci95: Value,
}

/// Keys that identify a run or give its wall-clock time; they have no mean.
const NOT_MEASURED: &[&str] = &["seed", "timing"];
/// Numbers that are configured and not measured; they have a mean and no interval.
const CONFIGURED: &[&str] = &["schema", "simulated_s", "measured_s", "min"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Mean,
    Interval,
}

impl Aggregate {
    /// Aggregates these runs.
    pub fn new(runs: Vec<Summary>) -> Self {
        let documents: Vec<Value> =
            runs.iter().map(|run| serde_json::to_value(run).unwrap_or_default()).collect();
        let (mean, ci95) = mean_and_ci95(&documents);
        Self { schema: Summary::SCHEMA, mean, ci95, runs }
    }

    /// True unless an expectation was missed in any run.
    pub fn holds(&self) -> bool {
        self.runs.iter().all(Summary::holds)
    }
}

/// The mean of these documents and half the width of its interval, each in their shape.
pub fn mean_and_ci95(documents: &[Value]) -> (Value, Value) {
    let all: Vec<&Value> = documents.iter().collect();
    let part = |part| combine(&all, part).unwrap_or_default();
    (part(Part::Mean), part(Part::Interval))
}

/// Combines the values at one place of all documents. `None` where they have no mean.
fn combine(values: &[&Value], part: Part) -> Option<Value> {
    match values.first()? {
        Value::Object(_) => Some(Value::Object(combine_objects(values, part))),
        Value::Array(_) => combine_arrays(values, part),
        Value::Number(_) => {
            let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
            let estimate = Estimate::of(&numbers)?;
            let number = if part == Part::Mean { Some(estimate.mean) } else { estimate.ci95 };
            Some(Value::from(number?))
        }
        first => values.iter().all(|value| value == first).then(|| (*first).clone()),
    }
}

/// Key by key; runs without a key do not count for it.
fn combine_objects(values: &[&Value], part: Part) -> Map<String, Value> {
    let mut combined = Map::new();
    for key in values.iter().filter_map(|value| value.as_object()).flat_map(Map::keys) {
        if combined.contains_key(key) || NOT_MEASURED.contains(&key.as_str()) {
            continue;
        }
        let inside: Vec<&Value> = values.iter().filter_map(|value| value.get(key)).collect();
        let part = if CONFIGURED.contains(&key.as_str()) { Part::Mean } else { part };
        if let Some(value) = combine(&inside, part) {
            combined.insert(key.clone(), value);
        }
    }
    combined
}

/// Item by item: flows, links and expectations are the same in every run.
fn combine_arrays(values: &[&Value], part: Part) -> Option<Value> {
    let arrays: Vec<&Vec<Value>> = values.iter().filter_map(|value| value.as_array()).collect();
    let shortest = arrays.iter().map(|array| array.len()).min()?;
    let at = |index: usize| arrays.iter().map(|array| &array[index]).collect::<Vec<_>>();
    (0..shortest).map(|index| combine(&at(index), part)).collect::<Option<Vec<_>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn means_and_intervals_have_the_shape_of_the_documents() {
        let runs = [
            json!({ "schema": 1, "seed": 1, "flows": [{ "name": "a", "rate": 1.0, "rtt": { "p50": 10 } }], "held": true }),
            json!({ "schema": 1, "seed": 2, "flows": [{ "name": "a", "rate": 3.0 }], "held": false }),
        ];
        let runs: Vec<&Value> = runs.iter().collect();
        assert_eq!(
            combine(&runs, Part::Mean).unwrap(),
            json!({ "schema": 1.0, "flows": [{ "name": "a", "rate": 2.0, "rtt": { "p50": 10.0 } }] })
        );
        let interval = combine(&runs, Part::Interval).unwrap();
        // t(1) = 12.706, s = sqrt 2: 12.706 * sqrt 2 / sqrt 2.
        let rate = interval["flows"][0]["rate"].as_f64().unwrap();
        assert!((rate - 12.706).abs() < 1e-3, "{rate}");
        assert_eq!(interval["flows"][0]["rtt"], json!({}));
    }
}
