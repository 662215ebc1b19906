//! How S001 is read.

use super::loss_sweep::MULTFRC;
use crate::interpretation::{Interpretation, Key};
use crate::runner::Stress;

const fn key(path: &'static str, value: &'static str) -> Key {
    Key { scenario: "s001", path, value }
}

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "packet size, round-trip time, queue, duration",
        taken: "760 B, 168 ms, 18 packets at both hops, 900 s of which 200 s are left out",
        literal: "",
        reason: "S001 prints none; the first two are those of Chen and Zakhor's set-up, which it builds on; a queue of 50 lets CTFRC wait longer than figure 5a shows",
        keys: &[
            key("flow.video.packet", "760 B"),
            key("link.wired.delay", "38.7 ms"),
            key("link.wireless.delay", "38.7 ms"),
            key("link.wired.queue.packets", "18"),
            key("link.wireless.queue.packets", "18"),
            key("duration", "900 s"),
            key("warmup", "200 s"),
        ],
    },
    Interpretation {
        subject: "the bottleneck of CTFRC's runs",
        taken: "the lossy last hop, as for MULTFRC",
        literal: "the wired link with the same loss model",
        reason: "the two must be compared on one network",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "throughput equation",
        taken: "simplified, k = sqrt 1.5",
        literal: "",
        reason: "about 4 connections at 0.04 come from it; with the full one 5 to 6",
        ..Interpretation::NO_KEYS
    },
    Interpretation {
        subject: "ave-RTT less than ave-min-delay",
        taken: "more connections while the mean queueing delay is at most 0.2 of the least round-trip time; 0.36 for CTFRC",
        literal: "less than the least",
        reason: "a mean is never less than the least; 0.2 is Chen and Zakhor's, whose MULTFRC it is. CTFRC is S001's own: with 0.36 its figures 5a and 5b hold together, with 0.2 it carries less than figure 5b shows, with 0.4 it waits longer than figure 5a shows. 0.36 for both lets MULTFRC carry 0.97 to 0.99, above CTFRC",
        keys: &[key("flow.video.control", MULTFRC)],
    },
    Interpretation {
        subject: "number of connections",
        taken: "the most that were held: the law swings between that number and one less",
        literal: "",
        reason: "the figure shows whole numbers",
        ..Interpretation::NO_KEYS
    },
];

pub(super) const STRESSES: &[Stress] = &[
    Stress { what: "packets a tenth larger", set: &[("s001", "flow.video.packet", "836 B")] },
    Stress {
        what: "round-trip time a tenth longer",
        set: &[("s001", "link.wired.delay", "43.4 ms"), ("s001", "link.wireless.delay", "42.4 ms")],
    },
    Stress {
        what: "round-trip time a tenth shorter",
        set: &[("s001", "link.wired.delay", "34 ms"), ("s001", "link.wireless.delay", "35 ms")],
    },
    Stress {
        what: "starts within a second",
        set: &[("s001", "flow.video.start", "{ uniform = [\"0 s\", \"1 s\"] }")],
    },
];
