//! S004: NADA over 802.11ac.

mod cell;
mod readings;
mod residual;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Paper};

pub(crate) const PAPER: Paper =
    Paper { id: "S004", title: "NADA over 802.11ac", readings: readings::READINGS, rows: ROWS };

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S004-T1",
        title: "configuration",
        kind: Kind::Configuration,
        reported: "MCS 4; 20 and 80 MHz; short guard interval; YANS; 5 stations; 5 and 30 m",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-*.toml"),
    },
    Experiment {
        id: "S004-F1",
        title: "floor plan, 5 m",
        kind: Kind::Configuration,
        reported: "best case",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-best-case.toml"),
    },
    Experiment {
        id: "S004-F2",
        title: "floor plan, 30 m",
        kind: Kind::Configuration,
        reported: "stations 1, 2, 4 at 30 m, 0 and 3 up to 60 m",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-60m.toml; scenarios/papers/s004-distance.toml"),
    },
    Experiment {
        id: "S004-F3",
        title: "5 m, 360p, 1000 B, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "all five reach 1500 kbit/s, hardly any loss",
        claim: "mean at least 0.95 of 1500 after 60 s, Jain at least 0.99, loss below 0.1 %",
        method: Run(cell::best_case),
    },
    Experiment {
        id: "S004-F4",
        title: "30 m, 1000 B, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "0 and 3 starve after 10 s; 1, 2, 4 reach 1500 after 150 s",
        claim: "near at least 0.9 of 1500 at the end, far below 5 %; ramp reported",
        method: Run(cell::starved),
    },
    Experiment {
        id: "S004-F5",
        title: "30 m, 500 B",
        kind: Kind::Measured,
        reported: "0 and 3 send about 200 and receive about 10 kbit/s",
        claim: "far stations receive more than with 1000 B",
        method: Run(cell::small_packets),
    },
    Experiment {
        id: "S004-F6",
        title: "30 m, 1000 B, adaptive resolution",
        kind: Kind::Measured,
        reported: "0 and 3: 200 sent, at most 40 received; mostly 90p",
        claim: "every station receives something in every 10 s",
        method: Run(cell::adaptive),
    },
    Experiment {
        id: "S004-F7",
        title: "30 m, 500 B, adaptive resolution",
        kind: Kind::Measured,
        reported: "all received at low resolution; 1, 2, 4 end at 240p",
        claim: "last quarter's resolution at least the first's",
        method: Run(cell::late_upgrade),
    },
    Experiment {
        id: "S004-F8",
        title: "30 m, 360p, at most 4000 kbit/s",
        kind: Kind::Measured,
        reported: "no gain; most reached 1800",
        claim: "near at most 2000; far gain below 10 %",
        method: Run(cell::larger_limit),
    },
    Experiment {
        id: "S004-F9",
        title: "30 m, 720p, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "1500 after 150 s, received below the bit rate",
        claim: "mean received below the bit rate",
        method: Run(cell::deficit),
    },
    Experiment {
        id: "S004-F10",
        title: "80 MHz, 30 m, 720p",
        kind: Kind::Measured,
        reported: "a peak within 40 s, then a strong decline",
        claim: "after the peak at most half of it, in 3 of 5 seeds",
        method: Run(cell::wide_channel),
    },
    Experiment {
        id: "S004-F11",
        title: "random plan, 720p, 80 MHz",
        kind: Kind::Measured,
        reported: "all alike; received below the bit rate",
        claim: "Jain at least 0.98; deficit",
        method: Run(cell::random_plan),
    },
    Experiment {
        id: "S004-C1",
        title: "conclusion: losses of the channel are taken for congestion",
        kind: Kind::Measured,
        reported: "–",
        claim: "a discriminating control delivers 1.5 times NADA at equal or lower delay, losses of 1 to 10 % left after retries",
        method: Run(residual::conclusion),
    },
];
