//! How S004 is read.

use crate::interpretation::Interpretation;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "packets and largest rate of figure 3",
        taken: "1000 B and 1500 kbit/s: its caption",
        literal: "1500 B and 4000 kbit/s: its text",
        reason: "the text itself says that 1500 kbit/s were reached",
    },
    Interpretation {
        subject: "stations 0 and 3",
        taken: "60 m in figure 4; 50 m in figures 5 to 9, where a part arrives",
        literal: "`within the range of 60 m`",
        reason: "by the default path loss nothing passes 51.4 m, and they receive a part there",
    },
    Interpretation {
        subject: "station 4 of figure 11",
        taken: "27 m",
        literal: "30 m",
        reason: "half of the frames are lost at 30 m and 80 MHz, and all five received alike",
    },
    Interpretation {
        subject: "duration, and the wire",
        taken: "300 s; 100 Mbit/s and 1 ms",
        literal: "",
        reason: "not printed; more than 6000 frames were sent",
    },
    Interpretation {
        subject: "the rate that is reached",
        taken: "NADA's reference rate, the sender's calculated rate",
        literal: "",
        reason: "what arrives is a twentieth below it: so much NADA leaves the encoder (RFC 8698, BETA_V)",
    },
    Interpretation {
        subject: "video that follows the rate",
        taken: "RFC 8593's model at 30 frames/s; its picture size by ns3-rmcat's rule on the model's rate",
        literal: "",
        reason: "resolution does not change what the network sees of a rate-controlled encoder",
    },
    Interpretation {
        subject: "video of a fixed rate (figures 8, 9 and 11)",
        taken: "2000 kbit/s at 30 frames/s, frames left out where the rate does not carry them",
        literal: "",
        reason: "printed for figure 8; 720p is said to need more than the 1500 kbit/s that were reached",
    },
    Interpretation {
        subject: "the bit rate of figure 8 and what may be reached",
        taken: "of payload; headers take a twentieth more",
        literal: "",
        reason: "what arrives is counted as IP",
    },
    Interpretation {
        subject: "stations with 1 to 10 % of residual loss (the conclusion)",
        taken: "1, 2, 3, 5 and 10 % set on the wire to the cell at 5 m, five stations each, all counted together; delay is from capture to display",
        literal: "1.5 times at each loss",
        reason: "at 1 % NADA reaches 0.96 of its largest rate: what hurts it begins above 2 %",
    },
];
