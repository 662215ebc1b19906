//! The thread that reads an input, so that an input without data blocks no other thread.

use super::cue::Cue;
use super::supply::SupplyMeter;
use super::turns::Turns;
use seaway_media::input::{PictureFormat, PictureSource};
use seaway_media::{Error, Picture};
use seaway_net::Clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// Items that wait between the reading thread and the capture thread.
const CAPACITY: usize = 1;
/// Those that wait, and the one that is read.
const AHEAD: u64 = CAPACITY as u64 + 1;
/// The interval at which a waiting thread checks whether the session has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Items of an input, read by a thread of their own. The thread of an input that stays silent is left behind at the end.
#[derive(Debug)]
pub(super) struct ReadAhead<T> {
    items: Receiver<Result<T, Error>>,
    clock: Clock,
    meter: SupplyMeter,
    stop: Arc<AtomicBool>,
    turns: Turns,
}

impl<T> Drop for ReadAhead<T> {
    fn drop(&mut self) {
        self.turns.close();
    }
}

impl<T: Send + 'static> ReadAhead<T> {
    /// Calls `read` on a thread until it gives `None` or fails. Who says to `turns` when an item was sent spares its coding from the
    /// reading of others.
    ///
    /// # Errors
    /// The system grants no thread.
    pub(super) fn start(
        clock: Clock,
        meter: SupplyMeter,
        stop: Arc<AtomicBool>,
        turns: Turns,
        mut read: impl FnMut() -> Result<Option<T>, Error> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, items) = sync_channel(CAPACITY);
        let reader = turns.clone();
        Builder::new().name("input".into()).spawn(move || {
            while reader.wait(AHEAD)
                && let Some(item) = read().transpose()
            {
                let is_last = item.is_err();
                if sender.send(item).is_err() || is_last {
                    break;
                }
            }
        })?;
        Ok(Self { items, clock, meter, stop, turns })
    }

    /// Waits for the next item; `None` at the end of the input or of the session.
    pub(super) fn next(&self) -> Result<Option<T>, Error> {
        self.turns.on_taken();
        if let Ok(item) = self.items.try_recv() {
            return item.map(Some);
        }
        self.meter.on_waiting(self.clock.now());
        let item = loop {
            match self.items.recv_timeout(POLL_INTERVAL) {
                Ok(item) => break item.map(Some),
                Err(RecvTimeoutError::Disconnected) => break Ok(None),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => break Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        self.meter.on_arrival(self.clock.now());
        item
    }
}

/// The pictures of an input that is read ahead.
#[derive(Debug)]
pub(super) struct ReadAheadPictures {
    format: PictureFormat,
    pictures: ReadAhead<Picture>,
}

impl ReadAheadPictures {
    /// Reads `input`, with `repeat` from the beginning again at its end, which goes to `cue`. `turns` follows the
    /// pictures that are sent.
    ///
    /// # Errors
    /// The system grants no thread.
    pub(super) fn start(
        clock: Clock,
        meter: SupplyMeter,
        stop: Arc<AtomicBool>,
        mut input: Box<dyn PictureSource>,
        repeat: bool,
        (cue, turns): (Cue, Turns),
    ) -> io::Result<Self> {
        let format = input.format();
        let mut count = 0;
        let pictures = ReadAhead::start(clock, meter, stop, turns, move || {
            let mut picture = input.next_picture()?;
            if picture.is_none() && repeat && count > 0 {
                cue.repeat_at(format.frame_rate.time_of(count));
                input.rewind()?;
                picture = input.next_picture()?;
            }
            count += u64::from(picture.is_some());
            Ok(picture)
        })?;
        Ok(Self { format, pictures })
    }
}

impl PictureSource for ReadAheadPictures {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        self.pictures.next()
    }

    fn rewind(&mut self) -> Result<(), Error> {
        Err(Error::Unsupported("a live input cannot begin again".into()))
    }
}
