//! Drivers: the place with sockets and a wall clock.

pub mod webrtc;
