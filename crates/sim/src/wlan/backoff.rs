//! Backoff: slots are counted down while the medium is idle (`docs/models/wlan.md`, section "Backoff").

use crate::wlan::mode::Nanos;
use crate::wlan::timing::{Access, Timing};
use seaway_link::RandomStream;

/// The contention of one queue of one device. Time is real, no slot counter: reservations and failed receptions shift
/// the time lines of devices against each other by fractions of a slot.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    pub(crate) access: Access,
    slot: Nanos,
    sifs: Nanos,
    window: u32,
    slots: u32,
    /// Slots are counted from then on.
    base: Nanos,
    /// No slot before counts.
    start: Nanos,
    runs: bool,
}

impl Backoff {
    pub(crate) fn new(access: Access, timing: &Timing) -> Self {
        let (slot, sifs, window) = (timing.slot, timing.sifs, access.window_min);
        Self { access, slot, sifs, window, slots: 0, base: 0, start: 0, runs: false }
    }

    /// When it may send; `None` while the medium is busy.
    pub(crate) fn due(&self) -> Option<Nanos> {
        self.runs.then(|| self.base + u64::from(self.slots) * self.slot)
    }

    /// The medium is busy, noticed at `now` (rule 3). EDCA counts the slot that has begun.
    pub(crate) fn freeze(&mut self, now: Nanos) {
        if !std::mem::replace(&mut self.runs, false) || now < self.base {
            return;
        }
        let passed = (now - self.base) / self.slot + u64::from(self.access.is_qos);
        let counted = passed.min(u64::from(self.slots));
        self.slots -= counted as u32;
        self.start = self.base + counted * self.slot;
    }

    /// The medium is free; `from` is SIFS after all that kept it busy (rule 1).
    pub(crate) fn resume(&mut self, from: Nanos) {
        self.base = self.start.max(from + u64::from(self.access.aifsn) * self.slot);
        self.runs = true;
    }

    /// No slots are left to be counted.
    pub(crate) const fn is_spent(&self) -> bool {
        self.slots == 0
    }

    /// The medium is busy, and no slots were left: when that was noticed makes no difference.
    pub(crate) const fn halt(&mut self) {
        self.runs = false;
    }

    /// A frame has come to an empty queue (rule 6).
    pub(crate) fn request(&mut self, now: Nanos, is_reserved: bool, rng: &mut RandomStream) {
        match self.due() {
            Some(due) if due <= now => {
                self.slots = 0;
                self.base = if self.access.is_qos {
                    self.base + ((now - self.base) / self.slot + 1) * self.slot
                } else {
                    now + self.sifs + u64::from(self.access.aifsn) * self.slot
                };
                self.start = self.base;
            }
            Some(_) if self.slots == 0 && is_reserved => self.draw(now, rng),
            None if self.slots == 0 => self.draw(now, rng),
            _ => {}
        }
    }

    /// An access is over (rule 5).
    pub(crate) fn draw(&mut self, now: Nanos, rng: &mut RandomStream) {
        let range = u64::from(self.window) + 1;
        self.slots = if range == 1 { 0 } else { (((rng.bits() >> 32) * range) >> 32) as u32 };
        self.start = now;
        self.base = self.base.max(now);
    }

    /// A response came (rule 7).
    pub(crate) const fn reset(&mut self) {
        self.window = self.access.window_min;
    }

    /// A response was missed (rule 7).
    pub(crate) fn widen(&mut self) {
        self.window = (2 * self.window + 1).min(self.access.window_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::mode::Band;
    use crate::wlan::{AccessCategory, Standard};

    fn backoff(standard: Standard) -> Backoff {
        let timing = Timing::new(standard, if standard == Standard::Ac { Band::Ghz5 } else { Band::Ghz2 });
        Backoff::new(Access::data(standard, AccessCategory::BestEffort), &timing)
    }

    /// `docs/models/wlan.md`, section "Backoff", rules 2 and 3: a device one slot behind the winner goes next.
    #[test]
    fn edca_counts_the_slot_that_has_begun() {
        for (slots, expected) in [(3, 0), (2, 0), (6, 3)] {
            let mut backoff = backoff(Standard::Ac);
            backoff.slots = slots;
            backoff.resume(16_000);
            assert_eq!(backoff.due(), Some(43_000 + u64::from(slots) * 9_000));
            backoff.freeze(43_000 + 2 * 9_000 + 4_000);
            assert_eq!((backoff.slots, backoff.due()), (expected, None));
        }
        let mut dcf = backoff(Standard::G);
        dcf.slots = 3;
        dcf.resume(10_000);
        dcf.freeze(28_000 + 2 * 9_000 + 4_000);
        assert_eq!(dcf.slots, 1);
    }

    /// `docs/models/wlan.md`, section "Backoff", rule 6.
    #[test]
    fn a_frame_for_an_idle_medium_waits_for_the_grid() {
        let mut rng = RandomStream::new(1, "rng");
        let mut edca = backoff(Standard::Ac);
        edca.resume(16_000);
        edca.request(43_000 + 5 * 9_000, false, &mut rng);
        assert_eq!(edca.due(), Some(43_000 + 6 * 9_000));
        let mut dcf = backoff(Standard::G);
        dcf.resume(0);
        dcf.request(1_000_001, false, &mut rng);
        assert_eq!(dcf.due(), Some(1_000_001 + 28_000));
    }

    /// `docs/models/wlan.md`, section "Backoff", rule 7.
    #[test]
    fn windows_double_up_to_the_largest() {
        let mut backoff = backoff(Standard::Ac);
        let windows: Vec<u32> = (0..8)
            .map(|_| {
                backoff.widen();
                backoff.window
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        backoff.reset();
        assert_eq!(backoff.window, 15);
    }

    #[test]
    fn draws_are_uniform() {
        let mut rng = RandomStream::new(1, "rng");
        let mut backoff = backoff(Standard::Ac);
        let mut counts = [0u32; 16];
        for _ in 0..16_000 {
            backoff.draw(0, &mut rng);
            counts[backoff.slots as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }
}
