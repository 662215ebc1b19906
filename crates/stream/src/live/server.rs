//! A session with a media server: publishing there (WHIP), and receiving from there (WHEP).

use super::identity::Identity;
use super::input::SOUND;
use crate::Error;
use seaway_control::{StreamId, Subflow};
use seaway_net::webrtc::{
    Accepted, IceServer, Publisher, ServerSession, ServerUrl, SoundNumbers, StreamNumbers, StunServer,
    Subscriber, WhipClient, WhipError, WhipResource, reflexive_address, with_reflexive_candidate,
};
use seaway_net::{Clock, Socket, Via, address_towards};
use seaway_session::{PlainRtp, SenderConfig, SourceId, TRANSPORT_SEQUENCE_ID, payload_type};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A media server that takes a stream by WHIP (RFC 9725), or gives one by WHEP (draft-ietf-wish-whep).
#[derive(Debug, Clone)]
pub struct MediaServer {
    /// Where it takes offers.
    pub url: ServerUrl,
    /// The bearer token that it wants (RFC 6750).
    pub token: Option<String>,
    /// A PEM file with the certificates to check the server by, in place of the system's.
    pub authorities: Option<PathBuf>,
    /// What knows the address by which the server may reach this host, where that is behind NAT.
    pub stun: Option<StunServer>,
    /// Those that relay by UDP (TURN) relay the session's media where no other way leads to the server, as do those that it names itself.
    pub relays: Vec<IceServer>,
}

/// A stream of a server that is about to connect.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) subscriber: Subscriber,
    pub(super) media: PlainRtp,
    pub(super) resource: WhipResource,
}

/// A session with a server that is about to connect.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) publisher: Publisher,
    pub(super) accepted: Accepted,
    pub(super) resource: WhipResource,
}

impl MediaServer {
    /// Offers the stream of `identity`, which leaves by `socket`, and takes the answer. Blocks for ten seconds at most, for 3.5 more
    /// where a STUN server is asked, and for ten more with TURN servers.
    pub(super) fn publish(
        &self,
        clock: Clock,
        socket: &mut Socket,
        identity: Identity,
        has_sound: bool,
    ) -> Result<Publication, Error> {
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
        let (mut publisher, _) =
            Publisher::new(clock, socket.local_address()?, numbers).map_err(io::Error::other)?;
        publisher.ask_relays(&self.relays);
        let offer = publisher.gather(socket);
        let ServerSession { answer, ice_servers, resource } = self.request(&clock, socket, &offer)?;
        match publisher.accept(clock.now(), &answer) {
            Ok(accepted) => {
                publisher.ask_relays(&ice_servers);
                Ok(Publication { publisher, accepted, resource })
            }
            Err(problem) => Err(given_up(resource, problem)),
        }
    }

    /// Asks for the server's stream, which comes to `socket`, and takes the answer. Blocks as [`publish`](Self::publish).
    pub(super) fn subscribe(&self, clock: Clock, socket: &mut Socket) -> Result<Subscription, Error> {
        let (mut subscriber, _) =
            Subscriber::new(clock, socket.local_address()?).map_err(io::Error::other)?;
        subscriber.ask_relays(&self.relays);
        let offer = subscriber.gather(socket);
        let ServerSession { answer, ice_servers, resource } = self.request(&clock, socket, &offer)?;
        let accepted = subscriber.accept(clock.now(), &answer);
        match accepted.and_then(|answer| PlainRtp::of_answer(&answer)) {
            Ok(media) => {
                subscriber.ask_relays(&ice_servers);
                Ok(Subscription { subscriber, media, resource })
            }
            Err(problem) => Err(given_up(resource, problem)),
        }
    }

    /// The server's answer to an offer of media by `socket`.
    fn request(&self, clock: &Clock, socket: &mut Socket, offer: &str) -> Result<ServerSession, Error> {
        let client = WhipClient::new(&self.url, self.token.clone(), self.authorities.as_deref())?;
        let local = socket.local_address()?;
        let offer = match &self.stun {
            Some(stun) => {
                let failed = |error| Error::Stun { server: stun.clone(), error };
                let server = stun.resolve(local.ip()).map_err(failed)?;
                let mapped = reflexive_address(clock, socket, server).map_err(failed)?;
                with_reflexive_candidate(offer, local, mapped)
            }
            None => offer.to_owned(),
        };
        Ok(client.request(&offer)?)
    }

    /// The address of its URL.
    pub(super) fn resolve(&self) -> Result<SocketAddr, Error> {
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.url));
        Ok(self.url.resolve().map_err(failed)?)
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

/// The session of an answer that is of no use ends at once.
fn given_up(resource: WhipResource, problem: String) -> Error {
    // The server may hold the session all the same; what it answers changes nothing here.
    let _ = resource.delete();
    Error::Publish(WhipError::Answer(problem))
}

/// What the server does not take is not sent.
pub(super) fn limit_to(accepted: Accepted, config: &mut SenderConfig) {
    if !accepted.has_retransmissions() {
        (config.repair, config.adaptive) = (None, None);
    }
    if !accepted.has_sound() {
        config.streams.truncate(usize::from(SOUND.0));
    } else if let Some(plain) = &mut config.plain {
        plain.unreported = (!accepted.is_sound_reported()).then_some(SOUND);
    }
}
