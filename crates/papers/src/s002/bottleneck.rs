//! The steered source through a bottleneck.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{between, scaled, trace};
use seaway_lab::Outcome;

/// What the FIFO holds, and what it should hold (`b_max`, `b_d`), kbit.
const CAPACITY: f64 = 8.0 * 250.0;
const DESIRED: f64 = CAPACITY / 4.0;
/// From when the rate should be settled, and the end, s.
const SETTLED: f64 = 60.0;
const END: f64 = 541.0;

fn rate(outcome: &Outcome) -> Vec<(f64, f64)> {
    scaled(trace(outcome, "video", "encoder_rate"), 1e-3)
}

fn occupancy(outcome: &Outcome) -> Vec<(f64, f64)> {
    scaled(trace(outcome, "video", "backlog"), 8e-3)
}

pub(super) fn settles(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = Case::new("s002-bottleneck").with_series();
    let outcomes = runner.run(std::slice::from_ref(&case))?;
    let each = |of: &dyn Fn(&Outcome) -> f64| -> Vec<f64> { outcomes[0].iter().map(of).collect() };
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let settled = |outcome: &Outcome| between(&rate(outcome), SETTLED, END);
    let dip = |outcome: &Outcome| {
        rate(outcome).into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((f64::NAN, f64::NAN))
    };
    let off = |outcome: &Outcome| {
        let held = between(&occupancy(outcome), SETTLED, END);
        most(&held.iter().map(|held| (held - DESIRED).abs()).collect::<Vec<_>>()) / CAPACITY
    };
    let checks = vec![
        Check::seeds(
            "least rate",
            "kbit/s",
            &each(&|outcome| dip(outcome).1),
            Tolerance::within(165.0, 195.0),
        )
        .printed(180.0),
        Check::seeds("when it is least", "s", &each(&|outcome| dip(outcome).0), Tolerance::at_most(10.0))
            .printed(10.0)
            .reported(),
        Check::seeds(
            "least after 60 s",
            "kbit/s",
            &each(&|outcome| least(&settled(outcome))),
            Tolerance::at_least(185.0),
        )
        .printed(185.0),
        Check::seeds(
            "most after 60 s",
            "kbit/s",
            &each(&|outcome| most(&settled(outcome))),
            Tolerance::at_most(203.0),
        )
        .printed(200.0),
        Check::seeds(
            "occupancy off b_d at most after 60 s, of b_max",
            "",
            &each(&off),
            Tolerance::at_most(0.1),
        ),
    ];
    let first = &outcomes[0][0];
    // The paper's normalisation: b_d stands at the bottleneck's rate.
    let normal = scaled(occupancy(first), 200.0 / DESIRED);
    let curves = vec![
        figure::line("rate, kbit/s", rate(first)),
        figure::line("occupancy, b_d = 200", normal),
        figure::line("bottleneck", [(0.0, 200.0), (540.0, 200.0)]),
    ];
    let title = "250 kbit/s through a bottleneck of 200 kbit/s".into();
    Ok(Results {
        checks,
        figures: vec![Figure { title, x: "time, s", y: "rate, kbit/s; occupancy, b_d at 200", curves, ..Figure::default() }],
        parameters: vec![("command", case.command())],
        remarks: vec![
            "The dip is 184 kbit/s after 35 s. The linear loop cannot be at its least within 10 s of a step from below b_d: its \
             poles turn in 126 samples of a second, and from an empty buffer the least is at 46 s (S002-I1)."
                .to_owned(),
        ],
        substitute: None,
    })
}

/// Eq. 12 and 13 with the printed gains, a source that begins at 250 kbit/s and 200 kbit/s out, one sample a second: the
/// least rate, kbit/s, and when, s.
fn ideal(level: f64, gain: f64) -> (f64, f64) {
    let (source, out) = (250.0, 200.0);
    let (mut rate, mut held, mut least) = (source, level, (source, 0.0));
    for second in 1..=120 {
        let next = (held + rate - out).clamp(0.0, CAPACITY);
        rate = (rate - 0.005 * gain * (next - DESIRED) - 0.1 * (next - held)).clamp(0.0, source);
        held = next;
        if rate < least.0 {
            least = (rate, f64::from(second));
        }
    }
    least
}

pub(super) fn dip_of_the_loop(_: &mut Runner<'_>) -> Result<Results, Failure> {
    dip_with(1.0)
}

/// A loop with ten times the first gain is quick enough.
pub(super) fn dip_of_a_quicker_loop(_: &mut Runner<'_>) -> Result<Results, Failure> {
    dip_with(10.0)
}

fn dip_with(gain: f64) -> Result<Results, Failure> {
    let levels = [0.0, 0.5 * DESIRED, DESIRED];
    let dips = levels.map(|level| ideal(level, gain));
    let mut checks = Vec::new();
    for (level, (rate, at)) in levels.iter().zip(dips) {
        let what = format!("the least rate is reached, {level} kbit in the FIFO at first");
        checks.push(Check::value(what, "s", at, Tolerance::at_least(20.0)).printed(10.0));
        let what = format!("it is, {level} kbit in the FIFO at first");
        checks.push(Check::value(what, "kbit/s", rate, Tolerance::at_least(185.0)).printed(180.0));
    }
    Ok(Results {
        checks,
        remarks: vec![
            "With alpha_0 = 0.005 and alpha_1 = 0.1 the printed dip to 180 kbit/s within 10 s needs a FIFO that holds three \
             times b_d when the stream begins, which the paper does not say. Figure 7 is therefore judged by its depth and by \
             what follows, not by its instant."
                .to_owned(),
        ],
        ..Results::default()
    })
}
