//! The receiver's half of the code. Memory and work are bounded: 256 packets and 64 equations are held, a repair packet
//! costs at most 128 additions of a packet, and a recovered packet 64.

use super::{RepairPayload, SYMBOL_CAPACITY, SourceSymbol, WINDOW, symbol_size};
use crate::message::RtpPacket;
use crate::unwrap::nearest;
use cu_fec::{DecodeReport, EncodingSymbolId, Field, RepairPayloadId, RlcConfig, RlcDecoder, SourceReport};
use std::collections::VecDeque;
use std::fmt;

/// Packets that are held: so many that room is made for many at a time.
const HELD: usize = 2 * WINDOW;
/// Packets for which room is made at a time, at numbers that are multiples of it: what is held depends on the newest number alone,
/// whenever the code was given its packets.
const STEP: u64 = HELD as u64 / 4;
/// Equations that wait for packets. Where more are missing, no more will be recovered.
const EQUATIONS: usize = 64;
/// A repair packet arrives no further ahead of the last media packet.
const AHEAD: u64 = WINDOW as u64;

type Rlc = RlcDecoder<SYMBOL_CAPACITY, HELD, EQUATIONS>;

/// The decoder of a stream.
pub(crate) struct FecDecoder {
    config: RlcConfig,
    rlc: Box<Rlc>,
    /// Number after the highest that came or was covered; `None` before the first packet.
    end: Option<u64>,
    /// By number modulo [`HELD`]: the last number that came or was recovered.
    known: Vec<u64>,
    /// Packets that came and that the code has not: it needs them once a repair packet covers one that is missing, and to move
    /// them there costs more than all else that is done with a packet.
    waiting: VecDeque<(u64, SourceSymbol)>,
    symbol: Vec<u8>,
}

/// Why a packet is of no use to the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It covers packets that are far from those that came.
    OutOfRange,
    /// It contradicts others, and the decoder began anew.
    Contradictory,
}

/// No packet has this number.
const NONE: u64 = u64::MAX;

impl FecDecoder {
    /// For a session whose IP datagrams have at most so many octets.
    pub(crate) fn new(packet: usize) -> Self {
        let config = RlcConfig::new(symbol_size(packet), HELD, Field::Gf256);
        let config = config.unwrap_or_else(|error| unreachable!("sizes in range: {error}"));
        Self {
            config,
            rlc: fresh(config),
            end: None,
            known: vec![NONE; HELD],
            waiting: VecDeque::new(),
            symbol: Vec::new(),
        }
    }

    /// A media packet came, by itself or by retransmission. What it lets recover is appended to `recovered`.
    pub(crate) fn on_source(
        &mut self,
        packet: &RtpPacket,
        recovered: &mut Vec<SourceSymbol>,
    ) -> Result<(), Unusable> {
        let Some(symbol) = SourceSymbol::of(packet) else { return Ok(()) };
        let number = self.unwrap(symbol.marking.sequence_number);
        if self.is_known(number) || !symbol.fits(self.config.symbol_size()) {
            return Ok(());
        }
        if self.end.is_some_and(|end| number + (WINDOW as u64) < end) {
            // No repair packet covers it any more.
            return Ok(());
        }
        self.end = self.end.max(Some(number + 1));
        self.note(number);
        if self.rlc.rank() > 0 {
            self.make_room();
            return self.give(number, &symbol, recovered);
        }
        // Without an equation it solves nothing.
        if self.waiting.len() == HELD {
            self.waiting.pop_front();
        }
        self.waiting.push_back((number, symbol));
        Ok(())
    }

    /// A repair packet came. What it lets recover is appended to `recovered`.
    pub(crate) fn on_repair(
        &mut self,
        repair: &RepairPayload<'_>,
        recovered: &mut Vec<SourceSymbol>,
    ) -> Result<(), Unusable> {
        let first = self.unwrap(repair.first());
        let end = first + u64::from(repair.window());
        let newest = *self.end.get_or_insert(first);
        if end > newest + AHEAD || end + (WINDOW as u64) < newest {
            return Err(Unusable::OutOfRange);
        }
        if (first..end).all(|number| self.is_known(number)) || repair.symbol.len() > self.config.symbol_size()
        {
            return Ok(());
        }
        self.end = self.end.max(Some(end));
        self.catch_up(first, recovered)?;
        self.symbol.clear();
        self.symbol.extend_from_slice(repair.symbol);
        self.symbol.resize(self.config.symbol_size(), 0);
        let id =
            RepairPayloadId::new(repair.id.repair_key(), repair.id.density(), repair.window(), esi(first));
        let id = id.map_err(|_| Unusable::OutOfRange)?;
        let done = self.rlc.receive_repair(id, &self.symbol).map(DecodeReport::recovered);
        self.collect(done, recovered)
    }

    /// A number of 16 bits among those of the stream.
    fn unwrap(&self, number: u16) -> u64 {
        nearest::<16>(self.end.unwrap_or((1 << 16) + u64::from(number)), number.into())
    }

    fn is_known(&self, number: u64) -> bool {
        self.known[number as usize % HELD] == number
    }

    fn note(&mut self, number: u64) {
        self.known[number as usize % HELD] = number;
    }

    /// The oldest packet that repair packets to come may cover.
    fn oldest(&self) -> u64 {
        self.end.unwrap_or(0).saturating_sub(WINDOW as u64)
    }

    /// Gives the code the packets that wait, from `first` on and those that repair packets to come may cover.
    fn catch_up(&mut self, first: u64, recovered: &mut Vec<SourceSymbol>) -> Result<(), Unusable> {
        let oldest = first.min(self.oldest());
        self.make_room();
        let waiting = std::mem::take(&mut self.waiting);
        let (needed, older): (VecDeque<_>, VecDeque<_>) =
            waiting.into_iter().partition(|(number, _)| *number >= oldest);
        self.waiting = older;
        needed.iter().try_for_each(|(number, symbol)| self.give(*number, symbol, recovered))
    }

    /// Gives the code a packet.
    fn give(
        &mut self,
        number: u64,
        symbol: &SourceSymbol,
        recovered: &mut Vec<SourceSymbol>,
    ) -> Result<(), Unusable> {
        if !symbol.write(self.config.symbol_size(), &mut self.symbol) {
            return Ok(());
        }
        let done = self.rlc.receive_source(esi(number), &self.symbol).map(SourceReport::recovered);
        self.collect(done, recovered)
    }

    /// The code forgets what is too old to be held, which moves all that is held. At least the 192 newest numbers stay: a repair
    /// packet of a full window may come 64 packets late.
    fn make_room(&mut self) {
        let end = self.end.unwrap_or(0);
        let first = (end - end % STEP).saturating_sub(HELD as u64 - STEP);
        // It fails for numbers that jump by half their range; the decoder forgets them all the same.
        let _ = self.rlc.discard_before(esi(first));
    }

    /// Finds what was recovered.
    fn collect(
        &mut self,
        done: Result<usize, cu_fec::Error>,
        recovered: &mut Vec<SourceSymbol>,
    ) -> Result<(), Unusable> {
        use cu_fec::Error as E;
        let count = match done {
            Ok(count) => count,
            // Too late, or too much is missing: nothing can be done with it.
            Err(E::WindowExpired | E::EquationStoreFull | E::RepairWindowTooLarge) => return Ok(()),
            Err(_) => {
                self.rlc = fresh(self.config);
                return Err(Unusable::Contradictory);
            }
        };
        if count == 0 {
            return Ok(());
        }
        let end = self.end.unwrap_or(0);
        for number in end.saturating_sub(HELD as u64)..end {
            if self.is_known(number) {
                continue;
            }
            let Some(symbol) = self.rlc.symbol(esi(number)) else { continue };
            let symbol = SourceSymbol::parse(number as u16, symbol);
            self.note(number);
            recovered.push(symbol.ok_or(Unusable::Contradictory)?);
        }
        Ok(())
    }
}

impl fmt::Debug for FecDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FecDecoder({} equations before {:?})", self.rlc.rank(), self.end)
    }
}

fn fresh(config: RlcConfig) -> Box<Rlc> {
    let rlc = Rlc::new(config, EQUATIONS);
    Box::new(rlc.unwrap_or_else(|error| unreachable!("sizes in range: {error}")))
}

fn esi(number: u64) -> EncodingSymbolId {
    EncodingSymbolId::new(number as u32)
}

#[cfg(test)]
mod tests {
    use super::super::FecEncoder;
    use super::super::tests::packet;
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;
    use seaway_units::Timestamp;

    fn numbers(recovered: &[SourceSymbol]) -> Vec<u16> {
        recovered.iter().map(|symbol| symbol.marking.sequence_number).collect()
    }

    /// While nothing is missing the code has nothing, and no more than a window of packets waits twice.
    #[test]
    fn packets_wait_until_one_is_missing() {
        let (mut encoder, mut decoder) = (FecEncoder::new(1200), FecDecoder::new(1200));
        let mut recovered = Vec::new();
        for number in 0..1000 {
            let packet = packet(number, vec![1; 100]);
            encoder.push(Timestamp::ZERO, number, &packet);
            if number != 999 {
                decoder.on_source(&packet, &mut recovered).expect("no attack");
            }
            if number == 500 {
                let payload = encoder.encode().expect("a window");
                let repair = RepairPayload::parse(&payload).expect("well formed");
                decoder.on_repair(&repair, &mut recovered).expect("no attack");
            }
        }
        assert_eq!((decoder.rlc.window(), decoder.waiting.len()), (None, HELD));
        let payload = encoder.encode().expect("a window");
        let repair = RepairPayload::parse(&payload).expect("well formed");
        decoder.on_repair(&repair, &mut recovered).expect("no attack");
        assert_eq!((numbers(&recovered), decoder.rlc.rank()), (vec![999], 0));
        // The first number that comes is one of the second turn; room is made up to a multiple of 64, 192 numbers before one.
        assert!(decoder.rlc.window().is_some_and(|(first, _)| first == esi((1 << 16) + 768)));
        assert_eq!(decoder.waiting.len(), HELD - WINDOW + 1, "872 is the first that the code has");
    }

    /// Room is made many times, and each packet that is lost comes back before the next is.
    #[test]
    fn each_of_many_losses_is_recovered() {
        let (mut encoder, mut decoder) = (FecEncoder::new(50), FecDecoder::new(50));
        let (mut recovered, is_lost) = (Vec::new(), |number: u64| number % 10 == 3 && number % 1000 < 500);
        for number in 0..5000 {
            let packet = packet(number, vec![number as u8; 9]);
            encoder.push(Timestamp::ZERO, number, &packet);
            if !is_lost(number) {
                decoder.on_source(&packet, &mut recovered).expect("no attack");
            }
            if number % 5 == 4 {
                let payload = encoder.encode().expect("a window");
                let repair = RepairPayload::parse(&payload).expect("well formed");
                decoder.on_repair(&repair, &mut recovered).expect("no attack");
            }
        }
        assert!(
            numbers(&recovered)
                .into_iter()
                .eq((0..5000).filter(|&number| is_lost(number)).map(|number| number as u16))
        );
        assert!(decoder.rlc.rank() == 0 && decoder.waiting.len() <= HELD);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever is lost or late, the same is recovered as where the code has each packet at once.
        #[test]
        fn the_same_is_recovered_as_by_a_code_that_has_all(
            first in prop_oneof![Just(0u64), Just(65_400)],
            fates in prop::collection::vec((0u8..10, 0usize..60), 3 * HELD),
            loss in 0u8..6,
            every in 4u64..60,
        ) {
            let (mut encoder, mut late, mut early) =
                (FecEncoder::new(50), FecDecoder::new(50), FecDecoder::new(50));
            let (mut of_late, mut of_early) = (Vec::new(), Vec::new());
            // Packets and repair packets by the instant at which they come.
            let mut arrivals: Vec<(usize, Result<u64, Bytes>)> = Vec::new();
            for (index, (fate, delay)) in fates.into_iter().enumerate() {
                let number = first + index as u64;
                encoder.push(Timestamp::ZERO, number, &packet(number, vec![number as u8; 9]));
                let comes = index + if fate == 9 { delay } else { 0 };
                if fate >= loss {
                    arrivals.push((comes, Ok(number)));
                }
                if number.is_multiple_of(every) {
                    arrivals.push((comes, Err(encoder.encode().expect("a window"))));
                }
            }
            arrivals.sort_by_key(|(comes, _)| *comes);
            for (_, arrival) in arrivals {
                let outcomes = match arrival {
                    Ok(number) => {
                        let packet = packet(number, vec![number as u8; 9]);
                        let outcome = early.on_source(&packet, &mut of_early);
                        early.catch_up(u64::MAX, &mut of_early).expect("no attack");
                        (late.on_source(&packet, &mut of_late), outcome)
                    }
                    Err(payload) => {
                        let repair = RepairPayload::parse(&payload).expect("well formed");
                        (late.on_repair(&repair, &mut of_late), early.on_repair(&repair, &mut of_early))
                    }
                };
                prop_assert_eq!(outcomes.0, outcomes.1);
                prop_assert_eq!(numbers(&of_late), numbers(&of_early));
            }
        }
    }
}
