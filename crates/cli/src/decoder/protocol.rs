//! What goes through the socket: access units to the decoder, its answers back. Numbers are little-endian. The samples of a picture
//! take [another way](super::pictures).

use super::pictures::{Place, PlanePlace};
use seaway_media::PictureSize;
use seaway_media::decoder::Freeze;
use std::io::{self, Read, Write};

/// An access unit has at most so many octets; the session's frames are smaller.
const LONGEST: usize = 16 << 20;

/// What the decoder is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    /// Decode an access unit.
    #[default]
    Decode,
    /// The same, and what was before it is incomplete.
    DecodeAfterLoss,
    /// Copy the last picture into the memory.
    Copy,
}

impl Order {
    const ALL: [Self; 3] = [Self::Decode, Self::DecodeAfterLoss, Self::Copy];
}

/// An order on its way to the decoder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) order: Order,
    pub(super) data: Vec<u8>,
}

/// What the decoder says of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is a picture.
    Picture(Place),
    /// It is in the memory.
    Copied,
    /// There is none.
    Frozen(Freeze),
}

/// First octet of an answer.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Picture,
    Copied,
    ReferencesMissing,
    Damaged,
    Delayed,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Picture, Self::Copied, Self::ReferencesMissing, Self::Damaged, Self::Delayed];

    const fn of_freeze(freeze: Freeze) -> Self {
        match freeze {
            Freeze::ReferencesMissing => Self::ReferencesMissing,
            Freeze::Delayed => Self::Delayed,
            _ => Self::Damaged,
        }
    }
}

/// Writes an order.
///
/// # Errors
/// The decoder is gone, or the unit is too long.
pub(super) fn write_request(to: &mut impl Write, order: Order, data: &[u8]) -> io::Result<()> {
    if data.len() > LONGEST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // At once, since each write wakes the other process.
    let length = (data.len() as u32).to_le_bytes();
    to.write_all(&[&length[..], &[order as u8], data].concat())
}

/// Reads the next order into `request`; false at the end.
///
/// # Errors
/// The socket ends inside an order, the order is unknown, or the unit is too long.
pub(super) fn read_request(from: &mut impl Read, request: &mut Request) -> io::Result<bool> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(invalid());
    }
    let [order] = octets(from)?;
    request.order = *Order::ALL.get(usize::from(order)).ok_or_else(invalid)?;
    request.data.resize(length, 0);
    from.read_exact(&mut request.data)?;
    Ok(true)
}

/// Writes an answer.
pub(super) fn write_answer(to: &mut impl Write, answer: Answer) -> io::Result<()> {
    match answer {
        Answer::Picture(place) => {
            let sides = [place.size.width(), place.size.height()].map(u32::to_le_bytes).concat();
            let plane = |plane: PlanePlace| [plane.address, plane.stride].map(u64::to_le_bytes).concat();
            to.write_all(&[&[Kind::Picture as u8][..], &sides, &place.planes.map(plane).concat()].concat())
        }
        Answer::Copied => to.write_all(&[Kind::Copied as u8]),
        Answer::Frozen(freeze) => to.write_all(&[Kind::of_freeze(freeze) as u8]),
    }
}

/// Reads an answer. The process that wrote it may have been taken over.
///
/// # Errors
/// The socket ends, or what comes is no answer.
pub(super) fn read_answer(from: &mut impl Read) -> io::Result<Answer> {
    let [kind] = octets(from)?;
    Ok(match Kind::ALL.get(usize::from(kind)).ok_or_else(invalid)? {
        Kind::Picture => Answer::Picture(read_place(from)?),
        Kind::Copied => Answer::Copied,
        Kind::ReferencesMissing => Answer::Frozen(Freeze::ReferencesMissing),
        Kind::Damaged => Answer::Frozen(Freeze::Damaged),
        Kind::Delayed => Answer::Frozen(Freeze::Delayed),
    })
}

fn read_place(from: &mut impl Read) -> io::Result<Place> {
    let [width, height] = [octets(from)?, octets(from)?].map(u32::from_le_bytes);
    let size = PictureSize::new(width, height).map_err(|_| invalid())?;
    let mut planes = [PlanePlace { address: 0, stride: 0 }; 3];
    for plane in &mut planes {
        plane.address = u64::from_le_bytes(octets(from)?);
        plane.stride = u64::from_le_bytes(octets(from)?);
    }
    Ok(Place { size, planes })
}

fn octets<const COUNT: usize>(from: &mut impl Read) -> io::Result<[u8; COUNT]> {
    let mut octets = [0; COUNT];
    from.read_exact(&mut octets)?;
    Ok(octets)
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut pipe = Vec::new();
        write_request(&mut pipe, Order::DecodeAfterLoss, b"unit").unwrap();
        write_request(&mut pipe, Order::Copy, b"").unwrap();
        let (mut from, mut request) = (pipe.as_slice(), Request::default());
        assert!(read_request(&mut from, &mut request).unwrap());
        assert_eq!(request, Request { order: Order::DecodeAfterLoss, data: b"unit".to_vec() });
        assert!(read_request(&mut from, &mut request).unwrap() && request.order == Order::Copy);
        assert!(!read_request(&mut from, &mut request).unwrap());
        assert!(read_request(&mut &pipe[..7], &mut request).is_err(), "cut inside a unit");
        assert!(read_request(&mut [255; 9].as_slice(), &mut request).is_err(), "longer than any unit");
        assert!(read_request(&mut [0, 0, 0, 0, 3].as_slice(), &mut request).is_err(), "an unknown order");
    }

    #[test]
    fn answers_come_back_whole() {
        let plane = |address| PlanePlace { address, stride: 40 };
        let place = Place { size: PictureSize::new(32, 16).unwrap(), planes: [1, 2 << 40, 3].map(plane) };
        let freezes = [Freeze::ReferencesMissing, Freeze::Damaged, Freeze::Delayed].map(Answer::Frozen);
        let mut pipe = Vec::new();
        let answers = [&[Answer::Picture(place), Answer::Copied][..], &freezes].concat();
        answers.iter().for_each(|&answer| write_answer(&mut pipe, answer).unwrap());
        let mut from = pipe.as_slice();
        for answer in answers {
            assert_eq!(read_answer(&mut from).unwrap(), answer);
        }
        assert!(read_answer(&mut from).is_err());
    }

    #[test]
    fn other_answers_are_refused() {
        let odd = [[0, 33, 0, 0, 0, 16, 0, 0, 0], [0, 255, 255, 255, 255, 255, 255, 255, 255], [9; 9]];
        for answer in odd.iter().map(<[u8; 9]>::as_slice).chain([&[][..], &[0, 32], &[5]]) {
            assert!(read_answer(&mut &*answer).is_err(), "{answer:?}");
        }
    }
}
