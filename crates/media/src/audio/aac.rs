//! Frames of AAC (ISO/IEC 13818-7) out of PES packets.

use super::coded::{SoundFrame, following};
use seaway_units::TimeDelta;
use seaway_wire::aac::AdtsHeader;
use std::collections::VecDeque;

/// Frames in ADTS headers (section 6.2) out of PES packets, whose boundaries they need not keep.
#[derive(Debug, Default)]
pub(super) struct AacFrames {
    /// The beginning of a frame.
    rest: Vec<u8>,
    /// The time of the next frame, once one is known.
    next: Option<TimeDelta>,
}

impl AacFrames {
    /// Appends the frames of a PES packet, of which the first one that begins in it is played at `at`.
    pub(super) fn push(
        &mut self,
        payload: &[u8],
        mut at: Option<TimeDelta>,
        ready: &mut VecDeque<SoundFrame>,
    ) {
        let begin = self.rest.len();
        self.rest.extend_from_slice(payload);
        let mut place = 0;
        while let Ok(header) = AdtsHeader::parse(&self.rest[place..]) {
            let (length, duration) = (header.frame_len, duration(&header));
            let Some(octets) = self.rest.get(place..place + length) else { break };
            if place >= begin {
                self.next = following(self.next, at.take());
            }
            if let Some(at) = self.next {
                ready.push_back(SoundFrame { octets: octets.to_vec(), at, duration });
                self.next = Some(at + duration);
            }
            place += length;
        }
        self.rest.drain(..place);
        if self.rest.len() >= AdtsHeader::LEN && AdtsHeader::parse(&self.rest).is_err() {
            self.on_loss();
        }
    }

    /// What follows does not go on.
    pub(super) fn on_loss(&mut self) {
        (self.rest, self.next) = (Vec::new(), None);
    }
}

fn duration(header: &AdtsHeader) -> TimeDelta {
    TimeDelta::from_nanos(i64::from(header.samples()) * 1_000_000_000 / i64::from(header.sample_rate()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 44.1 kHz, two channels.
    fn frame(length: usize) -> Vec<u8> {
        let mut octets = vec![0xff, 0xf1, 0x50, 0x80 | (length >> 11) as u8, (length >> 3) as u8];
        octets.extend([(length << 5) as u8 | 0x1f, 0xfc]);
        octets.resize(length, 7);
        octets
    }

    const DURATION: TimeDelta = TimeDelta::from_nanos(23_219_954);

    /// Lengths and times of the frames of packets.
    fn found(packets: &[(&[u8], Option<i64>)]) -> Vec<(usize, TimeDelta)> {
        let (mut frames, mut ready) = (AacFrames::default(), VecDeque::new());
        packets
            .iter()
            .for_each(|(octets, at)| frames.push(octets, at.map(TimeDelta::from_millis), &mut ready));
        ready.iter().map(|frame| (frame.octets.len(), frame.at)).collect()
    }

    #[test]
    fn frames_of_packets() {
        let ms = TimeDelta::from_millis;
        let both = [frame(300), frame(7)].concat();
        assert_eq!(found(&[(&both, Some(-10))]), [(300, ms(-10)), (7, ms(-10) + DURATION)]);
        // The second one is cut, and the time is that of the third.
        let three = [both.clone(), frame(20)].concat();
        let cut = found(&[(&three[..303], Some(0)), (&three[303..], Some(100))]);
        assert_eq!(cut, [(300, ms(0)), (7, DURATION), (20, ms(100))]);
        // Without a time stamp the time goes on; before the first one there is none.
        assert_eq!(found(&[(&both, None)]), []);
        assert_eq!(found(&[(&frame(9), Some(5)), (&frame(8), None)]), [(9, ms(5)), (8, ms(5) + DURATION)]);
        // No frame, and a length that leads nowhere: the next packet counts.
        assert_eq!(found(&[(&[0; 20], Some(0)), (&frame(6)[..6], Some(0)), (&frame(9), Some(7))]), []);
        assert_eq!(found(&[(&[0; 20], Some(0)), (&frame(9), Some(7))]), [(9, ms(7))]);
    }

    proptest! {
        #[test]
        fn any_octets_are_safe(pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), any::<Option<i32>>()), 0..20)) {
            let (mut frames, mut ready) = (AacFrames::default(), VecDeque::new());
            for (octets, at) in pieces {
                let octets = [&[0xff, 0xf1, 0x50][..], &octets].concat();
                frames.push(&octets, at.map(|at| TimeDelta::from_millis(at.into())), &mut ready);
                prop_assert!(frames.rest.len() < 9_000);
            }
        }
    }
}
