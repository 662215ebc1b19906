//! Token buckets: how much may leave above a long-run rate.

use crate::error::Error;
use crate::node::Packet;
use crate::queue::LARGEST_PACKET;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use serde::Deserialize;

/// A token bucket: `{ rate = "1 Mbit/s", burst = "15 kB" }`. It starts full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketConfig {
    /// What it gains per time, above zero.
    pub rate: Bitrate,
    /// What it holds at most; room for a full packet at least.
    pub burst: DataSize,
}

impl BucketConfig {
    /// Whether the values hold; `field` is the bucket's key.
    pub(crate) fn check(self, field: &str) -> Result<Self, Error> {
        if self.rate == Bitrate::ZERO {
            return Err(Error::config(format!("{field}.rate"), self.rate, "a rate above zero"));
        }
        if self.burst < LARGEST_PACKET {
            let expected = format!("room for a packet of {LARGEST_PACKET}");
            return Err(Error::config(format!("{field}.burst"), self.burst, expected));
        }
        Ok(self)
    }
}

/// Tokens to send with, counted in bit·ns/s: exact, whatever the rate.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    size: BucketConfig,
    tokens: u128,
    counted: Timestamp,
}

const PER_BIT: u128 = 1_000_000_000;

impl TokenBucket {
    pub(crate) fn new(size: BucketConfig) -> Self {
        Self { size, tokens: cost(size.burst), counted: Timestamp::ZERO }
    }

    /// Takes what a packet of `size` needs, if it is there. A packet larger than the bucket needs it full.
    pub(crate) fn take(&mut self, now: Timestamp, size: DataSize) -> bool {
        self.refill(now);
        let needed = self.needed(size);
        let is_enough = self.tokens >= needed;
        if is_enough {
            self.tokens -= needed;
        }
        is_enough
    }

    /// How long until a packet of `size` can leave, rounded up.
    pub(crate) fn wait(&mut self, now: Timestamp, size: DataSize) -> TimeDelta {
        self.refill(now);
        let missing = self.needed(size).saturating_sub(self.tokens);
        let nanos = missing.div_ceil(u128::from(self.size.rate.as_bps()));
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    fn needed(&self, size: DataSize) -> u128 {
        cost(size.min(self.size.burst))
    }

    fn refill(&mut self, now: Timestamp) {
        let passed = now.since(self.counted).as_nanos() as u128;
        self.counted = now;
        let gained = u128::from(self.size.rate.as_bps()) * passed;
        self.tokens = (self.tokens + gained).min(cost(self.size.burst));
    }
}

fn cost(size: DataSize) -> u128 {
    u128::from(size.as_bits()) * PER_BIT
}

/// Holds the packet at the head of a queue until there are tokens for it.
#[derive(Debug, Clone)]
pub(crate) struct Shaper<P> {
    bucket: TokenBucket,
    held: Option<Held<P>>,
}

#[derive(Debug, Clone)]
struct Held<P> {
    packet: Packet<P>,
    since: Timestamp,
    due: Timestamp,
}

impl<P> Shaper<P> {
    pub(crate) fn new(size: BucketConfig) -> Self {
        Self { bucket: TokenBucket::new(size), held: None }
    }

    /// The packet that waits for tokens.
    pub(crate) fn held(&self) -> Option<&Packet<P>> {
        self.held.as_ref().map(|held| &held.packet)
    }

    /// When there will be tokens for it.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.held.as_ref().map(|held| held.due)
    }

    /// The packet held, or else the one that `dequeue` gives, once there are tokens for it.
    pub(crate) fn next(
        &mut self,
        now: Timestamp,
        dequeue: impl FnOnce() -> Option<Packet<P>>,
    ) -> Option<Packet<P>> {
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                let packet = dequeue()?;
                let due = now + self.bucket.wait(now, packet.size);
                Held { packet, since: now, due }
            }
        };
        if !self.bucket.take(now, held.packet.size) {
            self.held = Some(held);
            return None;
        }
        let waited = held.packet.waited + now.since(held.since);
        Some(Packet { waited, ..held.packet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: BucketConfig =
        BucketConfig { rate: Bitrate::from_mbps(1), burst: DataSize::from_bytes(1500) };

    #[test]
    fn tokens_come_at_the_rate_and_no_more_than_fit() {
        let mut bucket = TokenBucket::new(SIZE);
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        let packet = DataSize::from_bytes(1500);
        assert!(bucket.take(at(0), packet));
        assert!(!bucket.take(at(0), DataSize::from_bytes(1)));
        assert_eq!(bucket.wait(at(4), packet), TimeDelta::from_millis(8));
        assert!(!bucket.take(at(11), packet));
        assert!(bucket.take(at(12), packet));
        assert!(bucket.take(at(9000), packet));
        assert_eq!(bucket.wait(at(9000), packet), TimeDelta::from_millis(12));
        assert_eq!(bucket.wait(at(9000), DataSize::from_bytes(9000)), TimeDelta::from_millis(12));
    }
}
