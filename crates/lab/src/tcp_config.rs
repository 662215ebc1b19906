//! The TCP configuration of a TCP flow.

use crate::scenario::{TcpAlgorithm, TcpFlow, TransferSize};
use seaway_sim::tcp::{Congestion, EcnEcho, LossRecovery, ReceiverConfig, SenderConfig};
use seaway_sim::traffic::{SizeModel, Transfers};
use seaway_units::TimeDelta;

/// How long an acknowledgement may be delayed; RFC 5681 section 4.2 allows up to 0.5 s.
const DELAYED_ACK: TimeDelta = TimeDelta::from_millis(200);

/// The sender, what it transfers, and the receiver.
pub(crate) fn parts(flow: &TcpFlow) -> (SenderConfig, Transfers, ReceiverConfig) {
    let (recovery, congestion) = match flow.algorithm {
        TcpAlgorithm::Reno => (LossRecovery::Reno, Congestion::Reno),
        TcpAlgorithm::NewReno => (LossRecovery::NewReno, Congestion::Reno),
        TcpAlgorithm::Sack => (LossRecovery::Sack, Congestion::Reno),
        TcpAlgorithm::Cubic => (LossRecovery::Sack, Congestion::Cubic),
        TcpAlgorithm::Dctcp => (LossRecovery::Sack, Congestion::Dctcp),
        TcpAlgorithm::Prague => (LossRecovery::Sack, Congestion::Prague),
        TcpAlgorithm::Bbr => (LossRecovery::Rack, Congestion::Bbr),
    };
    let sender = SenderConfig {
        recovery,
        congestion,
        packet: flow.packet,
        initial_window: flow.initial_window,
        min_rto: flow.min_rto,
        ecn: flow.ecn || congestion.is_scalable(),
        handshake: flow.handshake,
    };
    let receiver = ReceiverConfig {
        delayed_ack: flow.delayed_ack.then_some(DELAYED_ACK),
        sack: recovery.needs_sack(),
        echo: if congestion.is_scalable() { EcnEcho::Exact } else { EcnEcho::Latched },
    };
    (sender, transfers(flow), receiver)
}

fn transfers(flow: &TcpFlow) -> Transfers {
    let size = match flow.size {
        None => return Transfers::Endless,
        Some(TransferSize::Fixed(size)) => SizeModel::Fixed(size),
        Some(TransferSize::Uniform(from, to)) => SizeModel::Uniform(from, to),
        Some(TransferSize::Pareto { mean, shape }) => SizeModel::Pareto { mean, shape },
    };
    match flow.idle {
        None => Transfers::Once(size),
        Some(idle) => Transfers::OnOff { size, idle, starts_idle: flow.starts_idle },
    }
}
