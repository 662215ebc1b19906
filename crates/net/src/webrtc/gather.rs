//! Relays for a connection to a media server, before its session begins: the names of TURN servers are looked up, and their answers
//! are waited for.

use super::connection::Connection;
use super::ice_server::{Account, IceServer};
use super::turn::{Relays, TurnFailure};
use crate::clock::Clock;
use crate::socket::Socket;
use seaway_units::{Ecn, TimeDelta};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::time::Duration;

/// A look-up of a name that takes longer has failed.
const LOOK_UP: TimeDelta = TimeDelta::from_secs(2);
/// Between two looks for answers.
const READ: TimeDelta = TimeDelta::from_millis(5);

/// Asks those of `servers` that relay by UDP for a relay, which is a candidate of `connection` once it is there. Blocks for two
/// seconds at most.
pub(super) fn ask(connection: &mut Connection, servers: &[IceServer]) {
    let clock = connection.clock();
    for (server, account, address) in look_up(&clock, connection.local().ip(), servers) {
        let now = clock.now();
        connection.with_relays(now, |relays| match address {
            Ok(address) => relays.ask(clock.instant(now), address, server, account),
            Err(error) => relays.on_failure(TurnFailure { server, why: error.to_string() }),
        });
    }
}

/// Waits for the relays; gives the offer with them. Blocks for four seconds at most. `socket` is in no other use yet.
pub(super) fn gather(connection: &mut Connection, socket: &mut Socket) -> String {
    let (clock, mut datagram) = (connection.clock(), Vec::new());
    while connection.is_gathering() {
        connection.handle_timeout(clock.now());
        while let Some(to) = connection.poll_datagram(&mut datagram) {
            socket.send(to, Ecn::NotEct, &datagram);
        }
        let has_come = socket.receive(&clock, |incoming| {
            connection.handle_datagram(clock.now(), incoming.from, incoming.data);
        });
        if !has_come && connection.is_gathering() {
            clock.sleep_until(clock.now() + READ);
        }
    }
    connection.offer()
}

/// The name and the account of the first of `servers` that relay by UDP, and their addresses.
fn look_up(
    clock: &Clock,
    local: IpAddr,
    servers: &[IceServer],
) -> Vec<(String, Account, io::Result<SocketAddr>)> {
    let end = clock.now() + LOOK_UP;
    let relays = servers.iter().filter_map(IceServer::relay).take(Relays::MOST);
    let look_ups = relays.map(|(host, account)| {
        let ((sender, answer), there) = (mpsc::channel(), host.clone());
        // It blocks, for as long as the system likes.
        let started = std::thread::Builder::new().name("look-up".into()).spawn(move || {
            // The time to wait for it may be over.
            let _ = sender.send(there.resolve(local));
        });
        (host.to_string(), account.clone(), started.map(|_| answer))
    });
    let look_ups: Vec<_> = look_ups.collect();
    let address = |answer: mpsc::Receiver<io::Result<SocketAddr>>| {
        let left = Duration::from_nanos(u64::try_from(end.since(clock.now()).as_nanos()).unwrap_or(0));
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "its name is not found within 2 s");
        answer.recv_timeout(left).map_err(late)?
    };
    look_ups.into_iter().map(|(name, account, answer)| (name, account, answer.and_then(address))).collect()
}
