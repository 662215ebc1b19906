//! `/metrics` of a live run.

use super::sink::SinkReport;
use super::source::SourceReport;
use super::srt::SrtReport;
use crate::failure::Failure;
use crate::live::reporter::announce;
use crate::web::{PREFIX, TlsOptions, family, labelled, serve_metrics, single};
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily, MetricType};
use prometheus::{Histogram, HistogramOpts};
use seaway_mpeg::live::Report;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Upper bounds of the buckets of the delay, as shares of the stated one.
const DELAYS: [f64; 10] = [0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.01, 1.05, 1.25, 2.0];
/// Those of the lateness, in seconds.
const LATENESSES: [f64; 9] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5];

/// The delay and the lateness of all packets, in seconds.
#[derive(Debug, Clone)]
pub(super) struct Histograms {
    pub(super) delay: Histogram,
    pub(super) lateness: Histogram,
}

impl Histograms {
    fn new(delay: TimeDelta) -> prometheus::Result<Self> {
        let histogram = |name: &str, help: &str, bounds: Vec<f64>| {
            Histogram::with_opts(HistogramOpts::new(format!("{PREFIX}shape_{name}"), help).buckets(bounds))
        };
        let delays = DELAYS.iter().map(|share| share * delay.as_secs_f64()).collect();
        Ok(Self {
            delay: histogram("delay_seconds", "from the arrival of a packet to its departure (s)", delays)?,
            lateness: histogram(
                "lateness_seconds",
                "of a packet, behind the instant at which it was due (s)",
                LATENESSES.to_vec(),
            )?,
        })
    }

    pub(super) fn observe(&self, delay: TimeDelta, lateness: TimeDelta) {
        self.delay.observe(delay.as_secs_f64());
        self.lateness.observe(lateness.as_secs_f64());
    }
}

/// Bits of a programme that came and left.
type Bits = (u64, u64);

/// The numbers of a live run, at an address of their own.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) histograms: Histograms,
    families: Arc<Mutex<Vec<MetricFamily>>>,
    /// When they were set, and the bits of each programme then.
    last: (Timestamp, BTreeMap<u16, Bits>),
}

impl Metrics {
    pub(super) fn open(listen: SocketAddr, options: &TlsOptions, delay: TimeDelta) -> Result<Self, Failure> {
        let refused =
            |error: &dyn std::fmt::Display| Failure::input(&format!("no metrics at {listen}: {error}"));
        let histograms = Histograms::new(delay).map_err(|error| refused(&error))?;
        let families: Arc<Mutex<Vec<MetricFamily>>> = Arc::default();
        let (shared, observed) = (families.clone(), histograms.clone());
        let all = move || {
            let mut all = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            all.extend(observed.delay.collect());
            all.extend(observed.lateness.collect());
            all
        };
        let served = serve_metrics(listen, options, all).map_err(|error| refused(&error))?;
        announce("metrics are", &served);
        Ok(Self { histograms, families, last: (Timestamp::ZERO, BTreeMap::new()) })
    }

    /// Sets the present values; called once a second.
    pub(super) fn set(&mut self, now: Timestamp, source: &SourceReport, shaped: &Report, sent: &SinkReport) {
        let mut families = counts(source, shaped, sent);
        if let Some(rate) = shaped.rate_bps {
            families.push(gauge("target_bps", "rate for all programmes together (bit/s)", rate as f64));
        }
        families.push(gauge(
            "load",
            "share of a core that shaping takes, about the highest of late",
            shaped.load,
        ));
        families.extend(self.programs(now, shaped));
        families.extend(srt([("input", source.srt.as_ref()), ("output", sent.srt.as_ref())]));
        *self.families.lock().unwrap_or_else(PoisonError::into_inner) = families;
    }

    /// The values of each programme, with its number as a label. One that has left and come back is one.
    fn programs(&mut self, now: Timestamp, shaped: &Report) -> Vec<MetricFamily> {
        let seconds = now.since(self.last.0).as_secs_f64().max(1e-3);
        let mut programs: BTreeMap<u16, Program> = BTreeMap::new();
        for program in &shaped.programs {
            let (sum, report) = (programs.entry(program.program).or_default(), &program.report);
            sum.pictures += report.totals.pictures;
            sum.bits.0 += report.totals.bits_in;
            sum.bits.1 += report.totals.bits_out;
            sum.target = program.rate_bps;
            if let Some(ceiling) = &report.ceiling {
                sum.overflows += ceiling.overflows;
                sum.exceeded_seconds += ceiling.exceeded_seconds;
            }
        }
        for (number, program) in &mut programs {
            let before = self.last.1.get(number).copied().unwrap_or_default();
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            program.rates = (rate(program.bits.0, before.0), rate(program.bits.1, before.1));
        }
        self.last = (now, programs.iter().map(|(number, program)| (*number, program.bits)).collect());
        let values: [Value<Program>; 8] = [
            ("program_target_bps", "rate that the programme was given (bit/s)", |program| {
                program.target.map(|rate| rate as f64)
            }),
            ("video_in_bps", "video of the last second that was shaped (bit/s)", |program| {
                Some(program.rates.0)
            }),
            ("video_out_bps", "the same behind the shaper (bit/s)", |program| Some(program.rates.1)),
            ("pictures_total", "pictures that were shaped", |program| Some(program.pictures as f64)),
            ("video_in_bytes_total", "video that was shaped", |program| Some((program.bits.0 / 8) as f64)),
            ("video_out_bytes_total", "the same behind the shaper", |program| {
                Some((program.bits.1 / 8) as f64)
            }),
            ("bucket_overflows_total", "pictures that overflowed the bucket", |program| {
                Some(program.overflows as f64)
            }),
            ("exceeded_seconds_total", "seconds of more than 1.03 times their rate", |program| {
                Some(program.exceeded_seconds as f64)
            }),
        ];
        let programs: Vec<_> =
            programs.into_iter().map(|(number, program)| (number.to_string(), program)).collect();
        labelled_families("program", &programs, &values)
    }
}

/// Name, help and value; a name that ends in `_total` is a counter's.
type Value<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

/// The families of values that each of `all` has, under its label.
fn labelled_families<T>(label: &str, all: &[(String, T)], values: &[Value<T>]) -> Vec<MetricFamily> {
    let families = values.iter().filter_map(|(key, help, value)| {
        let kind = if key.ends_with("_total") { MetricType::COUNTER } else { MetricType::GAUGE };
        let of_one =
            |(name, one): &(String, T)| Some(labelled(single(kind, value(one)?), label, name.clone()));
        let metrics: Vec<Metric> = all.iter().filter_map(of_one).collect();
        (!metrics.is_empty()).then(|| family(name(key), (*help).into(), kind, metrics))
    });
    families.collect()
}

/// The sums of a programme.
#[derive(Debug, Default)]
struct Program {
    target: Option<u64>,
    pictures: u64,
    bits: Bits,
    /// bit/s
    rates: (f64, f64),
    overflows: u64,
    exceeded_seconds: u64,
}

fn name(key: &str) -> String {
    format!("{PREFIX}shape_{key}")
}

fn gauge(key: &str, help: &str, value: f64) -> MetricFamily {
    let metrics = vec![single(MetricType::GAUGE, value)];
    family(name(key), help.into(), MetricType::GAUGE, metrics)
}

/// Everything that is counted for the whole stream.
fn counts(source: &SourceReport, shaped: &Report, sent: &SinkReport) -> Vec<MetricFamily> {
    let counts = [
        ("input_datagrams", "datagrams that came", source.datagrams),
        ("input_bytes", "octets of these", source.octets),
        ("input_malformed", "datagrams without whole transport packets", source.malformed),
        ("input_lost", "RTP packets that did not come", source.lost),
        ("input_late", "RTP packets that came twice or too late", source.late),
        ("packets_in", "transport packets that came", shaped.packets_in),
        ("packets_out", "transport packets that were given a departure", shaped.packets_out),
        (
            "packets_without_program",
            "transport packets left out because no programme was known",
            shaped.dropped_without_program,
        ),
        ("null_packets_dropped", "null packets that were left out", shaped.null_packets_dropped),
        ("resyncs", "times at which the source's clock was recovered anew", shaped.resyncs),
        ("ahead_of_clock", "packets that left ahead of the source's clock", shaped.ahead_of_clock),
        ("given_up", "parts of pictures that passed unchanged", shaped.given_up),
        ("unshaped_programs", "programmes that could not be shaped beside others", shaped.unshaped_programs),
        ("program_changes", "times at which the source had other programmes", shaped.program_changes),
        ("without_video", "times at which the source turned to other video", shaped.without_video),
        ("output_datagrams", "datagrams that left", sent.datagrams),
        ("output_bytes", "octets of these", sent.octets),
        ("output_refused", "datagrams that the kernel refused", sent.refused),
    ];
    let families = counts.into_iter().map(|(key, help, count)| {
        let metrics = vec![single(MetricType::COUNTER, count as f64)];
        family(name(&format!("{key}_total")), help.into(), MetricType::COUNTER, metrics)
    });
    families.collect()
}

/// The values of SRT, with the end as a label.
fn srt(ends: [(&str, Option<&SrtReport>); 2]) -> Vec<MetricFamily> {
    let values: [Value<SrtReport>; 5] = [
        ("srt_connected", "whether there is a connection", |srt| Some(f64::from(u8::from(srt.connected)))),
        ("srt_rtt_seconds", "round-trip time (s)", |srt| srt.rtt_ms.map(|rtt| rtt / 1e3)),
        ("srt_lost_total", "packets that were lost", |srt| Some(srt.lost as f64)),
        ("srt_retransmitted_total", "packets that were sent again", |srt| Some(srt.retransmitted as f64)),
        ("srt_dropped_total", "packets that were not there in time", |srt| Some(srt.dropped as f64)),
    ];
    let ends = ends.into_iter().filter_map(|(end, srt)| Some((end.to_owned(), *srt?)));
    labelled_families("end", &ends.collect::<Vec<_>>(), &values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::TextEncoder;
    use seaway_mpeg::container;
    use seaway_mpeg::live::ProgramReport;
    use seaway_mpeg::pipeline::{self, Pipeline};
    use seaway_mpeg::shape::{self, Method, Target};

    fn program(number: u16, bits_in: u64, rate_bps: Option<u64>) -> ProgramReport {
        let shaper = shape::Config::new(Method::Auto, Target::Ratio(1.0));
        let pipeline = Pipeline::new(pipeline::Config { shaper, container: container::Config::default() });
        let mut report = pipeline.report();
        (report.totals.bits_in, report.totals.bits_out) = (bits_in, bits_in / 2);
        ProgramReport { program: number, rate_bps, report }
    }

    /// No name and label may come twice.
    #[test]
    fn a_programme_that_comes_back_is_one() {
        let histograms = Histograms::new(TimeDelta::from_secs(1)).unwrap();
        let last = (Timestamp::ZERO, BTreeMap::from([(1, (2400, 1200))]));
        let mut metrics = Metrics { histograms, families: Arc::default(), last };
        let programs = vec![program(1, 4000, None), program(7, 80, None), program(1, 400, Some(5))];
        let shaped = Report { programs, ..Report::default() };
        let families = metrics.programs(Timestamp::ZERO + TimeDelta::from_secs(2), &shaped);
        let text = TextEncoder::new().encode_to_string(&families).unwrap();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).take(5).collect();
        let expected = [
            r#"seaway_shape_program_target_bps{program="1"} 5"#,
            r#"seaway_shape_video_in_bps{program="1"} 1000"#,
            r#"seaway_shape_video_in_bps{program="7"} 40"#,
            r#"seaway_shape_video_out_bps{program="1"} 500"#,
            r#"seaway_shape_video_out_bps{program="7"} 20"#,
        ];
        assert_eq!(lines, expected);
        assert!(text.contains("seaway_shape_video_in_bytes_total{program=\"1\"} 550\n"), "{text}");
    }
}
