//! One 802.11 cell (a, b, g, n, ac), made to behave as ns-3.37's; see `docs/models/wlan.md`.
//!
//! | part | holds |
//! | --- | --- |
//! | `mode` | modulation and coding, durations, sizes of frames |
//! | `errors` | how likely a frame survives |
//! | `medium` | which devices receive which; `ppdu`: what is in the air; `reception`: whether a frame is received |
//! | `timing`, `backoff` | waits, windows, counting |
//! | `queue`, `reorder` | the two ends of block acknowledgement |
//! | `exchange` | what devices do with the medium once they have it |
//! | `association` | which stations belong to the access point; `path`: where stations walk |
//! | `cell` | the node and its events; `ingress`: packets in and out; `idle`: lazy update of idle devices; `associate`: beacons and association; `walk`: stations that move; `modes`: the modes and their choice |

mod association;
mod backoff;
mod cell;
mod config;
mod errors;
mod event_list;
mod exchange;
mod management;
mod medium;
mod minstrel;
mod mode;
mod path;
mod placement;
mod queue;
mod rate_adaptation;
mod reorder;
mod statistics;
mod timing;

pub use cell::Wlan;
pub use config::{
    AccessCategory, AccessPoint, AssociationModel, Guard, MacQueueConfig, PathLoss, Position, RateChoice,
    Schedule, Station, WlanConfig,
};
pub use errors::ErrorModel;
pub use mode::{Band, CodeRate, Format, Mode, Standard};
pub use path::Waypoint;
pub use placement::Placement;
pub use statistics::{AirStatistics, AssociationStatistics};
