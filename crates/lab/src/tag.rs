//! The flow and the direction of a packet.

/// The flow and the direction of a packet, as [`Packet::flow`](seaway_link::Packet::flow) carries them. A fair queue
/// treats the two directions as two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) flow: usize,
    pub(crate) is_reverse: bool,
}

impl Tag {
    pub(crate) const fn number(self) -> u32 {
        (self.flow as u32) << 1 | self.is_reverse as u32
    }

    pub(crate) const fn of(number: u32) -> Self {
        Self { flow: (number >> 1) as usize, is_reverse: number & 1 == 1 }
    }
}
