//! How S000 is read.

use crate::interpretation::Interpretation;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "k of Eq. 2",
        taken: "1.5",
        literal: "1,502",
        reason: "1.5 gives all four printed rates, 1.502 gives 313.89 for the first",
    },
    Interpretation {
        subject: "the error rate of table 1 and figure 6",
        taken: "of every frame on the air: RTS, CTS, data and acknowledgement, as ns-2's error model by itself",
        literal: "of packets",
        reason: "packets lost for good leave the round-trip time as it is; lost frames are repeated, and it grows as printed",
    },
    Interpretation {
        subject: "what table 1's round-trip times are measured on",
        taken: "type I at 426.3 kbit/s in packets of 1500 B, ten seeds",
        literal: "",
        reason: "the only rate and size that are printed beside 19 ms; the number of runs is printed",
    },
    Interpretation {
        subject: "the step of type I",
        taken: "gamma=literal: section 4.4",
        literal: "gamma=adverse: section 3.2",
        reason: "the constants stand in section 4.4; figures 10 and 13 show both",
    },
    Interpretation {
        subject: "unit of the round-trip times in Eq. 15",
        taken: "seconds, as VTP's: a packet more each round-trip time; milliseconds for figure 12",
        literal: "milliseconds",
        reason: "table 1 counts in ms, and k = 1,502 of Eq. 2 is 1.5 there; but then type II never overflows in figure 10 and neither type oscillates in figure 11. Figure 12's size matters in milliseconds alone",
    },
    Interpretation {
        subject: "rates of figures 7 and 9 to 12",
        taken: "S = 1500 B; at most 10.7 S a second in, 1.56 S out",
        literal: "",
        reason: "the testbed's, the only ones for a buffer of 16 384 B",
    },
    Interpretation {
        subject: "round-trip time of figures 9 to 12",
        taken: "25 ms",
        literal: "between 20 and 30 ms",
        reason: "the middle; below 23 ms type II never overflows, for the reaction comes in time",
    },
    Interpretation {
        subject: "an overflow in figure 10",
        taken: "a packet refused because the buffer is full, in 30 s",
        literal: "level above 90 %",
        reason: "both types stand at 90 % by design",
    },
    Interpretation {
        subject: "packets of figures 13 to 15",
        taken: "160 B of payload; the link of 500 kbit/s has 8 of 160 B a second for each of 49 flows; TCP's are of 1000 B; 100 packets wait at most; 120 s",
        literal: "",
        reason: "the printed numbers; the rest is not printed",
    },
    Interpretation {
        subject: "TFRC of figures 13 to 15",
        taken: "RFC 5348",
        literal: "profile=ns2",
        reason: "ns-2's is reported beside it",
    },
    Interpretation {
        subject: "losses of figure 14",
        taken: "of the network and of the full buffer together",
        literal: "",
        reason: "`entire losses experienced by the media flow`",
    },
];
