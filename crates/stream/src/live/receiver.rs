//! A receiver with its threads.

use super::browser::BrowserTrack;
use super::event::ReceiveEvent;
use super::identity::Identity;
use super::plain_reception::{PlainReception, PlainSocket};
use super::playback::{PlaybackUpdate, Player, RelativeDelay};
use super::playout::PlayoutMode;
use super::receiver_machine::{Access, ReceiverCommand, ReceiverMachine, ReceiverUpdate};
use super::runtime::{RunningRuntime, Runtime};
use super::sender::{GOODBYE, bind_at, overhead};
use super::server::{MediaServer, Subscription};
use super::state::ReceiverState;
use super::transcoded::TranscodedTrack;
use super::window::WindowReceiverMachine;
use crate::Error;
use crate::sink::{ReferencePicture, Screen, Sink};
use seaway_media::decoder::{HeaderDecoder, MpegDecoder, VideoDecoder};
use seaway_net::webrtc::{ServerState, WhipResource};
use seaway_net::{Clock, Lateness, Socket, SocketOptions, Waker, unspecified};
use seaway_protect::channel::ReceiverChannel;
use seaway_quality::freeze::FreezeDetector;
use seaway_quality::stale::StaleDetector;
use seaway_session::{self as session, ByteBufferConfig, PlainRtp, Playout, ReceiverConfig, SessionKey};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A live receiver: a playback thread, and the media thread unless it shares one.
pub struct Receiver {
    clock: Clock,
    waker: Waker,
    local: SocketAddr,
    commands: mpsc::Sender<ReceiverCommand>,
    updates: mpsc::Receiver<PlaybackUpdate>,
    state: ReceiverState,
    playback: Option<JoinHandle<Result<(), Error>>>,
    runtime: Option<RunningRuntime>,
    /// The session at a media server, and where its end is reported.
    resource: Option<(WhipResource, mpsc::Sender<PlaybackUpdate>)>,
}

/// Configures a [`Receiver`].
pub struct ReceiverBuilder {
    bind: SocketAddr,
    /// The media server that is asked, and the address of its URL.
    server: Option<(MediaServer, SocketAddr)>,
    /// The sender that is called.
    call: Option<SocketAddr>,
    network: SocketOptions,
    mtu: Option<DataSize>,
    key: Option<SessionKey>,
    insecure: bool,
    latency: TimeDelta,
    playout: PlayoutMode,
    buffer: Option<ByteBufferConfig>,
    plain: Option<PlainRtp>,
    window: bool,
    decoding: Decoding,
    references: Option<mpsc::Receiver<ReferencePicture>>,
    reads_stamps: bool,
    stale_after: Option<TimeDelta>,
    sinks: Vec<Box<dyn Sink>>,
    browser: Option<BrowserTrack>,
    takes_aac: bool,
}

enum Decoding {
    /// By the sinks, if at all.
    None,
    /// If a sink looks at pictures.
    Here,
    By(Box<dyn VideoDecoder>),
}

impl ReceiverBuilder {
    /// The interface by which packets come and reports leave, and the codepoint of reports.
    pub fn network(self, network: SocketOptions) -> Self {
        Self { network, ..self }
    }

    /// The largest report, as an IP datagram with all its headers: 500 octets or more. Those of the window transport are small.
    pub fn mtu(self, mtu: impl Into<Option<DataSize>>) -> Self {
        Self { mtu: mtu.into(), ..self }
    }

    /// The key of the session: only who has it can send.
    pub fn key(self, key: impl Into<Option<SessionKey>>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Allows plain RTP from other hosts. Anyone who reaches the port can then send.
    pub fn insecure(self, insecure: bool) -> Self {
        Self { insecure, ..self }
    }

    /// How long after the least delay of the path a frame may be shown, which is also the deadline of repair; 500 ms by
    /// default.
    pub fn latency(self, latency: TimeDelta) -> Self {
        Self { latency, ..self }
    }

    /// When whole frames are shown; at once by default.
    pub fn playout(self, playout: PlayoutMode) -> Self {
        Self { playout, ..self }
    }

    /// The client's buffer of S000: a model of what a player holds that takes octets at a constant rate. Its level is reported to
    /// the sender. Frames are shown as they become whole.
    pub fn buffer(self, buffer: impl Into<Option<ByteBufferConfig>>) -> Self {
        Self { buffer: buffer.into(), ..self }
    }

    /// Receives plain RTP too, such as FFmpeg and GStreamer send it, where there is no key. RTCP may come to the next port; where
    /// that is taken, it is received on the port of RTP alone. Sound comes to the port that its description names.
    pub fn plain(self, plain: impl Into<Option<PlainRtp>>) -> Self {
        Self { plain: plain.into(), ..self }
    }

    /// Receives by S002's window transport in place of RTP, from a sender of
    /// [`SenderBuilder::window`](super::SenderBuilder::window): each frame is shown at the latency after the first packet, and a
    /// lost packet is requested again where it can come by then. The frames are those of a coded MPEG stream.
    pub fn window(self, window: bool) -> Self {
        Self { window, ..self }
    }

    /// Adds a sink.
    pub fn sink(self, sink: impl Sink + 'static) -> Self {
        self.boxed_sink(Box::new(sink))
    }

    /// Adds a sink of a type that is known while it runs.
    pub fn boxed_sink(mut self, sink: Box<dyn Sink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Takes AAC where a sender of [`SenderBuilder`](super::SenderBuilder) has it, in place of Opus: the sinks get it
    /// ([`Played`](crate::sink::Played)), and its level is not measured. Browsers take Opus alone, so with [`browser`](Self::browser) AAC is not
    /// taken. False by default.
    pub fn takes_aac(self, takes_aac: bool) -> Self {
        Self { takes_aac, ..self }
    }

    /// Shows what is received in browsers.
    pub fn browser(self, track: impl Into<Option<BrowserTrack>>) -> Self {
        Self { browser: track.into(), ..self }
    }

    /// Gives frames to the sinks as they are received, for an application's own decoder. It requests key frames by
    /// [`Receiver::request_key_frame`].
    pub fn without_decoder(self) -> Self {
        Self { decoding: Decoding::None, ..self }
    }

    /// Decodes by `decoder` in place of the one in this process.
    pub fn decoder(self, decoder: impl VideoDecoder + 'static) -> Self {
        Self { decoding: Decoding::By(Box::new(decoder)), ..self }
    }

    /// Scores what is displayed against the pictures of a sender in this process.
    pub fn references(self, references: mpsc::Receiver<ReferencePicture>) -> Self {
        Self { references: Some(references), ..self }
    }

    /// Whether stamps in pictures are read ([`SenderBuilder::stamp`](super::SenderBuilder::stamp)), for which pictures are decoded. The
    /// clocks of both hosts agree: they are one, or follow NTP. False by default.
    pub fn stamps(self, reads_stamps: bool) -> Self {
        Self { reads_stamps, ..self }
    }

    /// Reports by [`ReceiveEvent::Stale`] that the picture on the screen was captured this long ago, and by [`ReceiveEvent::Fresh`] that
    /// a younger one is there. Without stamps its age is counted from the least delay of the path and half a round trip.
    pub fn stale_after(self, bound: impl Into<Option<TimeDelta>>) -> Self {
        Self { stale_after: bound.into(), ..self }
    }

    /// Starts the receiver with a media thread of its own.
    ///
    /// # Errors
    /// Other hosts can reach the local address and there is no key, the address cannot be used, or a thread or the decoder cannot be set up.
    pub fn start(self) -> Result<Receiver, Error> {
        let mut runtime = Runtime::new()?;
        let mut receiver = self.start_on(&mut runtime)?;
        receiver.runtime = Some(runtime.start()?);
        Ok(receiver)
    }

    /// Starts the playback thread; packets arrive once `runtime` is started.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_on(self, runtime: &mut Runtime) -> Result<Receiver, Error> {
        self.check()?;
        let bind = match &self.server {
            Some((server, to)) => server.local_address(*to, self.bind, self.network.interface.as_ref())?,
            None => self.bind,
        };
        let socket = bind_at(&self.network, bind)?;
        let local = socket.local_address()?;
        let (clock, waker) = (runtime.clock(), runtime.waker());
        let (commands, queue) = channel();
        let (received, frames) = channel();
        let (send_updates, updates) = channel();
        let resource = if self.window {
            let headers = overhead(bind, false);
            let machine = WindowReceiverMachine::new(clock.now(), self.latency, headers, queue, received);
            runtime.add(machine, vec![socket])?;
            None
        } else {
            self.add_rtp(runtime, socket, queue, received)?
        };
        let resource = resource.map(|resource| (resource, send_updates.clone()));
        let takes_aac = self.gets_aac();
        let Self {
            window, decoding, references, reads_stamps, stale_after, mut sinks, browser, latency, ..
        } = self;
        let has_page = browser.is_some();
        if let Some(track) = browser {
            sinks.push(Box::new(TranscodedTrack::new(track, !window)));
        }
        let is_seen = references.is_some() || reads_stamps || sinks.iter().any(|sink| sink.needs_pictures());
        let player = Player {
            clock,
            frames,
            commands: commands.clone(),
            waker: waker.clone(),
            screen: decoding.screen(window, is_seen)?,
            references,
            sinks,
            gives_all: window,
            updates: send_updates,
            freezes: FreezeDetector::default(),
            stale: stale_after.map(StaleDetector::new),
            reads_stamps,
            delay: RelativeDelay::default(),
            is_watched: has_page || is_seen,
            sound: None,
            latency,
            takes_aac,
            programme: None,
            programme_losses: 0,
            given: clock.now(),
        };
        let mut state = ReceiverState::default();
        state.stale = stale_after.map(|_| 0);
        let playback = Some(player.start()?);
        Ok(Receiver { clock, waker, local, commands, updates, state, playback, runtime: None, resource })
    }

    /// Whether the session is protected as its user wants it, and possible.
    fn check(&self) -> Result<(), Error> {
        let is_exposed = |address: SocketAddr| !self.insecure && !address.ip().to_canonical().is_loopback();
        match &self.server {
            Some(_) if self.window || self.key.is_some() => Err(Error::NotForServer),
            Some((server, to)) if is_exposed(*to) && !server.url.is_secure() => Err(Error::PlainHttp(*to)),
            None if self.call.is_some() && self.window => Err(Error::NotByCall),
            None if self.key.is_none() && is_exposed(self.other_end()) => {
                Err(Error::Unprotected(self.other_end()))
            }
            None if self.window && self.key.is_some() => Err(Error::NoKeys),
            _ => Ok(()),
        }
    }

    /// Browsers take Opus alone.
    fn gets_aac(&self) -> bool {
        self.takes_aac && self.browser.is_none()
    }

    /// Where the sender is, or where it sends to.
    fn other_end(&self) -> SocketAddr {
        self.call.unwrap_or(self.bind)
    }

    /// Adds the machine of an RTP session; gives the session at a media server.
    fn add_rtp(
        &self,
        runtime: &mut Runtime,
        mut socket: Socket,
        commands: mpsc::Receiver<ReceiverCommand>,
        updates: mpsc::Sender<ReceiverUpdate>,
    ) -> Result<Option<WhipResource>, Error> {
        let Self { bind, key, latency, playout, .. } = self;
        let subscription = match &self.server {
            Some((server, _)) => Some(server.subscribe(runtime.clock(), &mut socket)?),
            None => None,
        };
        let plain = match &subscription {
            Some(subscription) => Some(subscription.media.clone()),
            None => self.plain.clone().filter(|_| key.is_none() && self.call.is_none()),
        };
        let (now, local) = (runtime.clock().now(), socket.local_address()?);
        let identity = Identity::random()?;
        let is_protected = key.is_some() || subscription.is_some() || self.call.is_some();
        let mut config = config(*bind, identity, is_protected, *latency);
        config.playout = self.buffer.map_or(playout.within(*latency), Playout::Bytes);
        config.plain = plain.clone();
        config.takes_aac = self.gets_aac();
        config.cname = identity.cname();
        config.packet = self.mtu.unwrap_or(config.packet);
        let (ssrc, lock) = (config.ssrc, config.lock);
        let (access, resource) = match (subscription, key.clone()) {
            (Some(Subscription { subscriber, resource, .. }), _) => {
                (Access::Server(Box::new(subscriber), ServerState::Connecting), Some(resource))
            }
            (None, key) if self.call.is_some() => {
                let (to, key) = (self.other_end(), key.unwrap_or(SessionKey::PUBLIC));
                (Access::Keyed(Box::new(ReceiverChannel::calling(to, key, ssrc, identity.seed))), None)
            }
            (None, None) => (Access::Open { peer: None, lock }, None),
            (None, Some(key)) => {
                (Access::Keyed(Box::new(ReceiverChannel::new(now, key, ssrc, identity.seed))), None)
            }
        };
        let session = session::Receiver::new(now, config);
        let mut sockets = vec![(PlainSocket::Media, socket)];
        let plain = match plain {
            Some(plain) if resource.is_none() => Some(self.bind_beside(local, &plain, &mut sockets)?),
            plain => plain.as_ref().map(reception),
        };
        let machine = ReceiverMachine::new(now, session, access, plain, commands, updates);
        runtime.add(machine, sockets.into_iter().map(|(_, socket)| socket).collect())?;
        Ok(resource)
    }

    /// Adds the sockets of plain RTP beside that of the video at `local`.
    fn bind_beside(
        &self,
        local: SocketAddr,
        plain: &PlainRtp,
        sockets: &mut Vec<(PlainSocket, Socket)>,
    ) -> Result<PlainReception, Error> {
        let sound = plain.sound.as_ref().and_then(|sound| sound.port);
        if let Some(port) = sound {
            let address = SocketAddr::new(local.ip(), port);
            sockets.push((PlainSocket::Sound, bind_at(&self.network, address)?));
            let control = control_socket(&self.network, address);
            sockets.extend(control.map(|socket| (PlainSocket::SoundControl, socket)));
        }
        let control = control_socket(&self.network, local);
        sockets.extend(control.map(|socket| (PlainSocket::Control, socket)));
        let kinds = sockets.iter().map(|(kind, _)| *kind).collect();
        Ok(PlainReception { sockets: kinds, ..reception(plain) })
    }
}

impl Decoding {
    fn screen(self, is_mpeg: bool, is_seen: bool) -> Result<Option<Screen>, Error> {
        Ok(match self {
            Self::None => None,
            _ if is_mpeg => Some(Screen::with_decoder(Box::new(MpegDecoder::new()))),
            Self::Here if !is_seen => Some(Screen::with_decoder(Box::new(HeaderDecoder::new()))),
            Self::Here => Some(Screen::new()?),
            Self::By(decoder) => Some(Screen::with_decoder(decoder)),
        })
    }
}

/// What is known beforehand of a sender of plain RTP.
fn reception(plain: &PlainRtp) -> PlainReception {
    let sound = plain.sound.as_ref().filter(|sound| sound.port.is_some());
    PlainReception {
        transport_id: plain.video.as_ref().and_then(|video| video.transport_id),
        sound: sound.map(|sound| sound.payload_type),
        ..PlainReception::default()
    }
}

fn config(bind: SocketAddr, identity: Identity, is_keyed: bool, latency: TimeDelta) -> ReceiverConfig {
    let mut config = ReceiverConfig::new(identity.session);
    config.overhead = overhead(bind, is_keyed);
    config.repair.iter_mut().for_each(|repair| repair.deadline = latency);
    config
}

/// The port after that of RTP, where it is free (RFC 3550 section 11).
fn control_socket(network: &SocketOptions, rtp: SocketAddr) -> Option<Socket> {
    let port = rtp.port().checked_add(1)?;
    network.bind(SocketAddr::new(rtp.ip(), port)).ok()
}

impl Receiver {
    /// Configures a receiver at the local address `bind`; port 0 takes a free one.
    pub fn builder(bind: SocketAddr) -> ReceiverBuilder {
        let latency = TimeDelta::from_millis(500);
        ReceiverBuilder {
            bind,
            server: None,
            call: None,
            network: SocketOptions::default(),
            mtu: None,
            key: None,
            insecure: false,
            latency,
            playout: PlayoutMode::default(),
            buffer: None,
            plain: None,
            window: false,
            decoding: Decoding::Here,
            references: None,
            reads_stamps: false,
            stale_after: None,
            sinks: Vec::new(),
            browser: None,
            takes_aac: false,
        }
    }

    /// Configures a receiver of a media server's stream by WHEP (draft-ietf-wish-whep): H.264 and Opus over ICE, DTLS and SRTP. It begins
    /// with one request to the server, for ten seconds at most, and the server has ten more to connect.
    ///
    /// # Errors
    /// The server's name has no address.
    pub fn of_server(server: MediaServer) -> Result<ReceiverBuilder, Error> {
        let to = server.resolve()?;
        Ok(ReceiverBuilder {
            server: Some((server, to)),
            ..Self::builder(SocketAddr::new(unspecified(to.is_ipv4()), 0))
        })
    }

    /// Configures a receiver that calls the sender that listens at `to` ([`Sender::listener`](super::Sender::listener)): for receivers
    /// that no other host reaches, behind NAT or a firewall. It calls until the sender answers, and again when nothing comes any more; a sender
    /// that takes calls sends to one receiver at a time.
    pub fn caller(to: SocketAddr) -> ReceiverBuilder {
        ReceiverBuilder { call: Some(to), ..Self::builder(SocketAddr::new(unspecified(to.is_ipv4()), 0)) }
    }

    /// Where it receives.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The present instant of the session's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What is known of the session, as of the last event that was taken.
    pub const fn state(&self) -> &ReceiverState {
        &self.state
    }

    /// The state, to take recent means from.
    pub const fn state_mut(&mut self) -> &mut ReceiverState {
        &mut self.state
    }

    /// Updates the state; returns the next event, if there is one.
    pub fn poll_event(&mut self) -> Option<(Timestamp, ReceiveEvent)> {
        self.next_event(Duration::ZERO)
    }

    /// Updates the state; returns the next event within `timeout`.
    pub fn next_event(&mut self, timeout: Duration) -> Option<(Timestamp, ReceiveEvent)> {
        let end = self.now() + TimeDelta::from_nanos(timeout.as_nanos() as i64);
        loop {
            let left = Duration::from_nanos(end.since(self.now()).as_nanos().max(0) as u64);
            match self.updates.recv_timeout(left) {
                Ok(PlaybackUpdate::Displayed(frame)) => self.state.on_displayed(&frame),
                Ok(PlaybackUpdate::Undecoded(size)) => self.state.on_undecoded(size),
                Ok(PlaybackUpdate::SoundMeasured(measured)) => self.state.is_sound_measured = measured,
                Ok(PlaybackUpdate::SoundLevel(level)) => self.state.sound_level = level,
                Ok(PlaybackUpdate::SoundRecovered) => self.state.sound_recovered += 1,
                Ok(PlaybackUpdate::Scored(score)) => self.state.on_score(score),
                Ok(PlaybackUpdate::Snapshot(snapshot)) => self.state.on_snapshot(snapshot),
                Ok(PlaybackUpdate::Event(at, event)) => {
                    match event {
                        ReceiveEvent::Freeze(duration) => self.state.on_freeze(duration),
                        ReceiveEvent::Stale(_) => *self.state.stale.get_or_insert(0) += 1,
                        ReceiveEvent::Fresh(duration) => self.state.on_fresh(duration),
                        _ => {}
                    }
                    return Some((at, event));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// True once the playback thread has ended because a sink or the decoder failed; [`close`](Self::close) says why.
    pub fn has_failed(&self) -> bool {
        self.playback.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Requests a key frame from the sender.
    pub fn request_key_frame(&self) {
        self.command(ReceiverCommand::RequestKeyFrame);
    }

    /// Changes how late a frame is shown at most, as [`ReceiverBuilder::latency`] has it. A transport stream keeps its delay.
    pub fn set_latency(&self, latency: TimeDelta) {
        self.command(ReceiverCommand::Latency(latency));
    }

    fn command(&self, command: ReceiverCommand) {
        // The session may have ended.
        let _ = self.commands.send(command);
        self.waker.wake();
    }

    /// Ends the session: the sender gets an RTCP BYE, the threads end, the sinks are completed. State and events remain.
    /// Returns how late the media thread ran; `None` if it is shared.
    ///
    /// # Errors
    /// A thread, the decoder or a sink failed.
    pub fn close(&mut self) -> Result<Option<Lateness>, Error> {
        self.command(ReceiverCommand::Close);
        if let Some((resource, updates)) = self.resource.take() {
            // The goodbye of the session leaves first.
            self.clock.sleep_until(self.now() + GOODBYE);
            if let Err(error) = resource.delete() {
                let _ = updates.send(PlaybackUpdate::Event(self.now(), ReceiveEvent::NotDeleted(error)));
            }
            self.command(ReceiverCommand::CloseChannel);
            self.clock.sleep_until(self.now() + GOODBYE);
        }
        self.playback
            .take()
            .map_or(Ok(()), |thread| thread.join().map_err(|_| Error::Thread("playback"))?)?;
        self.runtime.take().map(RunningRuntime::close).transpose()
    }
}
