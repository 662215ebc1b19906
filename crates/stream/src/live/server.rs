//! Publishing at a media server (WHIP).

use super::identity::Identity;
use super::input::SOUND;
use crate::Error;
use seaway_control::{StreamId, Subflow};
use seaway_net::webrtc::{
    Accepted, Published, Publisher, SoundNumbers, StreamNumbers, WhipClient, WhipError, WhipResource, WhipUrl,
};
use seaway_net::{Clock, Socket, Via, address_towards};
use seaway_session::{SenderConfig, SourceId, TRANSPORT_SEQUENCE_ID, payload_type};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A media server that takes a stream by WHIP (RFC 9725).
#[derive(Debug, Clone)]
pub struct MediaServer {
    /// Where it takes offers.
    pub url: WhipUrl,
    /// The bearer token that it wants (RFC 6750).
    pub token: Option<String>,
    /// A PEM file with the certificates to check the server by, in place of the system's.
    pub authorities: Option<PathBuf>,
}

/// A session with a server that is about to connect.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) publisher: Publisher,
    pub(super) accepted: Accepted,
    pub(super) resource: WhipResource,
}

impl MediaServer {
    /// Offers the stream of `identity`, which leaves by `socket`, and takes the answer. Blocks for ten seconds at most.
    pub(super) fn publish(
        &self,
        clock: Clock,
        socket: &Socket,
        identity: Identity,
        has_sound: bool,
    ) -> Result<Publication, Error> {
        let unusable = |problem| Error::Publish(WhipError::Answer(problem));
        let ssrc = |stream, repair| SourceId { stream, subflow: Subflow(0), repair }.ssrc(identity.session);
        let sound = SoundNumbers { ssrc: ssrc(SOUND, false), payload_type: payload_type::OPUS };
        let numbers = StreamNumbers {
            ssrc: ssrc(StreamId(0), false),
            repair_ssrc: ssrc(StreamId(0), true),
            payload_type: payload_type::H264,
            retransmission: payload_type::retransmission(StreamId(0)),
            padding: payload_type::PADDING,
            transport_id: TRANSPORT_SEQUENCE_ID,
            sound: has_sound.then_some(sound),
            cname: identity.cname(),
        };
        let client = WhipClient::new(&self.url, self.token.clone(), self.authorities.as_deref())?;
        let (mut publisher, offer) =
            Publisher::new(clock, socket.local_address()?, numbers).map_err(io::Error::other)?;
        let Published { answer, resource } = client.publish(&offer)?;
        match publisher.accept(clock.now(), &answer) {
            Ok(accepted) => Ok(Publication { publisher, accepted, resource }),
            Err(problem) => {
                // The server may hold the session all the same; what it answers changes nothing here.
                let _ = resource.delete();
                Err(unusable(problem))
            }
        }
    }

    /// The address of this host that the server is offered.
    pub(super) fn local_address(
        &self,
        to: SocketAddr,
        bind: SocketAddr,
        interface: Option<&Via>,
    ) -> Result<SocketAddr, Error> {
        let ip = match interface {
            Some(via) => {
                via.address_for(bind.ip()).map_err(|error| Error::Via { via: via.clone(), error })?
            }
            None if bind.ip().is_unspecified() => address_towards(to)?,
            None => bind.ip(),
        };
        Ok(SocketAddr::new(ip, bind.port()))
    }
}

/// What the server does not take is not sent.
pub(super) fn limit_to(accepted: Accepted, config: &mut SenderConfig) {
    if !accepted.has_retransmissions() {
        (config.repair, config.adaptive) = (None, None);
    }
    if !accepted.has_sound() {
        config.streams.truncate(usize::from(SOUND.0));
    }
}
