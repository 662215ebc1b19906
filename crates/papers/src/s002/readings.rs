//! How S002 is read.

use crate::interpretation::{Interpretation, key};
use crate::runner::Stress;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "the recoding of figures 2 and 3",
        taken: "open-loop requantisation of the coded levels",
        literal: "decoding and encoding again by an encoder that is not named",
        reason: "an encoder's own choices move its curve by more than the figures show",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "PSNR of figures 2 and 3",
        taken: "luma against the decoded input",
        literal: "",
        reason: "the conversion's distortion is what the paper minimises (equation 1)",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the network of table 1",
        taken: "a link of the pair's sum, 80 ms, 15 packets, 0.5 % random loss beside its own",
        literal: "",
        reason: "the paper gives rates alone; losses then lie in its 0.8 to 2.3 %",
        keys: &[
            key("s002-tcp-tcp", "link.internet.rate", "634 kbit/s"),
            key("s002-tcp-udp", "link.internet.rate", "1015 kbit/s"),
            key("s002-tcp-window", "link.internet.rate", "241 kbit/s"),
            key("s002-window-window", "link.internet.rate", "501 kbit/s"),
        ],
    },
    Interpretation {
        subject: "UDP's rate in table 1",
        taken: "830 kbit/s",
        literal: "",
        reason: "810 kbit/s arrived at about 2 % of loss; the sent rate is not printed",
        keys: &[key("s002-tcp-udp", "flow.second.rate", "830 kbit/s")],
    },
    Interpretation {
        subject: "packets",
        taken: "512 B of payload, 552 B of IP, for all protocols",
        literal: "",
        reason: "the paper's largest payload; TCP must take the same steps to be comparable",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the bottleneck of figure 7",
        taken: "200 kbit/s of IP; an empty FIFO at first",
        literal: "",
        reason: "as printed; nothing is said of the beginning (S002-I1)",
        keys: &[key("s002-bottleneck", "link.bottleneck.rate", "200 kbit/s")],
    },
    Interpretation {
        subject: "the network of figures 8 and 9",
        taken: "600 kbit/s before 120 s, then steps of ten seconds with a mean of 180 kbit/s of media, 160 ms",
        literal: "",
        reason: "available were about 180 kbit/s after 120 s; the curve itself is not printed in numbers",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "an overflow",
        taken: "a second in which the send queue was full and refused frames",
        literal: "",
        reason: "each interrupts playback",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the stream without adaptation in figure 9",
        taken: "the same window and queue, the source always at its full rate",
        literal: "",
        reason: "only the source differs in the figure",
        ..Interpretation::NO_KEYS
    },
];

pub(super) const STRESSES: &[Stress] = &[
    Stress {
        what: "packets a tenth larger",
        set: &[
            ("s002-tcp-tcp", "flow.first.packet", "607 B"),
            ("s002-tcp-tcp", "flow.second.packet", "607 B"),
            ("s002-tcp-udp", "flow.first.packet", "607 B"),
            ("s002-tcp-udp", "flow.second.packet", "607 B"),
            ("s002-tcp-window", "flow.first.packet", "607 B"),
            ("s002-tcp-window", "flow.second.packet", "607 B"),
            ("s002-window-window", "flow.first.packet", "607 B"),
            ("s002-window-window", "flow.second.packet", "607 B"),
            ("s002-internet", "flow.video.packet", "607 B"),
        ],
    },
    Stress {
        what: "round-trip time a tenth longer",
        set: &[
            ("s002-tcp-tcp", "link.internet.delay", "44 ms"),
            ("s002-tcp-udp", "link.internet.delay", "44 ms"),
            ("s002-tcp-window", "link.internet.delay", "44 ms"),
            ("s002-window-window", "link.internet.delay", "44 ms"),
            ("s002-internet", "link.internet.delay", "88 ms"),
            ("s002-bottleneck", "link.bottleneck.delay", "22 ms"),
        ],
    },
    Stress {
        what: "round-trip time a tenth shorter",
        set: &[
            ("s002-tcp-tcp", "link.internet.delay", "36 ms"),
            ("s002-tcp-udp", "link.internet.delay", "36 ms"),
            ("s002-tcp-window", "link.internet.delay", "36 ms"),
            ("s002-window-window", "link.internet.delay", "36 ms"),
            ("s002-internet", "link.internet.delay", "72 ms"),
            ("s002-bottleneck", "link.bottleneck.delay", "18 ms"),
        ],
    },
    Stress {
        what: "starts within a second",
        set: &[
            ("s002-bottleneck", "flow.video.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
            ("s002-internet", "flow.video.start", "{ uniform = [\"0 s\", \"1 s\"] }"),
        ],
    },
];
