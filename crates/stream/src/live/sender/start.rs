//! How a sender starts.

use super::{Sender, SenderBuilder};
use crate::Error;
use crate::live::capture::Capture;
use crate::live::copied_opus::CopiedOpus;
use crate::live::copied_sound::CopiedSound;
use crate::live::cue::Cue;
use crate::live::event::SendEvent;
use crate::live::feed::Feed;
use crate::live::feed::{Settings, Shared};
use crate::live::input::FrameInput;
use crate::live::multiplexed::Carrier;
use crate::live::runtime::Runtime;
use crate::live::sender_machine::{EncoderControls, SenderUpdate};
use crate::live::sound::{self, SoundCapture};
use crate::live::state::SenderState;
use crate::live::supply::SupplyMeter;
use crate::live::turns::Turns;
use crate::live::window::SessionQueues;
use crate::source::PacketOverhead;
use seaway_control::Registry;
use seaway_media::audio::{CodedTrack, OpusEncoder};
use seaway_media::transport::SoundFormat;
use seaway_net::webrtc::WhipResource;
use seaway_net::{Socket, SocketOptions, Via};
use seaway_session::{CircuitBreaker, Format, MediaClock};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

/// Between key frames for a media server that takes no retransmissions: some do not ask for one after a loss either.
const UNREPAIRED_KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);

/// What the capture thread needs of a machine.
pub(super) struct Ends {
    pub(super) controls: Arc<EncoderControls>,
    pub(super) overhead: PacketOverhead,
    pub(super) media_clock: Option<MediaClock>,
    pub(super) resource: Option<WhipResource>,
    pub(super) has_sound: bool,
    /// The largest payload of a packet.
    pub(super) room: DataSize,
    /// Lost packets can be sent again, or are no matter of the receiver.
    pub(super) is_repaired: bool,
}

impl SenderBuilder {
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
        // Media servers take Opus alone.
        let (takes_all, takes_aac) = (self.has_mux(), self.server.is_none());
        let is_taken = |track: &CodedTrack| match track.format() {
            SoundFormat::Opus => true,
            SoundFormat::Aac => takes_all || takes_aac && track.aac_config().is_some(),
        };
        self.copied_sound = self.copied_sound.take().filter(is_taken);
        let is_loopback = self.is_loopback();
        let bind = match &self.server {
            Some(server) => server.local_address(self.to, self.bind, self.network.interface.as_ref())?,
            None => self.bind,
        };
        let socket = match self.via.first() {
            Some(via) => self.bind_via(via)?,
            None => bind_at(&self.network, bind)?,
        };
        let local = socket.local_address()?;
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
        let Ends { controls, overhead, media_clock, resource, has_sound, room, is_repaired } = ends;
        let resource = resource.map(|resource| (resource, send_updates.clone()));
        let unrepaired = (!is_repaired).then_some(UNREPAIRED_KEY_INTERVAL);
        if self.has_sound() && !has_sound {
            // The receiver of updates is here.
            let _ = send_updates.send(SenderUpdate::Event(runtime.clock().now(), SendEvent::SoundRefused));
        }
        let is_live = self.has_live_sound();
        let delay = self.sound_delay;
        let Self {
            feed,
            limits,
            sizes,
            stamp,
            latency,
            key_interval,
            preview,
            references,
            sound,
            copied_sound,
            ..
        } = self;
        let key_interval = key_interval.or(unrepaired);
        let (cue, turns) = (Cue::default(), Turns::default());
        let (clock, waker, stop) = (runtime.clock(), runtime.waker(), Arc::new(AtomicBool::new(false)));
        let input = FrameInput { clock, waker, commands, controls, overhead };
        let references = references.zip(media_clock);
        let meter = SupplyMeter::default();
        let has_times = matches!(feed, Feed::Coded { .. });
        let settings = Settings { start: limits.start, overhead, sizes, stamp, latency };
        let shared = Shared {
            clock,
            meter: meter.clone(),
            stop: stop.clone(),
            cue: cue.clone(),
            turns: turns.clone(),
        };
        let source = feed.open(&settings, &shared)?;
        let copied_sound = copied_sound.filter(|_| has_sound);
        let format = copied_sound.as_ref().map(CodedTrack::format);
        let has_aac = format == Some(SoundFormat::Aac);
        let cue_beside = if has_aac { cue.for_another() } else { cue.clone() };
        if let Some(track) = copied_sound {
            let (input, cue, stop, updates) =
                (input.clone(), cue.clone(), stop.clone(), send_updates.clone());
            let is_opus = format == Some(SoundFormat::Opus);
            let opus = is_opus.then(|| CopiedOpus::new(room, preview.clone())).transpose()?;
            let aac = track.aac_config().filter(|_| !takes_all);
            CopiedSound { track, opus, aac, input, cue, stop, updates }.start()?;
        }
        // Beside AAC for the page and the level, and for a receiver that does not take it.
        if let Some(source) = sound.filter(|_| has_sound && (format.is_none() || has_aac)) {
            let (encoder, input) = (OpusEncoder::new(sound::RATE)?, input.clone());
            let (cue, stop, updates) = (cue_beside, stop.clone(), send_updates.clone());
            let preview = preview.clone();
            SoundCapture { source, encoder, delay, input, has_aac, cue, stop, preview, updates }.start()?;
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
            turns,
            has_times,
            // Live sound has the time at which it comes, and so have the pictures.
            has_sound: has_sound && !is_live,
            last: Timestamp::ZERO,
            encoding: Default::default(),
        });
        let (capture, state) = (capture.map(Capture::start).transpose()?, SenderState::new(control));
        Ok(Sender { local, input, updates, state, capture, stop, meter, runtime: None, resource })
    }

    pub(super) fn bind_via(&self, via: &Via) -> Result<Socket, Error> {
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
            _ if self.listens && (self.window || self.plain || !self.via.is_empty()) => Err(Error::NotByCall),
            _ if !self.via.is_empty() && (self.plain || self.server.is_some()) => Err(Error::NoLanes),
            _ if self.via.len() > 1 && self.window => Err(Error::NoLanes),
            _ if self.transport_stream && !(self.is_plain() && self.format == Format::H264) => {
                Err(Error::NotMuxed)
            }
            _ => Ok(()),
        }
    }
}

/// A socket of a session at `address`.
pub(in crate::live) fn bind_at(network: &SocketOptions, address: SocketAddr) -> Result<Socket, Error> {
    network.bind(address).map_err(|error| match &network.interface {
        Some(via) => Error::Via { via: via.clone(), error },
        None => Error::Bind { address, error },
    })
}
