//! How S003 is read.

use crate::interpretation::{Interpretation, Key};
use crate::runner::Stress;

const fn key(path: &'static str, value: &'static str) -> Key {
    Key { scenario: "s003", path, value }
}

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "CBR beside the video",
        taken: "1500 kbit/s: a packet of 1000 B every 5.33 ms",
        literal: "a packet every 0.03 s, 267 kbit/s; or 5625 B every 0.03 s in datagrams of 1000 B, reported beside figures 4 and 5",
        reason: "rate, gap and size disagree; 50 packets that wait for 0.204 s drain at 2.0 Mbit/s, of which the video has 0.46. Bursts lose more than their part, and leave the video more than table III says",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "the channel",
        taken: "QPSK 3/4, its slots in equal parts: 1.99 Mbit/s a station",
        literal: "",
        reason: "no other modulation gives the printed largest delay",
        keys: &[key("wimax.air.modulation", "qpsk-3/4")],
    },
    Interpretation {
        subject: "the clip",
        taken: "one for all rows, a substitute: 1000 frames of table III's total, 8.5 Mbit, a key frame of 12 kB every 30",
        literal: "Paris, CIF, H.264 at QP 30",
        reason: "the numbers of table III are printed; Paris coded as printed by libx264 has 12.9 Mbit (s003-qp30.frames): figures 4 and 5 hold with it, tables III and V do not",
        keys: &[key("flow.video.source.file", "s003.frames")],
    },
    Interpretation {
        subject: "TFRC",
        taken: "RFC 3448 with the full equation, the segment of each packet (section II.B): profile=rfc3448, segment=per-packet",
        literal: "profile=ns2",
        reason: "`packet size` is each packet's; the periods at 30 Hz are then within 5 % of the printed ones",
        keys: &[key("flow.video.control", "tfrc(profile=rfc3448, segment=per-packet)")],
    },
    Interpretation {
        subject: "its pictures",
        taken: "substitute: the bundled clip coded at 900 kbit/s, about 36 dB; a frame that cannot be decoded is replaced by the last shown (EvalVid); modelled from the clip's own differences",
        literal: "Paris decoded",
        reason: "as above",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "playing of a connection",
        taken: "its own groups of pictures back to back at the clip's frame rate",
        literal: "",
        reason: "the printed periods are the clip's length over the number of connections",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "table III, 30 Hz, one connection: 477.43 kbit/s on average",
        taken: "258, a misprint",
        literal: "477.43",
        reason: "with 32.97 s it would be 15.7 Mbit, every other row is 8.1 to 8.6",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "maximum throughput",
        taken: "of a second",
        literal: "",
        reason: "not printed",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "jitter",
        taken: "the delay less that of the packet before of the same connection, with its sign",
        literal: "without its sign",
        reason: "its mean is said to be microseconds: changes with a sign add up to the last delay less the first, those without would be milliseconds",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "where delays end",
        taken: "at the base station",
        literal: "",
        reason: "0.006 s is the mean over the air alone; the wire behind it is ours",
        ..Interpretation::NO_KEYS
    },
];

pub(super) const STRESSES: &[Stress] = &[
    Stress {
        what: "packets a tenth smaller",
        set: &[
            ("s003", "flow.video.packet", "900 B"),
            ("s003", "flow.cbr-1.packet", "900 B"),
            ("s003", "flow.ftp-1.packet", "900 B"),
        ],
    },
    Stress { what: "wire behind the base a tenth longer", set: &[("s003", "link.wire.delay", "5.5 ms")] },
    Stress { what: "wire behind the base a tenth shorter", set: &[("s003", "link.wire.delay", "4.5 ms")] },
    Stress {
        what: "starts within a second",
        set: &[("s003", "flow.cbr-1.start", "{ uniform = [\"0 s\", \"1 s\"] }")],
    },
];
