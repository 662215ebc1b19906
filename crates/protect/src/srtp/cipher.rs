//! AEAD_AES_128_GCM with the session keys of one direction (RFC 7714), by crate `ring`; `rtc-crypto` derives the keys.

use super::MasterKey;
use crate::Error;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rtc_crypto::{BlockCipherAlgorithm, RTCCrypto, default_provider};

/// Octets of the authentication tag.
pub(crate) const TAG_LEN: usize = 16;
const SALT_LEN: usize = 12;

/// Labels of the session key and the session salt of RTP, and of RTCP (RFC 3711 section 4.3.1).
const RTP: (u8, u8) = (0, 2);
const RTCP: (u8, u8) = (3, 5);

/// The key and the salt for the RTP or for the RTCP packets of one direction. They stand in one piece of memory: packets leave one by one,
/// and between two of them the caches forget.
pub(super) struct Cipher {
    /// In the lower bits.
    salt: u128,
    aead: LessSafeKey,
}

impl Cipher {
    pub(super) fn of_rtp(master: &MasterKey) -> Result<Self, Error> {
        Self::derive(master, RTP)
    }

    pub(super) fn of_rtcp(master: &MasterKey) -> Result<Self, Error> {
        Self::derive(master, RTCP)
    }

    fn derive(master: &MasterKey, (key, salt): (u8, u8)) -> Result<Self, Error> {
        let provider = default_provider().map_err(|_| Error::Cipher)?;
        let crypto = provider.crypto();
        let key = UnboundKey::new(&AES_128_GCM, &session_key(crypto, master, key)?);
        let salt = session_key(crypto, master, salt)?;
        Ok(Self {
            salt: u128::from_be_bytes(salt) >> 32,
            aead: LessSafeKey::new(key.map_err(|_| Error::Cipher)?),
        })
    }

    /// Encrypts in place what is behind `clear` octets of `datagram`, and appends the tag, which covers `head` too, or else those octets. Never
    /// twice for one source and index: that would give away the key of the tag (RFC 7714 section 8.1).
    #[inline]
    pub(super) fn seal(
        &self,
        ssrc: u32,
        index: u64,
        head: Option<&[u8]>,
        clear: usize,
        datagram: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (before, text) = datagram.split_at_mut(clear);
        let head = Aad::from(head.unwrap_or(before));
        match self.aead.seal_in_place_separate_tag(self.nonce(ssrc, index), head, text) {
            Ok(tag) => datagram.extend_from_slice(tag.as_ref()),
            Err(_) => return Err(Error::Cipher),
        }
        Ok(())
    }

    /// Decrypts `text` in place; what is not authentic is destroyed.
    #[inline]
    pub(super) fn open(
        &self,
        ssrc: u32,
        index: u64,
        head: &[u8],
        text: &mut [u8],
        tag: [u8; TAG_LEN],
    ) -> Result<(), Error> {
        let nonce = self.nonce(ssrc, index);
        let opened = self.aead.open_in_place_separate_tag(nonce, Aad::from(head), tag.into(), text, 0..);
        opened.map(|_| ()).map_err(|_| Error::NotAuthentic)
    }

    /// The salt, with source and packet index added (RFC 7714 section 8.1). The index of RTCP has 31 bits, and then it is that of
    /// section 9.1. It is written in the pieces in which ring reads it: a read that spans two writes waits for both.
    fn nonce(&self, ssrc: u32, index: u64) -> Nonce {
        let octets = self.salt ^ (u128::from(ssrc) << 48 | u128::from(index));
        let mut nonce = [0; SALT_LEN];
        nonce[..8].copy_from_slice(&((octets >> 32) as u64).to_be_bytes());
        nonce[8..].copy_from_slice(&(octets as u32).to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The first block of AES-CM under the master key (RFC 3711 section 4.3.3), at key derivation rate 0.
fn session_key(crypto: &dyn RTCCrypto, master: &MasterKey, label: u8) -> Result<[u8; 16], Error> {
    let mut block = [0; 16];
    block[..SALT_LEN].copy_from_slice(&master.salt);
    block[7] ^= label;
    let encrypted = crypto.block_encrypt(BlockCipherAlgorithm::Aes128, &master.key, &mut block);
    encrypted.map(|()| block).map_err(|_| Error::Cipher)
}
