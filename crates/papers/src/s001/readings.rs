//! How S001 is read.

use crate::interpretation::Interpretation;

pub(super) const READINGS: &[Interpretation] = &[
    Interpretation {
        subject: "packet size, round-trip time, queue, duration",
        taken: "760 B, 168 ms, 50 packets, 900 s of which 200 s are left out",
        literal: "",
        reason: "S001 prints none; the first two are those of Chen and Zakhor's set-up, which it builds on",
    },
    Interpretation {
        subject: "the bottleneck of CTFRC's runs",
        taken: "the lossy last hop, as for MULTFRC",
        literal: "the wired link with the same loss model",
        reason: "the two must be compared on one network",
    },
    Interpretation {
        subject: "throughput equation",
        taken: "simplified, k = sqrt 1.5",
        literal: "",
        reason: "about 4 connections at 0.04 come from it; with the full one 5 to 6",
    },
    Interpretation {
        subject: "ave-RTT less than ave-min-delay",
        taken: "more connections while the mean queueing delay is at most 0.2 of the least round-trip time; 0.4 for CTFRC",
        literal: "less than the least",
        reason: "a mean is never less than the least; the tolerance is Chen and Zakhor's, CTFRC's is explained in docs/controllers/ctfrc.md",
    },
    Interpretation {
        subject: "floor(n)/n of MULTFRC's throughput",
        taken: "n counts the queueing delay that the law tolerates: 1.2 times what fits without any",
        literal: "n without a queue",
        reason: "a longer round-trip time slows each connection, so that more of them fit before the law takes one away",
    },
    Interpretation {
        subject: "number of connections",
        taken: "the most that were held: the law swings between that number and one less",
        literal: "",
        reason: "the figure shows whole numbers",
    },
];
