//! What sits at the ends of a flow, as nodes of the simulator.

mod clock;
mod decoder_sink;
mod model_sink;
mod receiver;
mod sender;
mod sound_sink;
mod tcp;
mod udp;
mod window;

pub(crate) use clock::DriftingClock;
pub(crate) use decoder_sink::{DecoderSink, DisplayStatistics};
pub(crate) use model_sink::ModelSink;
pub(crate) use receiver::{MediaReceiver, Sinks};
pub(crate) use sender::{MediaSender, MediaSenderParts};
pub(crate) use tcp::{TcpReceiver, TcpSender};
pub(crate) use udp::{UdpSink, UdpSource};
pub(crate) use window::{WindowFrames, WindowSink, WindowSource};

use crate::payload::Payload;
use seaway_link::{Node, Outbox, Packet, Port, Reactivity, Wake};
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

/// One end of a flow, as a state machine.
trait Endpoint {
    /// A packet arrives.
    fn handle_packet(&mut self, _now: Timestamp, _packet: Packet<Payload>) {}

    /// Does what is due at `now`; nothing where it is too early.
    fn handle_timeout(&mut self, _now: Timestamp) {}

    /// Sends what leaves at `now`; an end whose later departures are determined may send those before `until` and before its timers.
    /// Returns when to run next, which is no earlier than the last departure.
    fn transmit(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake;
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

// Each agent's methods are inlined here: a call costs as much as many of them.
impl Node<Payload> for Agent {
    fn on_packet(
        &mut self,
        now: Timestamp,
        _: Port,
        packet: Packet<Payload>,
        out: &mut Outbox<Payload>,
    ) -> Wake {
        each!(self, agent => {
            agent.handle_packet(now, packet);
            agent.transmit(now, now, out)
        })
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        each!(self, agent => {
            if now < until {
                agent.handle_timeout(now);
            }
            agent.transmit(now, until, out)
        })
    }

    fn reactivity(&self) -> Reactivity {
        match self {
            Self::MediaReceiver(_) | Self::UdpSink(_) => Reactivity::SparseFeedback,
            Self::TcpReceiver(_) | Self::WindowSink(_) => Reactivity::AckPerPacket,
            Self::MediaSender(_) | Self::TcpSender(_) | Self::UdpSource(_) | Self::WindowSource(_) => {
                Reactivity::Spontaneous
            }
        }
    }
}
