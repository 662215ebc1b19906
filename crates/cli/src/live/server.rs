//! Media servers: their address among the destinations of `send` and the sources of `recv`, their options, and what is said of them.

use super::options::LiveOptions;
use super::transport_output::TransportUrl;
use crate::failure::{Failure, note};
use seaway_net::webrtc::{IceServer, ServerProtocol, ServerState, ServerUrl};
use seaway_session::SessionUrl;
use seaway_stream::MediaServer;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Holds the token where no option does.
const VARIABLE: &str = "SEAWAY_TOKEN";

/// Where `send` sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A receiver of this project, or a player.
    Receiver(SessionUrl),
    /// A media server.
    Server(ServerUrl),
    /// Receivers of a transport stream.
    Transport(TransportUrl),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if TransportUrl::is_meant_by(text) {
            return text.parse().map(Self::Transport);
        }
        match server(
            text,
            ServerProtocol::Whip,
            "`recv` watches by whep+https://, `send` publishes by whip+https://",
        )? {
            Some(url) => Ok(Self::Server(url)),
            None => text
                .parse()
                .map(Self::Receiver)
                .map_err(|error| format!("{error}; or whip+https://host/path for a media server")),
        }
    }
}

/// Where `recv` receives from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Who sends to this address.
    Sender(SessionUrl),
    /// A media server.
    Server(ServerUrl),
    /// Who sends a transport stream to this address, or to this multicast group.
    Stream(SessionUrl),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("udp://") {
            let url = format!("rtp://{}", rest.trim_start_matches('@'));
            let url = url.parse().ok().filter(|url: &SessionUrl| url.key().is_none() && url.mode().is_none());
            return url.map(Self::Stream).ok_or("expected udp://host:port and nothing behind it".into());
        }
        match server(
            text,
            ServerProtocol::Whep,
            "`send` publishes by whip+https://, `recv` watches by whep+https://",
        )? {
            Some(url) => Ok(Self::Server(url)),
            None => text
                .parse()
                .map(Self::Sender)
                .map_err(|error| format!("{error}; or whep+https://host/path for a media server")),
        }
    }
}

impl fmt::Display for Source {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sender(url) => url.fmt(f),
            Self::Server(url) => url.fmt(f),
            Self::Stream(url) => write!(f, "udp://{}", url.authority()),
        }
    }
}

/// The media server in `text`, where it is one; `otherwise` says why one of the other protocol is refused.
fn server(text: &str, protocol: ServerProtocol, otherwise: &str) -> Result<Option<ServerUrl>, String> {
    if !ServerUrl::is_meant_by(text) {
        return Ok(None);
    }
    let url: ServerUrl = text.parse()?;
    if url.protocol() == protocol { Ok(Some(url)) } else { Err(otherwise.to_owned()) }
}

impl fmt::Display for Destination {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receiver(url) => url.fmt(f),
            Self::Server(url) => url.fmt(f),
            Self::Transport(url) => url.fmt(f),
        }
    }
}

/// Options that concern a media server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Media servers")]
pub(crate) struct ServerOptions {
    /// The bearer token that the media server wants; SEAWAY_TOKEN hides it from the list of processes
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Check the media server's certificate by the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ServerOptions {
    /// The server at `url`.
    ///
    /// # Errors
    /// A server of ICE is none.
    pub(crate) fn server(&self, url: &ServerUrl, options: &LiveOptions) -> Result<MediaServer, Failure> {
        if self.token.is_some() {
            note(&format!(
                "every user of this host sees the token in the list of processes; {VARIABLE} hides it"
            ));
        }
        let of_environment = || std::env::var(VARIABLE).ok().filter(|token| !token.is_empty());
        let token = self.token.clone().or_else(of_environment);
        let (stun, relays) = (options.network.stun(), options.ice_servers()?);
        if relays.iter().any(IceServer::is_turn) && !relays.iter().any(IceServer::is_relay) {
            note("no TURN server of --ice-server is one over UDP: none relays the media of this end");
        }
        Ok(MediaServer { url: url.clone(), token, authorities: self.ca.clone(), stun, relays })
    }

    /// Refuses the options where no media server is the destination.
    pub(crate) fn check_unused(&self) -> Result<(), Failure> {
        let given = [(self.token.is_some(), "--token"), (self.ca.is_some(), "--ca")];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!(
                "{option} is for a media server: whip+https:// or whep+https://"
            ))),
            None => Ok(()),
        }
    }
}

/// The state of the connection, in words.
pub(super) fn state_name(state: ServerState) -> String {
    match state {
        ServerState::Connecting => "connecting to the media server".into(),
        ServerState::Connected => "the media server is connected".into(),
        ServerState::Interrupted => "nothing comes from the media server".into(),
        ServerState::Ended(why) => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations() {
        let parsed = |text: &str| text.parse::<Destination>();
        assert!(matches!(parsed("rtp://127.0.0.1:5004"), Ok(Destination::Receiver(_))));
        let server = parsed("whip+https://example.org/live?token=secret").unwrap();
        assert_eq!(server.to_string(), "whip+https://example.org/live");
        assert!(matches!(parsed("udp://239.1.2.3:1234"), Ok(Destination::Transport(_))));
        assert!(parsed("whip+udp://a/b").is_err());
        assert!(parsed("https://a/b").unwrap_err().contains("whip+https://"));
        assert!(parsed("whep+https://a/b").unwrap_err().contains("`recv` watches"));
    }

    #[test]
    fn sources() {
        let parsed = |text: &str| text.parse::<Source>();
        assert!(matches!(parsed("rtp://127.0.0.1:5004"), Ok(Source::Sender(_))));
        assert_eq!(parsed("udp://@239.1.2.3:1234").unwrap().to_string(), "udp://239.1.2.3:1234");
        assert!(parsed("udp://127.0.0.1:1234?key=00").is_err());
        let server = parsed("whep+https://example.org/live?token=secret").unwrap();
        assert_eq!(server.to_string(), "whep+https://example.org/live");
        assert!(parsed("whep+udp://a/b").unwrap_err().contains("whep+https://host/path"));
        assert!(parsed("https://a/b").unwrap_err().contains("whep+https://"));
        assert!(parsed("whip+https://a/b").unwrap_err().contains("`send` publishes"));
    }
}
