//! Datagrams that leave by one call of the kernel (generic segmentation offload, GSO).

use crate::reactor::Outgoing;

/// Octets that one call takes: those of an IPv6 datagram, headers left out.
const LARGEST: usize = 65_535 - 48;

/// Datagrams of one length from one socket to one destination, of which the last may be shorter.
#[derive(Debug, Default)]
pub(crate) struct Train {
    octets: Vec<u8>,
    /// The length of the first datagram.
    segment: usize,
    datagrams: usize,
    way: Option<Outgoing>,
}

impl Train {
    /// Adds a datagram of at least one octet; false where it must leave by another train. `most` datagrams make a full one.
    pub(crate) fn push(&mut self, way: Outgoing, datagram: &[u8], most: usize) -> bool {
        if self.datagrams == 0 {
            (self.way, self.segment) = (Some(way), datagram.len());
        } else {
            let is_of_it = self.way == Some(way) && (1..=self.segment).contains(&datagram.len());
            // A shorter one was the last.
            let is_whole = self.octets.len() == self.segment * self.datagrams;
            let fits = self.datagrams < most && self.octets.len() + datagram.len() <= LARGEST;
            if !(is_of_it && is_whole && fits) {
                return false;
            }
        }
        self.octets.extend_from_slice(datagram);
        self.datagrams += 1;
        true
    }

    /// Where the datagrams go; `None` where there are none.
    pub(crate) const fn way(&self) -> Option<Outgoing> {
        self.way
    }

    /// The datagrams, one behind the other.
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The length of each datagram but the last; at least 1.
    pub(crate) fn segment(&self) -> usize {
        self.segment.max(1)
    }

    /// Begins again.
    pub(crate) fn clear(&mut self) {
        self.octets.clear();
        (self.datagrams, self.way) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Ecn;

    fn to(port: u16) -> Outgoing {
        Outgoing { socket: 0, to: ([127, 0, 0, 1], port).into(), ecn: Ecn::NotEct }
    }

    #[test]
    fn a_train_has_one_length_one_way_and_a_bound() {
        let mut train = Train::default();
        assert!(train.push(to(1), &[1; 100], 4));
        assert!(!train.push(to(2), &[2; 100], 4), "another destination");
        assert!(!train.push(Outgoing { ecn: Ecn::Ect1, ..to(1) }, &[2; 100], 4), "another codepoint");
        assert!(!train.push(to(1), &[2; 101], 4), "longer than the first");
        assert!(!train.push(to(1), &[], 4), "empty");
        assert!(train.push(to(1), &[3; 100], 4) && train.push(to(1), &[4; 7], 4));
        assert!(!train.push(to(1), &[5; 7], 4), "behind a shorter one");
        assert_eq!((train.octets().len(), train.segment(), train.way()), (207, 100, Some(to(1))));
        train.clear();
        assert_eq!(train.way(), None);
        assert!((0..4).all(|_| train.push(to(2), &[1; 50], 4)) && !train.push(to(2), &[1; 50], 4), "full");
        train.clear();
        assert!((0..7).all(|_| train.push(to(2), &[1; 9_000], 64)) && !train.push(to(2), &[1; 9_000], 64));
        train.clear();
        assert!(train.push(to(1), &[], 4) && !train.push(to(1), &[1], 4), "an empty one stands alone");
    }
}
