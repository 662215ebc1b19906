//! Opus packets out of PES packets ("Encapsulation of Opus in MPEG-TS", as FFmpeg has it).

use super::SAMPLE_RATE;
use super::coded::{SoundFrame, following};
use seaway_units::TimeDelta;
use seaway_wire::opus;
use std::collections::VecDeque;

/// The largest packet that is taken: 120 ms at the highest rate of Opus, 510 kbit/s.
const LARGEST: usize = 7_650;
/// Packets of a track, each with the time at which the one before it ends as long as its time stamp allows that.
#[derive(Debug, Default)]
pub(super) struct OpusUnits {
    /// The end of the last packet.
    next: Option<TimeDelta>,
}

impl OpusUnits {
    /// Appends the packets of a PES packet, of which the first one is played at `at`. What is malformed is left out, with all that is
    /// behind it.
    pub(super) fn push(
        &mut self,
        mut payload: &[u8],
        mut at: Option<TimeDelta>,
        ready: &mut VecDeque<SoundFrame>,
    ) {
        while !payload.is_empty() {
            let Some((packet, rest)) = unit(payload) else { return self.on_loss() };
            payload = rest;
            let duration = match opus::Packet::parse(packet) {
                Ok(kind) if packet.len() <= LARGEST => span(kind.duration()),
                _ => return self.on_loss(),
            };
            if let Some(at) = following(self.next, at.take()) {
                ready.push_back(SoundFrame { octets: packet.to_vec(), at, duration });
                self.next = Some(at + duration);
            }
        }
    }

    /// What follows does not go on.
    pub(super) fn on_loss(&mut self) {
        self.next = None;
    }
}

/// The duration of so many samples.
fn span(samples: u32) -> TimeDelta {
    TimeDelta::from_nanos(i64::from(samples) * 1_000_000_000 / i64::from(SAMPLE_RATE))
}

/// The packet of the access unit that begins here, and what is behind it.
fn unit(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    const START_TRIM: u8 = 0x10;
    const END_TRIM: u8 = 0x08;
    const EXTENSION: u8 = 0x04;
    let &[0x7f, flags, ref rest @ ..] = octets else { return None };
    if flags & 0xe0 != 0xe0 {
        return None;
    }
    let full = rest.iter().take_while(|&&octet| octet == 0xff).count();
    let (&last, mut rest) = rest.get(full..)?.split_first()?;
    let length = full * 255 + usize::from(last);
    for trim in [START_TRIM, END_TRIM] {
        rest = if flags & trim == 0 { rest } else { rest.get(2..)? };
    }
    if flags & EXTENSION != 0 {
        let (&extension, behind) = rest.split_first()?;
        rest = behind.get(extension.into()..)?;
    }
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An access unit of this packet, with these flags, and what they announce.
    fn access_unit(flags: u8, announced: &[u8], packet: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x7f, 0xe0 | flags];
        octets.extend(std::iter::repeat_n(0xff, packet.len() / 255));
        octets.push((packet.len() % 255) as u8);
        [&octets, announced, packet].concat()
    }

    /// A packet of one frame of this configuration.
    fn packet(configuration: u8, length: usize) -> Vec<u8> {
        let mut octets = vec![configuration << 3];
        octets.resize(length, 7);
        octets
    }

    /// Lengths, times and durations in microseconds.
    fn found(packets: &[(&[u8], Option<i64>)]) -> Vec<(usize, i64, i64)> {
        let (mut units, mut ready) = (OpusUnits::default(), VecDeque::new());
        for (octets, at) in packets {
            units.push(octets, at.map(TimeDelta::from_micros), &mut ready);
        }
        let micros = |time: TimeDelta| time.as_nanos() / 1_000;
        ready.iter().map(|frame| (frame.octets.len(), micros(frame.at), micros(frame.duration))).collect()
    }

    /// By RFC 6716 table 2: SILK of 60 ms, hybrid of 10 ms, CELT of 2.5 ms.
    #[test]
    fn a_packet_lasts_as_its_first_octet_says() {
        let octets = [3, 12, 16].map(|kind| access_unit(0, &[], &packet(kind, 300))).concat();
        let times = [(300, -6_500, 60_000), (300, 53_500, 10_000), (300, 63_500, 2_500)];
        assert_eq!(found(&[(&octets, Some(-6_500))]), times);
    }

    #[test]
    fn what_stands_before_a_packet_is_skipped() {
        let trimmed = access_unit(0x10, &[1, 0x38], &packet(31, 510));
        let all = access_unit(0x1c, &[1, 0x38, 0, 9, 2, 5, 5], &packet(31, 40));
        assert_eq!(found(&[(&trimmed, Some(0)), (&all, None)]), [(510, 0, 20_000), (40, 20_000, 20_000)]);
    }

    #[test]
    fn the_step_is_the_duration_until_something_is_missing() {
        let one = access_unit(0, &[], &packet(16, 9));
        // Time stamps of whole milliseconds.
        let rounded =
            found(&[(&one, Some(0)), (&one, Some(3_000)), (&one, Some(5_000)), (&one, Some(8_000))]);
        assert_eq!(rounded.iter().map(|packet| packet.1).collect::<Vec<_>>(), [0, 2_500, 5_000, 7_500]);
        let gap = found(&[(&one, Some(0)), (&one, Some(62_500)), (&one, None)]);
        assert_eq!(gap.iter().map(|packet| packet.1).collect::<Vec<_>>(), [0, 62_500, 65_000]);
    }

    #[test]
    fn what_is_malformed_is_left_out() {
        let good = access_unit(0, &[], &packet(31, 9));
        // No header, a length beyond the end, a packet of 140 ms, and none.
        let bad: [&[u8]; 4] =
            [&[0x7f, 0x20, 1, 8], &good[..10], &access_unit(0, &[], &[0xfb, 7]), &access_unit(0, &[], &[])];
        for octets in bad {
            assert_eq!(
                found(&[(octets, Some(0)), (&good, None), (&good, Some(9_000))]),
                [(9, 9_000, 20_000)]
            );
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_safe(pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), any::<Option<i32>>(), any::<bool>()), 0..20)) {
            let (mut units, mut ready) = (OpusUnits::default(), VecDeque::new());
            for (octets, at, is_unit) in pieces {
                let octets = if is_unit { access_unit(0, &[], &octets) } else { octets };
                units.push(&octets, at.map(|at| TimeDelta::from_millis(at.into())), &mut ready);
            }
            let bound = TimeDelta::from_millis(120);
            prop_assert!(ready.iter().all(|frame| frame.duration > TimeDelta::ZERO && frame.duration <= bound));
        }
    }
}
