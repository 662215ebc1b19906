//! Encryption of payloads, and wrapping of keys (draft-sharabayko-srt-01, section 6).

use crate::settings::{KeyLength, Passphrase};
use crate::{KeyFlag, Sequence};
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
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
    cipher: Cipher,
    /// What it was made from.
    length: KeyLength,
    salt: [u8; SALT_LEN],
}

impl fmt::Debug for WrappingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrappingKey")
    }
}

enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

/// Section 6.1.5: rounds of PBKDF2.
const ROUNDS: NonZeroU32 = NonZeroU32::new(2048).unwrap();
/// RFC 3394, section 2.2.3.1.
const INITIAL_VALUE: [u8; 8] = [0xa6; 8];

impl WrappingKey {
    /// Section 6.1.5: PBKDF2 with HMAC-SHA1 of the passphrase and the last 64 bits of the salt. It takes about a millisecond.
    pub(crate) fn derive(passphrase: &Passphrase, length: KeyLength, salt: [u8; SALT_LEN]) -> Self {
        let mut key = [0; 32];
        let key = &mut key[..length.octets()];
        let algorithm = ring::pbkdf2::PBKDF2_HMAC_SHA1;
        ring::pbkdf2::derive(algorithm, ROUNDS, &salt[8..], passphrase.as_bytes(), key);
        Self { cipher: Cipher::new(length, key), length, salt }
    }

    /// Whether it was made from the same.
    pub(crate) fn is_for(&self, length: KeyLength, salt: [u8; SALT_LEN]) -> bool {
        (self.length, self.salt) == (length, salt)
    }

    /// RFC 3394, section 2.2.1. `keys` has a multiple of eight octets.
    pub(crate) fn wrap(&self, keys: &[u8]) -> Vec<u8> {
        let count = keys.len() / 8;
        let mut wrapped = [&INITIAL_VALUE[..], keys].concat();
        for step in 1..=6 * count {
            let at = 8 * ((step - 1) % count + 1);
            let mut block = [0; 16];
            block[..8].copy_from_slice(&wrapped[..8]);
            block[8..].copy_from_slice(&wrapped[at..at + 8]);
            self.cipher.encrypt(&mut block);
            exclusive_or(&mut block, step);
            wrapped[..8].copy_from_slice(&block[..8]);
            wrapped[at..at + 8].copy_from_slice(&block[8..]);
        }
        wrapped
    }

    /// RFC 3394, section 2.2.2. Nothing where it was wrapped with another key.
    pub(crate) fn unwrap(&self, wrapped: &[u8]) -> Option<Vec<u8>> {
        if !wrapped.len().is_multiple_of(8) || wrapped.len() < 3 * 8 {
            return None;
        }
        let count = wrapped.len() / 8 - 1;
        let mut keys = wrapped.to_vec();
        for step in (1..=6 * count).rev() {
            let at = 8 * ((step - 1) % count + 1);
            let mut block = [0; 16];
            block[..8].copy_from_slice(&keys[..8]);
            block[8..].copy_from_slice(&keys[at..at + 8]);
            exclusive_or(&mut block, step);
            self.cipher.decrypt(&mut block);
            keys[..8].copy_from_slice(&block[..8]);
            keys[at..at + 8].copy_from_slice(&block[8..]);
        }
        let is_ours = keys[..8].iter().zip(INITIAL_VALUE).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0;
        is_ours.then(|| keys.split_off(8))
    }
}

/// XOR of the first half of a block with the number of a step.
fn exclusive_or(block: &mut [u8; 16], step: usize) {
    for (octet, number) in block[..8].iter_mut().zip((step as u64).to_be_bytes()) {
        *octet ^= number;
    }
}

impl Cipher {
    fn new(length: KeyLength, key: &[u8]) -> Self {
        match length {
            KeyLength::Aes128 => Self::Aes128(Box::new(Aes128::new(GenericArray::from_slice(key)))),
            KeyLength::Aes192 => Self::Aes192(Box::new(Aes192::new(GenericArray::from_slice(key)))),
            KeyLength::Aes256 => Self::Aes256(Box::new(Aes256::new(GenericArray::from_slice(key)))),
        }
    }

    fn encrypt(&self, block: &mut [u8; 16]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Aes128(cipher) => cipher.encrypt_block(block),
            Self::Aes192(cipher) => cipher.encrypt_block(block),
            Self::Aes256(cipher) => cipher.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; 16]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Aes128(cipher) => cipher.decrypt_block(block),
            Self::Aes192(cipher) => cipher.decrypt_block(block),
            Self::Aes256(cipher) => cipher.decrypt_block(block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn wrapping(length: KeyLength, key: &[u8]) -> WrappingKey {
        WrappingKey { cipher: Cipher::new(length, key), length, salt: [0; 16] }
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
            let wrapped = wrapping.wrap(&data[..octets]);
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
                Cipher::new(length, key.octets()).encrypt(&mut expected);
                assert_eq!(chunk, &expected[..chunk.len()]);
            }
            key.apply(Sequence::new(0x0102_0304), &mut payload);
            assert_eq!(payload, [0; 40]);
        }
    }
}
