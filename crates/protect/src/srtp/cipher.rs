//! AEAD_AES_128_GCM with the session keys of one direction (RFC 7714), by crate `rtc-crypto`.

use super::MasterKey;
use crate::Error;
use rtc_crypto::{AeadAlgorithm, AeadCipher, BlockCipherAlgorithm, RTCCrypto, default_provider};

/// Octets of the authentication tag.
pub(crate) const TAG_LEN: usize = 16;
const SALT_LEN: usize = 12;

/// Labels of the session key and the session salt of RTP, and of RTCP (RFC 3711 section 4.3.1).
const RTP: (u8, u8) = (0, 2);
const RTCP: (u8, u8) = (3, 5);

/// The key and the salt for the RTP or for the RTCP packets of one direction.
pub(super) struct Cipher {
    aead: Box<dyn AeadCipher>,
    salt: [u8; SALT_LEN],
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
        let key = session_key(crypto, master, key)?;
        let aead = crypto.new_aead(AeadAlgorithm::Aes128Gcm, &key).map_err(|_| Error::Cipher)?;
        let salt = session_key(crypto, master, salt)?;
        Ok(Self { aead, salt: std::array::from_fn(|index| salt[index]) })
    }

    /// Encrypts `text` in place; gives the tag, which covers `head` too. Never twice for one source and index: that would give
    /// away the key of the tag (RFC 7714 section 8.1).
    pub(super) fn seal(
        &mut self,
        ssrc: u32,
        index: u64,
        head: &[u8],
        text: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Error> {
        let (nonce, mut tag) = (self.nonce(ssrc, index), [0; TAG_LEN]);
        self.aead.seal_in_place(&nonce, head, text, &mut tag).map_err(|_| Error::Cipher)?;
        Ok(tag)
    }

    /// Decrypts `text` in place; what is not authentic is destroyed.
    pub(super) fn open(
        &mut self,
        ssrc: u32,
        index: u64,
        head: &[u8],
        text: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        let nonce = self.nonce(ssrc, index);
        self.aead.open_in_place(&nonce, head, text, tag).map_err(|_| Error::NotAuthentic)
    }

    /// The salt, with source and packet index added (RFC 7714 section 8.1). The index of RTCP has 31 bits, and then it is that of
    /// section 9.1.
    fn nonce(&self, ssrc: u32, index: u64) -> [u8; SALT_LEN] {
        let mut nonce = self.salt;
        let added = ssrc.to_be_bytes().into_iter().chain(index.to_be_bytes().into_iter().skip(2));
        nonce[2..].iter_mut().zip(added).for_each(|(octet, added)| *octet ^= added);
        nonce
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
