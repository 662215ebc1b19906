//! S002: semi-reliable streaming in a TCP window, and dynamic rate shaping.

mod bottleneck;
mod internet;
mod pairs;
mod readings;
mod shaping;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Opposite, Paper};
use crate::interpretation::Varied;

/// A wrong model: the policy does nothing.
const UNCONTROLLED: Opposite = Opposite::Runs {
    what: "a source that does not follow the FIFO",
    replace: &[],
    set: &[("s002-internet", "flow.video.policy", "pd(floor=1)")],
};

pub(crate) const PAPER: Paper = Paper {
    id: "S002",
    title: "semi-reliable streaming in a TCP window, and dynamic rate shaping",
    readings: readings::READINGS,
    settled: "table 1 and figure 6: the first 60 of 600 s; figure 7: the first 60 s for what follows the dip; figures 8 and 9: nothing",
    account: include_str!("account.md"),
    stresses: readings::STRESSES,
    rows: ROWS,
};

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S002-F1",
        title: "schematic of the rate shaper",
        kind: Kind::Schematic,
        reported: "no path back to the encoder",
        claim: "structure",
        method: ShownBy("crates/mpeg/src/shape; docs of the command shape"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F4",
        title: "framework of the protocol",
        kind: Kind::Schematic,
        reported: "source, buffer, pump, UDP; window and PD controller",
        claim: "structure",
        method: ShownBy("docs/controllers/window.md; docs/controllers/pd.md"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F5",
        title: "screenshot of the client",
        kind: Kind::Schematic,
        reported: "–",
        claim: "a picture of ours",
        method: ShownBy("README.md, the page of the command demo"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F2",
        title: "per-picture PSNR, 4 to 3.2 Mbit/s",
        kind: Kind::Measured,
        reported: "memoryless usually within 0.1 dB of causally optimal; recoding worse",
        claim: "on Mobile: median difference at most 0.1 dB; memoryless above recoding and rate-based",
        method: Run(shaping::by_picture),
        opposite: Opposite::Made(
            "rate-based shaping in the place of memoryless",
            shaping::by_picture_of_wrong_methods,
        ),
        is_of_clip: true,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F3",
        title: "PSNR over a range of rates",
        kind: Kind::Measured,
        reported: "memoryless within 0.2 to 0.3 dB",
        claim: "difference at most 0.3 dB",
        method: Run(shaping::by_rate),
        opposite: Opposite::Made(
            "rate-based shaping in the place of memoryless",
            shaping::by_rate_of_wrong_methods,
        ),
        is_of_clip: true,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F6",
        title: "two TCP flows between the same hosts",
        kind: Kind::Measured,
        reported: "they share the bandwidth",
        claim: "Jain at least 0.95",
        method: Run(pairs::tcp_pair),
        opposite: Opposite::Runs {
            what: "a second flow that begins near the end",
            replace: &[],
            set: &[("s002-tcp-tcp", "flow.second.start", "560 s")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-T1",
        title: "pairs: TCP/TCP, TCP/UDP, TCP/ours, ours/ours",
        kind: Kind::Measured,
        reported: "292/342, 205/810, 112/129, 243/258 kbit/s",
        claim: "differences at most 20, 20 and 10 %; TCP has 0.15 to 0.25 of the pair beside UDP",
        method: Run(pairs::table),
        opposite: Opposite::Runs {
            what: "a window that ignores losses",
            replace: &[],
            set: &[("s002-tcp-window", "flow.second.control", "fixed(rate=230 kbit/s)")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F7",
        title: "250 kbit/s through 200 kbit/s, 9 min",
        kind: Kind::Measured,
        reported: "dips to about 180 in 10 s, then at most 15 below 200; occupancy at b_d",
        claim: "least in 165 … 195; after 60 s in 185 … 203; occupancy within 0.1 b_max of b_d",
        method: Run(bottleneck::settles),
        opposite: Opposite::Runs {
            what: "a source that does not follow the FIFO",
            replace: &[],
            set: &[("s002-bottleneck", "flow.video.policy", "pd(floor=1)")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F8",
        title: "an Internet loop of 38 hops",
        kind: Kind::Measured,
        reported: "rate and buffer vary; no overflow",
        claim: "no overflow on a trace of varying capacity",
        method: Run(internet::adaptation),
        opposite: UNCONTROLLED,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-F9",
        title: "the same beside 250 kbit/s without adaptation",
        kind: Kind::Measured,
        reported: "the latter overflows again and again from 120 s",
        claim: "at least 3 overflows without, none with adaptation",
        method: Run(internet::without_adaptation),
        varies: &[Varied {
            path: "flow.video.policy",
            values: &["pd(floor=1)"],
            printed: "figure 9: without adaptation",
        }],
        opposite: UNCONTROLLED,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S002-I1",
        title: "when the loop of figure 7 can be at its least",
        kind: Kind::Identity,
        reported: "a dip to about 180 kbit/s within the first 10 s",
        claim: "with the printed gains not before 20 s and not below 185 kbit/s, unless the FIFO holds more than b_d at first",
        method: Run(bottleneck::dip_of_the_loop),
        opposite: Opposite::Made("ten times the first gain", bottleneck::dip_of_a_quicker_loop),
        ..Experiment::SHOWN
    },
];
