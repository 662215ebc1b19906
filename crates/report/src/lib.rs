//! The table of metrics, the summaries that hold them, and the kit of pages and plots.
//!
//! ```
//! use seaway_report::{Scope, Unit};
//!
//! let delay = Scope::Flow.metric("queue_delay_ms.p95").unwrap();
//! assert_eq!((delay.label().as_str(), delay.unit()), ("Queueing, 95 %", Unit::Milliseconds));
//! let flow = serde_json::json!({ "queue_delay_ms": { "p50": 3.0, "p95": 12.5 } });
//! assert_eq!(delay.value(&flow), Some(12.5));
//! ```
//!
//! A metric is one line of [`summary`], of [`live`] for a running session, or of [`score`] for a scorecard: field,
//! meaning, unit and direction. From these lines come the JSON documents, `seaway list metrics`, the bounds of `[[expect]]`, the tables of `compare` and
//! `scorecard`, the live page and `/metrics`.

pub mod aggregate;
mod colours;
pub mod live;
pub mod metric;
pub mod page;
pub mod plot;
pub mod qlog;
pub mod schema;
pub mod score;
pub mod summary;

/// The version in every document. A release build adds the commit that it is of: `0.2.0+9ff8ea2f62a1`.
pub const VERSION: &str = match option_env!("SEAWAY_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

pub use aggregate::Aggregate;
pub use metric::{Better, Metric, Row, Scope, Unit};
pub use summary::Summary;
