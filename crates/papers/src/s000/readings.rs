//! How S000 is read: one set for all rows.

use super::buffer::TYPE_1;
use crate::interpretation::{Interpretation, key};
use crate::runner::Stress;

/// The scenarios of this paper that a control steers.
pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "k of Eq. 2",
        taken: "1.5",
        literal: "1,502",
        reason: "1.5 gives all four printed rates, 1.502 gives 313.89 for the first",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the step of type I",
        taken: "gamma=adverse: section 3.2",
        literal: "gamma=literal: section 4.4, which raises the rate faster where the buffer fills",
        reason: "full and still rising asks for the stronger cut; by section 4.4 type I enters overflow as often as type II (figure 10 shows both)",
        keys: &[
            key("s000-buffer", "flow.video.control", TYPE_1),
            key("s000-testbed", "flow.video.control", TYPE_1),
            key("s000-crowd", "flow.video.control", TYPE_1),
        ],
    },
    Interpretation {
        subject: "unit of the round-trip times in Eq. 15",
        taken: "milliseconds: a thousandth of a packet more each round-trip time (rtt=ms)",
        literal: "seconds, as VTP's: a packet more",
        reason: "table 1 counts in ms, and k = 1,502 of Eq. 2 is 1.5 there; in seconds the rate is at its bound before anything else can matter",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the error rate of table 1 and figure 6",
        taken: "of every frame on the air: RTS, CTS, data and acknowledgement, as ns-2's error model by itself",
        literal: "of packets",
        reason: "packets lost for good leave the round-trip time as it is; lost frames are repeated, and it grows as printed",
        keys: &[key("s000-testbed", "wlan.cell.rts", "0 B"), key("s000-tcp", "wlan.cell.rts", "0 B")],
    },
    Interpretation {
        subject: "what table 1's round-trip times are measured on",
        taken: "type I at 426.3 kbit/s in packets of 1500 B, ten seeds",
        literal: "",
        reason: "the only rate and size that are printed beside 19 ms; the number of runs is printed",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "rates of figures 4, 7 and 16",
        taken: "S = 1500 B; at most 10.7 S a second in, 1.56 S out; 19 ms",
        literal: "",
        reason: "the testbed's",
        keys: &[
            key("s000-testbed", "flow.video.packet", "1500 B"),
            key("s000-testbed", "link.backhaul.delay", "5.28 ms"),
        ],
    },
    Interpretation {
        subject: "rates and packets of figures 9 to 12",
        taken: "160 B of payload, 8192 bit/s out, at most 40 960 bit/s in: 57.344 kbit/s of IP",
        literal: "",
        reason: "`faster by about 5 times`; 0.7 of 32 768 B then fill in the printed 5.6 s",
        keys: &[
            key("s000-buffer", "flow.video.packet", "224 B"),
            key("s000-buffer", "flow.video.rate.max", "57.344 kbit/s"),
            key("s000-buffer", "flow.video.receiver.consume", "8.192 kbit/s"),
        ],
    },
    Interpretation {
        subject: "round-trip time of figures 9 to 12",
        taken: "25 ms",
        literal: "between 20 and 30 ms",
        reason: "the middle",
        keys: &[key("s000-buffer", "link.backhaul.delay", "8.28 ms")],
    },
    Interpretation {
        subject: "an entry into overflow in figure 10",
        taken: "the level rises above 90 % (Eq. 10), in 30 s, after the first fill",
        literal: "",
        reason: "`entered into overflow state`; the first fill belongs to both types",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the changes of figure 12",
        taken: "the player takes twice as much from 20 s after it began",
        literal: "`bandwidth changes`",
        reason: "type I answers the buffer; a change of the network reaches it as a change of what the buffer gains",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the network of figures 13 to 15",
        taken: "160 B of payload; the link of 500 kbit/s has 8 of 160 B a second for each of 49 flows; TCP's are of 550 B; 110 packets wait at most",
        literal: "",
        reason: "the printed numbers; the rest is not printed",
        keys: &[
            key("s000-crowd", "link.core.rate", "500 kbit/s"),
            key("s000-crowd", "link.core.queue.packets", "110"),
            key("s000-crowd", "flow.tcp.packet", "550 B"),
            key("s000-crowd", "flow.video.packet", "224 B"),
        ],
    },
    Interpretation {
        subject: "the client's buffer in figures 13 to 15",
        taken: "its socket's: what is refused is a loss that the transport sees",
        literal: "",
        reason: "`the socket buffer in receiver` (section 5)",
        keys: &[key("s000-crowd", "flow.video.receiver.socket", "true")],
    },
    Interpretation {
        subject: "the steady state of figures 13 to 15",
        taken: "120 s from 40 s on",
        literal: "",
        reason: "type I fills the buffer at the start with up to 43 packets a second, the paper says at most 8",
        keys: &[key("s000-crowd", "warmup", "40 s"), key("s000-crowd", "duration", "160 s")],
    },
    Interpretation {
        subject: "TFRC of figures 13 to 15",
        taken: "RFC 5348",
        literal: "profile=ns2",
        reason: "ns-2's is reported beside it",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "losses of figure 14",
        taken: "of the network and of the full buffer together",
        literal: "",
        reason: "`entire losses experienced by the media flow`",
        ..Interpretation::NO_KEYS
    },
];

pub(super) const STRESSES: &[Stress] = &[
    Stress {
        what: "packets a tenth larger",
        set: &[
            ("s000-buffer", "flow.video.packet", "240 B"),
            ("s000-crowd", "flow.video.packet", "240 B"),
            ("s000-crowd", "flow.tcp.packet", "605 B"),
        ],
    },
    Stress {
        what: "round-trip time a tenth longer",
        set: &[
            ("s000-buffer", "link.backhaul.delay", "9.53 ms"),
            ("s000-testbed", "link.backhaul.delay", "6.23 ms"),
            ("s000-tcp", "link.backhaul.delay", "6.23 ms"),
            ("s000-crowd", "link.backhaul.delay", "5.7 ms"),
        ],
    },
    Stress {
        what: "round-trip time a tenth shorter",
        set: &[
            ("s000-buffer", "link.backhaul.delay", "7.03 ms"),
            ("s000-testbed", "link.backhaul.delay", "4.33 ms"),
            ("s000-tcp", "link.backhaul.delay", "4.33 ms"),
            ("s000-crowd", "link.backhaul.delay", "4.3 ms"),
        ],
    },
    Stress {
        what: "starts within a second",
        set: &[
            ("s000-buffer", "flow.video.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("s000-testbed", "flow.video.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("s000-crowd", "flow.video.start", "{ uniform = [\"9 s\", \"11 s\"] }"),
            ("s000-crowd", "flow.tcp.start", "{ uniform = [\"0 s\", \"10 s\"] }"),
        ],
    },
];
