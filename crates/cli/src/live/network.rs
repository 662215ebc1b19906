//! Options of the network: by which interface, how marked and how large datagrams are.

use super::keys;
use crate::failure::{Failure, note};
use seaway_net::webrtc::{StunServer, reflexive_address};
use seaway_net::{Clock, Dscp, SocketOptions, Via, mtu_towards, reachable_address};
use seaway_units::DataSize;
use std::io;
use std::net::SocketAddr;

/// Options of `send` and `recv`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// The interface, such as eth1, or the local address by which packets leave and come. On Linux it prevails over the routes
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<Via>,
    /// Mark packets with a codepoint of differentiated services: a name such as ef, af41 or cs5, or a number up to 63. The two bits of
    /// ECN below it are not touched. On Linux
    #[arg(long, value_name = "CODEPOINT")]
    dscp: Option<Dscp>,
    /// The largest datagram with all its headers, 500 to 9000 octets: media, repair and reports are cut to it. The default is 1200, or
    /// what the interface takes where that is less. Above 1500, lost packets are repaired by retransmission alone
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u64).range(SMALLEST..=LARGEST))]
    mtu: Option<u64>,
    /// For hosts behind NAT: ask this STUN server by which address other hosts see us. It is offered to media servers and to the players
    /// of the page, and stands in the URL that an end prints that listens at rtp://
    #[arg(long, value_name = "HOST:PORT")]
    stun: Option<StunServer>,
}

const SMALLEST: u64 = 500;
const LARGEST: u64 = 9000;
/// Datagrams that pass nearly everywhere.
const USUAL: u64 = 1200;

impl NetworkOptions {
    /// How sockets are bound.
    pub(crate) fn sockets(&self) -> SocketOptions {
        SocketOptions { interface: self.interface.clone(), dscp: self.dscp.unwrap_or_default() }
    }

    /// What knows our address in the open network, for WebRTC.
    pub(crate) fn stun(&self) -> Option<StunServer> {
        self.stun.clone()
    }

    /// Refuses `--stun` where nothing uses it: neither WebRTC nor an end that listens.
    pub(crate) fn check_stun(&self, is_used: bool) -> Result<(), Failure> {
        match (&self.stun, is_used) {
            (Some(_), false) => Err(Failure::input(
                &"--stun is for WebRTC, a media server (whip+https://, whep+https://) or the page (--web), and for an end that \
                  listens at rtp://",
            )),
            _ => Ok(()),
        }
    }

    /// A receiver's local address: the host of `bind`, or the interface's where that is one.
    pub(crate) fn local(&self, bind: SocketAddr) -> Result<SocketAddr, Failure> {
        match &self.interface {
            // A multicast group is joined on it.
            Some(via @ Via::Address(_)) if !bind.ip().is_multicast() => Self::reached(via, bind),
            _ => Ok(bind),
        }
    }

    /// The address by which other hosts reach an end that listens at `bind`: as the STUN server sees it, where one is asked.
    pub(crate) fn reachable(&self, bind: SocketAddr) -> Result<SocketAddr, Failure> {
        if let Some(stun) = self.stun.as_ref().filter(|_| !keys::is_loopback(bind)) {
            let failed = |error: io::Error| Failure::running(&format!("the STUN server {stun}: {error}"));
            return self.mapped(stun, bind).map_err(failed);
        }
        self.interface.as_ref().map_or_else(|| Ok(reachable_address(bind)), |via| Self::reached(via, bind))
    }

    /// The address that `stun` sees of the port at `bind`, which is free again then.
    fn mapped(&self, stun: &StunServer, bind: SocketAddr) -> io::Result<SocketAddr> {
        let mut socket = self.sockets().bind(bind)?;
        reflexive_address(&Clock::start(), &mut socket, stun.resolve(bind.ip())?)
    }

    fn reached(via: &Via, bind: SocketAddr) -> Result<SocketAddr, Failure> {
        let ip = via.address_for(bind.ip());
        let ip = ip.map_err(|error| Failure::input(&format!("--interface {via}: {error}")))?;
        Ok(SocketAddr::new(ip, bind.port()))
    }

    /// What was given.
    pub(crate) fn mtu(&self) -> Option<DataSize> {
        self.mtu.map(DataSize::from_bytes)
    }

    /// The largest datagram to `to`, where it is not the usual one. Datagrams are not fragmented: a larger one than the interface
    /// takes would never leave.
    pub(crate) fn mtu_to(&self, to: SocketAddr) -> Result<Option<DataSize>, Failure> {
        match (self.mtu, mtu_towards(to)) {
            (Some(mtu), Some(way)) if mtu > way => {
                Err(Failure::input(&format!("--mtu {mtu}: the interface towards {to} takes {way} octets")))
            }
            (None, Some(way)) if way < USUAL => {
                note(&format!(
                    "datagrams have at most {way} octets, as the interface towards {to} takes them"
                ));
                Ok(Some(DataSize::from_bytes(way.max(SMALLEST))))
            }
            (mtu, _) => Ok(mtu.map(DataSize::from_bytes)),
        }
    }

    /// Refuses what a program of others has no use for, which has sockets of its own.
    pub(crate) fn check_relay(&self) -> Result<(), Failure> {
        let given = [
            (self.interface.is_some(), "--interface"),
            (self.dscp.is_some(), "--dscp"),
            (self.mtu.is_some(), "--mtu"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!(
                "{option} does not apply to srt://: FFmpeg sends it, and its options stand in the URL"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses what a session without RTP has no use for.
    pub(crate) fn check_window(&self) -> Result<(), Failure> {
        match self.mtu {
            Some(_) => Err(Failure::input(&"--mtu does not apply to seaway+window://")),
            None => Ok(()),
        }
    }
}
