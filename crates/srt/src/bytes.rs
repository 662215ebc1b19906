//! Words in network order.

use crate::Error;

/// The octets that are left of a part of a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    what: &'static str,
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the part with this name.
    pub(crate) fn new(what: &'static str, data: &'a [u8]) -> Self {
        Self { what, data }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let Some((head, tail)) = self.data.split_at_checked(len) else {
            return Err(Error::Truncated { what: self.what, len: self.data.len(), least: len });
        };
        self.data = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.data
    }
}

pub(crate) fn put_u16(data: &mut Vec<u8>, value: u16) {
    data.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_u32(data: &mut Vec<u8>, value: u32) {
    data.extend_from_slice(&value.to_be_bytes());
}
