//! How a sender is put together, and what it counts.

use crate::tcp::congestion::Congestion;
use crate::tcp::recovery::LossRecovery;
use crate::tcp::segment::HEADERS;
use seaway_units::{DataSize, TimeDelta};

/// How a [`Sender`](super::Sender) works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderConfig {
    /// How losses are found and repaired.
    pub recovery: LossRecovery,
    /// How the window moves.
    pub congestion: Congestion,
    /// A full segment as an IP datagram; above 40 B, the headers.
    pub packet: DataSize,
    /// The window a connection begins with, in segments, at least 1; `None`: as RFC 6928 has it.
    pub initial_window: Option<u32>,
    /// The lowest retransmission timeout.
    pub min_rto: TimeDelta,
    /// Data is marked ECT(0) (RFC 3168), or ECT(1) under DCTCP and Prague.
    pub ecn: bool,
    /// A connection begins with SYN and SYN-ACK.
    pub handshake: bool,
}

impl Default for SenderConfig {
    /// NewReno by the RFCs with segments of 1500 B.
    fn default() -> Self {
        Self {
            recovery: LossRecovery::default(),
            congestion: Congestion::default(),
            packet: DataSize::from_bytes(1500),
            initial_window: None,
            min_rto: TimeDelta::from_secs(1),
            ecn: false,
            handshake: true,
        }
    }
}

impl SenderConfig {
    /// What a full segment carries (`SMSS`).
    pub fn payload(&self) -> DataSize {
        self.packet.saturating_sub(HEADERS).max(DataSize::from_bytes(1))
    }

    /// A model of the path needs to know when each segment left.
    pub(super) fn effective_recovery(&self) -> LossRecovery {
        if self.congestion == Congestion::Bbr { LossRecovery::Rack } else { self.recovery }
    }

    /// In whole segments.
    pub(super) fn initial_window(&self) -> f64 {
        let segments = match self.initial_window {
            Some(segments) => u64::from(segments),
            None => initial_window(self.payload()).as_bytes() / self.payload().as_bytes(),
        };
        segments.max(1) as f64
    }
}

/// The initial window for this `SMSS` (RFC 6928 section 2).
fn initial_window(payload: DataSize) -> DataSize {
    (payload * 10).min((payload * 2).max(DataSize::from_bytes(14_600)))
}

/// What a [`Sender`](super::Sender) has done so far, all connections together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Data segments sent, every copy.
    pub segments: u64,
    /// Those among them that had been sent before.
    pub resent: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Recoveries begun without a timeout.
    pub recoveries: u64,
    /// Reductions for a mark.
    pub mark_reductions: u64,
    /// Acknowledgements of nothing that was ever sent.
    pub invalid: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_has_the_worked_values() {
        for (payload, window) in [(536, 5360), (1000, 10_000), (1460, 14_600), (4000, 14_600), (9000, 18_000)]
        {
            assert_eq!(initial_window(DataSize::from_bytes(payload)), DataSize::from_bytes(window));
        }
        assert_eq!(SenderConfig::default().initial_window(), 10.0);
        let jumbo = SenderConfig { packet: DataSize::from_bytes(9040), ..SenderConfig::default() };
        assert_eq!(jumbo.initial_window(), 2.0);
    }
}
