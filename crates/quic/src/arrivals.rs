//! When packets arrived, as far as acknowledgements show.

use seaway_units::{TimeDelta, Timestamp};

/// Gives each acknowledged packet an instant of arrival, on a clock that is late by the way back.
///
/// An acknowledgement names the packets and the instant of none, and the way back is taken as constant. So the newest packet
/// counts as having arrived when the acknowledgement comes, less the time that the peer [held](holding_time) it. Those that it
/// names beside it arrived since the acknowledgement before: they are spread over that time by their octets, each no
/// earlier than the shortest round trip allows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    /// The arrival of the newest packet so far.
    last: Option<Timestamp>,
    /// The shortest time from departure to acknowledgement.
    least: Option<TimeDelta>,
}

impl Arrivals {
    /// The arrivals of packets that one acknowledgement names: the instants of their departure and their octets, in the order
    /// of departure.
    pub(crate) fn of(&mut self, now: Timestamp, packets: &[(Timestamp, u64)]) -> Vec<Timestamp> {
        let Some(&(newest, _)) = packets.last() else { return Vec::new() };
        let sample = now.since(newest);
        let least = *self.least.insert(self.least.map_or(sample, |least| least.min(sample)));
        let from = self.last.unwrap_or(now).min(now);
        let total: u64 = packets.iter().map(|(_, size)| *size).sum();
        let span = now.since(from).as_secs_f64();
        let mut octets = 0;
        let mut arrivals = Vec::with_capacity(packets.len());
        for (sent, size) in packets {
            octets += size;
            let share = octets as f64 / total.max(1) as f64;
            let spread = from + TimeDelta::from_secs_f64(span * share);
            arrivals.push(spread.max(*sent + least).min(now));
        }
        self.last = Some(now);
        arrivals
    }
}

/// A peer holds an acknowledgement no longer than this: twice what it does where nothing else is agreed (RFC 9000
/// section 18.2, `max_ack_delay`).
const LONGEST_HOLD: TimeDelta = TimeDelta::from_millis(50);

/// How long the peer held the acknowledgement of a packet that took `sample` to be acknowledged.
///
/// A transport has that time (`ACK Delay`) and does not pass it to its controller, but subtracts it from the sample before that
/// enters the smoothed round-trip time, `smoothed = 7/8 smoothed + 1/8 adjusted` (RFC 9002 section 5.3). It passes the smoothed
/// time before and after.
pub(crate) fn holding_time(sample: TimeDelta, before: TimeDelta, after: TimeDelta) -> TimeDelta {
    let adjusted = after * 8 - before * 7;
    let held = sample - adjusted;
    // Eight times the rounding of the smoothed time. More is no answer: the transport took no sample, or its first one.
    let rounding = TimeDelta::from_nanos(8);
    if held > rounding && held <= LONGEST_HOLD { held } else { TimeDelta::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9002 section 5.3: 80 ms smoothed, a sample of 95 ms of which the peer held 15: 80 again; of which it held 7: 81.
    #[test]
    fn the_smoothed_time_shows_what_was_held() {
        let millis = TimeDelta::from_millis;
        assert_eq!(holding_time(millis(95), millis(80), millis(80)), millis(15));
        assert_eq!(holding_time(millis(95), millis(80), millis(81)), millis(7));
        assert_eq!(holding_time(millis(88), millis(80), millis(81)), TimeDelta::ZERO);
        assert_eq!(holding_time(millis(300), millis(80), millis(80)), TimeDelta::ZERO, "not a sample");
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Every second packet is acknowledged; they left together and leave a bottleneck every 10 ms.
    #[test]
    fn packets_are_spread_by_their_octets() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.of(at(100), &[(at(50), 1200)]), [at(100)]);
        let pair = [(at(60), 1200), (at(60), 1200)];
        assert_eq!(arrivals.of(at(120), &pair), [at(110), at(120)]);
        let unequal = [(at(60), 300), (at(60), 900)];
        assert_eq!(arrivals.of(at(140), &unequal), [at(125), at(140)]);
    }

    /// After a pause the first packet did not arrive in the middle of the pause.
    #[test]
    fn no_packet_is_faster_than_the_shortest_round_trip() {
        let mut arrivals = Arrivals::default();
        arrivals.of(at(50), &[(at(0), 1200)]);
        let pair = [(at(1000), 1200), (at(1002), 1200)];
        assert_eq!(arrivals.of(at(1060), &pair), [at(1050), at(1060)]);
        assert!(arrivals.of(at(1070), &[]).is_empty());
    }
}
