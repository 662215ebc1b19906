//! What S003's tables exclude.

use crate::results::{Check, Results};
use crate::runner::{Failure, Runner};
use crate::tolerance::Tolerance;

/// Table III, 15 Hz, one connection: kbit/s and s.
const TOTAL_KBIT: f64 = 120.83 * 70.47;
/// Key frames among 1000 frames, one every 30; the others.
const KEYS: f64 = 34.0;
const OTHERS: f64 = 966.0;
/// Octets of a packet, and what the queue holds.
const PACKET: f64 = 1000.0;
const ROOM: f64 = 50.0;
/// Packets that CBR and the frames after a key frame have waiting beside it at most: the server takes more than both bring.
const BESIDE: f64 = 2.0;
/// A key frame over another frame of Paris at QP 30, as libx264 codes it (scenarios/papers/s003-qp30.frames).
const CODED_RATIO: f64 = 15.0;

pub(super) fn overflow(_: &mut Runner<'_>) -> Result<Results, Failure> {
    overflow_of(ROOM)
}

/// With a shorter queue both are possible.
pub(super) fn overflow_of_a_short_queue(_: &mut Runner<'_>) -> Result<Results, Failure> {
    overflow_of(20.0)
}

fn overflow_of(room: f64) -> Result<Results, Failure> {
    // What a key frame must have for so many at once to fill the queue.
    let key = |connections: f64| (room - BESIDE) / connections * PACKET;
    let keys_kbit = |connections: f64| KEYS * key(connections) * 8.0 / 1e3;
    let other = (TOTAL_KBIT - keys_kbit(2.0)).max(1.0) * 1e3 / 8.0 / OTHERS;
    let checks = vec![
        Check::value("what table III carries", "Mbit", TOTAL_KBIT / 1e3, Tolerance::about(8.5, 0.1)),
        Check::value(
            "key frames that fill the queue with one connection, all of them over what table III carries",
            "",
            keys_kbit(1.0) / TOTAL_KBIT,
            Tolerance::at_least(1.0),
        ),
        Check::value(
            "with two: such a key frame over what is left for another",
            "",
            key(2.0) / other,
            Tolerance::at_least(4.0 * CODED_RATIO),
        )
        .printed(CODED_RATIO),
    ];
    Ok(Results {
        checks,
        remarks: vec![
            "A packet of CBR every 5.33 ms and one frame's rest never wait long: 1.99 Mbit/s are granted, 1.5 and 0.13 \
             are brought. Only key frames that come together can fill 50 packets. With one connection a key frame would have \
             48 kB, and 34 of them one and a half times what table III carries in all. With two it would have 24 kB, and leave \
             255 octets for every other frame: a ratio of 94, where Paris at QP 30 has 13 to 15. The overflows of figures 4 and 5 \
             come with the clip as coded, 12.9 Mbit, and then table III's periods do not."
                .to_owned(),
        ],
        ..Results::default()
    })
}
