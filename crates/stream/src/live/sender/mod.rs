//! A sender with its threads.

mod builder;
mod machines;
mod start;

pub use builder::SenderBuilder;
pub(super) use machines::overhead;
pub(super) use start::bind_at;

use super::event::SendEvent;
use super::input::FrameInput;
use super::multiplexed::Carrier;
use super::runtime::RunningRuntime;
use super::sender_machine::{SenderCommand, SenderUpdate};
use super::server::MediaServer;
use super::state::SenderState;
use super::supply::SupplyMeter;
use crate::Error;
use seaway_control::ControlSpec;
use seaway_net::Lateness;
use seaway_net::webrtc::WhipResource;
use seaway_session::Limits;
use seaway_units::{TimeDelta, Timestamp};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time to send the RTCP BYE at the end.
pub(super) const GOODBYE: TimeDelta = TimeDelta::from_millis(100);

/// Time for the source to give its last picture at the end.
const LAST_PICTURE: TimeDelta = TimeDelta::from_secs(1);

/// A live sender: a capture thread, and the media thread unless it shares one.
pub struct Sender {
    local: SocketAddr,
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

impl Sender {
    /// Configures a sender to `to`.
    pub fn builder(to: SocketAddr) -> SenderBuilder {
        SenderBuilder::new(to)
    }

    /// Configures a sender that listens at `bind`, one address of this host or any, and sends to the receiver that calls
    /// ([`Receiver::caller`](super::Receiver::caller)), from the beginning of the source: for receivers that no other host reaches, behind NAT or
    /// a firewall. A receiver that calls later takes the place of the one before, by the proof that it has the key. Without a key every
    /// receiver has it, which is for the loopback address, or for [`insecure`](SenderBuilder::insecure).
    pub fn listener(bind: SocketAddr) -> SenderBuilder {
        SenderBuilder { bind, listens: true, ..SenderBuilder::new(bind) }
    }

    /// Where it listens, or leaves.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
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
