//! Key material as octets (draft-sharabayko-srt-01, section 3.2.2), and what it is made from.

use crate::bytes::{Reader, put_u16, put_u32};
use crate::cipher::{Key, SALT_LEN, WRAP_OVERHEAD, WrappingKey};
use crate::settings::KeyLength;
use crate::{Error, KeyFlag};

/// Keys, wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMaterial {
    /// The even key is there.
    pub has_even: bool,
    /// The odd key is there.
    pub has_odd: bool,
    /// The length of each.
    pub length: KeyLength,
    /// The salt of both.
    pub salt: [u8; SALT_LEN],
    /// They, even one first, by RFC 3394.
    pub wrapped: Vec<u8>,
}

/// Version 1, packet type 2, signature "HAI".
const HEAD: u32 = 0x1220_2900;
/// AES-CTR, no authentication, a transport stream inside SRT.
const CIPHER: u32 = 0x0200_0200;

/// The status that takes the place of keys in an answer: there is no passphrase (SRT_KM_S_NOSECRET).
pub(crate) const NO_SECRET: u32 = 3;
/// The passphrase is another one (SRT_KM_S_BADSECRET).
pub(crate) const BAD_SECRET: u32 = 4;

impl KeyMaterial {
    /// Wraps keys.
    pub(crate) fn wrap(with: &WrappingKey, keys: &[(KeyFlag, &Key)]) -> Option<Self> {
        let (_, first) = keys.first()?;
        let has = |wanted: KeyFlag| keys.iter().any(|(flag, _)| *flag == wanted);
        let octets: Vec<u8> = keys.iter().flat_map(|(_, key)| key.octets().to_vec()).collect();
        Some(Self {
            has_even: has(KeyFlag::Even),
            has_odd: has(KeyFlag::Odd),
            length: KeyLength::from_octets(first.octets().len())?,
            salt: first.salt(),
            wrapped: with.wrap(&octets)?,
        })
    }

    /// The keys; nothing where they were wrapped with another passphrase.
    pub(crate) fn unwrap(&self, with: &WrappingKey) -> Option<Vec<(KeyFlag, Key)>> {
        let octets = with.unwrap(&self.wrapped)?;
        let flags = [(self.has_even, KeyFlag::Even), (self.has_odd, KeyFlag::Odd)];
        let present = flags.into_iter().filter(|(is_there, _)| *is_there);
        let keys = present.zip(octets.chunks(self.length.octets())).map(|((_, flag), chunk)| {
            let mut key = [0; 32];
            key[..chunk.len()].copy_from_slice(chunk);
            (flag, Key::new(self.length, key, self.salt))
        });
        Some(keys.collect())
    }

    /// Reads key material.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("key material", data);
        let head = reader.u32()?;
        if head & 0xffff_fffc != HEAD || head & 3 == 0 {
            return Err(Error::Unexpected { what: "head of key material", seen: head });
        }
        let _index = reader.u32()?;
        let cipher = reader.u32()?;
        if cipher & 0xffff_0000 != CIPHER & 0xffff_0000 {
            return Err(Error::Unexpected { what: "cipher", seen: cipher });
        }
        let _reserved = reader.u16()?;
        let [salt_words, key_words] = reader.array()?;
        let length = KeyLength::from_octets(4 * usize::from(key_words));
        let (4, Some(length)) = (salt_words, length) else {
            let seen = u32::from_be_bytes([0, 0, salt_words, key_words]);
            return Err(Error::Unexpected { what: "lengths of key material", seen });
        };
        let salt = reader.array()?;
        let keys = if head & 3 == 3 { 2 } else { 1 };
        let wrapped = reader.take(keys * length.octets() + WRAP_OVERHEAD)?.to_vec();
        Ok(Self { has_even: head & 1 != 0, has_odd: head & 2 != 0, length, salt, wrapped })
    }

    /// The octets.
    pub fn emit(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(32 + self.wrapped.len());
        put_u32(&mut data, HEAD | u32::from(self.has_odd) << 1 | u32::from(self.has_even));
        put_u32(&mut data, 0);
        put_u32(&mut data, CIPHER);
        put_u16(&mut data, 0);
        data.extend_from_slice(&[(SALT_LEN / 4) as u8, (self.length.octets() / 4) as u8]);
        data.extend_from_slice(&self.salt);
        data.extend_from_slice(&self.wrapped);
        data
    }
}

/// The status in place of keys.
pub(crate) fn status(data: &[u8]) -> Option<u32> {
    <[u8; 4]>::try_from(data).ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Passphrase;
    use proptest::prelude::*;

    fn wrapping(text: &str, length: KeyLength) -> WrappingKey {
        WrappingKey::derive(&Passphrase::new(text).unwrap(), length, [3; 16])
    }

    #[test]
    fn keys_come_back_with_the_passphrase_alone() {
        for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
            let (one, other) = (Key::new(length, [1; 32], [3; 16]), Key::new(length, [2; 32], [3; 16]));
            let keys = [(KeyFlag::Even, &one), (KeyFlag::Odd, &other)];
            for some in [&keys[..], &keys[..1], &keys[1..]] {
                let material = KeyMaterial::wrap(&wrapping("passphrase", length), some).unwrap();
                let parsed = KeyMaterial::parse(&material.emit()).unwrap();
                assert_eq!(parsed, material);
                let unwrapped = parsed.unwrap(&wrapping("passphrase", length)).unwrap();
                assert_eq!(unwrapped.len(), some.len());
                for ((flag, key), (expected_flag, expected)) in unwrapped.iter().zip(some) {
                    assert_eq!((flag, key.octets()), (expected_flag, expected.octets()));
                }
                assert!(parsed.unwrap(&wrapping("another passphrase", length)).is_none());
                let octets = material.emit();
                assert!((0..octets.len()).all(|len| KeyMaterial::parse(&octets[..len]).is_err()));
            }
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(tail: Vec<u8>) {
            let _ = KeyMaterial::parse(&tail);
            for key in 1..4 {
                let mut data = (HEAD | key).to_be_bytes().to_vec();
                data.extend(&tail);
                let _ = KeyMaterial::parse(&data);
            }
        }
    }
}
