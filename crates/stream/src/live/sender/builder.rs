//! The options of a sender.

use crate::live::browser::BrowserTrack;
use crate::live::external::Pictures;
use crate::live::feed::Feed;
use crate::live::multiplexed::Carrier;
use crate::live::repair::Repair;
use crate::live::server::MediaServer;
use crate::sink::ReferencePicture;
use crate::source::Source;
use seaway_control::{ControlSpec, Registry};
use seaway_media::audio::{AudioSource, CodedTrack};
use seaway_media::encoder::LadderRule;
use seaway_media::input::{CodedInput, PictureSource};
use seaway_net::{SocketOptions, Via, unspecified};
use seaway_session::{Format, Limits, SessionKey, Stripe};
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::net::SocketAddr;
use std::sync::mpsc;

/// Configures a [`Sender`](crate::Sender).
pub struct SenderBuilder {
    pub(super) to: SocketAddr,
    pub(super) bind: SocketAddr,
    /// Receivers call.
    pub(super) listens: bool,
    pub(super) network: SocketOptions,
    pub(super) mtu: Option<DataSize>,
    pub(super) server: Option<MediaServer>,
    pub(super) key: Option<SessionKey>,
    pub(super) insecure: bool,
    pub(super) plain: bool,
    pub(super) transport_stream: bool,
    pub(super) control: Result<ControlSpec, seaway_control::SpecError>,
    pub(super) limits: Limits,
    pub(super) repair: Repair,
    pub(super) latency: TimeDelta,
    pub(super) circuit_breaker: bool,
    pub(super) pushback: bool,
    pub(super) feed: Feed,
    pub(super) sound: Option<Box<dyn AudioSource>>,
    pub(super) copied_sound: Option<CodedTrack>,
    pub(super) sound_delay: TimeDelta,
    pub(super) sizes: LadderRule,
    pub(super) stamp: bool,
    pub(super) key_interval: Option<TimeDelta>,
    pub(super) preview: Option<BrowserTrack>,
    pub(super) references: Option<mpsc::Sender<ReferencePicture>>,
    pub(super) window: bool,
    pub(super) carrier: Option<Carrier>,
    pub(super) policy: Option<ControlSpec>,
    pub(super) format: Format,
    pub(super) stripe: Stripe,
    pub(super) socket_count: usize,
    pub(super) via: Vec<Via>,
}

impl SenderBuilder {
    pub(super) fn new(to: SocketAddr) -> Self {
        let (min, start, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(300), Bitrate::from_mbps(4));
        Self {
            to,
            bind: SocketAddr::new(unspecified(to.is_ipv4()), 0),
            listens: false,
            network: SocketOptions::default(),
            mtu: None,
            server: None,
            key: None,
            insecure: false,
            plain: false,
            transport_stream: false,
            control: Registry::DEFAULT.parse(),
            limits: Limits { min, start, max },
            repair: Repair::default(),
            latency: TimeDelta::from_millis(500),
            circuit_breaker: true,
            pushback: true,
            feed: Feed::Application,
            sound: None,
            copied_sound: None,
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

    /// [Plain](Self::plain) RTP is one MPEG transport stream with the pictures and the sound (RFC 2250 section 2), in place of a
    /// stream of the pictures alone.
    pub fn transport_stream(self, transport_stream: bool) -> Self {
        Self { transport_stream, ..self }
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
    /// [`ReceiverBuilder::window`](crate::ReceiverBuilder::window): the controller is `window`, frames wait in a queue that the
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

    /// How late the receiver shows a frame at most, as [`ReceiverBuilder::latency`](crate::ReceiverBuilder::latency) has
    /// it: the deadline of repair. Above zero; 500 ms by default.
    pub fn latency(self, latency: TimeDelta) -> Self {
        Self { latency, ..self }
    }

    /// Whether the encoder gets less than the controller allows where the network's queue grows (WebRTC's pushback); true by default.
    /// Without it `fixed` is a sender that does not adapt at all. Players of others and media servers report too seldom for it.
    pub fn pushback(self, pushback: bool) -> Self {
        Self { pushback, ..self }
    }

    /// Whether a transmission that the network does not carry is ended ([`CircuitBreaker`](seaway_session::CircuitBreaker)); true by default. An emulated
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
    /// [`Sender::input`](crate::Sender::input).
    pub fn source(self, source: impl Source + 'static) -> Self {
        Self { feed: Feed::Source(Box::new(source)), ..self }
    }

    /// Sends sound with the pictures of [`pictures`](Self::pictures) or [`coded`](Self::coded), as Opus: its first sample is played
    /// when the first picture is shown, and it begins again where the pictures do. It leaves before them, and its rate is taken
    /// out of theirs. Of plain RTP for players of others a [transport stream](Self::transport_stream) alone has it; not over the window transport. A media server may refuse it
    /// ([`SendEvent::SoundRefused`](crate::SendEvent::SoundRefused)).
    pub fn sound(self, sound: impl Into<Option<Box<dyn AudioSource>>>) -> Self {
        Self { sound: sound.into(), ..self }
    }

    /// Sends these frames as they are, in place of the Opus of [`sound`](Self::sound): Opus packets, whatever they last, and AAC, but
    /// not to media servers. Beside AAC the [`sound`](Self::sound) that is given is on the page and measured, and is sent to a receiver that
    /// does not take AAC. Opus whose packets do not fit into a datagram is coded again
    /// ([`SendEvent::SoundCodedAgain`](crate::SendEvent::SoundCodedAgain)).
    pub fn copied_sound(self, track: impl Into<Option<CodedTrack>>) -> Self {
        Self { copied_sound: track.into(), ..self }
    }

    /// Sound that [is live](AudioSource::is_live) is played so much later than it comes: the pictures are coded elsewhere, or come from a
    /// camera that takes longer than the microphone. Zero by default.
    pub fn sound_delay(self, delay: TimeDelta) -> Self {
        Self { sound_delay: delay, ..self }
    }

    /// Whether the receiver is a player of others.
    pub(super) fn is_plain(&self) -> bool {
        self.plain && self.key.is_none() && self.server.is_none()
    }

    /// Whether the receiver gets a transport stream.
    pub(super) fn has_mux(&self) -> bool {
        self.carrier.is_some() || self.transport_stream && self.is_plain()
    }

    /// Whether the sound is live.
    pub(super) fn has_live_sound(&self) -> bool {
        self.sound.as_ref().is_some_and(|sound| sound.is_live())
    }

    /// Whether sound is sent.
    pub(super) fn has_sound(&self) -> bool {
        let has_times = match self.feed {
            Feed::Pictures { .. } | Feed::Coded { .. } => true,
            Feed::External { .. } => self.has_live_sound(),
            Feed::Source(_) | Feed::Application => false,
        };
        let is_understood = !self.is_plain() || self.transport_stream;
        let has_track = self.sound.is_some() || self.copied_sound.is_some();
        has_track && has_times && !self.window && is_understood
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
}
