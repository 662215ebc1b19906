//! Forward error correction of a stream: the sliding-window random linear code of RFC 8681 over GF(2^8).
//!
//! A source symbol is a media packet: what a receiver needs of its header, then its payload, then zeros. Its encoding
//! symbol ID is the number in the packet's frame marking, so media packets carry nothing for it. A repair packet has a
//! payload type of its own: the repair FEC payload ID of RFC 8681 section 4.1.3, then a repair symbol as long as the longest
//! symbol that it covers is without its zeros. docs/models/protection.md, section "On the wire".

mod decoder;
mod encoder;

pub(crate) use decoder::{FecDecoder, Unusable};
pub(crate) use encoder::FecEncoder;

use crate::message::RtpPacket;
use crate::payload::Payload;
use bytes::Bytes;
use cu_fec::RepairPayloadId;
use seaway_wire::extension::FrameMarking;
use seaway_wire::{Error, rtp};

/// Octets of the repair FEC payload ID.
pub(crate) const PAYLOAD_ID_LEN: usize = 8;
/// Octets of a source symbol before the payload.
pub(crate) const SYMBOL_HEAD: usize = 10;
/// The longest symbol: packets beyond this size are not protected whole, so they are cut smaller.
pub(crate) const SYMBOL_CAPACITY: usize = 1500;
/// Packets that a repair packet covers at most.
pub(crate) const WINDOW: usize = 128;

/// What a media packet is in the code, without the zeros at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSymbol {
    /// The RTP sequence number.
    pub(crate) sequence_number: u16,
    pub(crate) timestamp: u32,
    pub(crate) marking: FrameMarking,
    pub(crate) payload: Payload,
}

impl SourceSymbol {
    /// `None` where the packet is part of no frame.
    pub(crate) fn of(packet: &RtpPacket) -> Option<Self> {
        Some(Self {
            sequence_number: packet.sequence_number,
            timestamp: packet.timestamp,
            marking: packet.marking?,
            payload: packet.payload.clone(),
        })
    }

    /// Whether a symbol of `size` octets holds it.
    pub(crate) fn fits(&self, size: usize) -> bool {
        u16::try_from(self.payload.len()).is_ok_and(|len| SYMBOL_HEAD + usize::from(len) <= size)
    }

    /// Writes the symbol over `symbol`, which gets `size` octets. False where it does not fit.
    pub(crate) fn write(&self, size: usize, symbol: &mut Vec<u8>) -> bool {
        symbol.clear();
        if !self.fits(size) {
            return false;
        }
        let len = self.payload.len() as u16;
        let [flags, frame, ..] = self.marking.to_bytes();
        symbol.extend(len.to_be_bytes());
        symbol.extend(self.sequence_number.to_be_bytes());
        symbol.extend(self.timestamp.to_be_bytes());
        symbol.extend([flags, frame]);
        self.payload.write(symbol);
        symbol.resize(size, 0);
        true
    }

    /// Reads the symbol with this number back; `None` where it is none.
    fn parse(number: u16, symbol: &[u8]) -> Option<Self> {
        let (&[len0, len1, number0, number1, t0, t1, t2, t3, flags, frame], payload) =
            symbol.split_first_chunk::<SYMBOL_HEAD>()?;
        let payload = payload.get(..usize::from(u16::from_be_bytes([len0, len1])))?;
        let [high, low] = number.to_be_bytes();
        Some(Self {
            sequence_number: u16::from_be_bytes([number0, number1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            marking: FrameMarking::parse(&[flags, frame, high, low]).ok()?,
            payload: Payload::from(Bytes::copy_from_slice(payload)),
        })
    }
}

/// The payload of a repair packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RepairPayload<'a> {
    /// The packets it covers, and the seed of its coefficients.
    pub(crate) id: RepairPayloadId,
    /// The repair symbol without the zeros behind the longest symbol that it covers.
    pub(crate) symbol: &'a [u8],
}

impl<'a> RepairPayload<'a> {
    /// Reads the payload of a repair packet. It fails for no payload ID, a window of no packets or of more than the code
    /// has, and a symbol beyond the longest.
    pub(crate) fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let invalid =
            |field, seen: usize, expected| Error::Invalid { field, offset: 0, seen: seen as u64, expected };
        let (id, symbol) = payload
            .split_at_checked(PAYLOAD_ID_LEN)
            .ok_or_else(|| invalid("repair FEC payload ID", payload.len(), "8 octets"))?;
        let id = RepairPayloadId::try_from(id)
            .map_err(|_| invalid("window of a repair packet", 0, "1 packet or more"))?;
        let window = usize::from(id.source_symbols());
        if window > WINDOW {
            return Err(invalid("window of a repair packet", window, "at most 128 packets"));
        }
        if symbol.len() > SYMBOL_CAPACITY {
            return Err(invalid("repair symbol", symbol.len(), "at most 1500 octets"));
        }
        Ok(Self { id, symbol })
    }

    /// How many packets it covers, 1 to 128.
    pub(crate) fn window(&self) -> u16 {
        self.id.source_symbols()
    }

    /// The number of the first packet that it covers, modulo 2^16.
    pub(crate) fn first(&self) -> u16 {
        self.id.first_source_esi().get() as u16
    }
}

/// Octets of a symbol in a session whose IP datagrams have at most so many.
pub(crate) fn symbol_size(packet: usize) -> usize {
    packet.clamp(SYMBOL_HEAD + 1, SYMBOL_CAPACITY)
}

/// Octets of payload that a media packet may have where a repair packet, with a header of `header` octets, is to fit in
/// `room`.
pub(crate) fn payload_limit(room: usize, header: usize, packet: usize) -> usize {
    let symbol = room.saturating_sub(header + PAYLOAD_ID_LEN).min(symbol_size(packet));
    symbol.saturating_sub(SYMBOL_HEAD)
}

const _: () = assert!(rtp::HEADER_LEN > SYMBOL_HEAD, "a symbol is never longer than its packet");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seaway_units::Timestamp;

    pub(super) fn packet(number: u64, payload: Vec<u8>) -> RtpPacket {
        RtpPacket {
            sequence_number: (number as u16).wrapping_add(700),
            timestamp: number as u32 / 4 * 3000,
            marking: Some(FrameMarking {
                start: number.is_multiple_of(4),
                end: number % 4 == 3,
                independent: false,
                discardable: false,
                frame: (number / 4) as u16 & 0x0FFF,
                sequence_number: number as u16,
            }),
            payload: Payload::from(Bytes::from(payload)),
            ..RtpPacket::default()
        }
    }

    fn octets(payload: &Payload) -> Vec<u8> {
        let mut octets = Vec::new();
        payload.write(&mut octets);
        octets
    }

    /// Sends packets from `first` on, every fourth followed by repair packets; what is lost is what `lost` says of all
    /// packets in order of departure. Gives the symbols that were recovered.
    fn exchange(
        first: u64,
        count: u64,
        repairs: u64,
        mut lost: impl FnMut(u64) -> bool,
    ) -> Vec<SourceSymbol> {
        let (mut encoder, mut decoder) = (FecEncoder::new(1200), FecDecoder::new(1200));
        let (mut recovered, mut departure) = (Vec::new(), 0);
        let mut is_lost = || {
            departure += 1;
            lost(departure - 1)
        };
        for number in first..first + count {
            let packet = packet(number, vec![number as u8; 20 + number as usize % 900]);
            encoder.push(Timestamp::ZERO, number, &packet);
            if !is_lost() {
                decoder.on_source(&packet, &mut recovered).expect("no attack");
            }
            for _ in 0..if number % 4 == 3 { repairs } else { 0 } {
                let payload = encoder.encode().expect("a window");
                if !is_lost() {
                    let repair = RepairPayload::parse(&payload).expect("well formed");
                    decoder.on_repair(&repair, &mut recovered).expect("no attack");
                }
            }
        }
        recovered
    }

    #[test]
    fn what_is_recovered_is_what_was_lost() {
        // Numbers 65_534 and 65_538 are the third and the eighth departure: one repair packet follows the fourth.
        let recovered = exchange(65_532, 12, 1, |departure| [2, 7].contains(&departure));
        let numbers: Vec<_> = recovered.iter().map(|symbol| symbol.marking.sequence_number).collect();
        assert_eq!(numbers, [65_534, 2]);
        for (symbol, number) in recovered.iter().zip([65_534, 65_538]) {
            let original = packet(number, vec![number as u8; 20 + number as usize % 900]);
            assert_eq!(Some(symbol), SourceSymbol::of(&original).as_ref());
        }
    }

    #[test]
    fn a_burst_is_recovered_by_as_many_repairs() {
        // After four packets and a repair the next four are lost; one repair follows each four packets.
        let lost = |departure| (5..9).contains(&departure);
        assert_eq!(exchange(0, 16, 1, lost).len(), 0, "three repairs came");
        assert_eq!(exchange(0, 20, 1, lost).len(), 4, "four repairs came");
    }

    #[test]
    fn repair_packets_are_as_long_as_the_longest_that_they_cover() {
        let mut encoder = FecEncoder::new(1200);
        encoder.push(Timestamp::ZERO, 0, &packet(0, vec![0; 50]));
        encoder.push(Timestamp::ZERO, 1, &packet(1, vec![0; 20]));
        assert_eq!(encoder.encode().map(|payload| payload.len()), Some(PAYLOAD_ID_LEN + SYMBOL_HEAD + 50));
        encoder.push(Timestamp::ZERO, 3, &packet(3, vec![1; 70]));
        let payload = encoder.encode().expect("a window");
        let repair = RepairPayload::parse(&payload).expect("well formed");
        assert_eq!((repair.first(), repair.window()), (3, 1), "begins anew behind a gap");
    }

    #[test]
    fn a_window_holds_what_is_young_enough() {
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let mut encoder = FecEncoder::new(1200);
        for number in 0..200 {
            encoder.push(at(number), number, &packet(number, vec![1; 5]));
        }
        let window = |encoder: &mut FecEncoder| {
            let payload = encoder.encode()?;
            RepairPayload::parse(&payload).ok().map(|repair| (repair.first(), repair.window()))
        };
        assert_eq!(window(&mut encoder), Some((72, 128)));
        encoder.discard_before(at(190));
        assert_eq!(window(&mut encoder), Some((190, 10)));
        encoder.discard_before(at(200));
        assert_eq!(window(&mut encoder), None);
    }

    #[test]
    fn hostile_payloads_are_refused() {
        assert!(RepairPayload::parse(&[0; 7]).is_err());
        assert!(RepairPayload::parse(&[0, 1, 0xF0, 0, 0, 0, 0, 0, 1]).is_err(), "no packet");
        assert!(RepairPayload::parse(&[0, 1, 0xF0, 129, 0, 0, 0, 0, 1]).is_err(), "129 packets");
        assert!(RepairPayload::parse(&[0, 1, 0xF0, 128, 0, 0, 0, 0, 1]).is_ok());
        assert!(RepairPayload::parse(&vec![1; PAYLOAD_ID_LEN + SYMBOL_CAPACITY + 1]).is_err());
    }

    #[test]
    fn sizes_of_symbols() {
        assert_eq!([5, 1200, 9000].map(symbol_size), [11, 1200, 1500]);
        // 40 octets of header, 8 of the payload ID, 10 before the payload; then by the longest symbol; then nothing.
        assert_eq!(payload_limit(1200, 40, 1200), 1142);
        assert_eq!((payload_limit(1500, 12, 1200), payload_limit(50, 40, 1200)), (1190, 0));
        let fits = |len| SourceSymbol::of(&packet(0, vec![1; len])).unwrap().write(1200, &mut Vec::new());
        assert!(fits(1190) && !fits(1191));
        let parses =
            |len| RepairPayload::parse(&[&[0, 1, 0xF0, 1, 0, 0, 0, 0][..], &vec![1; len]].concat()).is_ok();
        assert!(parses(SYMBOL_CAPACITY) && !parses(SYMBOL_CAPACITY + 1));
    }

    /// The first that came is number 0 of a new turn, and the one before it was lost.
    #[test]
    fn what_was_before_the_first_packet_is_recovered() {
        let recovered = exchange(65_535, 5, 1, |departure| departure == 0);
        assert_eq!(
            recovered.iter().map(|symbol| symbol.marking.sequence_number).collect::<Vec<_>>(),
            [65_535]
        );
    }

    /// Of 0 to 128 the packets 1 and 2 are lost, and one repair covers 1 to 128: with 1, which is late, there is 2.
    #[test]
    fn a_packet_as_old_as_the_window_is_of_use() {
        let (mut encoder, mut decoder) = (FecEncoder::new(1200), FecDecoder::new(1200));
        let mut recovered = Vec::new();
        for number in 0..129 {
            encoder.push(Timestamp::ZERO, number, &packet(number, vec![number as u8; 1190]));
            if ![1, 2].contains(&number) {
                decoder.on_source(&packet(number, vec![number as u8; 1190]), &mut recovered).unwrap();
            }
        }
        let payload = encoder.encode().unwrap();
        let repair = RepairPayload::parse(&payload).unwrap();
        assert_eq!((repair.first(), repair.window(), repair.symbol.len()), (1, 128, 1200));
        // Longer than a symbol is: it is not of this session.
        let longer = [&payload[..], &[0]].concat();
        decoder.on_repair(&RepairPayload::parse(&longer).unwrap(), &mut recovered).unwrap();
        decoder.on_repair(&repair, &mut recovered).unwrap();
        assert_eq!(recovered, []);
        decoder.on_source(&packet(1, vec![1; 1190]), &mut recovered).unwrap();
        assert_eq!(recovered, [SourceSymbol::of(&packet(2, vec![2; 1190])).unwrap()]);
    }

    /// The newest packet has number 500: what ends before 501 - 128 is out of range, and what ends behind 501 + 128.
    #[test]
    fn repair_packets_are_near_what_came() {
        let takes = |first: u16, window: u8| {
            let mut decoder = FecDecoder::new(1200);
            decoder.on_source(&packet(500, vec![1; 9]), &mut Vec::new()).unwrap();
            let payload = [&[0, 1, 0xF0, window, 0, 0][..], &first.to_be_bytes(), &[7; 20]].concat();
            let taken = decoder.on_repair(&RepairPayload::parse(&payload).unwrap(), &mut Vec::new());
            taken != Err(Unusable::OutOfRange)
        };
        assert!(takes(372, 1) && !takes(371, 1) && takes(501, 128) && !takes(502, 128));
    }

    proptest! {
        #[test]
        fn symbols_come_back(number in 0u64..1_000_000, payload in prop::collection::vec(any::<u8>(), 1..1190)) {
            let symbol = SourceSymbol::of(&packet(number, payload.clone())).unwrap();
            let mut octets_of = Vec::new();
            prop_assert!(symbol.write(1200, &mut octets_of));
            prop_assert_eq!(octets_of.len(), 1200);
            let back = SourceSymbol::parse(number as u16, &octets_of).unwrap();
            prop_assert_eq!(octets(&back.payload), payload);
            prop_assert_eq!(back, symbol);
        }

        /// Whatever is lost, what is recovered is right, and is no packet that came.
        #[test]
        fn nothing_wrong_is_recovered(pattern in prop::collection::vec(any::<bool>(), 300), repairs in 0u64..4) {
            for symbol in exchange(100, 100, repairs, |departure| pattern[departure as usize]) {
                let number = u64::from(symbol.marking.sequence_number);
                let original = packet(number, vec![number as u8; 20 + number as usize % 900]);
                prop_assert_eq!(Some(symbol), SourceSymbol::of(&original));
            }
        }

        /// Repair packets of any content: an error or nothing, and a decoder that goes on.
        #[test]
        fn damage_never_panics(forged in prop::collection::vec((any::<u16>(), any::<u8>(), any::<u16>(), 0usize..90), 1..80)) {
            let mut decoder = FecDecoder::new(1200);
            let mut recovered = Vec::new();
            for (index, (key, window, first, len)) in forged.into_iter().enumerate() {
                let number = index as u64 * 3;
                let _ = decoder.on_source(&packet(number, vec![3; 9]), &mut recovered);
                let mut payload = key.to_be_bytes().to_vec();
                payload.extend([0xF0, window, 0, 0]);
                payload.extend((first % 300).to_be_bytes());
                payload.extend(vec![key as u8; len]);
                if let Ok(repair) = RepairPayload::parse(&payload) {
                    let _ = decoder.on_repair(&repair, &mut recovered);
                }
            }
        }
    }
}
