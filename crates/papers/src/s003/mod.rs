//! S003: several TFRC connections over a WiMAX uplink.

mod arithmetic;
mod readings;
mod uplink;
mod video;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Opposite, Paper};
use crate::interpretation::Varied;
use crate::slider::{Move, Slider};

/// What every table and figure varies.
const CONNECTIONS_AND_FRAME_RATE: &[Varied] = &[
    Varied { path: "flow.video.count", values: &[], printed: "1 to 4 connections" },
    Varied { path: "flow.video.source.fps", values: &[], printed: "15 and 30 Hz" },
];

/// The number of connections, which every table and figure varies.
const fn connections(at: Move) -> Option<Slider> {
    Some(Slider { what: "connections", unit: "", range: (1.0, 8.0), step: 1.0, start: 5.0, at })
}

/// A wrong model: connections change nothing.
const ONE_CONNECTION: Opposite = Opposite::Runs {
    what: "one connection at every point",
    replace: &[],
    set: &[("s003", "flow.video.count", "1")],
};

pub(crate) const PAPER: Paper = Paper {
    id: "S003",
    title: "several TFRC connections over a WiMAX uplink",
    readings: readings::READINGS,
    settled: "what comes before the video, 20 s",
    account: include_str!("account.md"),
    stresses: readings::STRESSES,
    rows: ROWS,
};

const ROWS: &[Experiment] = &[
    Experiment {
        id: "S003-T1",
        title: "WiMAX parameters",
        kind: Kind::Configuration,
        reported: "OFDMA, TDD, frames of 5 ms, 10 MHz, FFT 1024, 1:3, fragmentation, 1 km",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s003.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-T2",
        title: "traffic matrix",
        kind: Kind::Configuration,
        reported: "rtPS video and CBR, nrtPS FTP, downlinks alike",
        claim: "configuration",
        method: ShownBy("scenarios/papers/s003.toml"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F1",
        title: "uplink service architecture",
        kind: Kind::Schematic,
        reported: "queues per class at each station",
        claim: "structure",
        method: ShownBy("scenarios/papers/s003.toml; crates/sim/src/wimax"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F2",
        title: "uplink scheduling",
        kind: Kind::Schematic,
        reported: "UGS first, polled queues in turn, exhaustive",
        claim: "a test of the scheduler",
        method: ShownBy("tests of crates/sim/src/wimax"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F3",
        title: "throughput over time, 15 Hz, 1 to 4 connections",
        kind: Kind::Measured,
        reported: "grows with connections; 4 overshoot, then TFRC restrains",
        claim: "shape",
        method: Run(uplink::throughput_over_time),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        slider: connections(uplink::throughput_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-T3",
        title: "sending period and rates",
        kind: Kind::Measured,
        reported: "15 Hz 70.47/35.47/23.47/17.94 s, average 120.83/237.65/353.91/457.13 kbit/s; 30 Hz 32.97/18.97/18.47/17.97 s, 477.43/451.98/462.87/450.67",
        claim: "15 Hz averages 1.97/2.93/3.78 times one connection ± 10 %; 30 Hz from 2 on within 5 %; periods ± 10 %",
        method: Run(uplink::periods_and_rates),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        slider: connections(uplink::average_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-T4",
        title: "delays",
        kind: Kind::Measured,
        reported: "15 Hz mean 0.006/0.013/0.020/0.028, max 0.073/0.131/0.182/0.192 s; 30 Hz 0.022/0.066/0.085/0.089 and 0.119/0.194/0.192/0.204",
        claim: "monotone; max at most 0.21; means ± 50 %",
        method: Run(uplink::delays),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        slider: connections(uplink::delay_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-T5",
        title: "jitter",
        kind: Kind::Measured,
        reported: "15 Hz max 0.00458/0.07195/0.08567/0.11864 s; 30 Hz 0.00458/0.00864/0.10055/0.13500",
        claim: "max rises with connections",
        method: Run(uplink::jitter),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        slider: connections(uplink::jitter_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F4",
        title: "queue over time, 15 Hz",
        kind: Kind::Measured,
        reported: "overflow from 2 connections on",
        claim: "exact sign",
        method: Run(uplink::queue_15),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        limited_by: Some("S003-I1"),
        is_of_clip: false,
        slider: connections(uplink::queue_15_at),
    },
    Experiment {
        id: "S003-F5",
        title: "queue over time, 30 Hz",
        kind: Kind::Measured,
        reported: "overflow with 1 and 2 as well, but late",
        claim: "sign",
        method: Run(uplink::queue_30),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: Opposite::Runs {
            what: "a queue without end",
            replace: &[],
            set: &[("s003", "wimax.air.queue.packets", "5000")],
        },
        limited_by: Some("S003-I1"),
        is_of_clip: false,
        slider: connections(uplink::queue_30_at),
    },
    Experiment {
        id: "S003-T6",
        title: "PSNR",
        kind: Kind::Measured,
        reported: "15 Hz 36.02/33.21/30.86/28.13 dB; 30 Hz 34.13/21.92/18.57/14.92",
        claim: "monotone; 15 Hz at least 28, 30 Hz from 2 on at least 10 dB down; each within 3 dB",
        method: Run(uplink::quality),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        slider: connections(uplink::quality_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F6",
        title: "losses by type of traffic, 30 Hz",
        kind: Kind::Measured,
        reported: "balance by share of throughput",
        claim: "with 4 connections each class of the video's queue has 0.5 to 2 times its share of the losses, closer to 1 than with 2",
        method: Run(uplink::losses_by_traffic),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-F7",
        title: "losses by type of frame, 30 Hz",
        kind: Kind::Measured,
        reported: "more with 2 connections than with 1; similar losses of I frames",
        claim: "quality follows the loss of I frames: correlation below -0.8",
        method: Run(uplink::losses_by_frame),
        varies: CONNECTIONS_AND_FRAME_RATE,
        opposite: ONE_CONNECTION,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S003-I1",
        title: "what table III leaves for figures 4 and 5",
        kind: Kind::Identity,
        reported: "120.83 kbit/s for 70.47 s; a queue of 50 packets that overflows with one connection at 30 Hz and with two at 15 Hz",
        claim: "no clip of that total can fill the queue so, beside CBR at its printed rate",
        method: Run(arithmetic::overflow),
        opposite: Opposite::Made("a queue of 20 packets", arithmetic::overflow_of_a_short_queue),
        ..Experiment::SHOWN
    },
];
