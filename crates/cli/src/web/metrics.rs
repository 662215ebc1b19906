//! `/metrics` for Prometheus.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The present values in the exposition format, at an address of their own.
#[derive(Debug)]
pub(crate) struct Metrics {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
}

impl Metrics {
    /// Serves `/metrics` at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had.
    pub(crate) fn open(listen: SocketAddr) -> io::Result<Self> {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = text.clone();
        let respond = move || async move {
            let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
        };
        let router = Router::new().route("/metrics", get(respond));
        let address = super::spawn_server("metrics", listen, router)?;
        Ok(Self { address, text })
    }

    /// Where they are.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the values; those that are no number are left out.
    pub(crate) fn set(&self, values: &Map<String, Value>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = exposition(values);
    }
}

fn exposition(values: &Map<String, Value>) -> String {
    let mut text = String::new();
    for (name, value) in values {
        if let Some(value) = value.as_f64() {
            // Writing to a String does not fail.
            let _ = writeln!(text, "# TYPE seaway_{name} gauge\nseaway_{name} {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_gauges() {
        let values = json!({ "control": "tfrc", "rtt_ms": 42.5 }).as_object().cloned().unwrap();
        assert_eq!(exposition(&values), "# TYPE seaway_rtt_ms gauge\nseaway_rtt_ms 42.5\n");
    }
}
