//! The same pictures by another controller, over a network of the same kind, for comparison on the page.

use super::emulated::NetworkHandle;
use crate::failure::Failure;
use seaway_control::ControlSpec;
use seaway_lab::scenario::Scenario;
use seaway_media::input::PictureSource;
use seaway_session::Limits;
use seaway_stream::{BrowserTrack, Receiver, Repair, Runtime, SendEvent, Sender};
use seaway_units::TimeDelta;
use std::net::{Ipv4Addr, SocketAddr};

/// How both ends run.
pub(crate) struct Ends {
    pub(crate) control: ControlSpec,
    pub(crate) limits: Limits,
    pub(crate) repair: Repair,
    pub(crate) latency: TimeDelta,
}

/// Viewers' requests for key frames go to the session that is shown; this one has them as broadcast encoders do.
const KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);

/// A second session of the same process. Of it the page has the received pictures, and nothing is reported.
pub(crate) struct Beside {
    sender: Sender,
    receiver: Receiver,
    network: NetworkHandle,
}

impl Beside {
    /// Adds both ends and the network between them; packets leave once `runtime` is started.
    pub(crate) fn start(
        runtime: &mut Runtime,
        scenario: &Scenario,
        source: Box<dyn PictureSource>,
        ends: Ends,
        track: Option<BrowserTrack>,
    ) -> Result<Self, Failure> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let receiver = Receiver::builder(loopback).latency(ends.latency).browser(track).start_on(runtime)?;
        let (network, to) = NetworkHandle::start(runtime, scenario, receiver.local_address())?;
        let sender = Sender::builder(to)
            .bind(loopback)
            .control(ends.control)
            .limits(ends.limits)
            .repair(ends.repair)
            .latency(ends.latency)
            .circuit_breaker(false)
            .pushback(false)
            .key_interval(KEY_INTERVAL)
            .pictures(source, true)
            .start_on(runtime)?;
        Ok(Self { sender, receiver, network })
    }

    /// Replaces the network.
    pub(crate) fn replace(&self, scenario: &Scenario) -> Result<(), Failure> {
        self.network.replace(scenario)
    }

    /// Takes what is new.
    ///
    /// # Errors
    /// The source failed.
    pub(crate) fn drain(&mut self) -> Result<(), Failure> {
        while self.network.states.try_recv().is_ok() {}
        while let Some((_, event)) = self.sender.poll_event() {
            if let SendEvent::SourceFailed(error) = event {
                return Err(Failure::running(&error));
            }
        }
        while self.receiver.poll_event().is_some() {}
        Ok(())
    }

    /// Ends both.
    ///
    /// # Errors
    /// A thread failed.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        self.sender.close()?;
        self.receiver.close()?;
        Ok(())
    }
}
