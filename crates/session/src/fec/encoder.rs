//! The sender's half of the code: the window of what may still be of use, and repair packets over it.

use super::{PAYLOAD_ID_LEN, SYMBOL_CAPACITY, SYMBOL_HEAD, SourceSymbol, WINDOW, symbol_size};
use crate::message::RtpPacket;
use bytes::Bytes;
use cu_fec::{DensityThreshold, EncodingSymbolId, Field, RepairParameters, RlcConfig, RlcEncoder};
use seaway_units::Timestamp;
use std::collections::VecDeque;
use std::fmt;

/// The encoder of a stream.
pub(crate) struct FecEncoder {
    config: RlcConfig,
    /// `None` before the first repair packet.
    rlc: Option<Box<RlcEncoder<SYMBOL_CAPACITY, WINDOW>>>,
    /// The number of the next packet.
    next: u64,
    window: VecDeque<Sent>,
    /// The code has so many packets of the window, from its beginning on. It gets the others with the next repair packet: most
    /// sessions send none.
    written: usize,
    repair_key: u16,
    symbol: Vec<u8>,
}

/// A packet of the window.
struct Sent {
    /// Since when it was waiting to leave.
    since: Timestamp,
    symbol: SourceSymbol,
}

impl FecEncoder {
    /// For packets of at most so many octets.
    pub(crate) fn new(packet: usize) -> Self {
        let config = RlcConfig::new(symbol_size(packet), WINDOW, Field::Gf256)
            .unwrap_or_else(|error| unreachable!("sizes in range: {error}"));
        let (window, symbol) = (VecDeque::new(), Vec::new());
        Self { config, rlc: None, next: 0, window, written: 0, repair_key: 0, symbol }
    }

    /// A media packet leaves; `number` counts those of the stream, and `since` is when its frame was handed over.
    /// The window begins anew behind a packet that left out of turn.
    pub(crate) fn push(&mut self, since: Timestamp, number: u64, packet: &RtpPacket) {
        let symbol = SourceSymbol::of(packet).filter(|symbol| symbol.fits(self.config.symbol_size()));
        let Some(symbol) = symbol else { return };
        if self.next != number {
            self.discard(self.window.len());
        } else if self.window.len() == WINDOW {
            self.discard(1);
        }
        self.next = number + 1;
        self.window.push_back(Sent { since, symbol });
    }

    /// Packets whose frames were handed over before `oldest` are of no use any more.
    pub(crate) fn discard_before(&mut self, oldest: Timestamp) {
        self.discard(self.window.iter().take_while(|sent| sent.since < oldest).count());
    }

    /// Takes the first `count` packets from the window.
    fn discard(&mut self, count: usize) {
        self.window.drain(..count);
        let written = count.min(self.written);
        self.written -= written;
        self.rlc.iter_mut().for_each(|rlc| rlc.discard_oldest(written));
    }

    /// The payload of a repair packet over the window; `None` where that is empty.
    pub(crate) fn encode(&mut self) -> Option<Bytes> {
        let longest = self.window.iter().map(|sent| SYMBOL_HEAD + sent.symbol.payload.len()).max()?;
        self.write_window()?;
        let rlc = self.rlc.as_ref()?;
        self.repair_key = self.repair_key.wrapping_add(1);
        let parameters = RepairParameters::new(self.repair_key, DensityThreshold::FULL);
        let mut payload = vec![0; PAYLOAD_ID_LEN + self.config.symbol_size()];
        let id = rlc.encode_repair(parameters, &mut payload[PAYLOAD_ID_LEN..]).ok()?;
        payload[..PAYLOAD_ID_LEN].copy_from_slice(&id.to_bytes());
        payload.truncate(PAYLOAD_ID_LEN + longest);
        Some(Bytes::from(payload))
    }

    /// Gives the code the packets that it has not. It counts them itself, so it begins anew behind those that it never had.
    fn write_window(&mut self) -> Option<()> {
        let id = |left: usize| EncodingSymbolId::new((self.next - left as u64) as u32);
        let next = id(self.window.len() - self.written);
        if self.rlc.as_ref().is_none_or(|rlc| rlc.next_esi() != next) {
            self.rlc = RlcEncoder::new(self.config, id(self.window.len())).ok().map(Box::new);
            self.written = 0;
        }
        let rlc = self.rlc.as_mut()?;
        for sent in self.window.range(self.written..) {
            sent.symbol.write(self.config.symbol_size(), &mut self.symbol);
            rlc.push_source(&self.symbol).ok()?;
        }
        self.written = self.window.len();
        Some(())
    }
}

impl fmt::Debug for FecEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FecEncoder({} packets before {})", self.window.len(), self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        /// So many packets leave.
        Push(u8),
        /// Numbers are left out.
        Skip,
        /// All but the last packets are of no use.
        Keep(u8),
        Encode,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1..90u8).prop_map(Step::Push),
            1 => Just(Step::Skip),
            2 => (0..150u8).prop_map(Step::Keep),
            4 => Just(Step::Encode),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Repair packets are the same whether the code has each packet at once or with the next of them.
        #[test]
        fn repair_packets_do_not_depend_on_when_the_code_has_the_packets(
            first in prop_oneof![Just(0), Just(65_400)],
            steps in prop::collection::vec(step(), 1..30),
        ) {
            let (mut late, mut early) = (FecEncoder::new(50), FecEncoder::new(50));
            let at = |number: u64| Timestamp::from_nanos(number - first);
            let mut number = first;
            for step in steps {
                match step {
                    Step::Push(count) => for _ in 0..count {
                        let packet = packet(number, vec![number as u8; 1 + number as usize % 30]);
                        late.push(at(number), number, &packet);
                        early.push(at(number), number, &packet);
                        early.write_window();
                        number += 1;
                    },
                    Step::Skip => number += 3,
                    Step::Keep(count) => {
                        let oldest = at(number.saturating_sub(count.into()).max(first));
                        late.discard_before(oldest);
                        early.discard_before(oldest);
                    }
                    Step::Encode => prop_assert_eq!(late.encode(), early.encode()),
                }
            }
        }
    }
}
