//! How S002 is read.

use crate::interpretation::Interpretation;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "the recoding of figures 2 and 3",
        taken: "open-loop requantisation of the coded levels",
        literal: "decoding and encoding again by an encoder that is not named",
        reason: "an encoder's own choices move its curve by more than the figures show",
    },
    Interpretation {
        subject: "PSNR of figures 2 and 3",
        taken: "luma against the decoded input",
        literal: "",
        reason: "the conversion's distortion is what the paper minimises (equation 1)",
    },
    Interpretation {
        subject: "the network of table 1",
        taken: "a link of the pair's sum, 80 ms, 15 packets, 0.5 % random loss beside its own",
        literal: "",
        reason: "the paper gives rates alone; losses then lie in its 0.8 to 2.3 %",
    },
    Interpretation {
        subject: "UDP's rate in table 1",
        taken: "1 Mbit/s",
        literal: "",
        reason: "810 kbit/s arrived; the sent rate is not printed",
    },
    Interpretation {
        subject: "packets",
        taken: "512 B of payload, 552 B of IP, for all protocols",
        literal: "",
        reason: "the paper's largest payload; TCP must take the same steps to be comparable",
    },
    Interpretation {
        subject: "the bottleneck of figure 7",
        taken: "200 kbit/s of media: 215 kbit/s of IP with the 10 octets of S002's own header",
        literal: "200 kbit/s of IP",
        reason: "the source's rate is drawn against it, and that counts media",
    },
    Interpretation {
        subject: "the beginning of figure 7",
        taken: "the FIFO has 3 s of media when the first packet leaves",
        literal: "",
        reason: "from an empty FIFO, or one at b_d, the law cannot dip to 180 kbit/s within the printed 10 s",
    },
    Interpretation {
        subject: "the network of figures 8 and 9",
        taken: "600 kbit/s before 120 s, then steps of ten seconds with a mean of 180 kbit/s of media, 160 ms",
        literal: "",
        reason: "available were about 180 kbit/s after 120 s; the curve itself is not printed in numbers",
    },
    Interpretation {
        subject: "an overflow",
        taken: "a second in which the send queue was full and refused frames",
        literal: "",
        reason: "each interrupts playback",
    },
    Interpretation {
        subject: "the stream without adaptation in figure 9",
        taken: "the same window and queue, the source always at its full rate",
        literal: "",
        reason: "only the source differs in the figure",
    },
];
