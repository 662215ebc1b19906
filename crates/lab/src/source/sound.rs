//! Sound of a constant rate, as Opus has it.

use seaway_control::StreamId;
use seaway_session::{Frame, FrameData, FrameKind};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// The stream of sound, as in live sessions.
pub(crate) const SOUND: StreamId = StreamId(1);

/// Frames of one size at an interval. Each is captured where its first sample is, and leaves when its last one is there.
#[derive(Debug)]
pub(crate) struct SoundSource {
    interval: TimeDelta,
    size: DataSize,
    /// When the next frame is whole.
    next: Option<Timestamp>,
}

impl SoundSource {
    /// Frames of `interval` at this rate of coded octets.
    pub(crate) fn new(rate: Bitrate, interval: TimeDelta) -> Self {
        Self { interval, size: rate.size_in(interval).max(DataSize::from_bytes(1)), next: None }
    }

    /// It begins, or stops.
    pub(crate) fn switch(&mut self, now: Timestamp, is_on: bool) {
        self.next = is_on.then_some(now + self.interval);
    }

    /// When the next frame is whole.
    pub(crate) const fn due(&self) -> Option<Timestamp> {
        self.next
    }

    /// The frame that is whole by `now`.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<Frame> {
        let whole = self.next.filter(|whole| *whole <= now)?;
        self.next = Some(whole + self.interval);
        let data = FrameData::Synthetic(self.size);
        Some(Frame {
            stream: SOUND,
            ..Frame::new(whole - self.interval, FrameKind::Key, data, self.interval)
        })
    }
}
