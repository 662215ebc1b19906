//! Drivers: the place with sockets and a wall clock.
//!
//! A [`Reactor`] drives sans-I/O [`Machine`]s on one thread: the media thread. Encoder, decoder and page run
//! elsewhere and ring its [`Bell`]. [`Relay`] hosts the links of crate `link` in real time; [`webrtc`] shows pictures
//! in browsers.

mod capture;
mod clock;
mod endpoint;
mod lateness;
mod priority;
mod reactor;
mod relay;
mod socket;
mod wait;
pub mod webrtc;

pub use capture::Capture;
pub use clock::Clock;
pub use endpoint::{
    Dial, ReceiverMachine, ReceiverMail, ReceiverNews, ReceiverSnapshot, SNAPSHOT_INTERVAL, Screened,
    SenderMachine, SenderMail, SenderNews, SenderSnapshot,
};
pub use lateness::Lateness;
pub use priority::make_real_time;
pub use reactor::{Bell, Machine, Observed, Outgoing, Reactor};
pub use relay::{Relay, RelayMail, RelaySnapshot};
pub use socket::{Incoming, Socket};
