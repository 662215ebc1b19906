//! An experiment of one's own: its claim, its runs, and a report like that of a paper.
use seaway_papers::report::Report;
use seaway_papers::{
    Case, Check, Experiment, Failure, Figure, Kind, Method, Opposite, Results, Runner, Tolerance, Varied,
    figure,
};
use std::ops::ControlFlow;

static EXPERIMENT: Experiment = Experiment {
    id: "MINE-F1",
    title: "rate against random loss",
    kind: Kind::Measured,
    reported: "an equation falls with the square root of the loss",
    claim: "at 4 % less than two thirds of the rate at 1 %",
    method: Method::Run(rate_against_loss),
    varies: &[
        Varied { path: "flow.video.control", values: &["tfrc"], printed: "the equation" },
        Varied { path: "link.bottleneck.loss", values: &[], printed: "the loss" },
    ],
    opposite: Opposite::Runs {
        what: "a rate that nothing changes",
        replace: &[("tfrc", "fixed(rate=500 kbit/s)")],
        set: &[],
    },
    ..Experiment::SHOWN
};

const LOSSES: [f64; 3] = [0.01, 0.02, 0.04];

fn rate_against_loss(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = |rate: &f64| {
        let loss = format!("{{ kind = 'independent', rate = {rate} }}");
        Case::new("clean").set("flow.video.control", "tfrc").set("link.bottleneck.loss", loss)
    };
    let runs = runner.run(&LOSSES.iter().map(case).collect::<Vec<_>>())?;
    let rates = |index: usize| -> Vec<f64> {
        runs[index].iter().filter_map(|outcome| outcome.summary.flows[0].received_bps).collect()
    };
    let ratios: Vec<f64> = rates(2).iter().zip(rates(0)).map(|(four, one)| four / one).collect();
    let points = LOSSES.iter().enumerate().map(|(index, loss)| (loss * 100.0, rates(index)));
    let curves = vec![figure::of_seeds("tfrc", points)];
    Ok(Results {
        checks: vec![Check::seeds(
            "rate at 4 % over rate at 1 %",
            "",
            &ratios,
            Tolerance::at_most(2.0 / 3.0),
        )],
        figures: vec![Figure {
            title: "TFRC".into(),
            x: "loss, %",
            y: "received, bit/s",
            curves,
            ..Figure::default()
        }],
        ..Results::default()
    })
}

pub(crate) fn main() {
    let mut runner = Runner::new(1, 3, &|_| ControlFlow::Continue(()));
    let report = Report::of(&[&EXPERIMENT], &mut runner, &mut |_| ()).unwrap();
    let check = &report.experiments[0].checks[0];
    println!("{}: {:.2} ± {:.2}", check.what, check.ours, check.ci95.unwrap());
    assert!(check.held && report.experiments[0].figures[0].plot().svg().contains("tfrc"));
}
