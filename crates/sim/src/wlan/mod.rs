//! One 802.11 cell (a, b, g, n, ac), made to behave as ns-3.37's; see `docs/models/wlan.md`.
//!
//! | part | holds |
//! | --- | --- |
//! | `mode` | modulation and coding, durations, sizes of frames |
//! | `errors` | how likely a frame survives |
//! | `medium` | who hears whom; `ppdu`: what is in the air; `reception`: what a receiver makes of it |
//! | `timing`, `backoff` | waits, windows, counting |
//! | `queue`, `reorder` | the two ends of block acknowledgement |
//! | `exchange` | what devices do with the medium once they have it |
//! | `cell` | the node and its events; `intake`: packets in and out; `modes`: which there are, and who chooses |

mod adapt;
mod agenda;
mod backoff;
mod cell;
mod config;
mod errors;
mod exchange;
mod medium;
mod minstrel;
mod mode;
mod placement;
mod queue;
mod reorder;
mod station;
mod statistics;
mod timing;

pub use cell::Wlan;
pub use config::{
    AccessCategory, AccessPoint, Guard, MacQueueConfig, PathLoss, Position, RateChoice, Schedule, Station,
    WlanConfig,
};
pub use errors::ErrorModel;
pub use mode::{Band, CodeRate, Format, Mode, Standard};
pub use placement::Placement;
pub use statistics::AirStatistics;
