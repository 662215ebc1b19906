//! The handshake of a keyed session, one round trip before the first media packet.
//!
//! It is `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (The Noise Protocol Framework, revision 34): both ends prove that they have the
//! session's key, and both contribute an ephemeral X25519 key, so that who learns the session's key later decrypts nothing.
//!
//! ```text
//! hello     head 1 | e, {synchronisation source}     56 octets, caller to listener
//! reply     head 2 | e, ee, {synchronisation source} 56 octets, listener to caller
//! proof     head 3 | the hello again | tag           72 octets, caller to listener
//! refusal   head 4 | beginning of the hello          20 octets: the hello was made with another key
//! replaced  head 5 | token                           20 octets: another caller took over
//! ```
//!
//! The caller is the sender, whose first media follow the proof; or the receiver, where the sender listens: media begin with the proof
//! then. The prologue of Noise says which, so that a message of one kind is none of the other.
//!
//! The listener keeps nothing between reply and proof: its ephemeral key is a function of a secret, the hello and the
//! caller's address, and the proof brings the hello again. So the reply is a cookie (RFC 9147 section 5.1): only who received it
//! at that address can make the proof. The listener replaces the secret with each proof that it accepts. A recorded
//! handshake thus never yields the same keys again, and recorded packets stay worthless.
//!
//! No message is answered by a longer one, and none is answered before its sender showed the key, save by a refusal.

mod budget;
mod caller;
mod initiator;
mod noise;
mod responder;
mod token;

pub use caller::Caller;
pub use initiator::{Established, Initiator};
pub(crate) use noise::Ratchet;
pub use responder::{Accepted, Answer, Responder};
pub(crate) use token::Token;

/// Octets of the head: "SW", version, kind. The first octet is none that RTP, RTCP, STUN or DTLS begin with (RFC 7983).
const HEAD_LEN: usize = 4;
const HEAD: [u8; 3] = [b'S', b'W', 1];
const TAG_LEN: usize = 16;
/// Octets of either Noise message: public key, source, tag.
const NOISE_LEN: usize = 32 + 4 + TAG_LEN;
/// Octets of a hello.
pub const HELLO_LEN: usize = HEAD_LEN + NOISE_LEN;
/// Octets of a reply.
pub const REPLY_LEN: usize = HEAD_LEN + NOISE_LEN;
/// Octets of a proof.
pub const PROOF_LEN: usize = HEAD_LEN + NOISE_LEN + TAG_LEN;
/// Octets of a refusal and of the notice that another sender took over.
pub const NOTICE_LEN: usize = HEAD_LEN + TAG_LEN;

/// What a handshake message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hello = 1,
    Reply = 2,
    Proof = 3,
    Refusal = 4,
    Replaced = 5,
}

/// True where a datagram is meant as a handshake message.
pub fn is_handshake(datagram: &[u8]) -> bool {
    datagram.starts_with(&HEAD)
}

/// The body of a message whose length is right.
fn read(datagram: &[u8]) -> Option<(Kind, &[u8])> {
    let (head, body) = datagram.split_at_checked(HEAD_LEN)?;
    let kind = match (head[3], datagram.len()) {
        (1, HELLO_LEN) => Kind::Hello,
        (2, REPLY_LEN) => Kind::Reply,
        (3, PROOF_LEN) => Kind::Proof,
        (4, NOTICE_LEN) => Kind::Refusal,
        (5, NOTICE_LEN) => Kind::Replaced,
        _ => return None,
    };
    (head[..3] == HEAD).then_some((kind, body))
}

/// A message of this kind.
fn write(kind: Kind, body: &[&[u8]]) -> Vec<u8> {
    [&HEAD[..], &[kind as u8], &body.concat()].concat()
}
