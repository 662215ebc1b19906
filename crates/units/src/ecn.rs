//! Explicit congestion notification.

use std::fmt;

/// The ECN codepoint of an IP packet (RFC 3168 section 5; ECT(1) as RFC 9331 uses it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not take part: congestion drops the packet.
    #[default]
    NotEct = 0b00,
    /// ECT(1): a scalable sender, treated as L4S by a queue that supports it.
    Ect1 = 0b01,
    /// ECT(0): a classic sender.
    Ect0 = 0b10,
    /// Congestion experienced: a queue marked the packet instead of dropping it.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two low bits of `bits`; the others are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The codepoint as it stands in the IP header's ECN field.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// True where a queue may mark instead of dropping: ECT(0), ECT(1), and CE, which is marked already.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "not-ect",
            Self::Ect1 => "ect1",
            Self::Ect0 => "ect0",
            Self::Ce => "ce",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_of_rfc_3168() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(Ecn::from_bits(ecn.bits() | 0xFC), ecn);
        }
        assert_eq!(Ecn::Ect1.bits(), 0b01);
        assert!(!Ecn::NotEct.is_capable());
    }
}
