//! The Noise handshake by crate `snow`, its randomness as an argument, and the keys that it yields.

use super::{Caller, NOISE_LEN, TAG_LEN, Token};
use crate::Error;
use crate::srtp::MasterKey;
use seaway_session::SessionKey;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use std::fmt;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// 32 octets of a pseudorandom function.
pub(crate) type Secret = [u8; 32];

/// One side of a handshake whose ephemeral key is made of `entropy`.
pub(super) fn begin(
    key: &SessionKey,
    caller: Caller,
    entropy: Secret,
    initiates: bool,
) -> Result<HandshakeState, Error> {
    let parameters = PATTERN.parse().map_err(|_| Error::Cipher)?;
    let builder = Builder::with_resolver(parameters, Box::new(Seeded(entropy)));
    let builder = builder.prologue(caller.prologue()).and_then(|builder| builder.psk(0, key.as_bytes()));
    let state = builder.and_then(|builder| match initiates {
        true => builder.build_initiator(),
        false => builder.build_responder(),
    });
    state.map_err(|_| Error::Cipher)
}

/// The next message with this source; both messages have one length.
pub(super) fn write(state: &mut HandshakeState, source: u32) -> Result<[u8; NOISE_LEN], Error> {
    let mut message = [0; NOISE_LEN];
    let len = state.write_message(&source.to_be_bytes(), &mut message).map_err(|_| Error::Cipher)?;
    if len == NOISE_LEN { Ok(message) } else { Err(Error::Cipher) }
}

/// The source in the peer's message.
pub(super) fn read(state: &mut HandshakeState, message: &[u8]) -> Result<u32, Error> {
    let mut payload = [0; NOISE_LEN];
    match state.read_message(message, &mut payload) {
        Ok(4) => Ok(u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]])),
        Ok(_) => Err(Error::Malformed),
        Err(_) => Err(Error::NotAuthentic),
    }
}

/// The secrets of both ends after the handshake.
pub(super) struct Secrets {
    /// For packets of the sender.
    pub(super) forward: MasterKey,
    /// For packets of the receiver.
    pub(super) backward: MasterKey,
    /// Sent in the proof.
    pub(super) tag: [u8; TAG_LEN],
    /// Sent when another sender takes over.
    pub(super) token: Token,
}

impl Secrets {
    pub(super) fn of(state: &mut HandshakeState) -> Self {
        let (forward, backward) = state.dangerously_get_raw_split();
        let (forward, tag) = derive(&forward);
        let (backward, token) = derive(&backward);
        Self { forward, backward, tag, token: Token::new(token) }
    }
}

/// A master key and a tag from one of the two keys that Noise ends with (sections 4.3 and 5.2).
fn derive(key: &Secret) -> (MasterKey, [u8; TAG_LEN]) {
    let [key, salt, tag] = hkdf(key, b"seaway srtp aead_aes_128_gcm");
    let first = |octets: Secret| std::array::from_fn(|index| octets[index]);
    let salt = std::array::from_fn(|index| salt[index]);
    (MasterKey::new(first(key), salt), first(tag))
}

/// Three outputs of HKDF-SHA256 (RFC 5869), as Noise uses it.
pub(super) fn hkdf(key: &Secret, input: &[u8]) -> [Secret; 3] {
    let [mut a, mut b, mut c] = [[0; 32]; 3];
    let hash = DefaultResolver.resolve_hash(&HashChoice::SHA256);
    let mut hash = hash.unwrap_or_else(|| unreachable!("SHA-256 is compiled in"));
    hash.hkdf(key, input, 3, &mut a, &mut b, &mut c);
    [a, b, c]
}

/// Secrets in a row, of which a later one does not give away an earlier one.
pub(crate) struct Ratchet(Secret);

impl Ratchet {
    /// From 32 random octets.
    pub(crate) const fn new(seed: Secret) -> Self {
        Self(seed)
    }

    /// A function of the present secret.
    pub(super) fn derive(&self, input: &[u8]) -> Secret {
        hkdf(&self.0, input)[0]
    }

    /// Forgets the present secret.
    pub(super) fn advance(&mut self) {
        self.0 = hkdf(&self.0, b"next")[0];
    }

    /// A secret for one use.
    pub(crate) fn take(&mut self) -> Secret {
        let secret = self.derive(b"once");
        self.advance();
        secret
    }
}

impl fmt::Debug for Ratchet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ratchet(secret)")
    }
}

/// The default algorithms with given random numbers.
struct Seeded(Secret);

impl CryptoResolver for Seeded {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Gives its octets for the one key that a handshake makes.
struct Once(Option<Secret>);

impl Random for Once {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let secret = self.0.take().filter(|secret| secret.len() == dest.len()).ok_or(snow::Error::Rng)?;
        dest.copy_from_slice(&secret);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869 appendix A.3 has an empty salt and no info, and Noise's outputs are its blocks T(1) to T(3).
    #[test]
    fn hkdf_is_that_of_the_rfc() {
        let [first, second, _] = hkdf(&[0; 32], &[0x0b; 22]);
        let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        assert_eq!(hex(&first), "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
        assert_eq!(hex(&second[..10]), "9d201395faa4b61a96c8");
    }

    #[test]
    fn a_ratchet_never_repeats() {
        let mut ratchet = Ratchet::new([3; 32]);
        let before = ratchet.derive(b"input");
        let taken = [ratchet.take(), ratchet.take(), ratchet.take()];
        assert!(taken[0] != taken[1] && taken[1] != taken[2] && taken[0] != taken[2]);
        assert_ne!(ratchet.derive(b"input"), before);
    }
}
