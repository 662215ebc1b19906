//! RTP header extensions (RFC 8285): elements with a local identifier, in a one-byte or a two-byte form.

mod frame_marking;
mod tfrc;

pub use frame_marking::FrameMarking;
pub use tfrc::{CtfrcData, TfrcData};

use crate::Error;
use crate::bytes::{fits, room, take, u24_at};
use crate::rtp::Extension;
use seaway_units::{TimeDelta, Timestamp};

const ONE_BYTE_PROFILE: u16 = 0xBEDE;
/// The four low bits are "appbits", zero unless agreed.
const TWO_BYTE_PROFILE: u16 = 0x1000;

/// How an element's identifier and length are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Identifiers 1 to 14, 1 to 16 octets of data (RFC 8285 section 4.2).
    OneByte,
    /// Identifiers 1 to 255, 0 to 255 octets of data (RFC 8285 section 4.3).
    TwoByte,
}

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Local identifier, agreed by signalling.
    pub id: u8,
    /// Its data.
    pub data: &'a [u8],
}

impl Form {
    /// The form an extension of this `profile` is in; `None` where it is not of RFC 8285.
    pub fn of_profile(profile: u16) -> Option<Self> {
        match profile {
            ONE_BYTE_PROFILE => Some(Self::OneByte),
            _ if profile & 0xFFF0 == TWO_BYTE_PROFILE => Some(Self::TwoByte),
            _ => None,
        }
    }

    fn profile(self) -> u16 {
        match self {
            Self::OneByte => ONE_BYTE_PROFILE,
            Self::TwoByte => TWO_BYTE_PROFILE,
        }
    }

    fn head_len(self) -> usize {
        match self {
            Self::OneByte => 1,
            Self::TwoByte => 2,
        }
    }
}

impl<'a> Extension<'a> {
    /// The elements in order; none where the profile is not of RFC 8285. An element beyond the end is an
    /// error and ends the iteration; what came before it counts.
    pub fn elements(&self) -> Elements<'a> {
        let form = Form::of_profile(self.profile);
        Elements {
            form: form.unwrap_or(Form::OneByte),
            data: if form.is_some() { self.data } else { &[] },
            at: 0,
        }
    }

    /// Data of the first element with this identifier.
    pub fn find(&self, id: u8) -> Option<&'a [u8]> {
        self.elements().map_while(Result::ok).find(|element| element.id == id).map(|element| element.data)
    }
}

/// Iterator over the elements of an extension.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    form: Form,
    data: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    /// Identifier and length of the element that begins here; `None` at the end.
    fn head(&mut self) -> Option<Result<(u8, usize), Error>> {
        // A zero in place of an identifier is padding without a length.
        while *self.data.get(self.at)? == 0 {
            self.at += 1;
        }
        let first = self.data[self.at];
        match self.form {
            // 15 is reserved and 0 is padding, which has no length: stop, keep what came before.
            Form::OneByte if matches!(first >> 4, 0 | 15) => None,
            Form::OneByte => Some(Ok((first >> 4, usize::from(first & 0x0F) + 1))),
            Form::TwoByte => {
                let head = take(self.data, self.at, 2, "RTP extension element");
                Some(head.map(|head| (first, usize::from(head[1]))))
            }
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.head()?.and_then(|(id, len)| {
            let start = self.at + self.form.head_len();
            let data = take(self.data, start, len, "RTP extension element")?;
            self.at = start + len;
            Ok(Element { id, data })
        });
        if element.is_err() {
            self.at = self.data.len();
        }
        Some(element)
    }
}

/// Writes elements one after another into the caller's buffer.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
    form: Form,
}

impl<'b> Writer<'b> {
    /// A writer into `buffer`, of which nothing is used yet.
    pub fn new(form: Form, buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0, form }
    }

    /// Appends an element.
    ///
    /// # Errors
    /// An identifier or a length the form cannot hold, or no room. The element is then left out.
    pub fn push(&mut self, id: u8, data: &[u8]) -> Result<(), Error> {
        let (largest_id, sizes) = match self.form {
            Form::OneByte => (14, 1..=16),
            Form::TwoByte => (255, 0..=255),
        };
        fits(id, largest_id, "RTP extension identifier")?;
        let field = "RTP extension element";
        if id == 0 || !sizes.contains(&data.len()) {
            let seen = if id == 0 { 0 } else { data.len() as u64 };
            let expected = "an identifier from 1 and a length its form can hold";
            return Err(Error::Invalid { field, offset: self.len, seen, expected });
        }
        let head_len = self.form.head_len();
        let place = room(&mut self.buffer[self.len..], head_len + data.len(), field)?;
        let (head, body) = place.split_at_mut(head_len);
        match self.form {
            Form::OneByte => head[0] = id << 4 | (data.len() - 1) as u8,
            Form::TwoByte => head.copy_from_slice(&[id, data.len() as u8]),
        }
        body.copy_from_slice(data);
        self.len += head_len + data.len();
        Ok(())
    }

    /// What was written, for [`crate::rtp::Header::extension`]; `None` where nothing was.
    pub fn finish(self) -> Option<Extension<'b>> {
        let data = &self.buffer[..self.len];
        (!data.is_empty()).then_some(Extension { profile: self.form.profile(), data })
    }
}

/// The transport-wide sequence number, 2 octets
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2): counts every packet of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportSequence(pub u16);

impl TransportSequence {
    /// From an element's data; what follows the number is the draft's second version and is ignored.
    ///
    /// # Errors
    /// Fewer than 2 octets.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        take(data, 0, 2, "transport-wide sequence number").map(|data| Self(crate::bytes::u16_at(data, 0)))
    }

    /// The element's data.
    pub const fn to_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}

/// The absolute send time, 3 octets: seconds as 6.18 fixed point, wraps at 64 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsoluteSendTime(u32);

impl AbsoluteSendTime {
    /// An instant of the sender's clock, rounded down to 2^-18 s.
    pub const fn from_timestamp(at: Timestamp) -> Self {
        let nanos = at.as_nanos() % 64_000_000_000;
        Self(((nanos << 18) / 1_000_000_000) as u32)
    }

    /// From an element's data.
    ///
    /// # Errors
    /// Fewer than 3 octets.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        take(data, 0, 3, "absolute send time").map(|data| Self(u24_at(data, 0)))
    }

    /// The element's data.
    pub const fn to_bytes(self) -> [u8; 3] {
        let [_, high, middle, low] = self.0.to_be_bytes();
        [high, middle, low]
    }

    /// Time passed since `earlier`, modulo 64 s; negative where `earlier` is less than 32 s ahead.
    pub const fn since(self, earlier: Self) -> TimeDelta {
        let units = (self.0.wrapping_sub(earlier.0) << 8) as i32 >> 8;
        TimeDelta::from_nanos((units as i64 * 1_000_000_000) >> 18)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(profile: u16, data: &[u8]) -> Vec<Result<(u8, &[u8]), Error>> {
        let elements = Extension { profile, data }.elements();
        elements.map(|element| element.map(|element| (element.id, element.data))).collect()
    }

    #[test]
    fn one_byte_form() {
        let data = [0x10, 0xAA, 0, 0x21, 0xBB, 0xCC, 0xF0, 0xDD];
        assert_eq!(elements(0xBEDE, &data), [Ok((1, &data[1..2])), Ok((2, &data[4..6]))], "15 stops");
        assert_eq!(elements(0xBEDE, &[0x33, 1, 2, 3]).len(), 1);
        assert!(elements(0xBEDE, &[0x33, 1, 2, 3])[0].is_err(), "four announced, three there");
        assert_eq!(elements(0xBEDE, &[0x10, 0xAA, 0x03, 0x21]).len(), 1, "padding with a length stops");
        assert!(elements(0xABCD, &data).is_empty(), "another profile");
    }

    #[test]
    fn two_byte_form() {
        let data = [7, 0, 0, 8, 2, 0xAA, 0xBB, 0];
        assert_eq!(elements(0x1000, &data), [Ok((7, &[][..])), Ok((8, &data[5..7]))]);
        assert_eq!(elements(0x100F, &data).len(), 2, "appbits do not matter");
        assert!(elements(0x1000, &[0, 0, 0, 8])[0].is_err());
        assert_eq!(Extension { profile: 0x1000, data: &data }.find(8), Some(&data[5..7]));
        assert_eq!(Extension { profile: 0x1000, data: &data }.find(9), None);
    }

    #[test]
    fn writer_refuses_what_the_form_cannot_hold() {
        let mut buffer = [0; 8];
        let mut writer = Writer::new(Form::OneByte, &mut buffer);
        assert!(writer.push(15, &[1]).is_err());
        let field = "RTP extension element";
        let expected = "an identifier from 1 and a length its form can hold";
        for (id, len, seen) in [(0, 1, 0), (1, 0, 0), (1, 17, 17)] {
            let error = writer.push(id, &[0; 17][..len]).unwrap_err();
            assert_eq!(error, Error::Invalid { field, offset: 0, seen, expected });
        }
        assert!(writer.push(1, &[0; 8]).is_err(), "no room");
        writer.push(3, &TransportSequence(0x0102).to_bytes()).unwrap();
        let extension = writer.finish().unwrap();
        assert_eq!((extension.profile, extension.data), (0xBEDE, &[0x31, 1, 2][..]));
        assert_eq!(TransportSequence::parse(extension.find(3).unwrap()), Ok(TransportSequence(0x0102)));
        assert_eq!(Writer::new(Form::TwoByte, &mut buffer).finish(), None);
    }

    #[test]
    fn absolute_send_time_wraps_at_64_seconds() {
        let at = |millis: u64| AbsoluteSendTime::from_timestamp(Timestamp::from_nanos(millis * 1_000_000));
        assert_eq!(at(1_500).to_bytes(), [0x06, 0, 0]);
        assert_eq!(at(64_500).since(at(63_750)), TimeDelta::from_millis(750));
        assert_eq!(at(63_750).since(at(64_500)), TimeDelta::from_millis(-750));
        assert_eq!(AbsoluteSendTime::parse(&[0x06, 0, 0]), Ok(at(1_500)));
        assert!(AbsoluteSendTime::parse(&[0, 0]).is_err());
    }
}
