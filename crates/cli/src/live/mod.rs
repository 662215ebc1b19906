//! What `demo`, `send` and `recv` share: options, the loop, messages and the report.

pub(crate) mod beside;
pub(crate) mod calls;
pub(crate) mod client_buffer;
pub(crate) mod emulated;
mod hand_link;
pub(crate) mod input;
pub(crate) mod keys;
pub(crate) mod lanes;
mod messages;
mod network;
pub(crate) mod options;
pub(crate) mod qlog;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod reporter;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod sizes;
mod socket_input;
pub(crate) mod sound;
pub(crate) mod summary;
pub(crate) mod transport_output;
pub(crate) mod watch;

use seaway_units::TimeDelta;

/// Events are taken and values reported this often.
pub(crate) const STEP: TimeDelta = TimeDelta::from_millis(20);
/// The same where they are shown only at the end.
pub(crate) const UNWATCHED_STEP: TimeDelta = TimeDelta::from_millis(500);
