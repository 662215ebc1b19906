//! What sits at the ends of a flow, as nodes of the simulator.

mod decoder_sink;
mod model_sink;
mod receiver;
mod sender;
mod tcp;
mod udp;
mod window;

pub(crate) use decoder_sink::{DecoderSink, DisplayStatistics};
pub(crate) use model_sink::ModelSink;
pub(crate) use receiver::{MediaReceiver, Sinks};
pub(crate) use sender::{MediaSender, MediaSenderParts};
pub(crate) use tcp::{TcpReceiver, TcpSender};
pub(crate) use udp::{UdpSink, UdpSource};
pub(crate) use window::{WindowSink, WindowSource};

use crate::payload::Payload;
use seaway_link::{Node, Packet, Port, Sends, Step};
use seaway_units::Timestamp;

/// An end of a flow. It has one port.
#[derive(Debug)]
pub(crate) enum Agent {
    MediaSender(Box<MediaSender>),
    MediaReceiver(Box<MediaReceiver>),
    TcpSender(Box<TcpSender>),
    TcpReceiver(Box<TcpReceiver>),
    UdpSource(UdpSource),
    UdpSink(UdpSink),
    WindowSource(Box<WindowSource>),
    WindowSink(Box<WindowSink>),
}

/// The port of every agent.
pub(crate) const PORT: Port = Port(0);

/// The earlier of two instants of which either may be absent.
fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

macro_rules! each {
    ($self:ident, $agent:ident => $call:expr) => {
        match $self {
            Agent::MediaSender($agent) => $call,
            Agent::MediaReceiver($agent) => $call,
            Agent::TcpSender($agent) => $call,
            Agent::TcpReceiver($agent) => $call,
            Agent::UdpSource($agent) => $call,
            Agent::UdpSink($agent) => $call,
            Agent::WindowSource($agent) => $call,
            Agent::WindowSink($agent) => $call,
        }
    };
}

// Each agent's part is inlined here, its only user: a call costs as much as what many of them do.
impl Node<Payload> for Agent {
    fn handle_packet(&mut self, now: Timestamp, port: Port, packet: Packet<Payload>) {
        each!(self, agent => agent.handle_packet(now, port, packet));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        each!(self, agent => agent.handle_timeout(now));
    }

    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<Payload>)> {
        each!(self, agent => agent.poll_packet(now))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        each!(self, agent => agent.poll_timeout())
    }

    fn poll_ahead(&mut self, now: Timestamp, until: Timestamp) -> Step<Payload> {
        each!(self, agent => agent.poll_ahead(now, until))
    }

    #[inline]
    fn is_drained(&self, now: Timestamp) -> bool {
        each!(self, agent => agent.is_drained(now))
    }

    fn sends(&self) -> Sends {
        match self {
            Self::MediaReceiver(_) | Self::UdpSink(_) => Sends::FewAnswers,
            Self::TcpReceiver(_) | Self::WindowSink(_) => Sends::OneAnswerToEach,
            Self::MediaSender(_) | Self::TcpSender(_) | Self::UdpSource(_) | Self::WindowSource(_) => {
                Sends::ByItself
            }
        }
    }
}
