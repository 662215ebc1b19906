//! How S004 is read.

use crate::interpretation::{Interpretation, key};
use crate::runner::Stress;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "packets and largest rate of figure 3",
        taken: "1000 B and 1500 kbit/s: its caption",
        literal: "1500 B and 4000 kbit/s: its text",
        reason: "the text itself says that 1500 kbit/s were reached",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "stations 0 and 3",
        taken: "51.7 m in figures 4 to 10",
        literal: "`within the range of 60 m`",
        reason: "one plan for all; by the default path loss a twentieth of 500 B and nothing of 1000 B passes 51.7 m after seven tries, which is what figures 4 and 5 print",
        keys: &[
            key("s004-distance", "wlan.cell.station.sta0.at", "[\"51.7 m\", \"0 m\"]"),
            key("s004-80mhz", "wlan.cell.station.sta0.at", "[\"51.7 m\", \"0 m\"]"),
        ],
    },
    Interpretation {
        subject: "the receivers",
        taken: "without preamble detection, as ns-3 before 3.30",
        literal: "",
        reason: "with it nothing at all passes 51.4 m, beacons included, and figure 5 has received packets",
        keys: &[
            key("s004-best-case", "wlan.cell.preamble_detection", "false"),
            key("s004-distance", "wlan.cell.preamble_detection", "false"),
            key("s004-80mhz", "wlan.cell.preamble_detection", "false"),
            key("s004-random-plan", "wlan.cell.preamble_detection", "false"),
        ],
    },
    Interpretation {
        subject: "NADA",
        taken: "the draft that ns3-rmcat has: variant=draft",
        literal: "",
        reason: "RFC 8698 is younger than the paper's code",
        keys: &[
            key("s004-best-case", "flow.video-0.control", "nada(variant=draft)"),
            key("s004-distance", "flow.video-0.control", "nada(variant=draft)"),
            key("s004-80mhz", "flow.video-0.control", "nada(variant=draft)"),
            key("s004-random-plan", "flow.video-0.control", "nada(variant=draft)"),
        ],
    },
    Interpretation {
        subject: "station 4 of figure 11",
        taken: "27 m",
        literal: "30 m",
        reason: "half of the frames are lost at 30 m and 80 MHz, and all five received alike",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "duration, and the wire",
        taken: "300 s; 100 Mbit/s and 1 ms",
        literal: "",
        reason: "not printed; more than 6000 frames were sent",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the rate that is reached",
        taken: "NADA's reference rate, the sender's calculated rate",
        literal: "",
        reason: "what arrives is a twentieth below it: so much NADA leaves the encoder (RFC 8698, BETA_V)",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "video that follows the rate",
        taken: "RFC 8593's model at 30 frames/s; its picture size by ns3-rmcat's rule on the model's rate",
        literal: "",
        reason: "resolution does not change what the network sees of a rate-controlled encoder",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "video of a fixed rate",
        taken: "2000 kbit/s in figure 8, 1500 kbit/s in figures 9 to 11, at 30 frames/s; frames are left out where the rate does not carry them",
        literal: "",
        reason: "2000 is printed for figure 8. A clip of more than the largest rate would be received below its rate by arithmetic alone",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the bit rate of figure 8 and what may be reached",
        taken: "of payload; headers take a twentieth more",
        literal: "",
        reason: "what arrives is counted as IP",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "stations with 1 to 10 % of residual loss (the conclusion)",
        taken: "1, 2, 3, 5 and 10 % set on the wire to the cell at 5 m, five stations each, all counted together; delay is from capture to display",
        literal: "1.5 times at each loss",
        reason: "at 1 % NADA reaches 0.96 of its largest rate: what hurts it begins above 2 %",
        ..Interpretation::NO_KEYS
    },
];

pub(super) const STRESSES: &[Stress] = &[
    Stress { what: "round-trip time a tenth longer", set: &[("*", "link.wired.delay", "1.1 ms")] },
    Stress { what: "round-trip time a tenth shorter", set: &[("*", "link.wired.delay", "0.9 ms")] },
    Stress {
        what: "starts within a second",
        set: &[
            ("*", "flow.video-0.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("*", "flow.video-1.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("*", "flow.video-2.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("*", "flow.video-3.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("*", "flow.video-4.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
        ],
    },
    Stress {
        what: "far stations half a metre nearer",
        set: &[
            ("s004-distance", "wlan.cell.station.sta0.at", "[\"51.2 m\", \"0 m\"]"),
            ("s004-80mhz", "wlan.cell.station.sta0.at", "[\"51.2 m\", \"0 m\"]"),
            ("s004-distance", "wlan.cell.station.sta3.at", "[\"0 m\", \"-51.2 m\"]"),
            ("s004-80mhz", "wlan.cell.station.sta3.at", "[\"0 m\", \"-51.2 m\"]"),
        ],
    },
];
