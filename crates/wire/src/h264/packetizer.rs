//! From the NAL units of an access unit to payloads.

use super::{Aggregate, Fragment, NalHeader, Payload, single};
use crate::Error;

/// Cuts the NAL units of one access unit into payloads that fit a limit: neighbours that fit together become
/// a STAP-A, what is too large becomes fragments of nearly equal size.
///
/// The last payload carries the RTP marker; [`Iterator::size_hint`] does not know it, so look ahead.
#[derive(Debug, Clone)]
pub struct Packetizer<'a> {
    nals: &'a [&'a [u8]],
    limit: usize,
    cut: Option<Cut<'a>>,
}

/// A NAL unit of which fragments are still to come.
#[derive(Debug, Clone, Copy)]
struct Cut<'a> {
    nal_header: NalHeader,
    data: &'a [u8],
    fragments_left: usize,
    start: bool,
}

impl<'a> Packetizer<'a> {
    /// Smallest limit: a fragment with an octet of data.
    pub const MIN_LIMIT: usize = Fragment::HEADER_LEN + 1;

    /// The payloads of `nals`, each of at most `limit` octets.
    ///
    /// # Errors
    /// An empty NAL unit, one that is not of type 1 to 23, or a limit below [`Self::MIN_LIMIT`].
    pub fn new(nals: &'a [&'a [u8]], limit: usize) -> Result<Self, Error> {
        if limit < Self::MIN_LIMIT {
            return Err(Error::NoRoom { field: "H.264 payload", needed: Self::MIN_LIMIT, available: limit });
        }
        for nal in nals {
            single(nal)?;
        }
        Ok(Self { nals, limit, cut: None })
    }

    /// How many of the next units fit into one STAP-A.
    fn aggregate_count(&self) -> usize {
        let mut len = Aggregate::HEADER_LEN;
        let fitting = self.nals.iter().take_while(|nal| {
            len += Aggregate::UNIT_HEADER_LEN + nal.len();
            len <= self.limit && nal.len() <= usize::from(u16::MAX)
        });
        fitting.count()
    }

    fn cut(nal: &'a [u8], limit: usize) -> Cut<'a> {
        let data = &nal[1..];
        let fragments_left = data.len().div_ceil(limit - Fragment::HEADER_LEN);
        Cut { nal_header: NalHeader(nal[0]), data, fragments_left, start: true }
    }
}

impl<'a> Iterator for Packetizer<'a> {
    type Item = Payload<'a>;

    fn next(&mut self) -> Option<Payload<'a>> {
        if let Some(cut) = &mut self.cut {
            let fragment = cut.next();
            if fragment.end {
                self.cut = None;
            }
            return Some(Payload::Fragment(fragment));
        }
        let (nal, rest) = self.nals.split_first()?;
        let together = self.aggregate_count();
        if together >= 2 {
            let (units, rest) = self.nals.split_at(together);
            self.nals = rest;
            return Some(Payload::Aggregate(Aggregate::of(units)));
        }
        self.nals = rest;
        if nal.len() <= self.limit {
            return Some(Payload::Single(nal));
        }
        self.cut = Some(Self::cut(nal, self.limit));
        self.next()
    }
}

impl<'a> Cut<'a> {
    /// The next fragment, an even share of what is left.
    fn next(&mut self) -> Fragment<'a> {
        let (data, rest) = self.data.split_at(self.data.len().div_ceil(self.fragments_left));
        let fragment =
            Fragment { nal_header: self.nal_header, start: self.start, end: self.fragments_left == 1, data };
        *self = Self { data: rest, fragments_left: self.fragments_left - 1, start: false, ..*self };
        fragment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_units_travel_together_and_large_ones_are_cut() {
        let idr: Vec<u8> = std::iter::once(0x65).chain(0..=255).chain(0..=255).collect();
        let units: [&[u8]; 3] = [&[0x67, 1, 2], &[0x68, 3], &idr];
        let payloads: Vec<_> = Packetizer::new(&units, 200).unwrap().collect();
        assert_eq!(payloads.len(), 4);
        assert_eq!(payloads[0], Payload::Aggregate(Aggregate::of(&units[..2])));
        let sizes: Vec<_> = payloads.iter().map(Payload::buffer_len).collect();
        assert_eq!(sizes, [10, 173, 173, 172], "512 octets in three even parts");
        let Payload::Fragment(last) = payloads[3] else { panic!("not a fragment") };
        assert!(last.end && !last.start);
    }

    #[test]
    fn one_octet_over_the_limit_makes_two_fragments() {
        let nal = [0x41; 11];
        let units = [&nal[..]];
        let exact: Vec<_> = Packetizer::new(&units, 11).unwrap().collect();
        assert_eq!(exact, [Payload::Single(&nal)]);
        let cut: Vec<_> = Packetizer::new(&units, 10).unwrap().map(|payload| payload.buffer_len()).collect();
        assert_eq!(cut, [7, 7]);
    }

    /// A header, and two octets of size before each: 1 + (2 + 3) + (2 + 2).
    #[test]
    fn ten_octets_hold_two_units() {
        let units: [&[u8]; 2] = [&[0x67, 1, 2], &[0x68, 3]];
        for (limit, sizes) in [(10, &[10][..]), (9, &[3, 2])] {
            let payloads = Packetizer::new(&units, limit).unwrap();
            assert_eq!(payloads.map(|payload| payload.buffer_len()).collect::<Vec<_>>(), sizes);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        assert!(Packetizer::new(&[&[0x65, 1]], 2).is_err());
        assert!(Packetizer::new(&[&[]], 100).is_err());
        assert!(Packetizer::new(&[&[0x78, 1]], 100).is_err());
    }
}
