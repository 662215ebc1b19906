//! When an input may be read ahead.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Turns of the thread that reads an input. It is a few items ahead, and reads on once the last item that was taken has been sent:
/// decoding the next picture of a file would slow down the coding of this one.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    /// Items read, or about to be.
    read: u64,
    taken: u64,
    /// Of those taken.
    sent: u64,
    closed: bool,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An item was taken. The one before is out of the way by now.
    pub(super) fn on_taken(&self) {
        let mut state = self.state();
        state.sent = state.taken;
        state.taken += 1;
        self.0.1.notify_all();
    }

    /// All that was taken is out of the way.
    pub(super) fn on_sent(&self) {
        let mut state = self.state();
        state.sent = state.taken;
        self.0.1.notify_all();
    }

    /// Nothing is taken any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.0.1.notify_all();
    }

    /// Waits until another item may be read, at most `ahead` beyond those sent; false where none is taken any more.
    pub(super) fn wait(&self, ahead: u64) -> bool {
        let must_wait = |state: &mut State| !state.closed && state.read >= state.sent + ahead;
        let state = self.0.1.wait_while(self.state(), must_wait);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.read += 1;
        !state.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// Two are read at once, and another one for each that was sent, or taken after it.
    #[test]
    fn an_item_is_read_when_one_was_sent() {
        let (turns, (before, reads)) = (Turns::default(), mpsc::channel());
        let reader = turns.clone();
        let thread = thread::spawn(move || while reader.wait(2) && before.send(()).is_ok() {});
        let read_next = || reads.recv().unwrap();
        read_next();
        read_next();
        turns.on_taken();
        assert_eq!((turns.state().read, reads.try_recv()), (2, Err(mpsc::TryRecvError::Empty)));
        turns.on_sent();
        turns.on_sent();
        read_next();
        turns.on_taken();
        turns.on_taken();
        read_next();
        assert_eq!(turns.state().read, 4);
        turns.close();
        thread.join().unwrap();
        assert!(reads.recv().is_err());
    }
}
