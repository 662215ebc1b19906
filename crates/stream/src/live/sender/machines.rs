//! The machines of a sender: of RTP, of a transport stream, and of the window transport.

use super::SenderBuilder;
use super::start::{Ends, bind_at};
use crate::Error;
use crate::live::channel::Channel;
use crate::live::identity::Identity;
use crate::live::input::SOUND;
use crate::live::multiplexed::{Carrier, TransportConfig, TransportMachine};
use crate::live::mux::Mux;
use crate::live::runtime::Runtime;
use crate::live::sender_machine::SenderMachine;
use crate::live::server::{self, Publication};
use crate::live::sound;
use crate::live::sound_loss::SoundLoss;
use crate::live::stamped::since_1970;
use crate::live::window::{SessionQueues, WindowSenderMachine};
use crate::source::PacketOverhead;
use seaway_control::policy::{self, Direct, Pd, PdConfig, TargetPolicy};
use seaway_control::{ControlSpec, StreamId};
use seaway_media::audio::CodedTrack;
use seaway_media::transport::SoundFormat;
use seaway_net::Socket;
use seaway_protect::Protection;
use seaway_protect::channel::SenderChannel;
use seaway_session::{
    self as session, CircuitBreaker, FeedbackFormat, Format, Limits, OVERHEAD_IPV4, OVERHEAD_IPV6,
    PlainReceiver, SenderConfig, SessionKey, StreamConfig, StreamDescription,
};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Packets leave together, in one call of the kernel, that are due within twice this time: none leaves half a millisecond
/// before or after it is due, if the media thread is in time.
const SEND_BURST: TimeDelta = TimeDelta::from_micros(450);

/// Above it a packet is no symbol of the code of forward error correction.
const LONGEST_CODED: DataSize = DataSize::from_bytes(1500);

impl SenderBuilder {
    /// Adds the machine of an RTP session.
    pub(super) fn add_rtp(
        &self,
        runtime: &mut Runtime,
        socket: Socket,
        breaker: Option<CircuitBreaker>,
        queues: SessionQueues,
    ) -> Result<Ends, Error> {
        let Self { to, key, limits, latency, .. } = self;
        let plain = self.is_plain();
        let mux = (plain && self.transport_stream).then(|| Mux::new(self.muxed_sound(), *latency));
        let format = if mux.is_some() { Format::Mp2t } else { self.format };
        let identity = Identity::random()?;
        let is_protected = key.is_some() || self.server.is_some() || self.listens;
        let mut config =
            config(*to, identity, is_protected, self.control.clone()?, *limits, format).within(*latency);
        self.repair.apply(*latency, &mut config);
        config.pushback = config.pushback.filter(|_| self.pushback);
        if let Some(mtu) = self.mtu {
            config.packet = mtu;
            let is_coded = mtu <= LONGEST_CODED;
            config.adaptive.iter_mut().for_each(|adaptive| adaptive.fec &= is_coded);
        }
        config.stripe = self.stripe;
        config.lanes = u8::try_from(self.via.len()).unwrap_or(u8::MAX).max(1);
        // A coded stream has intra pictures of many times the mean, and no other size of them can be had: what waits behind one may
        // take the latency.
        if self.format == Format::Mpv {
            config.queue.delay = config.queue.delay.map(|delay| delay.max(*latency));
        }
        let overhead = PacketOverhead::new(config.packet, config.overhead);
        if self.has_sound() && mux.is_none() {
            let copied = self.copied_sound.as_ref().and_then(|track| track.rate(overhead.headers));
            let rate = copied.unwrap_or_else(|| sound::wire_rate(overhead.headers));
            let aac = self.copied_sound.as_ref().and_then(CodedTrack::aac_config).map(StreamDescription::aac);
            config.streams.push(StreamConfig::audio(aac.unwrap_or_else(StreamDescription::opus), rate));
        }
        let mut sockets = vec![socket];
        let publication = match &self.server {
            Some(server) => {
                Some(server.publish(runtime.clock(), &mut sockets[0], identity, self.has_sound())?)
            }
            None => None,
        };
        let is_repaired =
            publication.as_ref().is_none_or(|publication| publication.accepted.has_retransmissions());
        if let Some(Publication { accepted, .. }) = &publication {
            to_others(&mut config, runtime, identity);
            server::limit_to(*accepted, &mut config);
        }
        let control_address =
            if plain { Some(self.plain_rtp(&mut config, &mut sockets, runtime, identity)?) } else { None };
        let has_lanes = config.lanes > 1;
        let socket_count =
            if plain || publication.is_some() || has_lanes || self.listens { 1 } else { self.socket_count };
        for via in self.via.iter().skip(1) {
            sockets.push(self.bind_via(via)?);
        }
        for _ in 1..socket_count {
            let address = SocketAddr::new(sockets[0].local_address()?.ip(), 0);
            sockets.push(bind_at(&self.network, address)?);
        }
        let now = runtime.clock().now();
        let (channel, resource) = match (publication, key.clone()) {
            (Some(Publication { publisher, resource, .. }), _) => {
                (Channel::Server(Box::new(publisher)), Some(resource))
            }
            (None, key) if self.listens => {
                let key = key.unwrap_or(SessionKey::PUBLIC);
                let channel = SenderChannel::listening(now, key, identity.session, identity.seed);
                (Channel::receiver(channel), None)
            }
            (None, None) if plain => (Channel::receiver(SenderChannel::plain_host(*to)), None),
            (None, None) => (Channel::receiver(SenderChannel::plain(*to)), None),
            (None, Some(key)) => {
                let channel = SenderChannel::keyed(*to, key, identity.session, identity.seed);
                (Channel::receiver(channel), None)
            }
        };
        let policy: Box<dyn TargetPolicy> = match &self.policy {
            Some(policy) => policy::build(policy)?,
            None => Box::new(Direct::new()),
        };
        let is_stream = config.streams.len() > usize::from(SOUND.0);
        let has_sound = is_stream || mux.is_some() && self.has_sound();
        // A media server does not request lost sound.
        let is_repaired_sound = resource.is_none() && config.repair.is_some();
        let sound_loss = is_stream.then(|| SoundLoss::new(is_repaired_sound, *latency));
        let session = session::Sender::new(now, config, policy)?;
        let media_clock = Some(session.media_clock(StreamId(0)));
        let room = DataSize::from_bytes(session.payload_limit() as u64);
        // The share of the pictures is what the transport stream leaves them.
        let (overhead, room) =
            if mux.is_some() { (PacketOverhead::NONE, DataSize::MAX) } else { (overhead, room) };
        let SessionQueues { commands, updates } = queues;
        let machine = SenderMachine::new(now, session, channel, control_address, breaker, commands, updates)
            .with_sockets(socket_count)
            .with_sound(sound_loss)
            .with_mux(mux);
        let machine = if has_lanes { machine.with_lanes(self.via.len()) } else { machine };
        let controls = machine.controls();
        runtime.add(machine, sockets)?;
        Ok(Ends { controls, overhead, media_clock, resource, has_sound, room, is_repaired })
    }

    /// Configures plain RTP. Its RTCP has a socket of its own, one port above that of RTP where that is free, and goes to the port
    /// above that of the receiver (RFC 3550 section 11); gives that address.
    fn plain_rtp(
        &self,
        config: &mut SenderConfig,
        sockets: &mut Vec<Socket>,
        runtime: &Runtime,
        identity: Identity,
    ) -> Result<SocketAddr, Error> {
        let next = |address: SocketAddr| {
            let port = address.port().checked_add(1);
            let failure = || io::Error::other(format!("{address} leaves no port for RTCP"));
            port.map(|port| SocketAddr::new(address.ip(), port)).ok_or_else(failure)
        };
        to_others(config, runtime, identity);
        let local = sockets[0].local_address()?;
        let bound = next(local).ok().and_then(|address| self.network.bind(address).ok());
        sockets.push(match bound {
            Some(socket) => socket,
            None => bind_at(&self.network, SocketAddr::new(local.ip(), 0))?,
        });
        Ok(next(self.to)?)
    }

    /// The sound of a transport stream.
    fn muxed_sound(&self) -> Option<SoundFormat> {
        let format = self.copied_sound.as_ref().map_or(SoundFormat::Opus, CodedTrack::format);
        self.has_sound().then_some(format)
    }

    /// Adds the machine of a transport stream.
    pub(super) fn add_transport(
        &self,
        runtime: &mut Runtime,
        socket: Socket,
        carrier: Carrier,
        queues: SessionQueues,
    ) -> Result<Ends, Error> {
        let (limits, latency, mtu) = (self.limits, self.latency, self.mtu);
        let (sound, overhead) = (self.muxed_sound(), overhead(self.to, false));
        let has_sound = sound.is_some();
        let config = TransportConfig { limits, latency, sound, overhead, mtu };
        let sockets = match &carrier {
            Carrier::Udp { to, hops } => {
                self.network.prepare_multicast(&socket, *to, *hops)?;
                vec![socket]
            }
            Carrier::Relay(_) => Vec::new(),
        };
        let machine = TransportMachine::new(runtime.clock().now(), config, carrier, queues);
        let controls = machine.controls();
        runtime.add(machine, sockets)?;
        let overhead = PacketOverhead::NONE;
        let room = DataSize::MAX;
        Ok(Ends { controls, overhead, media_clock: None, resource: None, has_sound, room, is_repaired: true })
    }

    /// Adds the machine of the window transport.
    pub(super) fn add_window(
        &self,
        runtime: &mut Runtime,
        socket: Socket,
        breaker: Option<CircuitBreaker>,
        queues: SessionQueues,
    ) -> Result<Ends, Error> {
        let (now, control, headers) =
            (runtime.clock().now(), self.control.clone()?, overhead(self.to, false));
        let numbers = (headers, Identity::random()?.sequence);
        let policy = match &self.policy {
            Some(policy) => policy::build(policy)?,
            None => Box::new(Pd::new(PdConfig::default())),
        };
        let machine = WindowSenderMachine::new(
            now,
            self.to,
            (&control, policy),
            self.limits,
            numbers,
            breaker,
            queues,
        )?;
        let controls = machine.controls();
        runtime.add(machine, vec![socket])?;
        let overhead = PacketOverhead::NONE;
        Ok(Ends {
            controls,
            overhead,
            media_clock: None,
            resource: None,
            has_sound: false,
            room: DataSize::MAX,
            is_repaired: true,
        })
    }
}

/// The receiver is none of this project.
fn to_others(config: &mut SenderConfig, runtime: &Runtime, identity: Identity) {
    config.feedback = FeedbackFormat::Twcc;
    // Its estimate of the flight needs reports several times in a round trip, and players report once a frame or a second.
    config.pushback = None;
    config.adaptive.iter_mut().for_each(|adaptive| adaptive.fec = false);
    let wall_clock = wall_clock(runtime.clock().now());
    config.plain = Some(PlainReceiver { cname: identity.cname(), wall_clock, unreported: None });
}

/// The time of day at the origin of the session's clock, since 1900.
fn wall_clock(now: Timestamp) -> Duration {
    /// From 1900 to 1970.
    const EPOCH: Duration = Duration::from_secs(2_208_988_800);
    (since_1970() + EPOCH).saturating_sub(Duration::from_nanos(now.as_nanos()))
}

fn config(
    to: SocketAddr,
    identity: Identity,
    is_keyed: bool,
    control: ControlSpec,
    limits: Limits,
    format: Format,
) -> SenderConfig {
    let mut config = SenderConfig::new(identity.session, control, limits, format);
    config.initial_sequence = identity.sequence;
    config.timestamp_offset = identity.timestamp;
    config.overhead = overhead(to, is_keyed);
    config.send_burst_interval = SEND_BURST;
    config
}

/// Octets of a datagram beside those of its RTP packet. Those of SRTCP, four more, are left out of the count.
pub(in crate::live) fn overhead(address: SocketAddr, is_keyed: bool) -> DataSize {
    let headers = if address.is_ipv4() { OVERHEAD_IPV4 } else { OVERHEAD_IPV6 };
    let tag = if is_keyed { Protection::SRTP_OVERHEAD } else { 0 };
    headers + DataSize::from_bytes(tag as u64)
}
