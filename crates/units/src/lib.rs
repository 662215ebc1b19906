//! Time, rate, size and probability as types.
//!
//! Every quantity that crosses a border of a crate has a type of its own, so that a byte is never taken
//! for a bit nor the peer's clock for ours. Kilo is 1000 everywhere. Arithmetic saturates: a hostile number
//! from the network may be absurd, it never panics. "Never" and "unknown" are `None`, not a value.
//!
//! | type | holds |
//! | --- | --- |
//! | [`Timestamp`] | an instant on the local clock, ns since its origin |
//! | [`RemoteTimestamp`] | an instant on the peer's clock, ns since its origin |
//! | [`Transit`] | arrival there less departure here; only differences mean anything |
//! | [`TimeDelta`] | a signed span, ns |
//! | [`Bitrate`] | bit/s |
//! | [`DataSize`] | octets |
//! | [`Probability`] | 0 to 1 |
//! | [`Ecn`] | the ECN codepoint of a packet |
//! | [`Decibels`] | ten times the decimal logarithm of a power ratio |
//!
//! All of them print with their unit, and `FromStr` reads the same text: `"2.5 Mbit/s"`, `"40 ms"`,
//! `"1000 B"`. A bare number where a unit is needed is refused.

#[macro_use]
mod arithmetic;
mod decibels;
mod ecn;
mod probability;
mod rate;
mod round;
mod size;
mod text;
mod time;

pub use decibels::Decibels;
pub use ecn::Ecn;
pub use probability::Probability;
pub use rate::{Bitrate, RateRange};
pub use size::DataSize;
pub use text::ParseError;
pub use time::{RemoteTimestamp, TimeDelta, Timestamp, Transit, earlier};
