//! What is in the air: PPDUs and the frames they carry.

use crate::wlan::management::ManagementKind;
use crate::wlan::mode::Nanos;

/// The place of a device: the access point is the first.
pub(crate) type DeviceId = usize;
/// A PPDU in the air.
pub(crate) type PpduId = u16;
/// A mode of the cell.
pub(crate) type ModeId = u16;

/// A transmission.
#[derive(Debug, Clone)]
pub(crate) struct Ppdu {
    pub(crate) sender: DeviceId,
    /// Whom it is for; `None`: for all.
    pub(crate) to: Option<DeviceId>,
    pub(crate) frame: Frame,
    pub(crate) mode: ModeId,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Until when a bystander that understands it keeps quiet.
    pub(crate) reserved: Nanos,
    /// Octets up to the end of each subframe.
    pub(super) ends: Vec<u32>,
    /// No other PPDU was in the air so far.
    pub(super) clean: bool,
    pub(super) state: PpduState,
}

impl Ppdu {
    pub(crate) fn subframes(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn octets(&self, index: usize) -> u32 {
        self.ends[index] - if index == 0 { 0 } else { self.ends[index - 1] }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PpduState {
    Free,
    InTheAir,
    /// Over, but something it overlapped is not.
    Remembered,
}

/// What a PPDU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    Beacon,
    Rts,
    Cts,
    /// `recipient` of the sender's contender: which of its queues.
    Data {
        contender: u16,
        recipient: u16,
    },
    /// A request for block acknowledgement.
    Request {
        contender: u16,
        recipient: u16,
    },
    Management(ManagementKind),
    /// CF-End: a reservation is over.
    End,
    /// Acknowledges one frame.
    Ack,
    /// Answers an A-MPDU or a request.
    BlockAck,
}
