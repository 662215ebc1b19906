//! A sender with its threads.

use super::browser::BrowserTrack;
use super::capture::Capture;
use super::channel::Channel;
use super::cue::Cue;
use super::event::SendEvent;
use super::external::Pictures;
use super::feed::{Feed, Settings, Shared};
use super::identity::Identity;
use super::input::{FrameInput, SOUND};
use super::multiplexed::{Carrier, TransportConfig, TransportMachine};
use super::repair::Repair;
use super::runtime::{RunningRuntime, Runtime};
use super::sender_machine::{EncoderControls, SenderCommand, SenderMachine, SenderUpdate};
use super::server::{self, MediaServer, Publication};
use super::sound::{self, SoundCapture};
use super::sound_loss::SoundLoss;
use super::stamped::since_1970;
use super::state::SenderState;
use super::supply::SupplyMeter;
use super::window::{SessionQueues, WindowSenderMachine};
use crate::Error;
use crate::sink::ReferencePicture;
use crate::source::{PacketOverhead, Source};
use seaway_control::policy::{self, Direct, Pd, PdConfig, TargetPolicy};
use seaway_control::{ControlSpec, Registry, StreamId};
use seaway_media::audio::{AudioSource, OpusEncoder};
use seaway_media::encoder::LadderRule;
use seaway_media::input::{CodedInput, PictureSource};
use seaway_net::webrtc::WhipResource;
use seaway_net::{Lateness, Socket, SocketOptions, Via};
use seaway_protect::Protection;
use seaway_protect::channel::SenderChannel;
use seaway_session::{
    self as session, CircuitBreaker, FeedbackFormat, Format, Limits, MediaClock, OVERHEAD_IPV4,
    OVERHEAD_IPV6, PlainReceiver, SenderConfig, SessionKey, StreamConfig, StreamDescription, Stripe,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between key frames for a media server that takes no retransmissions: some do not ask for one after a loss either.
const UNREPAIRED_KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);
/// Time to send the RTCP BYE at the end.
pub(super) const GOODBYE: TimeDelta = TimeDelta::from_millis(100);

/// Packets leave together, in one call of the kernel, that are due within twice this time: none leaves half a millisecond
/// before or after it is due, if the media thread is in time.
const SEND_BURST: TimeDelta = TimeDelta::from_micros(450);

/// Above it a packet is no symbol of the code of forward error correction.
const LONGEST_CODED: DataSize = DataSize::from_bytes(1500);

/// Time for the source to give its last picture at the end.
const LAST_PICTURE: TimeDelta = TimeDelta::from_secs(1);

/// A live sender: a capture thread, and the media thread unless it shares one.
pub struct Sender {
    input: FrameInput,
    updates: Receiver<SenderUpdate>,
    state: SenderState,
    capture: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    meter: SupplyMeter,
    runtime: Option<RunningRuntime>,
    /// The session at a media server, and where its end is reported.
    resource: Option<(WhipResource, mpsc::Sender<SenderUpdate>)>,
}

/// Configures a [`Sender`].
pub struct SenderBuilder {
    to: SocketAddr,
    bind: SocketAddr,
    network: SocketOptions,
    mtu: Option<DataSize>,
    server: Option<MediaServer>,
    key: Option<SessionKey>,
    insecure: bool,
    plain: bool,
    control: Result<ControlSpec, seaway_control::SpecError>,
    limits: Limits,
    repair: Repair,
    latency: TimeDelta,
    circuit_breaker: bool,
    pushback: bool,
    feed: Feed,
    sound: Option<Box<dyn AudioSource>>,
    sound_delay: TimeDelta,
    sizes: LadderRule,
    stamp: bool,
    key_interval: Option<TimeDelta>,
    preview: Option<BrowserTrack>,
    references: Option<mpsc::Sender<ReferencePicture>>,
    window: bool,
    carrier: Option<Carrier>,
    policy: Option<ControlSpec>,
    format: Format,
    stripe: Stripe,
    socket_count: usize,
    via: Vec<Via>,
}

impl SenderBuilder {
    fn new(to: SocketAddr) -> Self {
        let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let (min, start, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(300), Bitrate::from_mbps(4));
        Self {
            to,
            bind: SocketAddr::new(any, 0),
            network: SocketOptions::default(),
            mtu: None,
            server: None,
            key: None,
            insecure: false,
            plain: false,
            control: Registry::DEFAULT.parse(),
            limits: Limits { min, start, max },
            repair: Repair::default(),
            latency: TimeDelta::from_millis(500),
            circuit_breaker: true,
            pushback: true,
            feed: Feed::Application,
            sound: None,
            sound_delay: TimeDelta::ZERO,
            sizes: LadderRule::LIVE,
            stamp: false,
            key_interval: None,
            preview: None,
            references: None,
            window: false,
            carrier: None,
            policy: None,
            format: Format::H264,
            stripe: Stripe::default(),
            socket_count: 1,
            via: Vec::new(),
        }
    }

    /// Where packets go; of a media server the address of its URL.
    pub const fn destination(&self) -> SocketAddr {
        self.to
    }

    /// The local address; any by default.
    pub fn bind(self, address: SocketAddr) -> Self {
        Self { bind: address, ..self }
    }

    /// The interface and the codepoint of packets. The one request to a media server goes by the route of the host.
    pub fn network(self, network: SocketOptions) -> Self {
        Self { network, ..self }
    }

    /// The largest packet, as an IP datagram with all its headers: 500 to 9000 octets, 1200 by default. Above 1500, lost packets are
    /// sent again and not coded (forward error correction). Not over the window transport, and the handshake of a media server's
    /// connection has datagrams of up to 1200 octets in any case.
    pub fn mtu(self, mtu: impl Into<Option<DataSize>>) -> Self {
        Self { mtu: mtu.into(), ..self }
    }

    /// The key of the session: packets are protected, and leave once the receiver has shown that it has the key.
    pub fn key(self, key: impl Into<Option<SessionKey>>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Allows plain RTP to another host. Anyone on the path can then see the video and replace it.
    pub fn insecure(self, insecure: bool) -> Self {
        Self { insecure, ..self }
    }

    /// Sends plain RTP to a receiver that is none of this project, such as FFmpeg, GStreamer or VLC: no header extensions of our
    /// own, RTCP to the next port, and the controller runs on the reports that come. Not with a key.
    pub fn plain(self, plain: bool) -> Self {
        Self { plain, ..self }
    }

    /// The rate controller, `seaway` by default.
    pub fn control(self, control: ControlSpec) -> Self {
        Self { control: Ok(control), ..self }
    }

    /// The range of the rate on the wire; 150 kbit/s to 4 Mbit/s by default, from 300 kbit/s.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sends by S002's window transport in place of RTP, to a receiver of
    /// [`ReceiverBuilder::window`](super::ReceiverBuilder::window): the controller is `window`, frames wait in a queue that the
    /// policy steers, and what the receiver requests is sent again. It has no keys.
    pub fn window(self, window: bool) -> Self {
        Self { window, ..self }
    }

    /// What divides the controller's target, or steers the send queue: `direct` by default, and `pd` over the window transport.
    pub fn policy(self, policy: impl Into<Option<ControlSpec>>) -> Self {
        Self { policy: policy.into(), ..self }
    }

    /// What is kept together on one subflow of a controller that has several.
    pub fn stripe(self, stripe: Stripe) -> Self {
        Self { stripe, ..self }
    }

    /// Each subflow leaves by a socket of its own, up to eight: the network sees separate flows (S003). Not with plain
    /// RTP for players of others.
    pub fn sockets(self, own: bool) -> Self {
        /// More subflows share them.
        const MOST: usize = 8;
        Self { socket_count: if own { MOST } else { 1 }, ..self }
    }

    /// Sends by these interfaces of the host. Several are lanes of a bonded session, up to [`MOST_LANES`](seaway_control::MOST_LANES):
    /// each has a controller of its own, and a packet leaves by the one on which it is expected to arrive first. The window transport
    /// has one. Players of others and media servers get their packets by the route of the host.
    pub fn via(self, via: Vec<Via>) -> Self {
        Self { via, ..self }
    }

    /// The format of the frames of a source or of the application; H.264 by default.
    pub fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// How lost packets are repaired; adaptive by default.
    pub fn repair(self, repair: Repair) -> Self {
        Self { repair, ..self }
    }

    /// How late the receiver shows a frame at most, as [`ReceiverBuilder::latency`](super::ReceiverBuilder::latency) has
    /// it: the deadline of repair. Above zero; 500 ms by default.
    pub fn latency(self, latency: TimeDelta) -> Self {
        Self { latency, ..self }
    }

    /// Whether the encoder gets less than the controller allows where the network's queue grows (WebRTC's pushback); true by default.
    /// Without it `fixed` is a sender that does not adapt at all. Players of others and media servers report too seldom for it.
    pub fn pushback(self, pushback: bool) -> Self {
        Self { pushback, ..self }
    }

    /// Whether a transmission that the network does not carry is ended ([`CircuitBreaker`]); true by default. An emulated
    /// network of one's own needs none.
    pub fn circuit_breaker(self, circuit_breaker: bool) -> Self {
        Self { circuit_breaker, ..self }
    }

    /// Sends the pictures of `input`, coded live; with `repeat` from the beginning again at its end.
    pub fn pictures(self, input: Box<dyn PictureSource>, repeat: bool) -> Self {
        Self { feed: Feed::Pictures { input, repeat }, ..self }
    }

    /// How the size of the pictures follows the rate where they are coded live; [`LadderRule::LIVE`] by default.
    pub fn sizes(self, sizes: LadderRule) -> Self {
        Self { sizes, ..self }
    }

    /// Writes a stamp into the corner of each picture that is coded live ([`Stamp`](seaway_media::stamp::Stamp)): a receiver reads
    /// from it how long the picture took from glass to glass. False by default.
    pub fn stamp(self, stamp: bool) -> Self {
        Self { stamp, ..self }
    }

    /// Sends the coded pictures of `input` as they are; with `repeat` from the beginning again at its end. Where the controller
    /// allows less than they have, whole pictures are left out ([`Thinning`](crate::source::Thinning)).
    pub fn coded(self, input: CodedInput, repeat: bool) -> Self {
        Self { feed: Feed::Coded { input, repeat }, ..self }
    }

    /// Sends the coded video of another program, run by the shell as `command`
    /// ([`ExternalEncoder`](seaway_media::encoder::ExternalEncoder)). It codes the pictures of an input, with true from the beginning
    /// again at its end, or those of a camera of its own.
    pub fn external_encoder(self, command: String, pictures: Option<(Box<dyn PictureSource>, bool)>) -> Self {
        let pictures = pictures.map(|(input, repeat)| Pictures { input, repeat });
        Self { feed: Feed::External { command, pictures }, ..self }
    }

    /// Sends the frames of `source`. With neither source nor pictures, the application passes frames to
    /// [`Sender::input`].
    pub fn source(self, source: impl Source + 'static) -> Self {
        Self { feed: Feed::Source(Box::new(source)), ..self }
    }

    /// Sends sound with the pictures of [`pictures`](Self::pictures) or [`coded`](Self::coded), as Opus: its first sample is played
    /// when the first picture is shown, and it begins again where the pictures do. It leaves before them, and its rate is taken
    /// out of theirs. Not with plain RTP for players of others, nor over the window transport. A media server may refuse it
    /// ([`SendEvent::SoundRefused`]).
    pub fn sound(self, sound: impl Into<Option<Box<dyn AudioSource>>>) -> Self {
        Self { sound: sound.into(), ..self }
    }

    /// Sound that [is live](AudioSource::is_live) is played so much later than it comes: the pictures are coded elsewhere, or come from a
    /// camera that takes longer than the microphone. Zero by default.
    pub fn sound_delay(self, delay: TimeDelta) -> Self {
        Self { sound_delay: delay, ..self }
    }

    /// Whether the sound is live.
    fn has_live_sound(&self) -> bool {
        self.sound.as_ref().is_some_and(|sound| sound.is_live())
    }

    /// Whether sound is sent.
    fn has_sound(&self) -> bool {
        let has_times = match self.feed {
            Feed::Pictures { .. } | Feed::Coded { .. } => true,
            Feed::External { .. } => self.has_live_sound(),
            Feed::Source(_) | Feed::Application => false,
        };
        let is_understood = self.server.is_some() || !self.plain || self.key.is_some();
        self.sound.is_some() && has_times && !self.window && is_understood
    }

    /// Sends a key frame this often without request, for players that cannot request one. For a media server that takes no
    /// retransmissions it is two seconds where none is given.
    pub fn key_interval(self, interval: impl Into<Option<TimeDelta>>) -> Self {
        Self { key_interval: interval.into(), ..self }
    }

    /// Shows what is sent in browsers.
    pub fn preview(self, track: impl Into<Option<BrowserTrack>>) -> Self {
        Self { preview: track.into(), ..self }
    }

    /// Sends the pictures before coding to a receiver in this process, which scores against them.
    pub fn references(self, references: mpsc::Sender<ReferencePicture>) -> Self {
        Self { references: Some(references), ..self }
    }

    /// Starts the sender with a media thread of its own.
    ///
    /// # Errors
    /// The receiver is on another host and there is no key, the controller does not exist, the local address cannot be used, or a thread or the encoder cannot be set up.
    pub fn start(self) -> Result<Sender, Error> {
        let mut runtime = Runtime::new()?;
        let mut sender = self.start_on(&mut runtime)?;
        sender.runtime = Some(runtime.start()?);
        Ok(sender)
    }

    /// Starts the capture thread; packets leave once `runtime` is started.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_on(mut self, runtime: &mut Runtime) -> Result<Sender, Error> {
        self.check()?;
        let is_loopback = self.is_loopback();
        let bind = match &self.server {
            Some(server) => server.local_address(self.to, self.bind, self.network.interface.as_ref())?,
            None => self.bind,
        };
        let socket = match self.via.first() {
            Some(via) => self.bind_via(via)?,
            None => bind_at(&self.network, bind)?,
        };
        let breaker = self.circuit_breaker.then(|| CircuitBreaker::new(!is_loopback));
        let (commands, queue) = mpsc::channel();
        let (send_updates, updates) = mpsc::channel();
        let queues = SessionQueues { commands: queue, updates: send_updates.clone() };
        let control = self.control.clone()?;
        let ends = match self.carrier.take() {
            Some(carrier) => self.add_transport(runtime, socket, carrier, queues)?,
            None if self.window => self.add_window(runtime, socket, breaker, queues)?,
            None => self.add_rtp(runtime, socket, breaker, queues)?,
        };
        let Ends { controls, overhead, media_clock, resource, has_sound, is_repaired } = ends;
        let resource = resource.map(|resource| (resource, send_updates.clone()));
        let unrepaired = (!is_repaired).then_some(UNREPAIRED_KEY_INTERVAL);
        if self.has_sound() && !has_sound {
            // The receiver of updates is here.
            let _ = send_updates.send(SenderUpdate::Event(runtime.clock().now(), SendEvent::SoundRefused));
        }
        let is_live = self.has_live_sound();
        let delay = self.sound_delay;
        let Self { feed, limits, sizes, stamp, latency, key_interval, preview, references, sound, .. } = self;
        let key_interval = key_interval.or(unrepaired);
        let cue = Cue::default();
        let (clock, waker, stop) = (runtime.clock(), runtime.waker(), Arc::new(AtomicBool::new(false)));
        let input = FrameInput { clock, waker, commands, controls, overhead };
        let references = references.zip(media_clock);
        let meter = SupplyMeter::default();
        let has_times = matches!(feed, Feed::Coded { .. });
        let settings = Settings { start: limits.start, overhead, sizes, stamp, latency };
        let shared = Shared { clock, meter: meter.clone(), stop: stop.clone(), cue: cue.clone() };
        let source = feed.open(&settings, &shared)?;
        if let Some(source) = sound.filter(|_| has_sound) {
            let (encoder, input) = (OpusEncoder::new(sound::RATE)?, input.clone());
            let (cue, stop, updates) = (cue.clone(), stop.clone(), send_updates.clone());
            let preview = preview.clone();
            SoundCapture { source, encoder, delay, input, cue, stop, preview, updates }.start()?;
        }
        let capture = source.map(|source| Capture {
            source,
            input: input.clone(),
            key_interval,
            preview,
            references,
            full_rate: None,
            updates: send_updates,
            stop: stop.clone(),
            meter: meter.clone(),
            cue,
            has_times,
            // Live sound has the time at which it comes, and so have the pictures.
            has_sound: has_sound && !is_live,
            last: Timestamp::ZERO,
            encoding: Default::default(),
        });
        let (capture, state) = (capture.map(Capture::start).transpose()?, SenderState::new(control));
        Ok(Sender { input, updates, state, capture, stop, meter, runtime: None, resource })
    }

    fn bind_via(&self, via: &Via) -> Result<Socket, Error> {
        self.network.bind_via(via, self.to.is_ipv4()).map_err(|error| Error::Via { via: via.clone(), error })
    }

    fn is_loopback(&self) -> bool {
        self.to.ip().to_canonical().is_loopback()
    }

    fn has_subflows(&self) -> bool {
        let requirements = self.control.as_ref().map(|control| Registry::builtin().requirements(control));
        requirements.is_ok_and(|requirements| requirements.is_ok_and(|requirements| requirements.subflows))
    }

    /// Whether the session is protected as its user wants it, and possible.
    fn check(&self) -> Result<(), Error> {
        let is_exposed = !self.insecure && !self.is_loopback();
        match &self.server {
            Some(_)
                if self.window
                    || self.format != Format::H264
                    || self.key.is_some()
                    || self.has_subflows() =>
            {
                Err(Error::NotForServer)
            }
            Some(server) if is_exposed && !server.url.is_secure() => Err(Error::PlainHttp(self.to)),
            // Another program has its own protection.
            None if matches!(self.carrier, Some(Carrier::Relay(_))) => Ok(()),
            None if self.carrier.is_some() && self.key.is_some() => Err(Error::NoKeys),
            None if is_exposed && self.key.is_none() => Err(Error::Unprotected(self.to)),
            None if self.window && self.key.is_some() => Err(Error::NoKeys),
            _ if !self.via.is_empty() && (self.plain || self.server.is_some()) => Err(Error::NoLanes),
            _ if self.via.len() > 1 && self.window => Err(Error::NoLanes),
            _ => Ok(()),
        }
    }

    /// Adds the machine of an RTP session.
    fn add_rtp(
        &self,
        runtime: &mut Runtime,
        socket: Socket,
        breaker: Option<CircuitBreaker>,
        queues: SessionQueues,
    ) -> Result<Ends, Error> {
        let Self { to, key, limits, latency, .. } = self;
        let plain = self.plain && key.is_none() && self.server.is_none();
        let identity = Identity::random()?;
        let is_protected = key.is_some() || self.server.is_some();
        let mut config =
            config(*to, identity, is_protected, self.control.clone()?, *limits, self.format).within(*latency);
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
        if self.has_sound() {
            let rate = sound::wire_rate(overhead.headers);
            config.streams.push(StreamConfig::audio(StreamDescription::opus(), rate));
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
        let socket_count = if plain || publication.is_some() || has_lanes { 1 } else { self.socket_count };
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
        let has_sound = config.streams.len() > usize::from(SOUND.0);
        // A media server does not request lost sound.
        let is_repaired_sound = resource.is_none() && config.repair.is_some();
        let sound_loss = has_sound.then(|| SoundLoss::new(is_repaired_sound, *latency));
        let session = session::Sender::new(now, config, policy)?;
        let media_clock = Some(session.media_clock(StreamId(0)));
        let SessionQueues { commands, updates } = queues;
        let machine = SenderMachine::new(now, session, channel, control_address, breaker, commands, updates)
            .with_sockets(socket_count)
            .with_sound(sound_loss);
        let machine = if has_lanes { machine.with_lanes(self.via.len()) } else { machine };
        let controls = machine.controls();
        runtime.add(machine, sockets)?;
        Ok(Ends { controls, overhead, media_clock, resource, has_sound, is_repaired })
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

    /// Adds the machine of a transport stream.
    fn add_transport(
        &self,
        runtime: &mut Runtime,
        socket: Socket,
        carrier: Carrier,
        queues: SessionQueues,
    ) -> Result<Ends, Error> {
        let has_sound = self.has_sound();
        let (limits, latency, mtu) = (self.limits, self.latency, self.mtu);
        let config = TransportConfig { limits, latency, has_sound, overhead: overhead(self.to, false), mtu };
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
        Ok(Ends { controls, overhead, media_clock: None, resource: None, has_sound, is_repaired: true })
    }

    /// Adds the machine of the window transport.
    fn add_window(
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
            is_repaired: true,
        })
    }
}

/// A socket of a session at `address`.
pub(super) fn bind_at(network: &SocketOptions, address: SocketAddr) -> Result<Socket, Error> {
    network.bind(address).map_err(|error| match &network.interface {
        Some(via) => Error::Via { via: via.clone(), error },
        None => Error::Bind { address, error },
    })
}

/// What the capture thread needs of a machine.
struct Ends {
    controls: Arc<EncoderControls>,
    overhead: PacketOverhead,
    media_clock: Option<MediaClock>,
    resource: Option<WhipResource>,
    has_sound: bool,
    /// Lost packets can be sent again, or are no matter of the receiver.
    is_repaired: bool,
}

/// The receiver is none of this project.
fn to_others(config: &mut SenderConfig, runtime: &Runtime, identity: Identity) {
    config.feedback = FeedbackFormat::Twcc;
    // Its estimate of the flight needs reports several times in a round trip, and players report once a frame or a second.
    config.pushback = None;
    config.adaptive.iter_mut().for_each(|adaptive| adaptive.fec = false);
    let wall_clock = wall_clock(runtime.clock().now());
    config.plain = Some(PlainReceiver { cname: identity.cname(), wall_clock });
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
pub(super) fn overhead(address: SocketAddr, is_keyed: bool) -> DataSize {
    let headers = if address.is_ipv4() { OVERHEAD_IPV4 } else { OVERHEAD_IPV6 };
    let tag = if is_keyed { Protection::SRTP_OVERHEAD } else { 0 };
    headers + DataSize::from_bytes(tag as u64)
}

impl Sender {
    /// Configures a sender to `to`.
    pub fn builder(to: SocketAddr) -> SenderBuilder {
        SenderBuilder::new(to)
    }

    /// Configures a sender that publishes at a media server by WHIP (RFC 9725): H.264 over ICE, DTLS and SRTP. It begins with one
    /// request to the server, for ten seconds at most, and the server has ten more to connect.
    ///
    /// # Errors
    /// The server's name has no address.
    pub fn to_server(server: MediaServer) -> Result<SenderBuilder, Error> {
        let to = server.resolve()?;
        Ok(SenderBuilder { server: Some(server), ..SenderBuilder::new(to) })
    }

    /// Configures a sender of an MPEG transport stream, of H.264 and Opus, to receivers of others: without keys, reports or repair, at
    /// the largest rate that is allowed. Pictures and sound have the time stamps of their capture, later by the latency.
    pub fn to_transport(carrier: Carrier) -> SenderBuilder {
        let to = match &carrier {
            Carrier::Udp { to, .. } => *to,
            Carrier::Relay(_) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
        };
        SenderBuilder { carrier: Some(carrier), ..SenderBuilder::new(to) }
    }

    /// The present instant of the session's clock.
    pub fn now(&self) -> Timestamp {
        self.input.now()
    }

    /// The state, to take recent means from.
    pub const fn state_mut(&mut self) -> &mut SenderState {
        &mut self.state
    }

    /// Takes frames of an application's own encoder.
    pub fn input(&self) -> FrameInput {
        self.input.clone()
    }

    /// What is known of the session, as of the last event that was taken.
    pub const fn state(&self) -> &SenderState {
        &self.state
    }

    /// Updates the state; returns the next event, if there is one.
    pub fn poll_event(&mut self) -> Option<(Timestamp, SendEvent)> {
        self.next_event(Duration::ZERO)
    }

    /// Updates the state; returns the next event within `timeout`.
    pub fn next_event(&mut self, timeout: Duration) -> Option<(Timestamp, SendEvent)> {
        let end = self.now() + TimeDelta::from_nanos(timeout.as_nanos() as i64);
        loop {
            let left = Duration::from_nanos(end.since(self.now()).as_nanos().max(0) as u64);
            match self.updates.recv_timeout(left) {
                Ok(SenderUpdate::Snapshot(snapshot)) => {
                    self.state.supply = self.meter.read(self.now());
                    self.state.on_snapshot(snapshot);
                }
                Ok(SenderUpdate::Source(status)) => self.state.on_source(status),
                Ok(SenderUpdate::SoundLevel(level)) => self.state.sound_level = level,
                Ok(SenderUpdate::Event(at, event)) => {
                    if let SendEvent::ControlChanged(control) = &event {
                        self.state.control = control.clone();
                    }
                    return Some((at, event));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Changes the range of the rate.
    pub fn set_limits(&self, limits: Limits) {
        self.input.command(SenderCommand::Limits(limits));
    }

    /// Changes how late the receiver shows a frame at most. What is coded already is thinned as before.
    pub fn set_latency(&self, latency: TimeDelta) {
        self.input.command(SenderCommand::Latency(latency));
    }

    /// Changes the controller; [`SendEvent::ControlChanged`] or [`SendEvent::ControlRejected`] follows.
    pub fn set_control(&self, control: ControlSpec) {
        self.input.command(SenderCommand::Control(control));
    }

    /// Pauses or resumes the source: silence is not taken for a lack of data.
    pub fn set_paused(&self, paused: bool) {
        self.input.command(SenderCommand::Paused(paused));
    }

    /// The network path changed: the controller starts again.
    pub fn on_route_changed(&self) {
        self.input.command(SenderCommand::RouteChanged);
    }

    /// Ends the session: the receiver gets an RTCP BYE, the threads end. State and events remain. Returns how late the
    /// media thread ran; `None` if it is shared. A capture thread whose source gives no picture for a second, such as a silent
    /// pipe, is left to end with its next picture.
    ///
    /// # Errors
    /// A thread failed.
    pub fn close(&mut self) -> Result<Option<Lateness>, Error> {
        self.stop.store(true, Ordering::Relaxed);
        self.state.supply = self.meter.read(self.now());
        self.meter.on_end(self.now());
        if self.input.command(SenderCommand::Close) {
            self.input.clock.sleep_until(self.now() + GOODBYE);
        }
        if let Some((resource, updates)) = self.resource.take() {
            if let Err(error) = resource.delete() {
                let _ = updates.send(SenderUpdate::Event(self.now(), SendEvent::NotDeleted(error)));
            }
            self.input.command(SenderCommand::CloseChannel);
            self.input.clock.sleep_until(self.now() + GOODBYE);
        }
        let lateness = self.runtime.take().map(RunningRuntime::close).transpose()?;
        self.join_capture()?;
        Ok(lateness)
    }

    fn join_capture(&mut self) -> Result<(), Error> {
        let Some(thread) = self.capture.take() else { return Ok(()) };
        let end = self.now() + LAST_PICTURE;
        while !thread.is_finished() && self.now() < end {
            self.input.clock.sleep_until(self.now() + TimeDelta::from_millis(5));
        }
        if thread.is_finished() { thread.join().map_err(|_| Error::Thread("capture")) } else { Ok(()) }
    }
}
