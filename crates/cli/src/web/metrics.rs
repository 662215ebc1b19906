//! `/metrics` for Prometheus: typed and in base units, as its `promtool check metrics` wants them.

use super::{Served, TlsOptions, WebOptions};
use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus::core::Collector;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Histogram, HistogramOpts, TEXT_FORMAT, TextEncoder};
use seaway_report::live::{LaneSample, Sample};
use seaway_report::{Scope, Unit};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What every name begins with.
pub(crate) const PREFIX: &str = "seaway_";
/// Upper bounds of the histograms' buckets, s: what a conversation and a teleoperator notice lies between.
const BUCKETS: [f64; 12] = [0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5];

/// The values of a session, at an address of their own.
#[derive(Debug)]
pub(crate) struct Metrics {
    served: Served,
    values: Arc<Mutex<Values>>,
}

/// The latest values, and the histograms of all so far.
#[derive(Debug)]
struct Values {
    latest: Sample,
    delay: Histogram,
    rtt: Histogram,
}

impl Metrics {
    /// Serves `/metrics` at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had; the certificate cannot be used.
    pub(crate) fn open(listen: SocketAddr, options: &WebOptions) -> io::Result<Self> {
        let values = Arc::new(Mutex::new(Values::new().map_err(io::Error::other)?));
        let shared = values.clone();
        let families = move || shared.lock().unwrap_or_else(PoisonError::into_inner).families();
        let served = serve_metrics(listen, &options.tls, families)?;
        Ok(Self { served, values })
    }

    /// Where they are.
    pub(crate) const fn served(&self) -> &Served {
        &self.served
    }

    /// Sets the present values; called ten times a second.
    pub(crate) fn set(&self, sample: &Sample) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).set(sample);
    }
}

/// Serves `/metrics` with what `families` gives at each request, at an address of their own.
///
/// # Errors
/// As [`Metrics::open`].
pub(crate) fn serve_metrics(
    listen: SocketAddr,
    options: &TlsOptions,
    families: impl Fn() -> Vec<MetricFamily> + Clone + Send + Sync + 'static,
) -> io::Result<Served> {
    let respond = move || async move {
        ([(header::CONTENT_TYPE, TEXT_FORMAT)], exposition(&families())).into_response()
    };
    let router = Router::new().route("/metrics", get(respond));
    super::spawn_server("metrics", listen, options, "metrics", router)
}

/// The text format of Prometheus.
fn exposition(families: &[MetricFamily]) -> String {
    TextEncoder::new().encode_to_string(families).unwrap_or_default()
}

impl Values {
    fn new() -> prometheus::Result<Self> {
        let histogram = |name: &str, what: &str| {
            let help = format!("{what}, a value each tenth of a second (s)");
            Histogram::with_opts(
                HistogramOpts::new(format!("{PREFIX}{name}"), help).buckets(BUCKETS.to_vec()),
            )
        };
        Ok(Self {
            latest: Sample::default(),
            delay: histogram("observed_delay_seconds", "from capture to display")?,
            rtt: histogram("observed_rtt_seconds", "round-trip time")?,
        })
    }

    fn set(&mut self, sample: &Sample) {
        for (histogram, value) in [(&self.delay, sample.delay_ms), (&self.rtt, sample.rtt_ms)] {
            if let Some(millis) = value {
                histogram.observe(millis / 1e3);
            }
        }
        self.latest = sample.clone();
    }

    fn families(&self) -> Vec<MetricFamily> {
        let mut families = numbers(&self.latest);
        families.extend(lanes(self.latest.lanes.as_deref().unwrap_or_default()));
        let used = [&self.delay, &self.rtt].into_iter().filter(|histogram| histogram.get_sample_count() > 0);
        families.extend(used.flat_map(Collector::collect));
        families
    }
}

/// Each number of the sample: a count is a counter, a time is in seconds.
fn numbers(sample: &Sample) -> Vec<MetricFamily> {
    let document = serde_json::to_value(sample).unwrap_or_default();
    let present = Scope::Live.metrics().into_iter().filter_map(|metric| {
        let value = metric.value(&document)?;
        let (value, unit, kind) = match metric.unit() {
            Unit::One => (value, "", MetricType::COUNTER),
            Unit::Milliseconds => (value / 1e3, Unit::Seconds.symbol(), MetricType::GAUGE),
            unit => (value, unit.symbol(), MetricType::GAUGE),
        };
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let help = format!("{}{unit}", metric.about());
        Some(family(metric.prometheus_name(), help, kind, vec![single(kind, value)]))
    });
    present.collect()
}

/// A value of a lane.
type Value = fn(&LaneSample) -> Option<f64>;

/// The gauges of the lanes, with the lane as a label.
fn lanes(lanes: &[LaneSample]) -> impl Iterator<Item = MetricFamily> {
    let gauges: [(&str, &str, Value); 5] = [
        ("up", "whether reports come", |lane| Some(f64::from(u8::from(lane.state == "up")))),
        ("allowance_bps", "rate that the lane's controller allows (bit/s)", |lane| {
            Some(lane.allowance_bps as f64)
        }),
        ("sent_bps", "IP bits sent over the last half second (bit/s)", |lane| {
            lane.sent_bps.map(|rate| rate as f64)
        }),
        ("rtt_seconds", "round-trip time (s)", |lane| lane.rtt_ms.map(|rtt| rtt / 1e3)),
        ("loss_ratio", "lost packets over the last half second, before repair", |lane| lane.loss_ratio),
    ];
    gauges.into_iter().filter_map(|(key, help, value)| {
        let of_lane = |lane: &LaneSample| {
            Some(labelled(single(MetricType::GAUGE, value(lane)?), "via", lane.via.clone()))
        };
        let metrics: Vec<Metric> = lanes.iter().filter_map(of_lane).collect();
        let name = format!("{PREFIX}lane_{key}");
        (!metrics.is_empty()).then(|| family(name, help.into(), MetricType::GAUGE, metrics))
    })
}

pub(crate) fn family(name: String, help: String, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name);
    family.set_help(help);
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

/// The metric with a label.
pub(crate) fn labelled(mut metric: Metric, name: &str, value: String) -> Metric {
    let mut label = LabelPair::default();
    label.set_name(name.into());
    label.set_value(value);
    metric.set_label(vec![label]);
    metric
}

/// A counter or a gauge.
pub(crate) fn single(kind: MetricType, value: f64) -> Metric {
    let mut metric = Metric::default();
    if kind == MetricType::COUNTER {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    }
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposition(sample: &Sample) -> String {
        let mut values = Values::new().unwrap();
        values.set(sample);
        super::exposition(&values.families())
    }

    #[test]
    fn counts_are_counters_and_times_are_seconds() {
        let sample = Sample {
            control: "tfrc".into(),
            rtt_ms: Some(42.5),
            freezes: Some(3),
            sent_bps: Some(5),
            ..Sample::default()
        };
        let text = exposition(&sample);
        let expected = "# HELP seaway_rtt_seconds round-trip time as the sender measured it (s)\n\
                        # TYPE seaway_rtt_seconds gauge\nseaway_rtt_seconds 0.0425\n\
                        # HELP seaway_sent_bps IP bits sent, every copy (bit/s)\n\
                        # TYPE seaway_sent_bps gauge\nseaway_sent_bps 5\n\
                        # HELP seaway_freezes_total gaps between displayed frames (webrtc-stats)\n\
                        # TYPE seaway_freezes_total counter\nseaway_freezes_total 3\n";
        assert_eq!(text.split("# HELP seaway_observed").next(), Some(expected));
        assert!(text.contains("# TYPE seaway_observed_rtt_seconds histogram\n"), "{text}");
        assert!(text.contains("seaway_observed_rtt_seconds_bucket{le=\"0.03\"} 0\n"), "{text}");
        assert!(text.contains("seaway_observed_rtt_seconds_bucket{le=\"0.05\"} 1\n"), "{text}");
        assert!(!text.contains("observed_delay"), "{text}");
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
            "# TYPE seaway_lane_rtt_seconds gauge",
            r#"seaway_lane_rtt_seconds{via="wlan0"} 0.0205"#,
        ];
        assert_eq!(values, expected);
    }
}
