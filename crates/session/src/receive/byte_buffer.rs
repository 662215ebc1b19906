//! A receiver's buffer of bytes with a constant consumption (S000 sections 3 and 4.4, equations 3 and 8 to 10).

use crate::config::ByteBufferConfig;
use seaway_control::BufferLevel;
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// Below this part of the capacity: underflow (`B_L`).
const LOW: f64 = 0.2;
/// From this part on: overflow (`B_H`).
const HIGH: f64 = 0.9;

/// Counters of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BufferStatistics {
    /// Bytes that arrived, refused ones included.
    pub offered: DataSize,
    /// Packets of which bytes were refused.
    pub refused_events: u64,
    /// Bytes refused because the buffer was full.
    pub refused: DataSize,
    /// Times that playback ran dry.
    pub stalls: u64,
    /// Total time without data, from the start of playback.
    pub stalled: TimeDelta,
    /// Time below the low threshold.
    pub underflow: TimeDelta,
    /// Time between the thresholds.
    pub stable: TimeDelta,
    /// Time at or above the high threshold.
    pub overflow: TimeDelta,
}

/// The buffer: filled by arrivals, drained at a constant rate once playback began.
#[derive(Debug)]
pub(super) struct ByteBuffer {
    config: ByteBufferConfig,
    /// Octets held; fractions make the drain exact.
    held: f64,
    drained_to: Option<Timestamp>,
    playing: bool,
    /// When the second rate of consumption begins.
    step_at: Option<Timestamp>,
    dry: bool,
    statistics: BufferStatistics,
}

impl ByteBuffer {
    pub(super) fn new(config: ByteBufferConfig) -> Self {
        let statistics = BufferStatistics::default();
        Self { config, held: 0.0, drained_to: None, playing: false, step_at: None, dry: false, statistics }
    }

    fn capacity(&self) -> f64 {
        self.config.capacity.as_bytes_f64()
    }

    /// What the buffer holds, as of the last input.
    pub(super) fn level(&self) -> BufferLevel {
        BufferLevel { held: DataSize::from_bytes(self.held as u64), capacity: self.config.capacity }
    }

    /// Counters up to the last input.
    pub(super) fn statistics(&self) -> BufferStatistics {
        self.statistics
    }

    /// Drains up to `now`, and counts the time in each state.
    pub(super) fn advance(&mut self, now: Timestamp) {
        if let Some((step_at, (_, rate))) = self.step_at.zip(self.config.then).filter(|step| step.0 <= now) {
            self.drain(step_at);
            (self.step_at, self.config.consume) = (None, rate);
        }
        self.drain(now);
    }

    fn drain(&mut self, now: Timestamp) {
        let Some(since) = self.drained_to.replace(now) else { return };
        let mut left = now.since(since).as_secs_f64();
        let rate = if self.playing { self.config.consume.as_bytes_per_second() } else { 0.0 };
        let (low, high) = (LOW * self.capacity(), HIGH * self.capacity());
        // A drain passes the states from the top down.
        for (floor, state) in [(high, 2), (low, 1), (0.0, 0)] {
            let span = if rate > 0.0 { ((self.held - floor) / rate).max(0.0).min(left) } else { left };
            let here = rate > 0.0 || self.held >= floor;
            if here && span > 0.0 {
                self.held = (self.held - rate * span).max(0.0);
                self.book(state, span);
                left -= span;
            }
        }
        if left > 0.0 {
            self.run_dry(left);
        }
    }

    fn run_dry(&mut self, seconds: f64) {
        self.book(0, seconds);
        if self.playing {
            self.statistics.stalls += u64::from(!self.dry);
            self.statistics.stalled += TimeDelta::from_secs_f64(seconds);
            self.dry = true;
        }
    }

    fn book(&mut self, state: u8, seconds: f64) {
        let span = TimeDelta::from_secs_f64(seconds);
        match state {
            0 => self.statistics.underflow += span,
            1 => self.statistics.stable += span,
            _ => self.statistics.overflow += span,
        }
    }

    /// True where the buffer is a socket's and has no room for this packet.
    pub(super) fn refuses(&mut self, now: Timestamp, size: DataSize) -> bool {
        if !self.config.socket {
            return false;
        }
        self.advance(now);
        let is_full = self.held + size.as_bytes_f64() > self.capacity();
        if is_full {
            self.statistics.offered += size;
            self.statistics.refused_events += 1;
            self.statistics.refused += size;
        }
        is_full
    }

    /// Bytes arrive; those that do not fit are refused.
    pub(super) fn insert(&mut self, now: Timestamp, size: DataSize) {
        self.advance(now);
        let room = (self.capacity() - self.held).max(0.0);
        let taken = size.as_bytes_f64().min(room);
        self.held += taken;
        self.statistics.offered += size;
        let refused = DataSize::from_bytes((size.as_bytes_f64() - taken).round() as u64);
        if !refused.is_zero() {
            self.statistics.refused_events += 1;
            self.statistics.refused += refused;
        }
        self.dry = false;
        if !self.playing && self.held >= self.config.start_level * self.capacity() {
            self.playing = true;
            self.step_at = self.config.then.map(|(after, _)| now + after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Bitrate;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn config() -> ByteBufferConfig {
        ByteBufferConfig {
            capacity: DataSize::from_bytes(10_000),
            consume: Bitrate::from_kbps(8),
            then: None,
            start_level: 0.2,
            socket: false,
        }
    }

    fn buffer() -> ByteBuffer {
        ByteBuffer::new(config())
    }

    #[test]
    fn a_socket_refuses_whole_packets() {
        let mut socket = ByteBuffer::new(ByteBufferConfig { socket: true, ..config() });
        let size = DataSize::from_bytes(800);
        socket.insert(at(0), DataSize::from_bytes(9_500));
        assert!(socket.refuses(at(0), size) && !buffer().refuses(at(0), size));
        assert_eq!((socket.statistics().refused_events, socket.statistics().refused), (1, size));
        assert_eq!(socket.statistics().offered.as_bytes(), 10_300);
        assert!(!socket.refuses(at(300), size), "300 ms drain what was missing");
    }

    #[test]
    fn consumption_changes_in_the_middle_of_a_span() {
        let then = Some((TimeDelta::from_secs(2), Bitrate::from_kbps(16)));
        let mut buffer = ByteBuffer::new(ByteBufferConfig { then, ..config() });
        buffer.insert(at(500), DataSize::from_bytes(9_000));
        buffer.advance(at(3500));
        assert_eq!(buffer.level().held.as_bytes(), 5000, "2 s of 1000 B/s, 1 s of 2000 B/s");
    }

    #[test]
    fn fills_plays_and_runs_dry() {
        let mut buffer = buffer();
        buffer.insert(at(0), DataSize::from_bytes(1999));
        buffer.insert(at(1000), DataSize::from_bytes(1));
        assert_eq!(buffer.level().held.as_bytes(), 2000, "playback begins only now");
        buffer.advance(at(1500));
        assert_eq!(buffer.level().held.as_bytes(), 1500, "1000 B/s");
        buffer.advance(at(4000));
        let statistics = buffer.statistics();
        assert_eq!((statistics.stalls, statistics.stalled), (1, TimeDelta::from_secs(1)));
        buffer.advance(at(5000));
        buffer.insert(at(5000), DataSize::from_bytes(100));
        assert_eq!(buffer.statistics().stalls, 1, "one long stall");
        assert_eq!(buffer.statistics().stalled, TimeDelta::from_secs(2));
    }

    #[test]
    fn refuses_what_does_not_fit_and_counts_the_states() {
        let mut buffer = buffer();
        buffer.insert(at(0), DataSize::from_bytes(9_500));
        buffer.insert(at(0), DataSize::from_bytes(800));
        let statistics = buffer.statistics();
        assert_eq!((statistics.refused_events, statistics.refused.as_bytes()), (1, 300));
        buffer.advance(at(9_000));
        let statistics = buffer.statistics();
        let seconds = [statistics.overflow, statistics.stable, statistics.underflow];
        assert_eq!(seconds.map(TimeDelta::as_millis), [1000, 7000, 1000]);
        assert_eq!((statistics.stalls, statistics.offered.as_bytes()), (0, 10_300));
        assert_eq!(buffer.level().held.as_bytes(), 1000);
    }

    /// Before playback begins, at 10 000 B: a second each below 2000 B, there, below 9000 B, and there.
    #[test]
    fn states_count_before_playback_too() {
        let mut buffer = ByteBuffer::new(ByteBufferConfig { start_level: 1.0, ..config() });
        for (second, size) in [(0, 1000), (1, 1000), (2, 6000), (3, 1000)] {
            buffer.insert(at(1000 * second), DataSize::from_bytes(size));
        }
        buffer.advance(at(4000));
        let statistics = buffer.statistics();
        let seconds = [statistics.overflow, statistics.stable, statistics.underflow];
        assert_eq!(seconds.map(TimeDelta::as_millis), [1000, 2000, 1000]);
        assert_eq!((buffer.level().held.as_bytes(), statistics.stalls), (9000, 0));
    }
}
