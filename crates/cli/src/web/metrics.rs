//! `/metrics` for Prometheus.

use super::{Served, WebOptions};
use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use seaway_report::Scope;
use seaway_report::live::{LaneSample, Sample};
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The present values in the exposition format, at an address of their own.
#[derive(Debug)]
pub(crate) struct Metrics {
    served: Served,
    text: Arc<Mutex<String>>,
}

impl Metrics {
    /// Serves `/metrics` at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had; the certificate cannot be used.
    pub(crate) fn open(listen: SocketAddr, options: &WebOptions) -> io::Result<Self> {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = text.clone();
        let respond = move || async move {
            let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
        };
        let router = Router::new().route("/metrics", get(respond));
        let served = super::spawn_server("metrics", listen, options, "metrics", router)?;
        Ok(Self { served, text })
    }

    /// Where they are.
    pub(crate) const fn served(&self) -> &Served {
        &self.served
    }

    /// Sets the present values.
    pub(crate) fn set(&self, sample: &Sample) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = exposition(sample);
    }
}

/// Each number with its meaning and unit, in the text format of Prometheus.
fn exposition(sample: &Sample) -> String {
    let document = serde_json::to_value(sample).unwrap_or_default();
    let mut text = String::new();
    for metric in Scope::Live.metrics() {
        let (key, about, unit) = (metric.key(), metric.about(), metric.unit().symbol());
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        if let Some(value) = metric.value(&document) {
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "# HELP seaway_{key} {about}{unit}\n# TYPE seaway_{key} gauge\nseaway_{key} {value}"
            );
        }
    }
    write_lanes(sample.lanes.as_deref().unwrap_or_default(), &mut text);
    text
}

/// A value of a lane.
type Value = fn(&LaneSample) -> Option<f64>;

/// The lines of one gauge stand together, as the format wants it.
fn write_lanes(lanes: &[LaneSample], text: &mut String) {
    let gauges: [(&str, &str, Value); 5] = [
        ("up", "whether reports come", |lane| Some(f64::from(u8::from(lane.state == "up")))),
        ("allowance_bps", "rate that the lane's controller allows", |lane| Some(lane.allowance_bps as f64)),
        ("sent_bps", "IP bits sent over the last half second", |lane| lane.sent_bps.map(|rate| rate as f64)),
        ("rtt_ms", "round-trip time", |lane| lane.rtt_ms),
        ("loss_ratio", "lost packets over the last half second, before repair", |lane| lane.loss_ratio),
    ];
    for (key, help, value) in gauges {
        let values: Vec<_> = lanes.iter().filter_map(|lane| Some((&lane.via, value(lane)?))).collect();
        if !values.is_empty() {
            let _ = writeln!(text, "# HELP seaway_lane_{key} {help}\n# TYPE seaway_lane_{key} gauge");
        }
        for (via, value) in values {
            // The name of an interface is ASCII and may hold a quotation mark.
            let _ = writeln!(text, "seaway_lane_{key}{{via={via:?}}} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_gauges() {
        let sample = Sample { control: "tfrc".into(), rtt_ms: Some(42.5), ..Sample::default() };
        let expected = "# HELP seaway_rtt_ms round-trip time as the sender measured it (ms)\n\
                        # TYPE seaway_rtt_ms gauge\nseaway_rtt_ms 42.5\n";
        assert_eq!(exposition(&sample), expected);
    }

    #[test]
    fn lanes_have_a_label() {
        let lane = |via: &str, rtt_ms| LaneSample {
            via: via.into(),
            state: "up",
            allowance_bps: 5,
            sent_bps: None,
            rtt_ms,
            loss_ratio: None,
        };
        let lanes = vec![lane("wlan0", Some(20.5)), lane("w\"0\\", None)];
        let text = exposition(&Sample { lanes: Some(lanes), ..Sample::default() });
        // All lines of a gauge are one group below its type.
        let values: Vec<_> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        let expected = [
            "# TYPE seaway_lane_up gauge",
            r#"seaway_lane_up{via="wlan0"} 1"#,
            r#"seaway_lane_up{via="w\"0\\"} 1"#,
            "# TYPE seaway_lane_allowance_bps gauge",
            r#"seaway_lane_allowance_bps{via="wlan0"} 5"#,
            r#"seaway_lane_allowance_bps{via="w\"0\\"} 5"#,
            "# TYPE seaway_lane_rtt_ms gauge",
            r#"seaway_lane_rtt_ms{via="wlan0"} 20.5"#,
        ];
        assert_eq!(values, expected);
    }
}
