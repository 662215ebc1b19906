//! What `demo`, `send` and `recv` share: options, the loop, messages and the report.

pub(crate) mod keys;
mod messages;
pub(crate) mod options;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod reporter;
pub(crate) mod session;
pub(crate) mod settings;

use seaway_units::TimeDelta;

/// Events are taken and values reported this often.
const STEP: TimeDelta = TimeDelta::from_millis(20);
