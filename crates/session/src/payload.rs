//! Payloads without copies: a few octets of payload header before a slice of the frame.

use bytes::{Buf, Bytes};
use std::borrow::Cow;
use std::fmt;

/// A payload: at most [`Payload::HEAD`] octets that a packetiser wrote, then a slice of the frame, or so many
/// zeros where the frame is synthetic. Two payloads are equal where their octets are.
#[derive(Clone, Default)]
pub struct Payload {
    head: [u8; Self::HEAD],
    head_len: u8,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Bytes(Bytes),
    Zeros(u32),
}

impl Default for Body {
    fn default() -> Self {
        Self::Zeros(0)
    }
}

impl Payload {
    /// Room for payload headers.
    pub const HEAD: usize = 15;

    /// A payload without content: `len` zeros once it is encoded.
    pub fn zeros(len: usize) -> Self {
        Self { body: Body::Zeros(u32::try_from(len).unwrap_or(u32::MAX)), ..Self::default() }
    }

    /// Makes it a payload without content, as [`Self::zeros`] does.
    pub(crate) fn set_zeros(&mut self, len: u32) {
        match &mut self.body {
            Body::Zeros(zeros) if self.head_len == 0 => *zeros = len,
            _ => *self = Self { body: Body::Zeros(len), ..Self::default() },
        }
    }

    /// Octets in all.
    pub fn len(&self) -> usize {
        usize::from(self.head_len) + self.body.len()
    }

    /// True where there is no octet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True where there is a body and it has a length but no content.
    pub fn is_synthetic(&self) -> bool {
        matches!(self.body, Body::Zeros(len) if len > 0)
    }

    /// This payload behind `octets`. Together with the present head they take no more than [`Self::HEAD`] octets.
    ///
    /// # Panics
    /// Where they take more.
    #[must_use]
    pub fn behind(mut self, octets: &[u8]) -> Self {
        let held = usize::from(self.head_len);
        let len = held + octets.len();
        assert!(len <= Self::HEAD, "payload headers of {len} octets");
        self.head.copy_within(..held, octets.len());
        self.head[..octets.len()].copy_from_slice(octets);
        self.head_len = len as u8;
        self
    }

    /// The first `N` octets, `None` where there are fewer.
    pub fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len() < N {
            return None;
        }
        let held = usize::from(self.head_len).min(N);
        let mut octets = [0; N];
        octets[..held].copy_from_slice(&self.head[..held]);
        if let Body::Bytes(bytes) = &self.body {
            octets[held..].copy_from_slice(&bytes[..N - held]);
        }
        Some(octets)
    }

    /// Takes the first `count` octets away; all of them where there are fewer.
    pub fn advance(&mut self, count: usize) {
        let held = usize::from(self.head_len);
        let from_head = held.min(count);
        self.head.copy_within(from_head..held, 0);
        self.head_len = (held - from_head) as u8;
        let from_body = (count - from_head).min(self.body.len());
        match &mut self.body {
            Body::Bytes(bytes) => bytes.advance(from_body),
            Body::Zeros(len) => *len -= from_body as u32,
        }
    }

    /// Appends all octets to `buffer`.
    pub fn write(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.head[..usize::from(self.head_len)]);
        match &self.body {
            Body::Bytes(bytes) => buffer.extend_from_slice(bytes),
            Body::Zeros(len) => buffer.resize(buffer.len() + *len as usize, 0),
        }
    }

    /// All octets; without a copy where no packetiser wrote any, as in what is received.
    pub(crate) fn contents(&self) -> Cow<'_, [u8]> {
        match &self.body {
            Body::Bytes(bytes) if self.head_len == 0 => Cow::Borrowed(bytes),
            _ => {
                let mut octets = Vec::with_capacity(self.len());
                self.write(&mut octets);
                Cow::Owned(octets)
            }
        }
    }

    fn octets(&self) -> impl Iterator<Item = u8> + '_ {
        let (bytes, zeros) = match &self.body {
            Body::Bytes(bytes) => (&bytes[..], 0),
            Body::Zeros(len) => (&[][..], *len as usize),
        };
        let head = &self.head[..usize::from(self.head_len)];
        head.iter().chain(bytes).copied().chain(std::iter::repeat_n(0, zeros))
    }
}

impl Body {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Zeros(len) => *len as usize,
        }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self { body: Body::Bytes(bytes), ..Self::default() }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.octets().eq(other.octets())
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} B)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_body_read_as_one() {
        let payload = Payload::from(Bytes::from_static(&[3, 4, 5])).behind(&[2]).behind(&[0, 1]);
        assert_eq!(payload.len(), 6);
        assert_eq!(payload.peek(), Some([0, 1, 2, 3]));
        assert_eq!(payload.peek::<7>(), None);
        let mut rest = payload.clone();
        rest.advance(2);
        assert_eq!(rest.peek(), Some([2, 3]));
        rest.advance(2);
        assert_eq!(rest.peek(), Some([4, 5]));
        rest.advance(9);
        assert!(rest.is_empty());
        let mut octets = Vec::new();
        payload.write(&mut octets);
        assert_eq!(octets, [0, 1, 2, 3, 4, 5]);
        assert_eq!((&payload.contents()[..], &rest.contents()[..]), (&octets[..], &[][..]));
        assert_eq!(payload, Payload::from(Bytes::from(octets)));
    }

    #[test]
    fn synthetic_content_is_zeros() {
        let payload = Payload::zeros(3).behind(&[7]);
        assert!(payload.is_synthetic());
        assert_eq!(payload, Payload::from(Bytes::from_static(&[7, 0, 0, 0])));
        assert_eq!(payload.peek(), Some([7, 0, 0]));
        assert!(!Payload::from(Bytes::from_static(&[1])).is_synthetic());
    }

    /// A packet that is used again for padding has nothing left of what it held: neither octets nor a head.
    #[test]
    fn padding_has_nothing_of_what_was_there() {
        for mut payload in [
            Payload::from(Bytes::from_static(&[3, 4, 5])).behind(&[2]),
            Payload::from(Bytes::from_static(&[3, 4, 5])),
            Payload::zeros(9).behind(&[2]),
            Payload::zeros(9),
        ] {
            payload.set_zeros(4);
            assert_eq!(payload, Payload::from(Bytes::from_static(&[0; 4])));
            assert!(payload.is_synthetic());
        }
    }

    /// Zeros are taken away and written as octets are.
    #[test]
    fn zeros_are_taken_and_written() {
        let mut payload = Payload::zeros(10).behind(&[7, 8]);
        payload.advance(5);
        assert_eq!(payload, Payload::zeros(7));
        let mut octets = vec![1, 2];
        payload.write(&mut octets);
        assert_eq!(octets, [1, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Two are equal where all octets are; those of a slice of the frame are read without a copy.
    #[test]
    fn payloads_are_equal_where_their_octets_are() {
        let payload = |octets: &'static [u8]| Payload::from(Bytes::from_static(octets));
        assert_ne!(payload(&[1, 2]), payload(&[1, 3]));
        assert_ne!(payload(&[1, 2]), payload(&[1, 2, 0]));
        assert_ne!(payload(&[1, 0]), payload(&[1]));
        assert_eq!(payload(&[1, 0]), Payload::zeros(1).behind(&[1]));
        assert!(matches!(payload(&[1, 2]).contents(), Cow::Borrowed([1, 2])));
        assert_eq!(format!("{:?}", payload(&[1, 2])), "Payload(2 B)");
    }
}
