//! Pictures that are too old to act on.

use seaway_units::{TimeDelta, Timestamp};

/// Watches how long ago the picture on the screen was captured. A teleoperator must not steer by a picture older than a bound:
/// it may stand still, or be late.
#[derive(Debug, Clone)]
pub struct StaleDetector {
    bound: TimeDelta,
    /// When the picture on the screen was captured.
    captured: Option<Timestamp>,
    /// Since when it has been too old.
    since: Option<Timestamp>,
}

impl StaleDetector {
    /// A picture is too old from `bound` after its capture on. Nothing is before the first picture.
    pub const fn new(bound: TimeDelta) -> Self {
        Self { bound, captured: None, since: None }
    }

    /// A picture that was captured `age` ago is shown now. Returns how long the screen had been too old, where this picture is
    /// not and ends it.
    pub fn on_picture(&mut self, now: Timestamp, age: TimeDelta) -> Option<TimeDelta> {
        self.captured = Some(now - age);
        if age >= self.bound {
            return None;
        }
        self.since.take().map(|since| now.since(since))
    }

    /// When the picture on the screen becomes too old; `None` where it is already, or there is none.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.captured.filter(|_| self.since.is_none()).map(|captured| captured + self.bound)
    }

    /// Returns the age of the picture on the screen, where it becomes too old by now.
    pub fn handle_timeout(&mut self, now: Timestamp) -> Option<TimeDelta> {
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        // A picture may be too old when it comes: the time before it belongs to another.
        self.since = Some(now);
        Some(now.since(due) + self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    const fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    #[test]
    fn a_picture_that_stays_becomes_stale_and_a_fresh_one_ends_it() {
        let mut detector = StaleDetector::new(ms(300));
        assert_eq!(
            (detector.poll_timeout(), detector.handle_timeout(at(9000))),
            (None, None),
            "no picture yet"
        );
        for shown in [1000, 1040, 1080] {
            assert_eq!(detector.on_picture(at(shown), ms(100)), None);
            assert_eq!(detector.handle_timeout(at(shown + 39)), None);
        }
        // Captured at 980 ms, so too old from 1280 ms on.
        assert_eq!(detector.poll_timeout(), Some(at(1280)));
        assert_eq!(detector.handle_timeout(at(1279)), None);
        assert_eq!(detector.handle_timeout(at(1285)), Some(ms(305)));
        assert_eq!((detector.poll_timeout(), detector.handle_timeout(at(1300))), (None, None), "said once");
        assert_eq!(detector.on_picture(at(2285), ms(120)), Some(ms(1000)));
        assert_eq!(detector.poll_timeout(), Some(at(2465)));
    }

    #[test]
    fn pictures_that_move_and_are_late_are_stale_too() {
        let mut detector = StaleDetector::new(ms(300));
        detector.on_picture(at(1000), ms(100));
        let mut begun = Vec::new();
        for frame in 1..10 {
            // Each comes 60 ms later than the one before it.
            let (shown, age) = (1000 + 100 * frame, 100 + 60 * frame);
            assert_eq!(detector.on_picture(at(shown), ms(age)), None);
            begun.extend(detector.handle_timeout(at(shown)).map(|age| (shown, age)));
        }
        assert_eq!(begun, [(1400, ms(340))]);
        assert_eq!(detector.on_picture(at(2000), ms(300)), None, "the bound itself is too old");
        assert_eq!(detector.on_picture(at(2040), ms(299)), Some(ms(640)));
    }
}
