//! How PDUs fill a grant (`docs/models/wimax.md`, section "PDUs").

use super::config::{GENERIC_HEADER, Headers, LONGEST_PDU};

/// A grant that is being filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    headers: Headers,
    left: u64,
    /// Octets of the open PDU into which more may be packed; zero where none is open.
    open: u64,
}

impl Burst {
    pub(super) const fn new(grant: u64, headers: Headers) -> Self {
        Self { headers, left: grant, open: 0 }
    }

    /// Octets that are not used.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// The longest piece of a packet that fits; zero where none does.
    pub(super) fn room(&self) -> u64 {
        let (cost, in_pdu) = if self.has_room_in_pdu() {
            (self.headers.subheader(), LONGEST_PDU - self.open - self.headers.subheader())
        } else {
            (self.headers.overhead(), LONGEST_PDU - self.headers.overhead())
        };
        self.left.saturating_sub(cost).min(in_pdu)
    }

    /// Puts a piece of so many octets in; not more than there is [`room`](Self::room) for.
    pub(super) fn put(&mut self, octets: u64) {
        let cost = if self.has_room_in_pdu() {
            self.headers.subheader()
        } else {
            self.open = GENERIC_HEADER + self.headers.trailer();
            GENERIC_HEADER + self.headers.trailer() + self.headers.subheader()
        };
        self.left -= cost + octets;
        self.open += self.headers.subheader() + octets;
    }

    /// Takes up to so many octets out of the grant, to be filled apart.
    pub(super) fn split(&mut self, octets: u64) -> Self {
        let apart = octets.min(self.left);
        self.left -= apart;
        Self::new(apart, self.headers)
    }

    /// Takes back what was not used of a [`split`](Self::split).
    pub(super) fn rejoin(&mut self, apart: Self) {
        self.left += apart.left;
    }

    fn has_room_in_pdu(&self) -> bool {
        self.headers.packing && self.open > 0 && self.open + self.headers.subheader() < LONGEST_PDU
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(grant: u64, headers: Headers, packet: u64) -> (u64, u64) {
        let mut burst = Burst::new(grant, headers);
        let (mut whole, mut rest) = (0, packet);
        while burst.room() > 0 {
            let piece = burst.room().min(rest);
            burst.put(piece);
            rest -= piece;
            if rest == 0 {
                (whole, rest) = (whole + 1, packet);
            }
        }
        (whole, packet - rest)
    }

    #[test]
    fn section_12_3_two_whole_and_476_octets() {
        assert_eq!(filled(2500, Headers::default(), 1000), (2, 476));
    }

    #[test]
    fn packing_pays_one_header_for_all() {
        let packing = Headers { packing: true, crc: false };
        // 6 + 3·(3 + 300) = 915; of the last 85 octets three are a subheader.
        assert_eq!(filled(1000, packing, 300), (3, 82));
        let crc = Headers { packing: false, crc: true };
        assert_eq!(crc.overhead(), 12);
        assert_eq!(filled(1000, crc, 300), (3, 1000 - 3 * 312 - 12));
    }

    #[test]
    fn a_pdu_ends_at_2047_octets() {
        for headers in [Headers::default(), Headers { packing: true, crc: true }] {
            let burst = Burst::new(100_000, headers);
            assert_eq!(burst.room(), 2047 - headers.overhead());
            let mut burst = burst;
            burst.put(burst.room());
            assert_eq!(burst.left(), 100_000 - 2047);
            assert_eq!(burst.room(), 2047 - headers.overhead());
        }
    }

    #[test]
    fn what_holds_no_octet_is_left() {
        let burst = Burst::new(8, Headers::default());
        assert_eq!((burst.room(), burst.left()), (0, 8));
    }
}
