//! What S000 only calculates.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Failure, Runner};
use crate::tolerance::Tolerance;

/// Rates of the testbed, packets a second: into the buffer and out of it (Eq. 4).
const RATE_IN: f64 = 10.7;
const RATE_OUT: f64 = 1.56;
/// Time of a packet of [`FULL_PACKET`] on the first link (`t(S)`) that gives 24 %, ms (section 4.3).
const PACKET_TIME: f64 = 5.0;
const FULL_PACKET: f64 = 1500.0;

pub(super) fn growth(_: &mut Runner<'_>) -> Result<Results, Failure> {
    growth_of(RATE_IN, RATE_OUT)
}

/// A player that is twice as fast.
pub(super) fn growth_of_a_faster_player(_: &mut Runner<'_>) -> Result<Results, Failure> {
    growth_of(RATE_IN, 2.0 * RATE_OUT)
}

fn growth_of(rate_in: f64, rate_out: f64) -> Result<Results, Failure> {
    let checks = vec![
        Check::value("growth, packets a second", "S/s", rate_in - rate_out, Tolerance::about(9.14, 0.01))
            .printed(9.14),
        Check::value("out over in", "", rate_out / rate_in, Tolerance::about(0.15, 0.005)).printed(0.15),
    ];
    let capacity = 16_384.0;
    let held = |t: f64| (t, ((rate_in - rate_out) * FULL_PACKET * t).min(capacity));
    let curves = vec![figure::line("16 384 B buffer", (0..=20).map(|tenths| held(f64::from(tenths) / 10.0)))];
    let figures = vec![Figure {
        title: "A fast sender fills a slow receiver".into(),
        x: "time, s",
        y: "level, B",
        curves,
        ..Figure::default()
    }];
    Ok(Results { checks, figures, ..Results::default() })
}

/// Packets a second with a pause, both in ms (Eq. 11).
fn rate(packet_time: f64, pause: f64) -> f64 {
    1e3 / (packet_time + pause)
}

pub(super) fn pause_ratio(_: &mut Runner<'_>) -> Result<Results, Failure> {
    pause_ratio_of(PACKET_TIME)
}

/// On a first link that is ten times as fast.
pub(super) fn pause_ratio_of_a_faster_link(_: &mut Runner<'_>) -> Result<Results, Failure> {
    pause_ratio_of(PACKET_TIME / 10.0)
}

fn pause_ratio_of(packet_time: f64) -> Result<Results, Failure> {
    let sizes = [160.0, 500.0, 1000.0, FULL_PACKET];
    let time = |size: f64| packet_time * size / FULL_PACKET;
    let ratio = |size: f64| rate(time(size), 20.0) / rate(time(size), 1.0);
    let ordered = sizes.windows(2).filter(|pair| ratio(pair[0]) < ratio(pair[1])).count();
    let checks = vec![
        Check::value("rate at 20 ms over rate at 1 ms", "", ratio(FULL_PACKET), Tolerance::about(0.24, 0.01))
            .printed(0.24),
        Check::count("smaller packets have a smaller ratio", ordered, 3, 3),
    ];
    let curve = |size: f64| {
        let points = (1..=20).map(|pause| (f64::from(pause), rate(time(size), f64::from(pause))));
        figure::line(format!("{size} B"), points)
    };
    let figures = vec![Figure {
        title: "Rate against the pause between packets".into(),
        x: "pause, ms",
        y: "rate, packets/s",
        curves: sizes.map(curve).to_vec(),
        ..Figure::default()
    }];
    Ok(Results { checks, figures, ..Results::default() })
}
