//! Explicit loss notification, which only a simulator can give.

use seaway_session::Message;
use std::sync::{Arc, Mutex};

/// Packets of a flow that the channel lost, until the receiver takes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossNotification(Arc<Mutex<Vec<Message>>>);

impl LossNotification {
    /// The losses since the last call.
    pub(crate) fn take(&self) -> Vec<Message> {
        self.0.lock().map_or_else(|_| Vec::new(), |mut lost| std::mem::take(&mut *lost))
    }

    pub(crate) fn push(&self, lost: Message) {
        if let Ok(mut all) = self.0.lock() {
            all.push(lost);
        }
    }
}
