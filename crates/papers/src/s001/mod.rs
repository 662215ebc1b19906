//! S001: one TFRC connection with the rate of several (CTFRC) against several connections (MULTFRC) over a lossy last hop.

mod loss_sweep;
mod readings;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Opposite, Paper};
use crate::interpretation::Varied;
use crate::slider::{Move, Slider};
use loss_sweep::{CTFRC, MULTFRC, OVERFILLS};

/// What figure 4 varies.
const ERROR_RATE_OF_MULTFRC: &[Varied] = &[
    Varied { path: "link.wireless.loss.rate", values: &[], printed: "the error rate" },
    Varied { path: "flow.video.control", values: &[MULTFRC], printed: "figures 4 and 5: MULTFRC and CTFRC" },
];

/// The error rate of the hop, which figures 4 and 5 vary.
const fn error_rate(at: Move) -> Option<Slider> {
    Some(Slider { what: "error rate of the hop", unit: "", range: (0.0, 0.1), step: 0.005, start: 0.025, at })
}

/// A wrong model: nothing is lost on the air.
const NO_LOSS: Opposite = Opposite::Runs {
    what: "a hop without losses",
    replace: &[],
    set: &[("s001", "link.wireless.loss.rate", "0")],
};

/// A wrong model: MULTFRC that opens none.
const ONE_CONNECTION: Opposite =
    Opposite::Runs { what: "a single connection", replace: &[("multfrc(", "multfrc(max=1, ")], set: &[] };

pub(crate) const PAPER: Paper = Paper {
    id: "S001",
    title: "CTFRC against MULTFRC over a lossy last hop",
    readings: readings::READINGS,
    settled: "200 of 900 s, in every run",
    account: include_str!("account.md"),
    stresses: readings::STRESSES,
    rows: ROWS,
};

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S001-F1",
        title: "a wired path and a lossy last hop",
        kind: Kind::Measured,
        reported: "the best goodput is B_w (1 - p_w)",
        claim: "a flow that overfills the hop gets that much, within 2 %",
        method: Run(loss_sweep::goodput_limit),
        varies: &[
            Varied { path: "link.wireless.loss.rate", values: &[], printed: "the error rate" },
            Varied {
                path: "flow.video.control",
                values: &[OVERFILLS],
                printed: "figures 4 and 5: MULTFRC and CTFRC",
            },
        ],
        opposite: NO_LOSS,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F2",
        title: "block diagram of CTFRC",
        kind: Kind::Schematic,
        reported: "loss detection and loss handler beside TFRC's parts",
        claim: "structure",
        method: ShownBy("docs/controllers/ctfrc.md; crates/control/src/ctfrc"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F3",
        title: "topology of the simulation",
        kind: Kind::Configuration,
        reported: "sender, router, receiver, 1 Mbit/s, the last hop wireless",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s001.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F4a",
        title: "MULTFRC's connections against the error rate",
        kind: Kind::Measured,
        reported: "grows with the error rate, about 4 at 0.04",
        claim: "within 1 of floor(n_opt), and 4 or 5 at 0.04",
        method: Run(loss_sweep::connections),
        varies: ERROR_RATE_OF_MULTFRC,
        opposite: ONE_CONNECTION,
        slider: error_rate(loss_sweep::connections_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F4b",
        title: "MULTFRC's end-to-end loss against the error rate",
        kind: Kind::Measured,
        reported: "grows with the error rate",
        claim: "at least the hop's own, at most 0.02 above it, rising",
        method: Run(loss_sweep::end_to_end_loss),
        varies: ERROR_RATE_OF_MULTFRC,
        opposite: NO_LOSS,
        slider: error_rate(loss_sweep::end_to_end_loss_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F4c",
        title: "MULTFRC's throughput against the error rate",
        kind: Kind::Measured,
        reported: "highest with one connection at 0, a dip at 0.02, higher at 0.04, then saturation",
        claim: "utilisation within 0.1 of floor(n_opt)/n_opt",
        method: Run(loss_sweep::multfrc_throughput),
        varies: ERROR_RATE_OF_MULTFRC,
        opposite: ONE_CONNECTION,
        slider: error_rate(loss_sweep::multfrc_throughput_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F5a",
        title: "CTFRC's round-trip time against the error rate",
        kind: Kind::Measured,
        reported: "uniform, near the least",
        claim: "its means spread by at most 10 % of their mean over the error rates above 0, which is at most 1.3 times the least",
        method: Run(loss_sweep::ctfrc_round_trip),
        varies: &[
            Varied { path: "link.wireless.loss.rate", values: &[], printed: "the error rate" },
            Varied {
                path: "flow.video.control",
                values: &[CTFRC],
                printed: "figures 4 and 5: MULTFRC and CTFRC",
            },
        ],
        opposite: Opposite::Runs {
            what: "a law that tolerates any queue",
            replace: &[("gamma=0.36", "gamma=5")],
            set: &[],
        },
        slider: error_rate(loss_sweep::ctfrc_round_trip_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S001-F5b",
        title: "CTFRC's throughput against MULTFRC's",
        kind: Kind::Measured,
        reported: "CTFRC above MULTFRC at every error rate, 0.02 and 0.04 among them",
        claim: "above at 4 of 6 points or more, never below 0.98 of it, utilisation at least 0.95",
        method: Run(loss_sweep::ctfrc_throughput),
        varies: &[
            Varied { path: "link.wireless.loss.rate", values: &[], printed: "the error rate" },
            Varied {
                path: "flow.video.control",
                values: &[CTFRC, MULTFRC],
                printed: "figures 4 and 5: MULTFRC and CTFRC",
            },
        ],
        opposite: Opposite::Runs {
            what: "CTFRC without its virtual connections",
            replace: &[("ctfrc(", "ctfrc(max=1, ")],
            set: &[],
        },
        slider: error_rate(loss_sweep::ctfrc_throughput_at),
        ..Experiment::SHOWN
    },
];
