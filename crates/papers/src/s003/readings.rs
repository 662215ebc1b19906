//! How S003 is read.

use crate::reading::Reading;

pub(super) const READINGS: &[Reading] = &[
    Reading {
        subject: "CBR beside the video",
        taken: "1500 kbit/s: a packet of 1000 B every 5.33 ms",
        literal: "every 0.03 s, 267 kbit/s",
        reason: "the two printed numbers disagree; 50 packets that wait for 0.204 s drain at 2.0 Mbit/s, of which the video has 0.46",
    },
    Reading {
        subject: "the channel",
        taken: "QPSK 3/4, its slots in equal parts: 1.99 Mbit/s a station",
        literal: "",
        reason: "no other modulation gives the printed largest delay",
    },
    Reading {
        subject: "the clip",
        taken: "substitute: 1000 frames of the printed total, 8.5 Mbit, a key frame of 12 kB every 30",
        literal: "Paris, CIF, H.264 at QP 30",
        reason: "Paris does not ship",
    },
    Reading {
        subject: "its pictures",
        taken: "substitute: the bundled clip coded at 900 kbit/s, about 36 dB; a frame that cannot be decoded is replaced by the last shown (EvalVid); modelled from the clip's own differences",
        literal: "Paris decoded",
        reason: "as above; judged by its order alone",
    },
    Reading {
        subject: "playing of a connection",
        taken: "its own groups of pictures back to back at the clip's frame rate",
        literal: "",
        reason: "the printed periods are the clip's length over the number of connections",
    },
    Reading {
        subject: "table III, 30 Hz, one connection: 477.43 kbit/s on average",
        taken: "258, a misprint",
        literal: "477.43",
        reason: "with 32.97 s it would be 15.7 Mbit, every other row is 8.1 to 8.6",
    },
    Reading { subject: "maximum throughput", taken: "of a second", literal: "", reason: "not printed" },
    Reading {
        subject: "jitter",
        taken: "change of the one-way delay from a packet to the next of its connection",
        literal: "",
        reason: "not defined there",
    },
];
