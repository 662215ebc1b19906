//! A live session of a command, and its state for the page, the JSON lines and the report.

use super::STEP;
use super::client_buffer;
use super::keys::KeyLog;
use super::server::state_name;
use super::settings::Settings;
use super::watch::{Missed, Seen, Watch};
use super::{lanes, messages};
use crate::failure::{Failure, note};
use crate::files::Output;
use crate::interrupt;
use crate::web::Live;
use seaway_lab::PathState;
use seaway_media::VideoCodec;
use seaway_net::webrtc::{ServerEnd, ServerState};
use seaway_net::{Clock, Socket, Via};
use seaway_report::live::Sample;
use seaway_session::{ReceiverEvent, SenderEvent, StreamDescription};
use seaway_stream::{ReceiveEvent, Receiver, RunningRuntime, Runtime, SendEvent, Sender};
use seaway_units::{Bitrate, Decibels, TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;

/// Sender, receiver or both, and the emulated network between them.
pub(crate) struct Session {
    began: Timestamp,
    pub(crate) sender: Option<Sender>,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) network: Option<PathState>,
    /// The source has no more frames.
    pub(crate) source_ended: bool,
    /// Since when.
    ended_at: Option<Timestamp>,
    /// Where a session is keyed: whether the other end has shown that it has the key.
    connected: bool,
    /// An end that has another.
    other_key: Option<SocketAddr>,
    key_log: Option<KeyLog>,
    /// A receiver reported.
    has_feedback: bool,
    /// A sender was found.
    has_begun: bool,
    /// It sends sound.
    pub(crate) has_sound: bool,
    /// What came instead of a stream that is understood.
    not_understood: Option<String>,
    /// What comes and has no decoder.
    not_decoded: Option<VideoCodec>,
    /// What comes is recorded.
    is_recorded: bool,
    /// Why the recording has ended early.
    pub(crate) recording_failed: Option<Failure>,
    events: Vec<Live>,
    watch: Watch,
    /// The other end, as the user named it.
    destination: Option<String>,
    /// The lanes of the sender, likewise.
    via: Vec<Via>,
    /// What it reports.
    reports: Reports,
}

/// What the other end of a sender reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reports {
    /// Several times a second.
    #[default]
    Often,
    /// Perhaps once in several seconds.
    Seldom,
    /// Nothing at all.
    Never,
}

impl Session {
    pub(crate) fn new(began: Timestamp, sender: Option<Sender>, receiver: Option<Receiver>) -> Self {
        Self {
            began,
            sender,
            receiver,
            network: None,
            source_ended: false,
            ended_at: None,
            connected: false,
            other_key: None,
            key_log: None,
            has_feedback: false,
            has_begun: false,
            has_sound: false,
            not_understood: None,
            not_decoded: None,
            is_recorded: false,
            recording_failed: None,
            events: Vec::new(),
            watch: Watch::default(),
            destination: None,
            via: Vec::new(),
            reports: Reports::default(),
        }
    }

    /// Writes the keys of packets to `log`.
    pub(crate) fn with_key_log(self, log: Option<KeyLog>) -> Self {
        Self { key_log: log, ..self }
    }

    /// What comes is recorded, or not.
    pub(crate) fn with_recording(self, is_recorded: bool) -> Self {
        Self { is_recorded, ..self }
    }

    /// Names the other end of a sender, and what it reports.
    pub(crate) fn to(self, destination: String, reports: Reports) -> Self {
        Self { destination: Some(destination), reports, ..self }
    }

    /// Names the lanes of a bonded sender.
    pub(crate) fn with_lanes(self, via: &[Via]) -> Self {
        Self { via: via.to_vec(), ..self }
    }

    /// Seconds since the beginning.
    pub(crate) fn time(&self, at: Timestamp) -> f64 {
        at.since(self.began).as_secs_f64()
    }

    /// Takes the events of sender and receiver. Breaks once the source or the receiver has ended.
    pub(crate) fn drain(&mut self) -> Result<ControlFlow<()>, Failure> {
        while let Some((at, event)) = self.sender.as_mut().and_then(Sender::poll_event) {
            self.events.extend(messages::of_sender(self.time(at), &event, &self.via));
            if matches!(event, SendEvent::SourceEnded) {
                self.ended_at = Some(at);
            }
            self.on_send_event(event)?;
        }
        while let Some((at, event)) = self.receiver.as_mut().and_then(Receiver::poll_event) {
            self.events.extend(messages::of_receiver(self.time(at), &event));
            self.on_receive_event(event)?;
        }
        let has_ended = self.source_ended || self.receiver.as_ref().is_some_and(Receiver::has_failed);
        Ok(if has_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn on_send_event(&mut self, event: SendEvent) -> Result<(), Failure> {
        match event {
            SendEvent::SourceEnded => self.source_ended = true,
            SendEvent::SourceFailed(error) => return Err(Failure::running(&error)),
            SendEvent::SoundFailed(error) => {
                note(&format!("the sound has ended, the pictures go on: {error}"));
            }
            SendEvent::SoundRefused => note("the media server takes no sound: the pictures go alone"),
            SendEvent::SoundCodedAgain { size, room } => {
                note(&format!(
                    "a packet of Opus has {size}, and {room} fit: the sound is coded again from here on"
                ));
            }
            SendEvent::Connected(keys) => {
                self.connected = true;
                self.key_log.as_mut().map_or(Ok(()), |log| log.add(&keys, true))?;
            }
            SendEvent::Server(state) => self.on_server(state)?,
            SendEvent::TurnFailed(failure) => note(&failure.to_string()),
            SendEvent::NotDeleted(error) if self.connected => {
                note(&format!("the media server did not take the end of the session: {error}"));
            }
            SendEvent::OtherKey if !self.connected => {
                return Err(Failure::running(&"the receiver has another key"));
            }
            SendEvent::RelayEnded(why) => {
                let why = if why.is_empty() { "it gives no reason" } else { &why };
                return Err(Failure::running(&format!("FFmpeg has ended: {why}")));
            }
            SendEvent::RelayDropped(count) => {
                note(&format!("FFmpeg takes less than comes: {count} datagrams were dropped"));
            }
            SendEvent::RateReduced(breach, most) => {
                note(&format!("no more than {most:.2} is sent for a minute or more: {breach}"));
            }
            SendEvent::RateRaised(None) => {
                note("the congestion has gone: the controller has the rate again");
            }
            SendEvent::CircuitBroken(breach) => {
                return Err(Failure::running(&format!("the transmission was stopped: {breach}")));
            }
            SendEvent::Session(SenderEvent::PeerAppeared { .. }) => self.has_feedback = true,
            SendEvent::Session(SenderEvent::PeerLeft { .. }) => note("the receiver has left"),
            SendEvent::Session(SenderEvent::AacRefused { .. }) => {
                note("the receiver does not take AAC: the sound is coded as Opus");
            }
            SendEvent::Session(SenderEvent::FeedbackFound { kind }) => {
                note(&format!("the controller runs on {}", messages::feedback_name(kind)));
            }
            SendEvent::Session(SenderEvent::Lane { lane, state }) => {
                messages::of_lane(lane, state, &self.via).iter().for_each(|message| note(message));
            }
            SendEvent::Called(from) => {
                note(&format!("{from} receives"));
                self.destination = Some(from.to_string());
            }
            SendEvent::CallerRefused(from) => {
                note(&format!("{from} calls with another key and is refused"));
            }
            SendEvent::Replaced => {
                return Err(Failure::running(&"another sender with the same key took over"));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_server(&mut self, state: ServerState) -> Result<(), Failure> {
        match state {
            ServerState::Connecting => {}
            ServerState::Connected | ServerState::Interrupted => {
                self.connected = true;
                note(&state_name(state));
            }
            ServerState::Ended(why) => {
                self.connected = false;
                return Err(Failure::running(&why));
            }
        }
        Ok(())
    }

    fn on_receive_event(&mut self, event: ReceiveEvent) -> Result<(), Failure> {
        match event {
            ReceiveEvent::Connected(keys) => {
                self.connected = true;
                self.key_log.as_mut().map_or(Ok(()), |log| log.add(&keys, false))?;
            }
            // The stream is at its end.
            ReceiveEvent::Server(ServerState::Ended(end @ ServerEnd::Closed)) if self.has_begun => {
                note(&end.to_string());
                (self.connected, self.source_ended) = (false, true);
            }
            ReceiveEvent::Server(state) => self.on_server(state)?,
            ReceiveEvent::TurnFailed(failure) => note(&failure.to_string()),
            ReceiveEvent::NotDeleted(error) if self.connected => {
                note(&format!("the media server did not take the end of the session: {error}"));
            }
            ReceiveEvent::OtherKey(from) => {
                note(&format!("{from} wants to send with another key and is refused"));
                self.other_key = Some(from);
            }
            ReceiveEvent::Refused if !self.connected => {
                return Err(Failure::running(&"the sender has another key"));
            }
            ReceiveEvent::Replaced => {
                return Err(Failure::running(&"another receiver with the same key took over"));
            }
            ReceiveEvent::Session(ReceiverEvent::SessionStarted(session)) => {
                self.has_begun = true;
                self.has_sound = session.streams.iter().any(StreamDescription::is_audio);
            }
            ReceiveEvent::Session(ReceiverEvent::NotUnderstood { payload_type }) => {
                self.on_not_understood(not_understood(payload_type));
            }
            ReceiveEvent::NotUnderstood(found) => {
                self.on_not_understood(messages::without_h264(&found));
            }
            ReceiveEvent::NotDecoded(codec) => {
                note(&not_decoded(codec, self.is_recorded));
                self.not_decoded = Some(codec);
            }
            ReceiveEvent::SoundFailed(error) => note(&format!("the sound is left out: {error}")),
            ReceiveEvent::Session(ReceiverEvent::SessionEnded) => note("the sender has ended the session"),
            ReceiveEvent::Stale(age) => note(&format!("the picture on the screen is too old: {age:.0}")),
            ReceiveEvent::Fresh(duration) => {
                note(&format!("the picture is fresh again, it was too old for {duration:.0}"));
            }
            ReceiveEvent::SinkFailed(error) => self.recording_failed = Some(error.into()),
            _ => {}
        }
        Ok(())
    }

    fn on_not_understood(&mut self, why: String) {
        note(&why);
        self.not_understood = Some(why);
    }

    /// Whether the other end of a keyed session has shown that it has the key.
    pub(crate) const fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether a receiver has reported.
    pub(crate) const fn has_feedback(&self) -> bool {
        self.has_feedback
    }

    /// Whether all that the source had has left, by the state of half a second ago.
    pub(crate) fn is_drained(&self, now: Timestamp) -> bool {
        const SETTLED: TimeDelta = TimeDelta::from_millis(500);
        let settled = self.ended_at.is_some_and(|at| now.since(at) >= SETTLED);
        let state = self.sender.as_ref().and_then(|sender| sender.state().session.as_ref());
        settled && state.is_none_or(|session| session.is_drained)
    }

    /// Whether a session took place; else why not, where that is known.
    pub(crate) fn outcome(&self, is_keyed: bool) -> Result<(), Failure> {
        if let Some(why) = self.not_understood.as_ref().filter(|_| !self.has_begun) {
            return Err(Failure::running(&format!("nothing was received: {why}")));
        }
        match self.other_key {
            _ if self.connected || !is_keyed => {}
            Some(from) => {
                return Err(Failure::running(&format!("nothing was received: {from} has another key")));
            }
            None if self.sender.is_some() => {
                return Err(Failure::running(&"nothing was sent: no receiver answered"));
            }
            None => {}
        }
        self.sender.as_ref().map_or(Ok(()), |sender| self.was_sent(sender))?;
        self.receiver.as_ref().map_or(Ok(()), |receiver| self.was_received(receiver))
    }

    /// Fails if nothing was sent or no receiver answered. Another program's player may send no reports.
    fn was_sent(&self, sender: &Sender) -> Result<(), Failure> {
        if sender.state().supply.captured == 0 {
            return Err(Failure::running(&"nothing was sent: the input gave no picture"));
        }
        if !self.has_feedback && self.reports == Reports::Often {
            return Err(Failure::running(
                &"no receiver answered: no report and no acknowledgement came back",
            ));
        }
        Ok(())
    }

    /// Fails if no frame was shown, and none of those without a decoder was recorded.
    fn was_received(&self, receiver: &Receiver) -> Result<(), Failure> {
        let state = receiver.state();
        let packets = state.session.as_ref().map_or(0, |session| session.statistics.received.packets);
        match (state.displayed + state.undecoded, self.not_decoded) {
            (0, _) if packets == 0 => Err(Failure::running(&"nothing was received: no sender came")),
            (0, _) => Err(Failure::running(&format!(
                "no picture was received: {packets} packets made no whole one"
            ))),
            (_, Some(codec)) if state.displayed == 0 && !self.is_recorded => {
                Err(Failure::running(&format!("no picture was shown: {}", not_decoded(codec, false))))
            }
            _ => Ok(()),
        }
    }

    /// What kept frames from coming, where more than one in twenty of those due did not come.
    pub(crate) fn missed(&self) -> Option<Missed> {
        let supply = self.sender.as_ref()?.state().supply;
        supply.shortage().map(|shortage| Missed(shortage, supply))
    }

    /// Looks at the session at `now`: warnings go to the user, the page and the JSON lines.
    pub(crate) fn observe(&mut self, now: Timestamp) {
        let time = self.time(now);
        for warning in self.watch.observe(&self.seen(time)) {
            note(&warning);
            self.events.push(messages::event(time, "warning", warning));
        }
    }

    fn seen(&self, time: f64) -> Seen {
        let sender = self.sender.as_ref().map(Sender::state);
        let receiver = self.receiver.as_ref().map(Receiver::state);
        let reports = sender
            .and_then(|state| state.session.as_ref())
            .map(|session| session.statistics.feedback.packets);
        let packets = receiver
            .and_then(|state| state.session.as_ref())
            .map(|session| session.statistics.received.packets);
        Seen {
            time,
            has_peer: receiver.map_or(self.has_feedback || self.reports == Reports::Never, |state| {
                state.session.as_ref().is_some_and(|session| session.peer.is_some())
            }),
            came: packets.or(reports).unwrap_or(0),
            silence_limit: match self.reports {
                Reports::Often => SILENCE,
                Reports::Seldom => RARE_REPORTS,
                Reports::Never => f64::INFINITY,
            },
            displayed: receiver.map(|state| state.displayed + state.undecoded),
            supply: sender.map(|state| state.supply),
            thinned: sender.and_then(|state| state.source.thinned).unwrap_or_default(),
        }
    }

    /// Ends sender and receiver and takes their last events.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        let sender = self.sender.as_mut().map(Sender::close).transpose();
        let receiver = self.receiver.as_mut().map(Receiver::close).transpose();
        let drained = self.drain().map(drop);
        sender?;
        receiver?;
        drained
    }

    /// Applies the settings of a viewer to the sender; `set_network` replaces the network. Returns what is in force now.
    pub(crate) fn apply(
        &mut self,
        now: Timestamp,
        settings: &mut Settings,
        wanted: &BTreeMap<String, String>,
        set_network: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<BTreeMap<&'static str, String>, String> {
        let Some(sender) = &self.sender else { return Err("nothing can be set here".into()) };
        let what = settings.apply(wanted, sender, self.receiver.as_ref(), set_network)?;
        if !what.is_empty() {
            self.events.push(messages::event(self.time(now), "setting", what));
        }
        Ok(settings.values().clone())
    }

    /// The events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Live> {
        std::mem::take(&mut self.events)
    }

    /// The values at `now`; unknown ones are absent.
    pub(crate) fn sample(&mut self, now: Timestamp) -> Sample {
        let mut sample = Sample { state: Some(self.watch.state().name()), ..Sample::default() };
        sample.peer.clone_from(&self.destination);
        [sample.buffer_bytes, sample.buffer_low_bytes, sample.buffer_high_bytes] =
            client_buffer::levels(self.sender.as_ref(), self.receiver.as_ref());
        if let Some(state) = self.sender.as_mut().map(Sender::state_mut) {
            sample.encoding_ms = state.encoding.take_recent_mean();
            sample.queueing_ms = state.queueing.take_recent_mean();
            sample.pacing_ms = state.pacing.take_recent_mean();
            sample.control = state.control.to_string();
            sample.target_bps = state.source.target.map(Bitrate::as_bps);
            sample.resolution = state.source.size.map(|size| size.to_string());
            if let Some(session) = &state.session {
                sample.phase = Some(session.phase);
                sample.allowance_bps = Some(session.target.as_bps());
                sample.pace_bps = Some(session.allowance.as_bps());
                sample.rtt_ms = session.statistics.rtt.map(TimeDelta::as_millis_f64);
                sample.backlog_bytes = Some(session.backlog.as_bytes());
                sample.frames_captured = Some(session.statistics.frames.captured);
                sample.frames_due = Some(state.supply.due());
                sample.frames_skipped = Some(session.statistics.frames.skipped);
                sample.sent_bps = state.sent_rate().map(Bitrate::as_bps);
                sample.loss_ratio = state.loss_ratio();
                sample.lanes = lanes::samples(state, &self.via);
                let sound = session.statistics.audio;
                if sound.sent.packets > 0 {
                    sample.sound_packets = Some(sound.sent.packets);
                    sample.sound_level_dbfs = state.sound_level.map(Decibels::get);
                }
            }
        }
        if let Some(state) = self.receiver.as_mut().map(Receiver::state_mut) {
            if let Some(session) = &state.session {
                sample.playout_buffer_ms = Some(session.statistics.playout_delay.as_millis_f64());
                sample.received_bps = state.received_rate().map(Bitrate::as_bps);
                sample.residual_loss_ratio = state.residual_loss_ratio();
                sample.packets_repaired = Some(session.statistics.repaired);
                sample.frames_displayed = Some(state.displayed);
                sample.frames_undecoded = Some(state.undecoded).filter(|undecoded| *undecoded > 0);
                sample.peer = session.peer.map(|peer| peer.to_string()).or(sample.peer);
                sample.freezes = Some(state.freezes);
                sample.stale = state.stale;
                let sound = session.statistics.audio;
                if sound.displayed + sound.lost > 0 {
                    sample.sound_packets = Some(sound.displayed);
                    sample.sound_lost = Some(sound.lost + sound.late);
                    sample.sound_recovered = Some(state.sound_recovered).filter(|count| *count > 0);
                    sample.sound_level_measured = (!state.is_sound_measured).then_some(false);
                    sample.sound_level_dbfs = state.sound_level.map(Decibels::get);
                }
            }
            sample.resolution = state.size.map(|size| size.to_string()).or(sample.resolution);
            sample.assembly_ms = state.assembly.take_recent_mean();
            sample.playout_ms = state.playout.take_recent_mean();
            sample.decoding_ms = state.decoding.take_recent_mean();
            sample.delay_ms = state.delays.take_recent_mean();
            sample.glass_to_glass_ms = state.glass_to_glass.take_recent_mean();
            sample.picture_age_ms = state.picture_age(now).map(TimeDelta::as_millis_f64);
            sample.psnr_db = state.psnr.take_recent_mean();
        }
        if let Some(network) = &self.network {
            sample.capacity_bps = Some(network.capacity.as_bps());
            sample.queue_delay_ms = network.queue_delay.map(TimeDelta::as_millis_f64);
        }
        sample
    }
}

/// So many seconds without a report or a packet are silence.
const SILENCE: f64 = 2.0;
/// The same where reports may come every five seconds and get lost (RFC 3550 section 6.2).
const RARE_REPORTS: f64 = 16.0;

/// Why plain RTP is not received.
fn not_understood(payload_type: u8) -> String {
    format!(
        "RTP comes with payload type {payload_type} and is not understood; expected H.264, H.265 or MPEG-TS, or --sdp with the session \
         description of its sender"
    )
}

/// Why no picture is shown.
fn not_decoded(codec: VideoCodec, is_recorded: bool) -> String {
    let rest = match is_recorded {
        true => "its pictures are recorded and not shown",
        false => "-o FILE.mp4 records it, and --web shows it where FFmpeg is installed",
    };
    format!("the video is {codec}, for which there is no decoder: {rest}")
}

/// A runtime that writes every datagram to the capture file `pcap`.
pub(crate) fn runtime(pcap: Option<&str>) -> Result<Runtime, Failure> {
    let mut runtime = Runtime::new()?;
    if let Some(file) = pcap {
        runtime.capture(Box::new(Output::create(file)?))?;
    }
    Ok(runtime)
}

/// Binds a socket; the user can choose another address.
pub(crate) fn bind(address: SocketAddr) -> Result<Socket, Failure> {
    Socket::bind(address).map_err(|error| Failure::input(&format!("{address}: {error}")))
}

/// Starts the media thread.
pub(crate) fn start(runtime: Runtime) -> Result<RunningRuntime, Failure> {
    let runtime = runtime.start()?;
    runtime.warning().into_iter().for_each(note);
    Ok(runtime)
}

/// Calls `step` every [`STEP`] until it breaks, a signal arrives or `duration` has passed.
pub(crate) fn run(
    clock: Clock,
    duration: Option<TimeDelta>,
    step: impl FnMut(Timestamp) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    run_every(STEP, clock, duration, step)
}

/// As [`run`], every `interval`.
pub(crate) fn run_every(
    interval: TimeDelta,
    clock: Clock,
    duration: Option<TimeDelta>,
    mut step: impl FnMut(Timestamp) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    let end = duration.map(|duration| clock.now() + duration);
    loop {
        let now = clock.now();
        if interrupt::requested() || end.is_some_and(|end| end <= now) || step(now)?.is_break() {
            return Ok(());
        }
        let next = now + interval;
        interrupt::sleep_until(clock, end.map_or(next, |end| end.min(next)));
    }
}
