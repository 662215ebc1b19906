//! Drivers: the place with sockets and a wall clock.
//!
//! A [`Reactor`] drives sans-I/O [`Machine`]s on one thread: the media thread. Encoder, decoder and page run
//! elsewhere and ring its [`Bell`]. [`Emulator`] hosts a network in real time, between sockets or devices; [`webrtc`] shows
//! pictures in browsers.

mod capture;
mod clock;
mod emulator;
mod endpoint;
mod interface;
mod lateness;
mod priority;
mod reactor;
mod socket;
mod tun;
mod wait;
pub mod webrtc;

pub use capture::Capture;
pub use clock::Clock;
pub use emulator::{Counts, Emulator, EmulatorMail, Frame, Outlet, Watch};
pub use endpoint::{
    Dial, ReceiverMachine, ReceiverMail, ReceiverNews, ReceiverSnapshot, SNAPSHOT_INTERVAL, Screened,
    SenderMachine, SenderMail, SenderNews, SenderSnapshot,
};
pub use interface::Interface;
pub use lateness::Lateness;
pub use priority::make_real_time;
pub use reactor::{Bell, Machine, Observed, Outgoing, Reactor, Retired};
pub use socket::{Incoming, Socket};
pub use tun::Tun;
