//! S000: rate control by the receiver's buffer.

mod arithmetic;
mod buffer;
mod contention;
mod last_hop;
mod readings;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Paper};

pub(crate) const PAPER: Paper = Paper {
    id: "S000",
    title: "rate control by the receiver's buffer",
    readings: readings::READINGS,
    rows: ROWS,
};

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S000-E4",
        title: "growth of the receiver's buffer",
        kind: Kind::Identity,
        reported: "10.7 S in and 1.56 S out a second: 9.14 S t; ratio 0.15",
        claim: "9.14 ± 0.01",
        method: Run(arithmetic::growth),
    },
    Experiment {
        id: "S000-F1",
        title: "round-trip time against packet size, wired and wireless",
        kind: Kind::Measured,
        reported: "no numbers",
        claim: "grows linearly with size (R² at least 0.9); wireless above wired and noisier",
        method: Run(last_hop::packet_sizes),
    },
    Experiment {
        id: "S000-F2",
        title: "schematic: rate against the client's occupancy",
        kind: Kind::Schematic,
        reported: "–",
        claim: "a full buffer lowers the rate, an empty one raises it",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
    },
    Experiment {
        id: "S000-F3",
        title: "schematic: the pause between two packets",
        kind: Kind::Schematic,
        reported: "–",
        claim: "rate = S / (t(S) + IPD)",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
    },
    Experiment {
        id: "S000-F5",
        title: "state diagram",
        kind: Kind::Schematic,
        reported: "underflow, stable, overflow",
        claim: "all nine transitions by B and its change",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
    },
    Experiment {
        id: "S000-F4",
        title: "time of a download against the pause",
        kind: Kind::Identity,
        reported: "usable from 1 to 20 ms",
        claim: "n (t(S) + IPD), growing with the pause",
        method: Run(buffer::download),
    },
    Experiment {
        id: "S000-F6",
        title: "TCP's congestion window against the error rate",
        kind: Kind::Measured,
        reported: "0 to 20 %",
        claim: "shrinks as errors grow",
        method: Run(last_hop::window),
    },
    Experiment {
        id: "S000-T1",
        title: "throughput by Eq. 2 at 5, 10, 15 and 20 % errors",
        kind: Kind::Measured,
        reported: "313.47, 215.12, 163.07, 115.06 S a second at 21.4, 22.05, 23.75, 29.15 ms",
        claim: "± 0.01 %; simulated round-trip times within 3 ms",
        method: Run(last_hop::table),
    },
    Experiment {
        id: "S000-F7",
        title: "time of a transfer against the receiver's buffer",
        kind: Kind::Measured,
        reported: "up to 32 768 B",
        claim: "a larger buffer shortens it",
        method: Run(buffer::transfer),
    },
    Experiment {
        id: "S000-F8",
        title: "rate against the pause, several packet sizes",
        kind: Kind::Identity,
        reported: "at 20 ms 24 % of the rate at 1 ms; smaller packets react more",
        claim: "0.24 ± 0.01; smaller packets, smaller ratio",
        method: Run(arithmetic::pause_ratio),
    },
    Experiment {
        id: "S000-F9",
        title: "rate against the buffer's level",
        kind: Kind::Measured,
        reported: "16 384 B; thresholds 20 and 90 %",
        claim: "the larger the buffer's change, the larger the rate's: correlation above 0.5",
        method: Run(buffer::level_and_rate),
    },
    Experiment {
        id: "S000-F10",
        title: "occupancy over time, type I and type II",
        kind: Kind::Measured,
        reported: "type II overflows 11 times, type I never",
        claim: "type I median 0 and at most 2, type II at least 3, over ten seeds",
        method: Run(buffer::overflows),
    },
    Experiment {
        id: "S000-F11",
        title: "rate over time, type I, type II and no control",
        kind: Kind::Measured,
        reported: "after 5.6 s type II oscillates strongly",
        claim: "standard deviation after 5.6 s: type I below half of type II",
        method: Run(buffer::oscillation),
    },
    Experiment {
        id: "S000-F12",
        title: "rate over time for several buffer sizes",
        kind: Kind::Measured,
        reported: "smaller: smoother, slower to react",
        claim: "reaction time and deviation ordered by size",
        method: Run(buffer::sizes),
    },
    Experiment {
        id: "S000-F13",
        title: "arrivals at the client: type I and TFRC beside 48 TCP",
        kind: Kind::Measured,
        reported: "type I 2.4 times TFRC, never 0",
        claim: "ratio at least 2; no empty second",
        method: Run(contention::arrival_rate),
    },
    Experiment {
        id: "S000-F14",
        title: "loss against the number of TCP flows",
        kind: Kind::Measured,
        reported: "rises for both",
        claim: "monotone",
        method: Run(contention::overall_loss),
    },
    Experiment {
        id: "S000-F15",
        title: "part of the losses that a full buffer caused",
        kind: Kind::Measured,
        reported: "falls with the number of TCP flows; TFRC above type I",
        claim: "order",
        method: Run(contention::buffer_part),
    },
    Experiment {
        id: "S000-F16",
        title: "prototype on a handheld",
        kind: Kind::Measured,
        reported: "16.2 to 16.5 frames/s, 426 300 bit/s, 19 ms, no overflow",
        claim: "no overflow, at least 80 % of the frames in time",
        method: Run(buffer::prototype),
    },
];
