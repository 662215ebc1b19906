//! The key of a session.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use std::str::FromStr;

/// The secret that the two ends of a session share: 256 random bits. Who has it can send, and receive in the place of the
/// receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey([u8; Self::LEN]);

impl SessionKey {
    /// The key of sessions that have none and still begin with a handshake: everybody has it.
    pub const PUBLIC: Self = Self([0; Self::LEN]);
    /// Octets of a key.
    pub const LEN: usize = 32;

    /// A key of these octets, which are to be random.
    pub const fn new(octets: [u8; Self::LEN]) -> Self {
        Self(octets)
    }

    /// Its octets.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The text form: base64url without padding (RFC 4648 section 5), 43 characters.
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl FromStr for SessionKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected a key of 43 characters: 256 bits as base64url";
        let octets = URL_SAFE_NO_PAD.decode(text).map_err(|_| EXPECTED)?;
        octets.try_into().map(Self).map_err(|_| EXPECTED)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_back_and_are_not_shown() {
        let octets = std::array::from_fn(|index| index as u8);
        let key = SessionKey::new(octets);
        assert_eq!(key.as_bytes(), &octets);
        assert_eq!(format!("{key:?}"), "SessionKey(secret)");
    }

    #[test]
    fn text_form() {
        let key = SessionKey::new(std::array::from_fn(|index| index as u8 ^ 0xFA));
        let text = key.to_text();
        assert_eq!(text.len(), 43);
        assert_eq!(text.parse(), Ok(key.clone()));
        assert!(!format!("{key:?}").contains(&text[..6]));
        for wrong in ["", &text[1..], &format!("{text}="), &text.replace('-', "+"), &format!("{text}AA")] {
            assert!(wrong.parse::<SessionKey>().is_err() || wrong == text, "{wrong}");
        }
    }
}
