//! S004: NADA over 802.11ac.

mod cell;
mod readings;
mod residual;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Opposite, Paper};
use crate::interpretation::Varied;
use crate::slider::{Move, Slider};

/// What figures 5 and 7 vary.
const PACKETS_OF_500: &[Varied] =
    &[Varied { path: "flow.video-*.packet", values: &["500 B"], printed: "500 B" }];

/// The distance of the far stations; the others stay where they are.
const fn distance(at: Move) -> Option<Slider> {
    Some(Slider { what: "stations 0 and 3 at", unit: "m", range: (5.0, 60.0), step: 0.5, start: 40.0, at })
}

/// A wrong model: distance changes nothing.
const NO_FAR_STATION: Opposite = Opposite::Runs {
    what: "far stations at 5 m",
    replace: &[],
    set: &[
        ("s004-distance", "wlan.cell.station.sta0.at", "[\"5 m\", \"0 m\"]"),
        ("s004-distance", "wlan.cell.station.sta3.at", "[\"0 m\", \"-5 m\"]"),
    ],
};

pub(crate) const PAPER: Paper = Paper {
    id: "S004",
    title: "NADA over 802.11ac",
    readings: readings::READINGS,
    settled: "figure 3: the first 60 of 300 s; all others: nothing",
    account: include_str!("account.md"),
    stresses: readings::STRESSES,
    rows: ROWS,
};

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S004-T1",
        title: "configuration",
        kind: Kind::Configuration,
        reported: "MCS 4; 20 and 80 MHz; short guard interval; YANS; 5 stations; 5 and 30 m",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-*.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F1",
        title: "floor plan, 5 m",
        kind: Kind::Configuration,
        reported: "best case",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-best-case.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F2",
        title: "floor plan, 30 m",
        kind: Kind::Configuration,
        reported: "stations 1, 2, 4 at 30 m, 0 and 3 up to 60 m",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s004-distance.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F3",
        title: "5 m, 360p, 1000 B, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "all five reach 1500 kbit/s, hardly any loss",
        claim: "mean at least 0.95 of 1500 after 60 s, Jain at least 0.99, loss below 0.1 %",
        method: Run(cell::best_case),
        opposite: Opposite::Runs {
            what: "a wire that loses a twentieth",
            replace: &[],
            set: &[("s004-best-case", "link.wired.loss", "{ kind = \"independent\", rate = 0.05 }")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F4",
        title: "30 m, 1000 B, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "0 and 3 starve after 10 s; 1, 2, 4 reach 1500 after 150 s",
        claim: "near at least 0.9 of 1500 at the end, far below 5 %; in 3 of 5 seeds the largest rate takes three times as long as at 5 m",
        method: Run(cell::starved),
        opposite: NO_FAR_STATION,
        slider: distance(cell::starved_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F5",
        title: "30 m, 500 B",
        kind: Kind::Measured,
        reported: "0 and 3 send about 200 and receive about 10 kbit/s",
        claim: "of 500 B a larger part arrives at far stations than of 1000 B",
        method: Run(cell::small_packets),
        varies: PACKETS_OF_500,
        opposite: Opposite::Runs {
            what: "packets of 1000 B throughout",
            replace: &[("500 B", "1000 B")],
            set: &[],
        },
        slider: distance(cell::small_packets_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F6",
        title: "30 m, 1000 B, adaptive resolution",
        kind: Kind::Measured,
        reported: "0 and 3: 200 sent, at most 40 received; mostly 90p",
        claim: "every station receives something in every 10 s; near at most half of 1500, mostly at 90 to 240 rows; far receive at most a fifth",
        method: Run(cell::adaptive),
        opposite: NO_FAR_STATION,
        slider: distance(cell::adaptive_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F7",
        title: "30 m, 500 B, adaptive resolution",
        kind: Kind::Measured,
        reported: "all received at low resolution; 1, 2, 4 end at 240p",
        claim: "near stations end at 180 to 240 rows, had fewer for 2000 frames or more, and not more in the first quarter than in the last",
        method: Run(cell::late_upgrade),
        varies: PACKETS_OF_500,
        opposite: NO_FAR_STATION,
        slider: distance(cell::late_upgrade_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F8",
        title: "30 m, 360p, at most 4000 kbit/s",
        kind: Kind::Measured,
        reported: "no gain; most reached 1800",
        claim: "near at most 2000; far gain below 10 %",
        method: Run(cell::larger_limit),
        varies: &[
            Varied { path: "flow.video-*.packet", values: &["500 B"], printed: "500 B" },
            Varied {
                path: "flow.video-*.source",
                values: &[cell::OF_1500, cell::OF_2000],
                printed: "a clip of a fixed resolution",
            },
            Varied { path: "flow.video-*.rate.max", values: &["4 Mbit/s"], printed: "at most 4000 kbit/s" },
        ],
        opposite: Opposite::Runs {
            what: "far stations at 5 m, a clip of 3 Mbit/s",
            replace: &[("2 Mbit/s", "3 Mbit/s")],
            set: &[
                ("s004-distance", "wlan.cell.station.sta0.at", "[\"5 m\", \"0 m\"]"),
                ("s004-distance", "wlan.cell.station.sta3.at", "[\"0 m\", \"-5 m\"]"),
            ],
        },
        slider: distance(cell::larger_limit_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F9",
        title: "30 m, 720p, 1500 kbit/s",
        kind: Kind::Measured,
        reported: "1500 after 150 s, received below the bit rate",
        claim: "near at least 0.9 of 1500 at the end, three times as late as at 5 m; at most 0.97 of a clip of 1500 received",
        method: Run(cell::deficit),
        varies: &[Varied {
            path: "flow.video-*.source",
            values: &[cell::OF_1500, cell::OF_2000],
            printed: "a clip of a fixed resolution",
        }],
        opposite: NO_FAR_STATION,
        slider: distance(cell::deficit_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F10",
        title: "80 MHz, 30 m, 720p",
        kind: Kind::Measured,
        reported: "a peak within 40 s, then a strong decline",
        claim: "after the peak at most half of it, in 3 of 5 seeds; far from 3 to 4 times 20 MHz",
        method: Run(cell::wide_channel),
        varies: &[Varied {
            path: "flow.video-*.source",
            values: &[cell::OF_1500, cell::OF_2000],
            printed: "a clip of a fixed resolution",
        }],
        opposite: Opposite::Runs {
            what: "20 MHz, far stations at 5 m",
            replace: &[],
            set: &[
                ("s004-80mhz", "wlan.cell.width", "20 MHz"),
                ("s004-80mhz", "wlan.cell.station.sta0.at", "[\"5 m\", \"0 m\"]"),
                ("s004-80mhz", "wlan.cell.station.sta3.at", "[\"0 m\", \"-5 m\"]"),
            ],
        },
        slider: distance(cell::wide_channel_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-F11",
        title: "random plan, 720p, 80 MHz",
        kind: Kind::Measured,
        reported: "all alike; received below the bit rate",
        claim: "Jain at least 0.98; at most 0.97 of a clip of 1500 received",
        method: Run(cell::random_plan),
        varies: &[Varied {
            path: "flow.video-*.source",
            values: &[cell::OF_1500, cell::OF_2000],
            printed: "a clip of a fixed resolution",
        }],
        opposite: Opposite::Runs {
            what: "station 4 at 51.7 m",
            replace: &[],
            set: &[("s004-random-plan", "wlan.cell.station.sta4.at", "[\"51.7 m\", \"0 m\"]")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S004-C1",
        title: "conclusion: losses of the channel are taken for congestion",
        kind: Kind::Measured,
        reported: "–",
        claim: "a discriminating control delivers 1.5 times NADA at equal or lower delay, losses of 1 to 10 % left after retries",
        method: Run(residual::conclusion),
        varies: &[
            Varied { path: "duration", values: &["70 s"], printed: "ours" },
            Varied { path: "warmup", values: &["10 s"], printed: "ours" },
            Varied { path: "link.wired.loss", values: &[], printed: "1 to 10 % of residual loss" },
            Varied {
                path: "flow.video-*.control",
                values: &[residual::OURS, residual::NADA[0], residual::NADA[1]],
                printed: "the conclusion asks for another control",
            },
        ],
        opposite: Opposite::Runs {
            what: "NADA against itself",
            replace: &[("tfrc(discriminate=zbs)", "nada")],
            set: &[],
        },
        slider: Some(Slider {
            what: "loss after retries",
            unit: "",
            range: (0.0, 0.1),
            step: 0.005,
            start: 0.07,
            at: residual::conclusion_at,
        }),
        ..Experiment::SHOWN
    },
];
