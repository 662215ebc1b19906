//! The differentiated services codepoint (DSCP), the upper six bits of an IP header's traffic class; the lower two are ECN.

use std::fmt;
use std::str::FromStr;

/// A codepoint (RFC 2474 section 3): how routers may treat packets. 0 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dscp(u8);

/// The names of IANA's registry.
const NAMES: [(&str, u8); 25] = [
    ("df", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
    // Other names of the first.
    ("cs0", 0),
    ("be", 0),
];

impl Dscp {
    const MOST: u8 = 63;

    /// The default, best effort.
    pub const fn is_default(self) -> bool {
        self.0 == 0
    }

    /// The traffic class with these two bits of ECN.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) const fn traffic_class(self, ecn: u8) -> u8 {
        self.0 << 2 | ecn & 3
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        let value = named.or_else(|| text.parse().ok()).filter(|value| *value <= Self::MOST);
        value.map(Self).ok_or_else(|| "expected a name such as ef, af41 or cs5, or a number up to 63".into())
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        // RFC 3246, RFC 2597 section 6, RFC 2474 section 4.2.2.
        for (text, value) in [("ef", 46), ("EF", 46), ("af41", 34), ("cs5", 40), ("0", 0), ("63", 63)] {
            assert_eq!(text.parse(), Ok(Dscp(value)), "{text}");
        }
        for wrong in ["", "64", "-1", "af44", "0x2e"] {
            assert!(wrong.parse::<Dscp>().is_err(), "{wrong}");
        }
        assert_eq!((Dscp(46).to_string(), Dscp(3).to_string()), ("ef".into(), "3".into()));
        assert!(Dscp::default().is_default() && !Dscp(46).is_default());
    }

    #[test]
    fn it_stands_above_ecn() {
        assert_eq!(Dscp(46).traffic_class(1), 0b1011_1001);
        assert_eq!(Dscp(34).traffic_class(0), 0b1000_1000);
    }
}
