//! Estimators that several controllers share.

mod ewma;
mod longer_route;
mod loss_discriminator;
mod loss_interval;
mod min_filter;
mod rate_window;
mod retransmission_timer;
mod rtt;

pub use ewma::Ewma;
pub use longer_route::LongerRoute;
pub use loss_discriminator::{LossDiscriminator, Scheme};
pub use loss_interval::LossIntervals;
pub use min_filter::{BaseDelay, EarlyFilter, RecentMin};
pub use rate_window::{ArrivalRate, RateWindow};
pub use retransmission_timer::RetransmissionTimer;
pub use rtt::{DampedRtt, plausible_rtt};
