//! AAC by RFC 3640 in mode AAC-hbr: a frame in a payload, or cut over several. On both sides frames have ADTS headers, and payloads have
//! none.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::Error;
use seaway_wire::aac::{self, AdtsHeader, Config, PAYLOAD_HEAD};

/// Cuts a frame behind its ADTS header.
pub(super) fn cut(
    config: Config,
    frame: &Bytes,
    limit: usize,
    payloads: &mut Vec<Payload>,
) -> Result<(), Error> {
    let field = "AAC frame";
    let header = AdtsHeader::parse(frame)?;
    if header.config() != Some(config) || header.frame_len != frame.len() {
        let seen = frame.len() as u64;
        return Err(Error::Invalid {
            field,
            offset: 0,
            seen,
            expected: "one frame of the stream's configuration",
        });
    }
    let unit = frame.slice(header.header_len()..);
    let too_large = Error::TooLarge { field, seen: unit.len() as u64, limit: 8191 };
    let head = aac::Payload::head(unit.len()).ok_or(too_large)?;
    let no_room = Error::NoRoom { field, needed: PAYLOAD_HEAD + 1, available: limit };
    let room = limit.checked_sub(PAYLOAD_HEAD).filter(|room| *room > 0).ok_or(no_room)?;
    payloads.extend(unit.chunks(room).map(|part| Payload::from(unit.slice_ref(part)).behind(&head)));
    Ok(())
}

/// The frames of the payloads between two markers: those of one payload, or one in parts. `None` where they are malformed.
pub(super) fn join<'a>(config: Config, payloads: impl Iterator<Item = &'a Payload> + Clone) -> Option<Bytes> {
    let mut frames = Vec::new();
    let mut part: Option<(usize, Vec<u8>)> = None;
    for payload in payloads {
        let contents = payload.contents();
        for (size, unit) in aac::Payload::parse(&contents).ok()?.units() {
            let (whole, mut octets) = part.take().unwrap_or((size, Vec::new()));
            octets.extend_from_slice(unit);
            if whole != size || octets.len() > whole {
                return None;
            }
            if octets.len() < whole {
                part = Some((whole, octets));
                continue;
            }
            frames.extend_from_slice(&config.adts_header(whole)?);
            frames.extend(octets);
        }
    }
    (part.is_none() && !frames.is_empty()).then(|| frames.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// AAC-LC at 44.1 kHz in two channels.
    fn config() -> Config {
        Config::parse([0x12, 0x10]).unwrap()
    }

    fn frame(len: usize) -> Bytes {
        let unit: Vec<u8> = (0..len).map(|octet| octet as u8).collect();
        [&config().adts_header(len).unwrap()[..], &unit].concat().into()
    }

    fn payload(octets: &[u8]) -> Payload {
        Payload::from(Bytes::copy_from_slice(octets))
    }

    #[test]
    fn a_frame_that_does_not_fit_is_cut() {
        let (frame, mut payloads) = (frame(2_000), Vec::new());
        cut(config(), &frame, 1_004, &mut payloads).unwrap();
        let heads: Vec<[u8; 4]> = payloads.iter().map(|payload| payload.peek().unwrap()).collect();
        // 2000 in 13 bits, and 3 of index.
        assert_eq!(heads, [[0, 16, 0x3E, 0x80]; 2]);
        assert_eq!(payloads.iter().map(Payload::len).collect::<Vec<_>>(), [1_004, 1_004]);
        assert_eq!(join(config(), payloads.iter()), Some(frame));
        assert_eq!(join(config(), payloads[..1].iter()), None, "the end is missing");
        let twice = [&payloads[0], &payloads[1], &payloads[1]];
        assert_eq!(join(config(), twice.into_iter()), None, "a part without a beginning");
    }

    /// As FFmpeg sends them: several frames in a packet.
    #[test]
    fn frames_of_one_payload() {
        let both = payload(&[0, 32, 0, 24, 0, 16, 0, 1, 2, 0, 1]);
        assert_eq!(join(config(), [&both].into_iter()), Some([frame(3), frame(2)].concat().into()));
        assert_eq!(join(config(), [&payload(&[0, 16, 0, 24, 0, 1])].into_iter()), None, "a part alone");
    }

    /// A unit of which more comes than it has by its own account, and parts that do not agree.
    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let parts =
            |second: &[u8]| join(config(), [&payload(&[0, 16, 0, 32, 1, 2]), &payload(second)].into_iter());
        assert!(parts(&[0, 16, 0, 32, 3, 4]).is_some());
        assert_eq!(parts(&[0, 16, 0, 40, 3, 4]), None, "four octets, then five");
        assert_eq!(parts(&[0, 16, 0, 32, 3, 4, 5]), None, "five octets of four");
    }

    #[test]
    fn another_frame_is_refused() {
        let mut payloads = Vec::new();
        let mut with_checksum = [&frame(9)[..7], &[7, 7], &frame(9)[7..]].concat();
        (with_checksum[1], with_checksum[4], with_checksum[5]) = (0xF0, 2, 0x5F);
        cut(config(), &with_checksum.into(), 1_000, &mut payloads).unwrap();
        assert_eq!(join(config(), payloads.iter()), Some(frame(9)));
        let mono = Config::parse([0x12, 0x08]).unwrap();
        let two = Bytes::from([frame(9), frame(9)].concat());
        for (config, frame, limit) in [
            (mono, frame(9), 99),
            (config(), two, 99),
            (config(), frame(0).slice(1..), 99),
            (config(), frame(9), 4),
        ] {
            assert!(cut(config, &frame, limit, &mut payloads).is_err());
        }
        let no_room = Error::NoRoom { field: "AAC frame", needed: 5, available: 4 };
        assert_eq!(cut(config(), &frame(9), 4, &mut payloads), Err(no_room));
    }

    proptest! {
        #[test]
        fn frames_come_back(len in 1usize..8_185, limit in 5usize..1_500) {
            let mut payloads = Vec::new();
            cut(config(), &frame(len), limit, &mut payloads).unwrap();
            prop_assert!(payloads.iter().all(|payload| payload.len() <= limit));
            prop_assert_eq!(join(config(), payloads.iter()), Some(frame(len)));
        }

        #[test]
        fn any_payloads_are_safe(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5)) {
            let payloads: Vec<_> = payloads.iter().map(|octets| payload(octets)).collect();
            let _ = join(config(), payloads.iter());
        }
    }
}
