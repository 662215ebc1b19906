//! The error of this crate.

use std::io;

/// Why a stream cannot start or cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, an encoder or a decoder failed.
    #[error(transparent)]
    Media(#[from] seaway_media::Error),
    /// A recording or a capture cannot be written.
    #[error("{0}")]
    Output(io::Error),
    /// A recording has no frame.
    #[error("nothing was received: there is no recording")]
    NothingRecorded,
    /// The controller or one of its options does not exist.
    #[error(transparent)]
    Control(#[from] seaway_control::SpecError),
    /// The local address cannot be used.
    #[error("{address}: {error}")]
    Bind {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system answered.
        error: io::Error,
    },
    /// The interface cannot be used.
    #[cfg(feature = "live")]
    #[error("{via}: {error}")]
    Via {
        /// The interface.
        via: seaway_net::Via,
        /// What the system answered.
        error: io::Error,
    },
    /// Interfaces are for a receiver of this project, and several of them for RTP.
    #[error("an interface is chosen for a receiver of this project, and several for one by RTP")]
    NoLanes,
    /// Off this host, plain RTP needs explicit permission.
    #[error("{0} is not on this host: a session with it needs a key")]
    Unprotected(std::net::SocketAddr),
    /// Off this host, a media server needs HTTPS or explicit permission.
    #[error(
        "{0} is not on this host: over plain HTTP anyone on the path can take the media server's place; use https in its URL"
    )]
    PlainHttp(std::net::SocketAddr),
    /// A media server takes H.264, on one connection.
    #[error("a media server takes H.264 on one connection")]
    NotForServer,
    /// Calls of receivers are for one connection by RTP, with a receiver of this project.
    #[error("a receiver calls by RTP, on one connection")]
    NotByCall,
    /// Of RTP, a player of others alone gets a transport stream, and that has H.264.
    #[error("a transport stream is for plain RTP, and has H.264")]
    NotMuxed,
    /// A STUN server gave no address.
    #[cfg(feature = "live")]
    #[error("the STUN server {server}: {error}")]
    Stun {
        /// The server.
        server: seaway_net::webrtc::StunServer,
        /// What went wrong.
        error: io::Error,
    },
    /// A media server gave no session.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Publish(#[from] seaway_net::webrtc::WhipError),
    /// The window transport has no keys.
    #[error("the window transport has no keys: a session with another host goes unprotected, or not at all")]
    NoKeys,
    /// A socket, a thread or random numbers cannot be had.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A thread of the stream panicked.
    #[error("the {0} thread panicked")]
    Thread(&'static str),
}
