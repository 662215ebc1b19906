//! Drivers: the place with sockets and a wall clock.
//!
//! A [`Reactor`] drives sans-I/O [`Machine`]s on one thread, the media thread; other threads queue commands and use
//! its [`Waker`]. [`Emulator`] hosts a network in real time, between sockets or TUN devices; [`webrtc`] sends video to
//! browsers.

mod address;
mod capture;
mod clock;
mod dscp;
mod emulator;
mod interface;
mod lateness;
#[cfg(target_os = "linux")]
mod marked;
mod mtu;
mod priority;
mod reactor;
mod socket;
mod socket_options;
mod train;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(not(target_os = "linux"))]
#[path = "no_tun.rs"]
mod tun;
mod via;
mod wait;
pub mod webrtc;

pub use address::{address_towards, reachable_address, unspecified};
pub use capture::Capture;
pub use clock::{Clock, SNAPSHOT_INTERVAL, next_snapshot};
pub use dscp::Dscp;
pub use emulator::{Counts, Emulator, EmulatorCommand, Frame, Observer, Outlet};
pub use interface::Interface;
pub use lateness::Lateness;
pub use mtu::mtu_towards;
pub use priority::make_real_time;
pub use reactor::{Finished, Machine, Observed, Outgoing, Reactor, Waker};
pub use socket::{Incoming, Socket};
pub use socket_options::SocketOptions;
pub use tun::Tun;
pub use via::Via;
