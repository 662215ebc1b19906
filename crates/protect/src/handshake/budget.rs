//! How many handshakes are computed.

use crate::Error;
use seaway_units::{TimeDelta, Timestamp};

/// Of all hellos together, a second and at once: each handshake takes a core some 100 microseconds.
const ALL: Rate = Rate { a_second: 200, at_once: 50 };
/// Of one hello: a sender repeats it, and its proof, less often.
const ONE: Rate = Rate { a_second: 4, at_once: 6 };
/// Hellos whose own rate is known. All of them together leave handshakes for others.
const KNOWN: usize = 32;
/// Octets of the hello's ephemeral key that distinguish it from others.
const NAME_LEN: usize = 16;

/// Bounds what an attacker gains who plays recorded hellos over and over: neither the core, nor that others are kept out.
#[derive(Debug)]
pub(super) struct Budget {
    all: Paid,
    known: [([u8; NAME_LEN], Paid); KNOWN],
}

#[derive(Debug, Clone, Copy)]
struct Rate {
    a_second: i64,
    at_once: i64,
}

/// Time by which the handshakes so far are paid for.
#[derive(Debug, Clone, Copy)]
struct Paid(Timestamp);

impl Paid {
    /// After one more at this rate, if there may be one.
    fn after(self, now: Timestamp, rate: Rate) -> Result<Self, Error> {
        let cost = TimeDelta::from_nanos(1_000_000_000 / rate.a_second);
        let paid = self.0.max(now) + cost;
        if paid.since(now) > cost * rate.at_once { Err(Error::Busy) } else { Ok(Self(paid)) }
    }
}

impl Budget {
    pub(super) const fn new(now: Timestamp) -> Self {
        Self { all: Paid(now), known: [([0; NAME_LEN], Paid(now)); KNOWN] }
    }

    /// One handshake for a hello that was made with the key.
    ///
    /// # Errors
    /// It is one too many.
    pub(super) fn pay(&mut self, now: Timestamp, hello: &[u8]) -> Result<(), Error> {
        let name = hello.first_chunk::<NAME_LEN>().ok_or(Error::Malformed)?;
        let known = self.known.iter().position(|(known, _)| known == name);
        // A new one takes the place of the one that was paid for first.
        let oldest = || (0..KNOWN).min_by_key(|&index| self.known[index].1.0).unwrap_or(0);
        let index = known.unwrap_or_else(oldest);
        let before = known.map_or(Paid(now), |index| self.known[index].1);
        let one = before.after(now, ONE)?;
        self.all = self.all.after(now, ALL)?;
        self.known[index] = (*name, one);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of each hello are computed in ten seconds, where each comes 1000 times a second.
    fn computed(hellos: u8) -> Vec<u32> {
        let (mut budget, mut computed) = (Budget::new(Timestamp::ZERO), vec![0; hellos.into()]);
        for millis in 0..10_000 {
            let now = Timestamp::from_nanos(millis * 1_000_000);
            for (hello, computed) in computed.iter_mut().enumerate() {
                *computed += u32::from(budget.pay(now, &[hello as u8 + 1; 52]).is_ok());
            }
        }
        computed
    }

    #[test]
    fn so_many_are_computed_at_once() {
        let mut budget = Budget::new(Timestamp::ZERO);
        let mut at_once =
            |hello: u8| (0..100).filter(|_| budget.pay(Timestamp::ZERO, &[hello; 52]).is_ok()).count();
        assert_eq!([1, 2, 3].map(&mut at_once), [6; 3]);
        assert_eq!((4..20).map(at_once).sum::<usize>(), 50 - 18);
    }

    #[test]
    fn each_has_its_rate_and_all_together_have_theirs() {
        let own = 40..=46;
        assert!(own.contains(&computed(1)[0]));
        let many = computed(30);
        assert!(many.iter().all(|computed| own.contains(computed)), "{many:?}");
        let all: u32 = computed(200).iter().sum();
        assert!((2000..=2050).contains(&all), "{all}");
    }

    #[test]
    fn hellos_that_are_played_again_leave_room_for_another() {
        let mut budget = Budget::new(Timestamp::ZERO);
        for millis in 0..10_000 {
            let now = Timestamp::from_nanos(millis * 1_000_000);
            for hello in 0..KNOWN as u8 - 1 {
                let _ = budget.pay(now, &[hello + 1; 52]);
            }
            // What each has at once is used up after two seconds.
            if millis >= 2_500 && millis % 500 == 0 {
                assert!(budget.pay(now, &[99; 52]).is_ok(), "after {millis} ms");
            }
        }
    }
}
