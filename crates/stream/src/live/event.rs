//! Events of a live session.

use crate::Error;
use seaway_control::{ControlSpec, SpecError};
use seaway_media::VideoCodec;
use seaway_net::webrtc::{ServerState, TurnFailure, WhipError};
use seaway_protect::SrtpKeys;
use seaway_session::{Breach, ReceiverEvent, SenderEvent};
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::net::SocketAddr;

/// An event of a [`Sender`](super::Sender).
#[derive(Debug)]
#[non_exhaustive]
pub enum SendEvent {
    /// An event of the session.
    Session(SenderEvent),
    /// The receiver has the key. Packets are protected by these keys from now: media begins, or goes on.
    Connected(Box<SrtpKeys>),
    /// The receiver has another key.
    OtherKey,
    /// Another sender with the same key took over. The session is at its end.
    Replaced,
    /// A receiver called a sender that listens, from this address: it has the key, and takes the place of the one before.
    Called(SocketAddr),
    /// A receiver with another key called a sender that listens. Reported once; the others are counted.
    CallerRefused(SocketAddr),
    /// The network does not carry the transmission (RFC 8083). No more than this rate leaves from now.
    RateReduced(Breach, Bitrate),
    /// The congestion has gone, and no more than this rate leaves from now; `None`: what the controller allows.
    RateRaised(Option<Bitrate>),
    /// The network does not carry the transmission (RFC 8083). It has ended.
    CircuitBroken(Breach),
    /// The connection to a media server changed.
    Server(ServerState),
    /// A TURN server gives no relay to the media server, or none any more. The session goes on without it.
    TurnFailed(TurnFailure),
    /// The media server did not take the end of the session.
    NotDeleted(WhipError),
    /// The program that carries a transport stream has ended, with this message.
    RelayEnded(String),
    /// It takes less than comes: so many datagrams were dropped.
    RelayDropped(u64),
    /// Another controller took over.
    ControlChanged(ControlSpec),
    /// A change of the controller was rejected.
    ControlRejected(SpecError),
    /// The source has no more frames.
    SourceEnded,
    /// The source failed and has ended.
    SourceFailed(Error),
    /// The source of sound failed. Pictures go on.
    SoundFailed(Error),
    /// The media server takes no sound. Pictures go alone.
    SoundRefused,
    /// A packet of sound that [is sent as it is](crate::SenderBuilder::copied_sound) does not fit into a datagram: from now on the
    /// sound is decoded and coded again.
    SoundCodedAgain {
        /// The packet.
        size: DataSize,
        /// The largest one that fits.
        room: DataSize,
    },
}

/// An event of a [`Receiver`](super::Receiver). Frames go to the sinks and are no events.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveEvent {
    /// An event of the session.
    Session(ReceiverEvent),
    /// A sender has the key. Packets are protected by these keys from now.
    Connected(Box<SrtpKeys>),
    /// The connection to the media server changed.
    Server(ServerState),
    /// A TURN server gives no relay to the media server, or none any more. The session goes on without it.
    TurnFailed(TurnFailure),
    /// The media server did not take the end of the session.
    NotDeleted(WhipError),
    /// An end with another key wants to send. Reported once for a receiver; the others are counted.
    OtherKey(SocketAddr),
    /// The sender that was called has another key.
    Refused,
    /// Another receiver with the same key called the sender and took over. The session is at its end.
    Replaced,
    /// The picture changed after it had frozen for this long.
    Freeze(TimeDelta),
    /// The picture on the screen was captured this long ago: the bound of [`ReceiverBuilder::stale_after`](super::ReceiverBuilder::stale_after)
    /// or more.
    Stale(TimeDelta),
    /// It is younger than the bound again. It was not for this long.
    Fresh(TimeDelta),
    /// A transport stream without H.264 comes; it has this.
    NotUnderstood(String),
    /// Video of this codec comes, for which there is no decoder: its pictures go to the sinks that record them, and are not shown.
    NotDecoded(VideoCodec),
    /// The sound of a transport stream is left out. Pictures go on.
    SoundFailed(Error),
    /// A sink failed and is dropped.
    SinkFailed(Error),
}
