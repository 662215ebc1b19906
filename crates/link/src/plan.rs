//! A link's description, checked and with its files read: what [`Link::new`](crate::Link::new) builds from.

use crate::bucket::BucketConfig;
use crate::capacity::Schedule;
use crate::jitter::JitterConfig;
use crate::loss::{LossModel, LossPlace};
use crate::queue::QueueConfig;
use crate::server::{InService, Opportunities};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::sync::Arc;

/// Everything that makes one direction of a link. Made by [`LinkConfig::plan`](crate::LinkConfig::plan); cheap to
/// clone, and good for any number of runs.
#[derive(Debug, Clone)]
pub struct LinkPlan {
    pub(crate) capacity: CapacityPlan,
    /// The rate that limits in time refer to.
    pub(crate) nominal: Bitrate,
    pub(crate) outages: Arc<[(Timestamp, Timestamp)]>,
    pub(crate) delay: TimeDelta,
    /// Later delays, and from when.
    pub(crate) delay_steps: Arc<[(Timestamp, TimeDelta)]>,
    pub(crate) queue: QueueConfig,
    pub(crate) policer: Option<BucketConfig>,
    pub(crate) shaper: Option<BucketConfig>,
    pub(crate) jitter: Option<JitterConfig>,
    pub(crate) loss: Option<(LossModel, LossPlace)>,
}

/// What the server serves by.
#[derive(Debug, Clone)]
pub(crate) enum CapacityPlan {
    Rates(Schedule, InService),
    Opportunities(Opportunities),
}
