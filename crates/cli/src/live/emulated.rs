//! The emulated network between the sender and the receiver of one process.

use super::hand_link::HandLink;
use super::session;
use crate::failure::Failure;
use crate::scenario::Source;
use seaway_lab::scenario::{Flow, FlowKind, Scenario};
use seaway_lab::{Emulation, PathState, library};
use seaway_net::{Emulator, EmulatorCommand, Outlet, Waker};
use seaway_stream::Runtime;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, channel};

type Network = Emulation<Vec<u8>>;

/// Controls the emulated network, which runs on the media thread.
pub(crate) struct NetworkHandle {
    waker: Waker,
    commands: mpsc::Sender<EmulatorCommand<Network>>,
    pub(crate) states: mpsc::Receiver<PathState>,
}

impl NetworkHandle {
    /// Adds the network of `scenario` in front of `receiver`; returns the address to send to.
    pub(crate) fn start(
        runtime: &mut Runtime,
        scenario: &Scenario,
        receiver: SocketAddr,
    ) -> Result<(Self, SocketAddr), Failure> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (near, far) = (session::bind(loopback)?, session::bind(loopback)?);
        let to = near.local_address().map_err(|error| Failure::running(&error))?;
        let (commands, queue) = channel();
        let (send_state, states) = channel();
        let observer = Box::new(move |_, network: &Network| {
            // A dropped receiver is no error.
            let _ = send_state.send(network.path_state());
        });
        let outlets = [Outlet::Udp { peer: None }, Outlet::Udp { peer: Some(receiver) }];
        let now = runtime.clock().now();
        let emulator = Emulator::new(now, network(scenario)?, &outlets, queue).with_observer(observer);
        runtime.add(emulator, vec![near, far])?;
        Ok((Self { waker: runtime.waker(), commands, states }, to))
    }

    /// Replaces the network by that of `scenario`.
    pub(crate) fn replace(&self, scenario: &Scenario) -> Result<(), Failure> {
        let _ = self.commands.send(EmulatorCommand::Replace(Box::new(network(scenario)?)));
        self.waker.wake();
        Ok(())
    }
}

/// The scenario of a network: by hand, a file, or a name of the library.
pub(crate) fn read_network(name: &str, seed: Option<u64>) -> Result<Scenario, Failure> {
    if HandLink::is_meant_by(name) {
        return HandLink::parse(name)?.scenario(seed.unwrap_or(1));
    }
    let mut scenario = Source::read(name)?.parse(&[])?;
    scenario.seed = seed.unwrap_or(scenario.seed);
    Ok(scenario)
}

/// The same for a viewer of the page, who may name networks of the library and the one that was `named` on the command line: no other
/// file is read for who has the page's token.
pub(crate) fn read_for_viewer(name: &str, named: &str, seed: u64) -> Result<Scenario, Failure> {
    let is_known = name == named || library::networks().iter().any(|entry| entry.name == name);
    match HandLink::is_meant_by(name) {
        true => read_network(name, Some(seed)),
        false if is_known => read_network(name, None),
        false => Err(Failure::input(&format!("there is no network {name}"))),
    }
}

/// The scenario's first media flow, whose path and limits are taken.
pub(crate) fn media_flow(scenario: &Scenario) -> Result<&Flow, Failure> {
    let is_media = |flow: &&Flow| matches!(flow.kind, FlowKind::Media(_));
    let none = || Failure::input(&format!("{}: no flow of kind \"media\"", scenario.name));
    scenario.flows.iter().find(is_media).ok_or_else(none)
}

fn network(scenario: &Scenario) -> Result<Network, Failure> {
    Emulation::of_flow(scenario, media_flow(scenario)?).map_err(|error| Failure::input(&error))
}
