//! Which access units can be decoded, by their headers.

use super::{Concealment, Freeze, ReceivedFrame};
use crate::h264::{Inspection, Inspector, Refusal};

/// Follows a stream from key frame to key frame.
#[derive(Debug)]
pub(super) struct Continuity {
    inspector: Inspector,
    concealment: Concealment,
    /// Waits for a key frame.
    is_frozen: bool,
}

impl Continuity {
    /// At the start of a stream, before its first key frame.
    pub(super) fn new(concealment: Concealment) -> Self {
        Self { inspector: Inspector::default(), concealment, is_frozen: true }
    }

    /// What to decode of the next access unit.
    ///
    /// # Errors
    /// Why it gives no picture.
    pub(super) fn follow(&mut self, frame: &ReceivedFrame<'_>) -> Result<Inspection<'_>, Freeze> {
        let inspection = match self.inspector.inspect(frame.data) {
            Ok(inspection) => inspection,
            // Parameter sets may come alone.
            Err(Refusal::NoPicture) => return Err(Freeze::Delayed),
            Err(_) => {
                self.is_frozen = true;
                return Err(Freeze::Damaged);
            }
        };
        let lost = frame.after_loss || inspection.follows_gap;
        match self.concealment {
            _ if inspection.key => self.is_frozen = false,
            Concealment::Freeze => self.is_frozen |= lost,
            Concealment::Conceal => {}
        }
        if self.is_frozen { Err(Freeze::ReferencesMissing) } else { Ok(inspection) }
    }

    /// Nothing can be decoded before the next key frame, or else what follows can.
    pub(super) fn set_frozen(&mut self, is_frozen: bool) {
        self.is_frozen = is_frozen;
    }

    /// What to do where reference pictures are missing.
    pub(super) const fn concealment(&self) -> Concealment {
        self.concealment
    }
}
