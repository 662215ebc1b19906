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
    /// `None` before the first packet.
    rlc: Option<Box<RlcEncoder<SYMBOL_CAPACITY, WINDOW>>>,
    /// The number of the next packet.
    next: u64,
    /// Of each packet of the window, since when it was waiting to leave, and the octets of its symbol without the zeros
    /// that fill it up.
    window: VecDeque<(Timestamp, usize)>,
    repair_key: u16,
    symbol: Vec<u8>,
}

impl FecEncoder {
    /// For packets of at most so many octets.
    pub(crate) fn new(packet: usize) -> Self {
        let config = RlcConfig::new(symbol_size(packet), WINDOW, Field::Gf256)
            .unwrap_or_else(|error| unreachable!("sizes in range: {error}"));
        Self { config, rlc: None, next: 0, window: VecDeque::new(), repair_key: 0, symbol: Vec::new() }
    }

    /// A media packet leaves; `number` counts those of the stream, and `since` is when its frame was handed over.
    /// The window begins anew behind a packet that left out of turn.
    pub(crate) fn push(&mut self, since: Timestamp, number: u64, packet: &RtpPacket) {
        let symbol = SourceSymbol::of(packet);
        if !symbol.is_some_and(|symbol| symbol.write(self.config.symbol_size(), &mut self.symbol)) {
            return;
        }
        if self.rlc.is_none() || self.next != number {
            self.rlc = RlcEncoder::new(self.config, EncodingSymbolId::new(number as u32)).ok().map(Box::new);
            self.window.clear();
        }
        self.next = number + 1;
        let Some(rlc) = &mut self.rlc else { return };
        if rlc.push_source(&self.symbol).is_ok() {
            self.window.push_back((since, SYMBOL_HEAD + packet.payload.len()));
            if self.window.len() > WINDOW {
                self.window.pop_front();
            }
        }
    }

    /// Packets whose frames were handed over before `oldest` are of no use any more.
    pub(crate) fn discard_before(&mut self, oldest: Timestamp) {
        let stale = self.window.iter().take_while(|(since, _)| *since < oldest).count();
        self.window.drain(..stale);
        if let Some(rlc) = &mut self.rlc {
            rlc.discard_oldest(stale);
        }
    }

    /// The payload of a repair packet over the window; `None` where that is empty.
    pub(crate) fn encode(&mut self) -> Option<Bytes> {
        let rlc = self.rlc.as_ref()?;
        let longest = self.window.iter().map(|(_, len)| *len).max()?;
        self.repair_key = self.repair_key.wrapping_add(1);
        let parameters = RepairParameters::new(self.repair_key, DensityThreshold::FULL);
        let mut payload = vec![0; PAYLOAD_ID_LEN + self.config.symbol_size()];
        let id = rlc.encode_repair(parameters, &mut payload[PAYLOAD_ID_LEN..]).ok()?;
        payload[..PAYLOAD_ID_LEN].copy_from_slice(&id.to_bytes());
        payload.truncate(PAYLOAD_ID_LEN + longest);
        Some(Bytes::from(payload))
    }
}

impl fmt::Debug for FecEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FecEncoder({} packets before {})", self.window.len(), self.next)
    }
}
