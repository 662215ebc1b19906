//! Encryption of payloads, and wrapping of keys (draft-sharabayko-srt-01, section 6).

use crate::settings::{KeyLength, Passphrase};
use crate::{KeyFlag, Sequence};
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
use aes_kw::{Kek, KekAes128, KekAes192, KekAes256};
use ctr::Ctr128BE;
use std::fmt;
use std::num::NonZeroU32;

/// Octets of a salt.
pub(crate) const SALT_LEN: usize = 16;
/// Octets by which a wrapped key is longer.
pub(crate) const WRAP_OVERHEAD: usize = 8;

/// The key of a stream, and its salt.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    length: KeyLength,
    octets: [u8; 32],
    salt: [u8; SALT_LEN],
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    pub(crate) fn new(length: KeyLength, octets: [u8; 32], salt: [u8; SALT_LEN]) -> Self {
        Self { length, octets, salt }
    }

    pub(crate) fn salt(&self) -> [u8; SALT_LEN] {
        self.salt
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.length.octets()]
    }

    /// Encrypts or decrypts a payload by AES in counter mode.
    ///
    /// Section 6.1.2: the counter begins with the first 112 bits of the salt, XOR the packet's number in bits 80 to 111,
    /// and has 16 bits for the blocks of the packet behind them.
    pub(crate) fn apply(&self, sequence: Sequence, payload: &mut [u8]) {
        let mut counter = [0; 16];
        counter[..14].copy_from_slice(&self.salt[..14]);
        for (octet, number) in counter[10..14].iter_mut().zip(sequence.value().to_be_bytes()) {
            *octet ^= number;
        }
        let (key, counter) = (self.octets(), GenericArray::from(counter));
        match self.length {
            KeyLength::Aes128 => {
                Ctr128BE::<Aes128>::new(GenericArray::from_slice(key), &counter).apply_keystream(payload);
            }
            KeyLength::Aes192 => {
                Ctr128BE::<Aes192>::new(GenericArray::from_slice(key), &counter).apply_keystream(payload);
            }
            KeyLength::Aes256 => {
                Ctr128BE::<Aes256>::new(GenericArray::from_slice(key), &counter).apply_keystream(payload);
            }
        }
    }
}

/// The two keys of one direction, of which one is in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRing {
    even: Option<Key>,
    odd: Option<Key>,
}

impl KeyRing {
    pub(crate) fn get(&self, flag: KeyFlag) -> Option<&Key> {
        match flag {
            KeyFlag::Plain => None,
            KeyFlag::Even => self.even.as_ref(),
            KeyFlag::Odd => self.odd.as_ref(),
        }
    }

    pub(crate) fn set(&mut self, flag: KeyFlag, key: Key) {
        match flag {
            KeyFlag::Plain => {}
            KeyFlag::Even => self.even = Some(key),
            KeyFlag::Odd => self.odd = Some(key),
        }
    }
}

/// The key that wraps keys.
pub(crate) struct WrappingKey {
    cipher: KeyCipher,
    /// What it was made from.
    length: KeyLength,
    salt: [u8; SALT_LEN],
}

impl fmt::Debug for WrappingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrappingKey")
    }
}

enum KeyCipher {
    Aes128(Box<KekAes128>),
    Aes192(Box<KekAes192>),
    Aes256(Box<KekAes256>),
}

/// Section 6.1.5: rounds of PBKDF2.
const ROUNDS: NonZeroU32 = NonZeroU32::new(2048).unwrap();

impl WrappingKey {
    /// Section 6.1.5: PBKDF2 with HMAC-SHA1 of the passphrase and the last 64 bits of the salt. It takes about a millisecond.
    pub(crate) fn derive(passphrase: &Passphrase, length: KeyLength, salt: [u8; SALT_LEN]) -> Self {
        let mut key = [0; 32];
        let key = &mut key[..length.octets()];
        let algorithm = ring::pbkdf2::PBKDF2_HMAC_SHA1;
        ring::pbkdf2::derive(algorithm, ROUNDS, &salt[8..], passphrase.as_bytes(), key);
        Self { cipher: KeyCipher::new(length, key), length, salt }
    }

    /// Whether it was made from the same.
    pub(crate) fn is_for(&self, length: KeyLength, salt: [u8; SALT_LEN]) -> bool {
        (self.length, self.salt) == (length, salt)
    }

    /// RFC 3394, section 2.2.1. Nothing where `keys` has no multiple of eight octets.
    pub(crate) fn wrap(&self, keys: &[u8]) -> Option<Vec<u8>> {
        let wrapped = match &self.cipher {
            KeyCipher::Aes128(kek) => kek.wrap_vec(keys),
            KeyCipher::Aes192(kek) => kek.wrap_vec(keys),
            KeyCipher::Aes256(kek) => kek.wrap_vec(keys),
        };
        wrapped.ok()
    }

    /// RFC 3394, section 2.2.2. Nothing where it was wrapped with another key.
    pub(crate) fn unwrap(&self, wrapped: &[u8]) -> Option<Vec<u8>> {
        let keys = match &self.cipher {
            KeyCipher::Aes128(kek) => kek.unwrap_vec(wrapped),
            KeyCipher::Aes192(kek) => kek.unwrap_vec(wrapped),
            KeyCipher::Aes256(kek) => kek.unwrap_vec(wrapped),
        };
        keys.ok()
    }
}

impl KeyCipher {
    fn new(length: KeyLength, key: &[u8]) -> Self {
        match length {
            KeyLength::Aes128 => Self::Aes128(Box::new(Kek::new(GenericArray::from_slice(key)))),
            KeyLength::Aes192 => Self::Aes192(Box::new(Kek::new(GenericArray::from_slice(key)))),
            KeyLength::Aes256 => Self::Aes256(Box::new(Kek::new(GenericArray::from_slice(key)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{BlockEncrypt, KeyInit};

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn wrapping(length: KeyLength, key: &[u8]) -> WrappingKey {
        WrappingKey { cipher: KeyCipher::new(length, key), length, salt: [0; 16] }
    }

    /// RFC 3394, sections 4.1, 4.2 and 4.6.
    #[test]
    fn keys_are_wrapped_as_in_the_standard() {
        let key: Vec<u8> = (0..32).collect();
        let data = hex("00112233445566778899AABBCCDDEEFF0001020304050607\
                        08090A0B0C0D0E0F");
        for (length, octets, expected) in [
            (KeyLength::Aes128, 16, "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"),
            (KeyLength::Aes192, 16, "96778B25AE6CA435F92B5B97C050AED2468AB8A17AD84E5D"),
            (
                KeyLength::Aes256,
                32,
                "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21",
            ),
        ] {
            let wrapping = wrapping(length, &key[..length.octets()]);
            let wrapped = wrapping.wrap(&data[..octets]).unwrap();
            assert_eq!(wrapped, hex(expected));
            assert_eq!(wrapping.unwrap(&wrapped).unwrap(), &data[..octets]);
            let mut wrong = wrapped.clone();
            wrong[9] ^= 1;
            assert_eq!(wrapping.unwrap(&wrong), None);
            assert_eq!(wrapping.unwrap(&wrapped[1..]), None);
        }
        assert_eq!(wrapping(KeyLength::Aes128, &key[..16]).unwrap(&[]), None);
    }

    /// RFC 6070's function with the parameters of SRT; the value is of Python's `hashlib.pbkdf2_hmac`.
    #[test]
    fn a_passphrase_gives_a_key() {
        let passphrase = Passphrase::new("correct horse").unwrap();
        let salt = std::array::from_fn(|index| index as u8);
        let one = WrappingKey::derive(&passphrase, KeyLength::Aes128, salt);
        let expected = wrapping(KeyLength::Aes128, &hex(DERIVED));
        assert_eq!(one.wrap(&[7; 16]), expected.wrap(&[7; 16]));
        assert!(one.is_for(KeyLength::Aes128, salt) && !one.is_for(KeyLength::Aes256, salt));
    }

    const DERIVED: &str = "43fcfd0604bae887d5880a354dafc66c";

    /// The counter of section 6.1.2, block by block, against AES alone.
    #[test]
    fn payloads_are_encrypted_in_counter_mode() {
        let salt = std::array::from_fn(|index| 0xf0 + index as u8);
        for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
            let key = Key::new(length, [9; 32], salt);
            let mut payload = vec![0; 40];
            key.apply(Sequence::new(0x0102_0304), &mut payload);
            let mut counter: [u8; 16] = salt;
            for (octet, number) in counter[10..14].iter_mut().zip([1, 2, 3, 4]) {
                *octet ^= number;
            }
            for (block, chunk) in payload.chunks(16).enumerate() {
                counter[14..].copy_from_slice(&[0, block as u8]);
                let mut expected = counter;
                let (octets, block) = (key.octets(), GenericArray::from_mut_slice(&mut expected));
                match length {
                    KeyLength::Aes128 => Aes128::new_from_slice(octets).unwrap().encrypt_block(block),
                    KeyLength::Aes192 => Aes192::new_from_slice(octets).unwrap().encrypt_block(block),
                    KeyLength::Aes256 => Aes256::new_from_slice(octets).unwrap().encrypt_block(block),
                }
                assert_eq!(chunk, &expected[..chunk.len()]);
            }
            key.apply(Sequence::new(0x0102_0304), &mut payload);
            assert_eq!(payload, [0; 40]);
        }
    }
}
