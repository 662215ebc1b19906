//! S000: rate control by the receiver's buffer.

mod arithmetic;
mod buffer;
mod contention;
mod last_hop;
mod readings;

use crate::experiment::Method::{Run, ShownBy};
use crate::experiment::{Experiment, Kind, Opposite, Paper};
use crate::interpretation::Varied;
use crate::slider::{Move, Slider};
use buffer::{TYPE_1, TYPE_2};

/// What section 4.4 varies: the control, and the size of the buffer.
const TYPE: Varied = Varied {
    path: "flow.video.control",
    values: &[TYPE_1, TYPE_2],
    printed: "section 4.4 compares type I with type II",
};
const SIZE: Varied = Varied {
    path: "flow.video.receiver.buffer",
    values: &[],
    printed: "section 4.4: 16 384 and 32 768 B; figures 7 and 12: several sizes",
};
const BOTH_TYPES: &[Varied] = &[TYPE, SIZE];

/// What figures 13 to 15 vary.
const BESIDE_TFRC: &[Varied] = &[
    Varied {
        path: "flow.video.control",
        values: &[TYPE_1, "tfrc"],
        printed: "figures 13 to 15 compare type I with TFRC",
    },
    Varied { path: "flow.tcp.count", values: &[], printed: "the number of TCP flows" },
];

/// The error rate of frames, which table 1 and figure 6 vary.
const fn error_rate(at: Move) -> Option<Slider> {
    Some(Slider { what: "error rate of frames", unit: "", range: (0.0, 0.3), step: 0.01, start: 0.08, at })
}

/// The size of the receiver's buffer, of which figures 7 and 12 have several.
const fn buffer(at: Move) -> Option<Slider> {
    let (range, step) = ((4_096.0, 65_536.0), 1_024.0);
    Some(Slider { what: "receiver's buffer", unit: "B", range, step, start: 24_576.0, at })
}

/// The number of TCP flows, which figures 14 and 15 vary.
const fn tcp_flows(at: Move) -> Option<Slider> {
    Some(Slider { what: "TCP flows", unit: "", range: (1.0, 64.0), step: 1.0, start: 12.0, at })
}

/// A wrong model: nothing of type I.
const AS_TYPE_2: Opposite = Opposite::Runs {
    what: "type II in the place of type I",
    replace: &[("buffer-type1(gamma=adverse, rtt=ms)", "buffer-type2(rtt=ms)")],
    set: &[],
};

/// A wrong model: a controller that knows no buffer.
const AS_TFRC: Opposite = Opposite::Runs {
    what: "TFRC in the place of type I",
    replace: &[("buffer-type1(gamma=adverse, rtt=ms)", "tfrc")],
    set: &[],
};

pub(crate) const PAPER: Paper = Paper {
    id: "S000",
    title: "rate control by the receiver's buffer",
    readings: readings::READINGS,
    settled: "figures 9 to 12: nothing is left out, events count from the first fill; figures 13 to 15: the first 40 s; all others: nothing",
    account: include_str!("account.md"),
    stresses: readings::STRESSES,
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
        opposite: Opposite::Made("a player that is twice as fast", arithmetic::growth_of_a_faster_player),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F1",
        title: "round-trip time against packet size, wired and wireless",
        kind: Kind::Measured,
        reported: "no numbers",
        claim: "grows linearly with size (R² at least 0.9); wireless above wired and noisier",
        method: Run(last_hop::packet_sizes),
        varies: &[
            Varied { path: "flow.video.from", values: &[], printed: "a single hop" },
            Varied { path: "flow.video.to", values: &[], printed: "a single hop" },
            Varied { path: "link.core.delay", values: &["0 ms"], printed: "a single hop" },
            Varied { path: "flow.video.control", values: &[], printed: "probes of one size" },
            Varied { path: "flow.video.packet", values: &[], printed: "packet size" },
        ],
        opposite: Opposite::Runs {
            what: "a wire of 500 kbit/s",
            replace: &[],
            set: &[("s000-testbed", "link.core.rate", "500 kbit/s")],
        },
        slider: Some(Slider {
            what: "size of a packet",
            unit: "B",
            range: (100.0, 1_500.0),
            step: 20.0,
            start: 600.0,
            at: last_hop::packet_sizes_at,
        }),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F2",
        title: "schematic: rate against the client's occupancy",
        kind: Kind::Schematic,
        reported: "–",
        claim: "a full buffer lowers the rate, an empty one raises it",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F3",
        title: "schematic: the pause between two packets",
        kind: Kind::Schematic,
        reported: "–",
        claim: "rate = S / (t(S) + IPD)",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F5",
        title: "state diagram",
        kind: Kind::Schematic,
        reported: "underflow, stable, overflow",
        claim: "all nine transitions by B and its change",
        method: ShownBy("crates/control/src/buffer_aware/tests.rs"),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F4",
        title: "time of a download against the pause",
        kind: Kind::Identity,
        reported: "usable from 1 to 20 ms",
        claim: "n (t(S) + IPD), growing with the pause",
        method: Run(buffer::download),
        varies: &[
            Varied {
                path: "flow.video.control",
                values: &["buffer-type1(gamma=adverse, rtt=ms, packet_time=5 ms)"],
                printed: "t(S) = 5 ms gives the 24 % of section 4.3",
            },
            Varied {
                path: "flow.video.receiver.buffer",
                values: &[],
                printed: "section 4.4: 16 384 and 32 768 B; figures 7 and 12: several sizes",
            },
            Varied { path: "flow.video.rate", values: &[], printed: "the pause is what figure 4 varies" },
        ],
        opposite: Opposite::Runs {
            what: "pauses of at most 20 ms",
            replace: &[("packet_time=5 ms", "packet_time=5 ms, clamp=on")],
            set: &[],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F6",
        title: "TCP's congestion window against the error rate",
        kind: Kind::Measured,
        reported: "0 to 20 %",
        claim: "shrinks as errors grow",
        method: Run(last_hop::window),
        varies: &[Varied { path: "wlan.cell.frame_loss", values: &[], printed: "the error rate" }],
        opposite: Opposite::Runs {
            what: "errors that never come",
            replace: &[],
            set: &[("s000-tcp", "wlan.cell.frame_loss", "0")],
        },
        slider: error_rate(last_hop::window_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-T1",
        title: "throughput by Eq. 2 at 5, 10, 15 and 20 % errors",
        kind: Kind::Measured,
        reported: "313.47, 215.12, 163.07, 115.06 S a second at 21.4, 22.05, 23.75, 29.15 ms",
        claim: "± 0.01 %; simulated round-trip times within 3 ms",
        method: Run(last_hop::table),
        varies: &[
            Varied {
                path: "flow.video.rate.max",
                values: &["426.3 kbit/s"],
                printed: "section 4.4: measured beside 19 ms",
            },
            Varied { path: "wlan.cell.frame_loss", values: &[], printed: "the error rate" },
        ],
        opposite: Opposite::Runs {
            what: "errors that never come",
            replace: &[],
            set: &[("s000-testbed", "wlan.cell.frame_loss", "0")],
        },
        slider: error_rate(last_hop::table_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F7",
        title: "time of a transfer against the receiver's buffer",
        kind: Kind::Measured,
        reported: "up to 32 768 B",
        claim: "a larger buffer shortens it",
        method: Run(buffer::transfer),
        varies: &[
            Varied { path: "flow.video.control", values: &[TYPE_1], printed: "the proposed control" },
            Varied {
                path: "flow.video.receiver.buffer",
                values: &[],
                printed: "section 4.4: 16 384 and 32 768 B; figures 7 and 12: several sizes",
            },
        ],
        opposite: Opposite::Runs {
            what: "a buffer of one size",
            replace: &[],
            set: &[("s000-testbed", "flow.video.receiver.buffer", "16384 B")],
        },
        slider: buffer(buffer::transfer_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F8",
        title: "rate against the pause, several packet sizes",
        kind: Kind::Identity,
        reported: "at 20 ms 24 % of the rate at 1 ms; smaller packets react more",
        claim: "0.24 ± 0.01; smaller packets, smaller ratio",
        method: Run(arithmetic::pause_ratio),
        opposite: Opposite::Made("a first link ten times as fast", arithmetic::pause_ratio_of_a_faster_link),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F9",
        title: "rate against the buffer's level",
        kind: Kind::Measured,
        reported: "16 384 B; thresholds 20 and 90 %",
        claim: "the larger the buffer's change, the larger the rate's: correlation above 0.5",
        method: Run(buffer::level_and_rate),
        varies: BOTH_TYPES,
        opposite: Opposite::Runs {
            what: "a sender that does not look at the buffer",
            replace: &[("buffer-type1(gamma=adverse, rtt=ms)", "fixed(rate=57.344 kbit/s)")],
            set: &[],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F10",
        title: "occupancy over time, type I and type II",
        kind: Kind::Measured,
        reported: "type II overflows 11 times, type I never",
        claim: "entries into the overflow state after the first fill, ten seeds: type I median at most 1, type II at least 5 and 5 times type I's; type I at most 4 % of the time",
        method: Run(buffer::overflows),
        varies: BOTH_TYPES,
        opposite: AS_TYPE_2,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F11",
        title: "rate over time, type I, type II and no control",
        kind: Kind::Measured,
        reported: "after 5.6 s type II oscillates strongly",
        claim: "peak to peak of the rate from the first entry into overflow: type I at most half of type II; overflow 5.6 s after playback began",
        method: Run(buffer::oscillation),
        varies: BOTH_TYPES,
        opposite: AS_TYPE_2,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F12",
        title: "rate over time for several buffer sizes",
        kind: Kind::Measured,
        reported: "smaller: smoother, slower to react",
        claim: "deviation and time to settle after the player took twice as much, ordered by size",
        method: Run(buffer::sizes),
        varies: &[
            TYPE,
            SIZE,
            Varied { path: "duration", values: &["60 s"], printed: "room for the reaction" },
            Varied {
                path: "flow.video.receiver.consume_then",
                values: &[],
                printed: "the reaction to changes",
            },
        ],
        opposite: Opposite::Runs {
            what: "a buffer of one size",
            replace: &[],
            set: &[("s000-buffer", "flow.video.receiver.buffer", "16384 B")],
        },
        slider: buffer(buffer::sizes_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F13",
        title: "arrivals at the client: type I and TFRC beside 48 TCP",
        kind: Kind::Measured,
        reported: "type I 2.4 times TFRC, never 0",
        claim: "steady state: ratio at least 2; no empty second; type I at most 8 packets a second",
        method: Run(contention::arrival_rate),
        varies: &[Varied {
            path: "flow.video.control",
            values: &[TYPE_1, "tfrc"],
            printed: "figures 13 to 15 compare type I with TFRC",
        }],
        opposite: AS_TFRC,
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F14",
        title: "loss against the number of TCP flows",
        kind: Kind::Measured,
        reported: "rises for both",
        claim: "monotone",
        method: Run(contention::overall_loss),
        varies: BESIDE_TFRC,
        opposite: Opposite::Runs {
            what: "the same eight flows at every point",
            replace: &[],
            set: &[("s000-crowd", "flow.tcp.count", "8")],
        },
        slider: tcp_flows(contention::overall_loss_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F15",
        title: "part of the losses that a full buffer caused",
        kind: Kind::Measured,
        reported: "falls with the number of TCP flows; TFRC above type I",
        claim: "where TFRC can fill the buffer (S000-I1): both fall, TFRC above type I",
        method: Run(contention::buffer_part),
        varies: BESIDE_TFRC,
        opposite: AS_TFRC,
        slider: tcp_flows(contention::buffer_part_at),
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-F16",
        title: "prototype on a handheld",
        kind: Kind::Measured,
        reported: "16.2 to 16.5 frames/s, 426 300 bit/s, 19 ms, no overflow",
        claim: "no overflow, at least 80 % of the frames in time",
        method: Run(buffer::prototype),
        varies: &[
            Varied { path: "flow.video.rate.max", values: &["426.3 kbit/s"], printed: "section 4.4" },
            Varied { path: "flow.video.source", values: &[], printed: "20 frames a second, 64 kbit/s" },
            Varied {
                path: "flow.video.receiver.consume",
                values: &["64 kbit/s"],
                printed: "the expected rate",
            },
        ],
        opposite: Opposite::Runs {
            what: "a player at half the rate",
            replace: &[],
            set: &[("s000-testbed", "flow.video.receiver.consume", "32 kbit/s")],
        },
        ..Experiment::SHOWN
    },
    Experiment {
        id: "S000-I1",
        title: "what figure 13 leaves for figure 15",
        kind: Kind::Identity,
        reported: "8 packets a second, 2.4 times TFRC; a player of 8 kbit/s and 160 B",
        claim: "beside 48 flows TFRC cannot fill the buffer",
        method: Run(contention::limit_of_the_buffer),
        opposite: Opposite::Made("a player at half the rate", contention::no_limit_of_the_buffer),
        ..Experiment::SHOWN
    },
];
