//! Protection of a session's packets: SRTP, and the handshake that agrees on its keys.
//!
//! [`Protection`] stands where a message becomes octets and back. It is sans-I/O and uses neither sockets nor time:
//!
//! ```
//! use bytes::Bytes;
//! use seaway_protect::{MasterKey, Protection, SourceRange, SrtpKeys};
//!
//! let (there, back) = (MasterKey::new([1; 16], [2; 12]), MasterKey::new([3; 16], [4; 12]));
//! let sources = SourceRange { first: 0x0102_0000, count: 1024 };
//! let mut sender = Protection::srtp(&SrtpKeys { send: there.clone(), receive: back.clone() }, sources)?;
//! let mut receiver = Protection::srtp(&SrtpKeys { send: back, receive: there }, sources)?;
//!
//! let packet = [0x80, 96, 0, 7, 0, 0, 0, 0, 1, 2, 0, 0, b'p', b'i', b'c'];
//! let mut datagram = packet.to_vec();
//! sender.seal(&mut datagram)?;
//! assert_eq!(datagram.len(), packet.len() + Protection::SRTP_OVERHEAD);
//! assert_eq!(receiver.open(&datagram)?, &packet[..]);
//! assert!(receiver.open(&datagram).is_err(), "a packet is accepted once");
//! # Ok::<(), seaway_protect::Error>(())
//! ```

pub mod channel;
mod error;
pub mod handshake;
mod replay;
mod srtp;

pub use error::Error;
pub use srtp::{MasterKey, SourceRange, SrtpKeys};

use bytes::Bytes;
use srtp::Srtp;

/// How the packets of a session are protected.
#[derive(Debug, Default)]
#[allow(clippy::large_enum_variant, reason = "one read of memory less a packet; there are few sessions")]
pub enum Protection {
    /// Not at all: plain RTP and RTCP.
    #[default]
    None,
    /// By SRTP and SRTCP with AEAD_AES_128_GCM (RFC 7714); header extensions are encrypted (RFC 9335).
    Srtp(Srtp),
}

impl Protection {
    /// Octets by which a protected RTP packet is longer: the authentication tag. An RTCP packet has four more.
    pub const SRTP_OVERHEAD: usize = srtp::TAG_LEN;

    /// SRTP with these keys; only packets of `peer` are accepted.
    ///
    /// # Errors
    /// The cipher refuses the keys.
    pub fn srtp(keys: &SrtpKeys, peer: SourceRange) -> Result<Self, Error> {
        Srtp::new(keys, peer).map(Self::Srtp)
    }

    /// Replaces the RTP or RTCP packet in `datagram` by the protected one.
    ///
    /// # Errors
    /// It is no RTP or RTCP packet, or the key has sealed as many packets as RFC 3711 section 9.2 allows. It must not leave
    /// then.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::None => Ok(()),
            Self::Srtp(srtp) => srtp.seal(datagram),
        }
    }

    /// The RTP or RTCP packet that `datagram` protects.
    ///
    /// # Errors
    /// It is malformed, of an unknown source, not authentic, or came before. Nothing has changed then.
    pub fn open(&mut self, datagram: &[u8]) -> Result<Bytes, Error> {
        match self {
            Self::None => Ok(Bytes::copy_from_slice(datagram)),
            Self::Srtp(srtp) => srtp.open(datagram),
        }
    }
}
