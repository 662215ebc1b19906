//! The receiver's half of the code. Memory and work are bounded: 256 packets and 64 equations are held, a repair packet
//! costs at most 128 additions of a packet, and a recovered packet 64.

use super::{RepairPayload, SYMBOL_CAPACITY, SourceSymbol, WINDOW, symbol_size};
use crate::message::RtpPacket;
use crate::unwrap::nearest;
use cu_fec::{DecodeReport, EncodingSymbolId, Field, RepairPayloadId, RlcConfig, RlcDecoder, SourceReport};
use std::fmt;

/// Packets that are held: so many that room is made for many at a time.
const HELD: usize = 2 * WINDOW;
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
        Self { config, rlc: fresh(config), end: None, known: vec![NONE; HELD], symbol: Vec::new() }
    }

    /// A media packet came, by itself or by retransmission. What it lets recover is appended to `recovered`.
    pub(crate) fn on_source(
        &mut self,
        packet: &RtpPacket,
        recovered: &mut Vec<SourceSymbol>,
    ) -> Result<(), Unusable> {
        let Some(symbol) = SourceSymbol::of(packet) else { return Ok(()) };
        let number = self.unwrap(symbol.marking.sequence_number);
        if self.is_known(number) || !symbol.write(self.config.symbol_size(), &mut self.symbol) {
            return Ok(());
        }
        if self.end.is_some_and(|end| number + (WINDOW as u64) < end) {
            // No repair packet covers it any more.
            return Ok(());
        }
        self.reach(number + 1);
        self.note(number);
        let done = self.rlc.receive_source(esi(number), &self.symbol).map(SourceReport::recovered);
        self.collect(done, recovered)
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
        self.reach(end);
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

    /// Packets before `end` exist. Room for them is made in large steps, since each moves all that is held.
    fn reach(&mut self, end: u64) {
        if self.end.is_some_and(|highest| end <= highest) {
            return;
        }
        self.end = Some(end);
        let begin = self.rlc.window().map(|(first, _)| first);
        if begin.is_some_and(|begin| esi(end).get().wrapping_sub(begin.get()) as usize > HELD) {
            // It fails for numbers that jump by half their range; the decoder forgets them all the same.
            let _ = self.rlc.discard_before(esi(end.saturating_sub(WINDOW as u64)));
        }
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
