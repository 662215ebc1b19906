//! The gauges of a controller by their names.

use seaway_control::{Gauge, RateController};

/// A controller's gauge of that name.
pub fn gauge(controller: &dyn RateController, name: &str) -> Option<f64> {
    let mut found = None;
    controller.inspect(&mut |Gauge { name: other, value, .. }| {
        if other == name {
            found = Some(value);
        }
    });
    found
}

/// The names of all gauges.
///
/// # Errors
/// Where a value is no number, or two have one name.
pub fn gauge_names(controller: &dyn RateController) -> Result<Vec<&'static str>, String> {
    let mut names = Vec::new();
    let mut wrong = None;
    controller.inspect(&mut |gauge| {
        if !gauge.value.is_finite() || names.contains(&gauge.name) {
            wrong = Some(format!("gauge {gauge:?}"));
        }
        names.push(gauge.name);
    });
    wrong.map_or(Ok(names), Err)
}
