//! How S003 is read.

use crate::interpretation::Interpretation;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "CBR beside the video",
        taken: "1500 kbit/s: a packet of 1000 B every 5.33 ms",
        literal: "a packet every 0.03 s, 267 kbit/s; or 5625 B every 0.03 s in datagrams of 1000 B, reported beside figures 4 and 5",
        reason: "rate, gap and size disagree; 50 packets that wait for 0.204 s drain at 2.0 Mbit/s, of which the video has 0.46. Bursts lose more than their part, and leave the video more than table III says",
    },
    Interpretation {
        subject: "the channel",
        taken: "QPSK 3/4, its slots in equal parts: 1.99 Mbit/s a station",
        literal: "",
        reason: "no other modulation gives the printed largest delay",
    },
    Interpretation {
        subject: "the clip",
        taken: "substitute: 1000 frames of the printed total, 8.5 Mbit, a key frame of 12 kB every 30",
        literal: "Paris, CIF, H.264 at QP 30",
        reason: "what was carried by table III; coded as printed the clip has half as much again",
    },
    Interpretation {
        subject: "the clip of figures 4 and 5",
        taken: "Paris, CIF, by libx264 at QP 30, baseline, a key frame every 30: octets of each of 1000 frames, 12.9 Mbit",
        literal: "the total of table III, 8.5 Mbit",
        reason: "the printed coding; bursts fill the queue, and they are as large as key frames are. The results with the other clip are reported beside",
    },
    Interpretation {
        subject: "its pictures",
        taken: "substitute: the bundled clip coded at 900 kbit/s, about 36 dB; a frame that cannot be decoded is replaced by the last shown (EvalVid); modelled from the clip's own differences",
        literal: "Paris decoded",
        reason: "as above; judged by its order alone",
    },
    Interpretation {
        subject: "playing of a connection",
        taken: "its own groups of pictures back to back at the clip's frame rate",
        literal: "",
        reason: "the printed periods are the clip's length over the number of connections",
    },
    Interpretation {
        subject: "table III, 30 Hz, one connection: 477.43 kbit/s on average",
        taken: "258, a misprint",
        literal: "477.43",
        reason: "with 32.97 s it would be 15.7 Mbit, every other row is 8.1 to 8.6",
    },
    Interpretation {
        subject: "maximum throughput",
        taken: "of a second",
        literal: "",
        reason: "not printed",
    },
    Interpretation {
        subject: "jitter",
        taken: "the delay less that of the packet before of the same connection, with its sign",
        literal: "without its sign",
        reason: "its mean is said to be microseconds: changes with a sign add up to the last delay less the first, those without would be milliseconds",
    },
    Interpretation {
        subject: "where delays end",
        taken: "at the base station",
        literal: "",
        reason: "0.006 s is the mean over the air alone; the wire behind it is ours",
    },
];
